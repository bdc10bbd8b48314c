//! What a supervisor that was killed has left behind: its groups say by their names who made them.
//!
//! Only a group with a name of ours whose maker is gone is touched. One with a process that this
//! process cannot see, because it runs in another process id namespace, is left alone: so may be its
//! maker.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::LimitsError;
use crate::directory::{Directory, PROCESSES};
use crate::name::GroupName;

/// Something that was left behind.
#[derive(Debug)]
pub struct Swept {
    /// The cage for which it was made.
    pub invocation: String,
    /// The process that made it.
    pub supervisor: u32,
    /// Where it is or was.
    pub path: PathBuf,
    /// How many processes were still in it and were killed.
    pub killed: usize,
    /// Why it is still there; none if it is not.
    pub left: Option<LimitsError>,
}

/// Sweeps what is right below a group.
pub(crate) fn sweep(base: &Directory) -> Vec<Swept> {
    let names = base.children().unwrap_or_default();
    let names = names.iter().filter_map(|name| GroupName::parse(name));
    names.filter(GroupName::is_abandoned).filter_map(|name| sweep_one(base, name)).collect()
}

fn sweep_one(base: &Directory, name: GroupName) -> Option<Swept> {
    let deadline = Instant::now() + LONGEST;
    let own = base.child(&name.to_string()).ok()?;
    let listed = own.read(PROCESSES).unwrap_or_default();
    if listed.lines().any(|line| line.trim() == "0") {
        return None;
    }
    let killed = listed.lines().count();
    let removed =
        own.kill_each(deadline).and_then(|()| base.remove_when_empty(&name.to_string(), deadline));
    Some(Swept {
        invocation: name.invocation,
        supervisor: name.supervisor,
        path: own.path().to_owned(),
        killed,
        left: removed.err(),
    })
}

/// How long one group may take.
const LONGEST: Duration = Duration::from_secs(2);
