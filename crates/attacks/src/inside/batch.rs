//! Runs attacks one after the other, each in a child of its own with a time limit, so that one that
//! hangs or is killed does not take the others with it.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags};

use super::{AttackReport, Place};
use crate::{Arena, Attack, Outcome, Twin};

/// Runs one attack in a child.
pub(super) fn run_apart(
    attack: &'static Attack,
    arena: &Arena,
    arena_file: &Path,
    place: Place,
) -> Outcome {
    let mode = match (place, attack.twin) {
        (Place::Twin, Twin::Namespaces) => "stage",
        _ => "one",
    };
    let started = Command::new(Arena::attacker(&arena.project))
        .args(["__attack", mode, attack.name])
        .arg(arena_file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Outcome::Broken(format!("cannot start the attack: {error}")),
    };
    match wait_with_limit(&mut child) {
        Ok(Some(status)) => judge(attack, status, &mut child),
        Ok(None) => Outcome::Broken(format!("still running after {LIMIT:?}")),
        Err(error) => Outcome::Broken(format!("cannot wait for the attack: {error}")),
    }
}

fn judge(attack: &Attack, status: ExitStatus, child: &mut Child) -> Outcome {
    match status.signal() {
        Some(libc::SIGSYS) => return Outcome::Failed("killed with SIGSYS".to_owned()),
        Some(libc::SIGSEGV) if attack.id == "T21" => {
            let reason = "this kernel has no such entry point".to_owned();
            return Outcome::NotApplicable(reason);
        }
        Some(signal) => return Outcome::Broken(format!("killed with signal {signal}")),
        None => {}
    }
    match read_what_is_there(child).and_then(|text| {
        let line = text.lines().last().unwrap_or_default().to_owned();
        serde_json::from_str::<AttackReport>(&line).map_err(std::io::Error::from)
    }) {
        Ok(report) => report.outcome,
        Err(error) => Outcome::Broken(format!("{status}, and no report: {error}")),
    }
}

/// The child's output without waiting for those who may have inherited its end of the pipe.
fn read_what_is_there(child: &mut Child) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        let flags = rustix::fs::fcntl_getfl(&stdout)?;
        rustix::fs::fcntl_setfl(&stdout, flags | OFlags::NONBLOCK)?;
        match stdout.read_to_end(&mut bytes) {
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn wait_with_limit(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))?;
    }
    let status = child.try_wait()?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

/// No attack takes longer than a few milliseconds where it is not held up, and none that starts a
/// program longer than this on a machine that is emulated and busy.
const LIMIT: Duration = Duration::from_secs(30);
