//! What the host sees of an attack: changed bait, marks on its listeners, signals at the victim.
//! Looks; never repairs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::build::PRISTINE;
use super::{Arena, HostArena, LEDGER_BYTES, Victim};
use crate::attack::Attack;
use crate::processes::{EFFECTS, Effect};

/// How a path was.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Absent,
    Link(PathBuf),
    File { mode: u32, contents: Vec<u8> },
    Other,
}

/// How things were before the attacks.
#[derive(Debug)]
pub(super) struct Before {
    guards: BTreeMap<Vec<u8>, State>,
    outside: Vec<std::ffi::OsString>,
    limits: String,
    nice: Option<i32>,
    processors: String,
}

/// Marks that arrived at the host.
#[derive(Debug, Default)]
pub(super) struct Seen {
    marks: Vec<(&'static str, String)>,
}

impl Before {
    pub(super) fn of(arena: &Arena) -> Self {
        let guards = crate::all().flat_map(|attack| attack.guards.iter());
        Self {
            guards: guards.map(|path| (path.to_vec(), state_of(&arena.project, path))).collect(),
            outside: names_in(&arena.outside),
            limits: limits_of(arena.victim),
            nice: nice_of(arena.victim),
            processors: status_line(arena.victim, "Cpus_allowed_list:"),
        }
    }
}

impl HostArena {
    /// Takes in what has arrived since the last look.
    pub fn collect(&mut self) {
        for (place, listener) in &self.listeners {
            while let Ok((mut stream, _)) = listener.accept() {
                let mut mark = String::new();
                // What the other side sent before it ended; nothing is sent after.
                let _quiet = stream.set_nonblocking(true);
                let _partly = stream.read_to_string(&mut mark);
                self.seen.marks.push((place, mark));
            }
        }
        let mut buffer = [0_u8; 512];
        while let Ok(length) = self.datagrams.recv(&mut buffer) {
            self.seen.marks.push(("abstract datagram socket", text(&buffer, length)));
        }
        while let Ok(length @ 1..) = rustix::io::read(&self.fifo, &mut buffer) {
            self.seen.marks.push(("named pipe", text(&buffer, length)));
        }
    }

    /// What the host saw of this attack.
    pub fn harm_by(&self, attack: &Attack) -> Option<String> {
        let name = attack.name;
        self.mark_of(name)
            .or_else(|| self.changed_target(name))
            .or_else(|| {
                let bait = self.arena.project.join("readonly/files").join(name);
                changed(&bait).then(|| format!("`{}` was changed", bait.display()))
            })
            .or_else(|| {
                let beside = self.arena.home.join(name);
                beside.exists().then(|| format!("`{}` appeared", beside.display()))
            })
            .or_else(|| self.changed_guard(attack))
            .or_else(|| self.effect_on_victim(name))
    }

    /// The mark of an attack at a listener or in the victim's memory.
    pub fn mark_of(&self, name: &str) -> Option<String> {
        let mark = format!("{name};");
        let seen = self.seen.marks.iter().find(|(_, text)| text.contains(&mark));
        if let Some((place, _)) = seen {
            return Some(format!("its mark arrived at the {place}"));
        }
        let ledger = read_ledger(self.arena.victim).unwrap_or_default();
        let found = ledger.windows(mark.len()).any(|window| window == mark.as_bytes());
        found.then(|| "its mark is in the victim's memory".to_owned())
    }

    /// The file outside that belongs to an attack, if it is not as it was.
    pub fn changed_target(&self, name: &str) -> Option<String> {
        let target = self.arena.outside.join("targets").join(name);
        changed(&target).then(|| format!("`{}` was changed", target.display()))
    }

    /// Harm that no single attack accounts for.
    pub fn unexplained_harm(&mut self) -> Vec<String> {
        let mut harm = Vec::new();
        if let Ok(Some(status)) = self.victim.try_wait() {
            harm.push(format!("the victim ended: {status}"));
        }
        for name in names_in(&self.arena.outside) {
            if !self.before.outside.contains(&name) {
                harm.push(format!("`{}` appeared outside", name.display()));
            }
        }
        let planted = self.arena.outside.join("planted/tasks.json");
        if changed(&planted) {
            harm.push(format!("`{}` was changed or moved", planted.display()));
        }
        harm
    }

    fn changed_guard(&self, attack: &Attack) -> Option<String> {
        let altered = attack.guards.iter().find(|path| {
            self.before.guards.get(**path) != Some(&state_of(&self.arena.project, path))
        })?;
        Some(format!("`{}` is not as it was", altered.escape_ascii()))
    }

    fn effect_on_victim(&self, name: &str) -> Option<String> {
        let (_, effect) = EFFECTS.iter().find(|(attack, _)| *attack == name)?;
        let victim = self.arena.victim;
        match effect {
            Effect::Signal(signal) => {
                signal_arrived(victim, *signal).then(|| format!("the victim got signal {signal}"))
            }
            Effect::Limits => (limits_of(victim) != self.before.limits)
                .then(|| "the victim's limits were changed".to_owned()),
            Effect::Nice => (nice_of(victim) != self.before.nice)
                .then(|| "the victim's priority was changed".to_owned()),
            Effect::Processors => (status_line(victim, "Cpus_allowed_list:")
                != self.before.processors)
                .then(|| "the victim's processors were changed".to_owned()),
        }
    }
}

/// Whether a signal waits at a process that keeps all of them pending.
pub(crate) fn signal_arrived(victim: Victim, signal: i32) -> bool {
    ["SigPnd:", "ShdPnd:"].iter().any(|line| {
        let pending = u64::from_str_radix(status_line(victim, line).trim(), 16).unwrap_or(0);
        let bit = u32::try_from(signal).ok().and_then(|number| 1_u64.checked_shl(number - 1));
        bit.is_some_and(|bit| pending & bit != 0)
    })
}

fn status_line(victim: Victim, label: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", victim.pid)).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default().to_owned()
}

fn limits_of(victim: Victim) -> String {
    fs::read_to_string(format!("/proc/{}/limits", victim.pid)).unwrap_or_default()
}

fn nice_of(victim: Victim) -> Option<i32> {
    let pid = i32::try_from(victim.pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::getpriority_process(pid).ok()
}

fn read_ledger(victim: Victim) -> std::io::Result<Vec<u8>> {
    let mut ledger = vec![0; LEDGER_BYTES];
    let memory = fs::File::open(format!("/proc/{}/mem", victim.pid))?;
    memory.read_exact_at(&mut ledger, victim.ledger_address)?;
    Ok(ledger)
}

/// Whether bait is not as it was laid out.
fn changed(bait: &Path) -> bool {
    let same_mode =
        |metadata: fs::Metadata| metadata.is_file() && metadata.len() == PRISTINE.len() as u64;
    let intact = fs::symlink_metadata(bait).is_ok_and(same_mode)
        && fs::read(bait).is_ok_and(|contents| contents == PRISTINE.as_bytes())
        && fs::metadata(bait).is_ok_and(|metadata| metadata.permissions().mode() & 0o7111 == 0);
    !intact
}

fn state_of(project: &Path, path: &[u8]) -> State {
    let path = project.join(OsStr::from_bytes(path));
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        return State::Absent;
    };
    if metadata.is_symlink() {
        return State::Link(fs::read_link(&path).unwrap_or_default());
    }
    match (metadata.is_file(), fs::read(&path)) {
        (true, Ok(contents)) => State::File { mode: metadata.permissions().mode(), contents },
        _ => State::Other,
    }
}

fn names_in(directory: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

fn text(buffer: &[u8], length: usize) -> String {
    String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned()
}
