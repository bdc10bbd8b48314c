//! The stage of twins that need namespaces: the caller as root of fresh user, mount, pid, network,
//! ipc and host name namespaces, with the project's rules as plain mounts. It is what a cage would
//! be with its mounts and none of its other layers, and nothing done in it reaches the host.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{Pid, WaitOptions, waitpid};
use sys::clone::{Forked, Namespaces, fork_into};

use super::{AttackReport, one};
use crate::files::restrictions_of;
use crate::processes::{KILL_EVERYTHING, SLOW_EVERYTHING};
use crate::{Arena, Attack, Outcome};

/// Runs the attack on a fresh stage. The child on the stage tells the outcome; this process has
/// one to tell only if there is no stage.
pub(super) fn run(attack: &'static Attack, arena: &Arena) -> Option<Outcome> {
    match raise(attack, arena) {
        Ok(()) => None,
        Err(error) => Some(Outcome::NotApplicable(format!("no namespaces here: {error}"))),
    }
}

fn raise(attack: &'static Attack, arena: &Arena) -> std::io::Result<()> {
    let (mut gate, opener) = std::io::pipe()?;
    let namespaces =
        [Namespaces::MOUNT, Namespaces::PID, Namespaces::NET, Namespaces::IPC, Namespaces::UTS]
            .into_iter()
            .fold(Namespaces::USER, Namespaces::and);
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match fork_into(namespaces, None)? {
        Forked::Parent { pid, pidfd: _ } => {
            let mapped = map_ids(pid, (0, uid), (0, gid));
            drop((gate, opener));
            waitpid(Some(pid), WaitOptions::empty())?;
            mapped
        }
        Forked::Child => {
            drop(opener);
            let mut byte = [0];
            let _closed = gate.read(&mut byte)?;
            let outcome = act(attack, arena).unwrap_or_else(|error| {
                Outcome::NotApplicable(format!("the stage cannot be set: {error}"))
            });
            let report = AttackReport { attack: attack.name.to_owned(), outcome };
            let mut stdout = std::io::stdout();
            writeln!(stdout, "{}", serde_json::to_string(&report)?)?;
            stdout.flush()?;
            std::process::exit(0)
        }
    }
}

/// Says who a child is in its new user namespace, and who that is outside.
pub(crate) fn map_ids(child: Pid, user: (u32, u32), group: (u32, u32)) -> std::io::Result<()> {
    let line = |(inside, outside): (u32, u32)| format!("{inside} {outside} 1");
    let child = child.as_raw_nonzero();
    std::fs::write(format!("/proc/{child}/setgroups"), "deny")?;
    std::fs::write(format!("/proc/{child}/uid_map"), line(user))?;
    std::fs::write(format!("/proc/{child}/gid_map"), line(group))
}

fn act(attack: &'static Attack, arena: &Arena) -> std::io::Result<Outcome> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    hang_rules(&arena.project)?;
    mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
    let reaches_everything =
        attack.name == KILL_EVERYTHING || SLOW_EVERYTHING.contains(&attack.name);
    if reaches_everything {
        let broken = |error| Outcome::Broken(format!("no victim on the stage: {error}"));
        return Ok(with_victim_on_stage(attack, arena).unwrap_or_else(broken));
    }
    Ok(one::run(attack, arena).unwrap_or(Outcome::Broken("nothing to tell".to_owned())))
}

/// The rules of the arena's cage, as whoever has only `mount` would write them.
fn hang_rules(project: &Path) -> std::io::Result<()> {
    let readonly = project.join("readonly");
    mount_bind_recursive(&readonly, &readonly)?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | restrictions_of(&readonly)?;
    mount_remount(&readonly, flags, "")?;
    mount("tmpfs", project.join("private"), "tmpfs", MountFlags::RDONLY, None)?;
    mount_bind_recursive("/dev/null", project.join("hidden.txt"))?;
    Ok(())
}

/// An attack on everything in reach gets a victim in its own reach, and never the host's.
fn with_victim_on_stage(attack: &'static Attack, arena: &Arena) -> std::io::Result<Outcome> {
    let place = arena.project.join("work/stages").join(attack.name);
    std::fs::create_dir_all(&place)?;
    std::fs::write(place.join("secret"), "nothing")?;
    let mut child = Command::new(Arena::attacker(&arena.project))
        // From there, because the path of a socket has to be short.
        .args(["__attack", "victim", "."])
        .current_dir(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(stdin) = child.stdin.as_mut() {
        stdin.write_all(b"nothing\n")?;
    }
    let mut line = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line)?;
    }
    let victim: crate::arena::Victim = serde_json::from_str(&line)?;
    let arena = Arena { victim, overseer: victim.pid, ..arena.clone() };
    let outcome = one::run(attack, &arena);
    let harmed = crate::arena::signal_arrived(victim, libc::SIGURG);
    child.kill()?;
    child.wait()?;
    Ok(match outcome {
        Some(_) if harmed => Outcome::Succeeded("the victim on the stage was hit".to_owned()),
        Some(outcome) => outcome,
        None => Outcome::Broken("nothing to tell".to_owned()),
    })
}
