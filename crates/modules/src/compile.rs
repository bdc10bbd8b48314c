//! Has a module compiled in a cage that has the compiler and nothing else: the module comes in by a pipe, its code goes out by
//! another. It ends with whoever asks, and takes no more than the run that it compiles for. A module that gets hold of its compiler gets hold of an empty cage, and of what runs that same module.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::Compiler;

/// The code of a module; none if it cannot be compiled.
pub(crate) fn in_a_cage(
    module: &[u8],
    compiler: &Compiler<'_>,
    workplace: &Path,
) -> Option<Vec<u8>> {
    let Compiler { stockade, engine, version, memory_mb, seconds } = *compiler;
    let memory = format!("{}M", memory_mb.unwrap_or(MOST_MEMORY_MB).min(MOST_MEMORY_MB));
    let time = format!("{}s", seconds.unwrap_or(MOST_SECONDS).min(MOST_SECONDS));
    // The nearest policy is the one that holds: this one shows nothing.
    std::fs::write(workplace.join("stockade.toml"), POLICY).ok()?;
    let mut command = Command::new(stockade);
    command
        .current_dir(workplace)
        // Who writes its result to a descriptor ends with its caller; nobody reads this one.
        .args(["run", "--result-fd", "2", "--no-net", "--commands", "none", "--degraded-limits"])
        .args(["--memory", &memory, "--time", &time, "--pids", "16", "--ro"])
        .arg(engine)
        .arg("--")
        .arg(engine)
        .args([OsStr::new("--of-version"), OsStr::new(version), OsStr::new("compile")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let code = talk(&mut child, module);
    let is_done = child.wait().is_ok_and(|status| status.success());
    code.filter(|code| is_done && !code.is_empty())
}

/// Everything is read in there before anything is written.
fn talk(child: &mut Child, module: &[u8]) -> Option<Vec<u8>> {
    let mut input = child.stdin.take()?;
    input.write_all(module).ok()?;
    drop(input);
    let mut code = Vec::new();
    let most = LARGEST_CODE + 1;
    child.stdout.take()?.take(most).read_to_end(&mut code).ok()?;
    (u64::try_from(code.len()).ok()? < most).then_some(code)
}

const POLICY: &str = "version = 1\n[cage.default]\n";
const MOST_MEMORY_MB: u64 = 2 << 10;
const MOST_SECONDS: u64 = 120;
const LARGEST_CODE: u64 = 512 << 20;
