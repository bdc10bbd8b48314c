//! The filter of system calls itself: taking the supervisor's place, drowning it, changing what a
//! call points to while it is looked at. T25

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use sys::raw::{self, Probe};

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T25", "steal-listener", "takes the listener of the filter from pid 1", |scene| {
        let directory = format!("/proc/{}/fd", scene.overseer);
        for entry in fs::read_dir(directory)?.flatten() {
            let target = fs::read_link(entry.path())?;
            if !target.as_os_str().is_empty() {
                return Ok(Outcome::Succeeded(format!("pid 1 shows {}", target.display())));
            }
        }
        Ok(Outcome::Failed("pid 1 shows no descriptor".to_owned()))
    }),
    Attack::new(
        "T25",
        "flood-of-refused-calls",
        "makes refused calls until one gets through",
        |_| flood(),
    )
    .default_only(),
    Attack::new(
        "T25",
        "flood-from-threads",
        "makes refused calls from many threads at once, some of which end in the middle",
        |_| flood_from_threads(),
    )
    .default_only(),
    Attack::new(
        "T25",
        "answer-own-calls",
        "becomes the listener of its own filter and so of refused calls",
        answer_own_calls,
    )
    .default_only(),
];

fn reached(result: Result<i64, Errno>) -> bool {
    !matches!(result, Err(Errno::PERM | Errno::NOSYS))
}

fn flood() -> Result<Outcome, Refused> {
    for round in 0..FLOOD {
        if reached(Probe::Ptrace.call()) || reached(Probe::Bpf.call()) {
            return Ok(Outcome::Succeeded(format!("call {round} reached the kernel")));
        }
    }
    Ok(Outcome::Failed(format!("{FLOOD} calls, each refused")))
}

fn flood_from_threads() -> Result<Outcome, Refused> {
    let through = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..FLOOD / THREADS {
                    if reached(Probe::Ptrace.call()) {
                        through.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match through.load(Ordering::Relaxed) {
        true => Ok(Outcome::Succeeded("a call reached the kernel".to_owned())),
        false => Ok(Outcome::Failed("each call was refused".to_owned())),
    }
}

/// A second listener is refused where there is one; where there is none, the strictest of all
/// filters still decides, so a call that was refused before stays so.
fn answer_own_calls(_scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let listener = raw::own_listener();
    let call = Probe::Ptrace.call();
    match (listener, reached(call)) {
        (_, true) => Ok(Outcome::Succeeded("a call reached the kernel".to_owned())),
        (Ok(_), false) => Ok(Outcome::Failed("listens, and the call was refused".to_owned())),
        (Err(errno), false) => Err(errno.into()),
    }
}

const FLOOD: u32 = 2000;
const THREADS: u32 = 8;
