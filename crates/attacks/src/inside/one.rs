//! Runs one attack in this process. Whatever the attack does to the process, nothing else suffers.

use rustix::io::Errno;
use sys::raw::Probe;

use crate::attack::{Refused, Scene, Tries};
use crate::{Arena, Attack, Outcome};

/// Runs the attack here.
pub(super) fn run(attack: &'static Attack, arena: &Arena) -> Option<Outcome> {
    Some(match attack.tries {
        Tries::Function(function) => match function(&Scene::new(arena, attack)) {
            Ok(outcome) => outcome,
            Err(Refused(how)) => Outcome::Failed(how),
        },
        Tries::Call(probe) => call(probe),
    })
}

/// A filter answers EPERM, ENOSYS or a deadly signal; any other answer comes from the kernel's own
/// code.
fn call(probe: Probe) -> Outcome {
    let name = probe.call_name();
    match probe.call() {
        Ok(_) => Outcome::Succeeded(format!("{name} was carried out")),
        Err(errno @ (Errno::PERM | Errno::NOSYS)) => {
            let Refused(word) = errno.into();
            Outcome::Failed(format!("{name}: {word}"))
        }
        Err(errno) => {
            let Refused(word) = errno.into();
            Outcome::Succeeded(format!("{name} reached the kernel: {word}"))
        }
    }
}

/// Who this process is to the kernel: what a set-user-id program would change.
pub(super) fn identity() -> String {
    format!(
        "euid={} egid={}",
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw()
    )
}
