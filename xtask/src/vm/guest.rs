//! What runs inside the virtual machine, as root, started by its systemd: reads the orders on the
//! payload's disk, carries them out and answers. Does nothing on a machine without that disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::machine::SLOWNESS_PARAMETER;
use super::orders::{Answer, Orders};
use super::passes;
use crate::command::{Failure, start_failure};
use crate::suite;

/// Carries out the orders.
pub(crate) fn run() -> Result<bool, Failure> {
    let mut answers = File::options().write(true).open(ANSWERS)?;
    // The host waits for this sign, and then for the answer.
    answers.write_all(b"begun\n")?;
    // The disk was filled by whoever built it.
    suite::give_away(Path::new(PAYLOAD), 0)?;
    let answer = match orders()? {
        Orders::Nothing => Answer::Ended(0),
        Orders::Command(words) => Answer::Ended(run_command(&words)?),
        Orders::Tests { .. } => Answer::from(passes::run_all()?),
    };
    writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
    Ok(true)
}

/// What the host asks for.
pub(super) fn orders() -> Result<Orders, Failure> {
    Ok(serde_json::from_slice(&fs::read(Path::new(PAYLOAD).join("orders.json"))?)?)
}

fn run_command(words: &[String]) -> Result<i32, Failure> {
    let [program, arguments @ ..] = words else {
        return Ok(0);
    };
    let path = format!("{PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin");
    let mut command = Command::new("env");
    command.arg(format!("PATH={path}")).arg(program).args(arguments);
    command.current_dir("/root").env("HOME", "/root");
    let status = command.status().map_err(|source| start_failure(&command, source))?;
    Ok(code(status))
}

/// How many times longer than elsewhere tests have to wait for things here, as the host says it.
pub(super) fn slowness() -> Result<String, Failure> {
    let parameters = fs::read_to_string("/proc/cmdline")?;
    Ok(slowness_in(&parameters).unwrap_or("1").to_owned())
}

/// The factor among the kernel's parameters.
pub(super) fn slowness_in(parameters: &str) -> Option<&str> {
    let mut words = parameters.split_whitespace();
    words.find_map(|word| word.strip_prefix(SLOWNESS_PARAMETER)?.strip_prefix('='))
}

/// An exit status as shells tell it.
pub(super) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Where the payload's disk is mounted.
pub(super) const PAYLOAD: &str = "/payload";
/// Where its programs are.
pub(super) const PROGRAMS: &str = "/payload/programs";
/// The port that the answer goes through.
const ANSWERS: &str = "/dev/virtio-ports/stockade.answer";
