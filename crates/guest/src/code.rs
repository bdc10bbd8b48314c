//! `stockade-guest code`: one script that an agent wrote. It comes by the input, and so do the answers to its calls of tools;
//! the calls, and its end, are lines on the output. Its files are an empty tree in memory: nothing of the root that this
//! process is started in, no other program and no network is within its reach.

use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use engines::{Around, CallsTools, End, GuestLimits, Input, Kept, Output, Streams, World};
use serde_json::{Value, json};
use vfs::{Caller, FileSystem, Limits, Memory};

use crate::{CANNOT_RUN, Refused, refused, told};

/// Runs it to its end, and says how that was.
pub(crate) fn run(limits: &GuestLimits) -> Result<u8, Refused> {
    let cannot = |why: &dyn std::fmt::Display| refused(CANNOT_RUN, format!("the script: {why}"));
    let order = next().ok_or_else(|| cannot(&"nothing came by the input"))?;
    let script = order.get("script").and_then(Value::as_str);
    let script = script.ok_or_else(|| cannot(&"it is not in the first line"))?;
    let (owner, within) = (Caller::root(), Limits { max_bytes: MOST_FILES, ..Limits::default() });
    let files = FileSystem::new(Arc::new(Memory::new(&owner, 0o755, within)), &within);
    // The first line stays the first, for the places that errors name.
    let program = format!("module.exports = (async () => {{ {script}\n}})(){REPORT}");
    files.make_directories(&owner, b"/tmp").map_err(|error| cannot(&error))?;
    files.write_file(&owner, PROGRAM, program.as_bytes()).map_err(|error| cannot(&error))?;
    let mut world = World::new(files, owner, PROGRAM);
    let (shown, complaint) = (Kept::new(MOST_OUTPUT), Kept::new(MOST_OUTPUT));
    world.streams = Streams {
        input: Input::Empty,
        output: Output::Kept(shown.clone()),
        error: Output::Kept(complaint.clone()),
    };
    world.limits = *limits;
    world.around = Around::Tools(Arc::new(ByLines::default()));
    let end = engines::javascript::run(PROGRAM, world).map_err(|error| cannot(&error))?;
    let mut text = String::from_utf8_lossy(&shown.bytes()).into_owned();
    text.push_str(&String::from_utf8_lossy(&complaint.bytes()));
    if let (_, Some(why)) = told(&end, limits) {
        text.push_str(&format!("the script {why}\n"));
    }
    say(&json!({ "is": "end", "ok": end == End::Exited(0), "text": text }))
        .map_err(|error| cannot(&error))?;
    Ok(0)
}

/// Asks whoever sent the script. A call and its answer belong together.
#[derive(Debug, Default)]
struct ByLines(Mutex<()>);

impl CallsTools for ByLines {
    fn call(&self, tool: &str, arguments: &str) -> Result<String, String> {
        let _one_at_a_time = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments: Value =
            serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        say(&json!({ "is": "call", "tool": tool, "arguments": arguments }))
            .map_err(|error| error.to_string())?;
        let answer = next().ok_or("nobody answers any more")?;
        let text = answer.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        match answer.get("ok").and_then(Value::as_bool) {
            Some(true) => Ok(text),
            _ => Err(text),
        }
    }
}

fn next() -> Option<Value> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn say(line: &Value) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

const PROGRAM: &[u8] = b"/script.js";
/// What a script returns is shown as if it had printed it.
const REPORT: &str = ".then((value) => { if (value !== undefined) console.log(typeof value === 'string' ? value : \
                      JSON.stringify(value, null, 1)); });";
/// Of what it prints, and of what it complains.
const MOST_OUTPUT: usize = 1 << 20;
const MOST_FILES: u64 = 64 << 20;
