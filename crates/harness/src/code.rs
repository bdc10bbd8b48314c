//! The tool by which an agent runs a script of its own that uses its other tools, as one call. The script is a guest in a
//! cage of its own that has no file, no program and no network: it can compute, and ask for tools. Each tool that it asks
//! for is called as if the model had asked, and is on record under a number of its own. What comes out of the cage is text.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use advice::Failure;
use agent::{CallsTools, During, Elsewhere, Ran};
use cage::prepare::{Selection, guest, prepare};
use cage::runner::{Handle, Input, Keep, Labels, Output, Overflow, Request, Streams};
use model::{Cancel, ToolSpec};
use plan::HostPath;
use policy::shown::shown;
use policy::{Commands, FsAccess, FsRule, Policy, Reach, RuleOrigin};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::caged::last_words;
use crate::mcp_serve::next_line;
use crate::server_tools::bounded;
use crate::spawn::until;
use crate::work::Work;

/// Runs scripts of one agent.
pub(crate) struct Code<'a> {
    work: &'a Work,
    engine: &'a Path,
    tools: [ToolSpec; 1],
}

/// What a model asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    script: String,
    timeout: Option<u64>,
}

/// What comes out of the cage, one line each.
#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
enum FromScript {
    Call { tool: String, arguments: Map<String, Value> },
    End { ok: bool, text: String },
}

impl<'a> Code<'a> {
    /// Of an agent that has these tools.
    pub(crate) fn new(work: &'a Work, engine: &'a Path, tools: &[String]) -> Self {
        Self { work, engine, tools: [spec(tools)] }
    }

    fn run(&self, arguments: &Map<String, Value>, during: &During<'_>) -> Result<Ran, String> {
        let written: Written = serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| shown(error.to_string()))?;
        if written.script.len() > MOST_SCRIPT {
            return Err(format!("the script is longer than {MOST_SCRIPT} bytes"));
        }
        let seconds = written.timeout.unwrap_or(SECONDS).clamp(1, MOST_SECONDS);
        let time = Duration::from_secs(seconds).min(during.limit);
        let handle = self.start(time).map_err(|failure| failure.text())?;
        // Whoever is ended closes its pipes: nothing waits for it then.
        let own = Cancel::new();
        let end = || {
            own.cancel();
            handle.kill();
        };
        let ran = until(time, during.cancel, end, || {
            converse(&handle, &written.script, during.tools, &own)
        });
        handle.close();
        match ran {
            Some(ran) => Ok(ran),
            None if during.cancel.is_cancelled() => Err("the person stopped it".to_owned()),
            None if own.is_cancelled() => {
                Err(format!("the script's time of {} s is over (`timeout`)", time.as_secs()))
            }
            None => {
                let said = handle.stderr().map(|output| last_words(output.reader()));
                Err(format!("the script was ended: {}", shown(said.unwrap_or_default())))
            }
        }
    }

    /// In a cage that shows what runs it and nothing else, with the bounds of the agent's own cage.
    fn start(&self, time: Duration) -> Result<Handle, Failure> {
        let of_agent = &self.work.selection;
        let engine = HostPath::new(self.engine.as_os_str().to_owned())
            .map_err(|error| Failure::new(cage::Kind::CannotBuild, error.to_string()))?;
        let shows = FsRule {
            access: FsAccess::ReadOnly,
            path: engine,
            reach: Reach::Anywhere,
            origin: RuleOrigin::BuiltIn("what runs scripts"),
        };
        let policy = Policy {
            fs: vec![shows],
            commands: Commands::None,
            limits: of_agent.policy.limits,
            ..Policy::closed(CODE)
        };
        let selection = Selection {
            policy,
            agent_command: Vec::new(),
            agent: None,
            place: of_agent.place.clone(),
            surroundings: of_agent.surroundings.clone(),
            ceiling: None,
            confined: Vec::new(),
            network: of_agent.network.clone(),
        };
        let command: Vec<OsString> =
            guest::code_command(self.engine, time, selection.policy.limits.memory_mb);
        let prepared = prepare(&selection, &command)?;
        let plan = std::sync::Arc::clone(&prepared.plan);
        let labels = Labels {
            project_id: selection.surroundings.project.to_string(),
            session_id: None,
            subagent_name: Some(CODE.to_owned()),
        };
        let streams = Streams::Separate {
            stdin: Input::Pipe,
            stdout: Output::Keep(Keep { bytes: PIPE, overflow: Overflow::Backpressure }),
            stderr: Output::Keep(Keep { bytes: STDERR, overflow: Overflow::Discard }),
        };
        let request = Request { labels, streams, ..Request::from(prepared) };
        let spawned = self.work.runner.spawn(request);
        spawned.map_err(|error| advice::failed_start(error, Some(&plan)))
    }
}

/// Gives a script to who runs it, and its calls to the agent, until it has ended; none if it did not come to its end.
fn converse(handle: &Handle, script: &str, tools: &dyn CallsTools, cancel: &Cancel) -> Option<Ran> {
    let mut to = File::from(handle.take_stdin()?);
    let mut lines = BufReader::new(handle.stdout()?.reader());
    writeln!(to, "{}", json!({ "script": script })).ok()?;
    let mut calls = 0_u32;
    loop {
        match serde_json::from_slice(&next_line(&mut lines)?).ok()? {
            FromScript::Call { tool, arguments } => {
                calls = calls.saturating_add(1);
                let ran = match calls <= MOST_CALLS {
                    true => tools.call(&tool, &arguments, cancel),
                    false => Ran::failed(format!(
                        "error: {MOST_CALLS} calls of tools are the most in one script"
                    )),
                };
                // One that does not wait for the answer has an end to tell, or none.
                let _gone = writeln!(to, "{}", json!({ "ok": !ran.is_error, "text": ran.text }));
            }
            FromScript::End { ok: true, text } => {
                let text = if text.is_empty() { NOTHING.to_owned() } else { text };
                return Some(Ran { text: bounded(text), is_error: false });
            }
            FromScript::End { ok: false, text } => {
                return Some(Ran::failed(bounded(format!("error: the script failed\n{text}"))));
            }
        }
    }
}

impl Elsewhere for Code<'_> {
    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn call(&self, _tool: &str, arguments: &Map<String, Value>, during: &During<'_>) -> Ran {
        self.run(arguments, during).unwrap_or_else(|why| Ran::failed(format!("error: {why}")))
    }
}

fn spec(tools: &[String]) -> ToolSpec {
    let names = tools.join(", ");
    ToolSpec {
        name: CODE.to_owned(),
        description: format!(
            "Runs JavaScript that uses your other tools: `await tools.NAME({{…}})` calls one with what it takes, and gives its \
             result as a string; a call that fails throws. The tools are {names}. What the script prints with `console.log`, and \
             what it returns, is the result of this call; you see nothing else of it. Use it to go through many files or \
             results without reading each. The script has no files, programs or network but by tools, and can \
             `require` what Node.js has for texts and paths. Calls run one at a time, at most {MOST_CALLS}; after `timeout` seconds \
             ({SECONDS} unless given) it is ended."
        ),
        schema: json!({
            "type": "object",
            "properties": {
                "script": { "type": "string", "maxLength": MOST_SCRIPT, "description": "The body of an async function." },
                "timeout": { "type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "description": "Seconds until it is ended." },
            },
            "required": ["script"],
            "additionalProperties": false,
        }),
    }
}

pub(crate) const CODE: &str = "code";
const NOTHING: &str = "[the script printed nothing and returned nothing]";
const MOST_SCRIPT: usize = 128 << 10;
const MOST_CALLS: u32 = 200;
const SECONDS: u64 = 120;
const MOST_SECONDS: u64 = 1200;
const PIPE: usize = 8 << 20;
const STDERR: usize = 64 << 10;
