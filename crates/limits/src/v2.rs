//! Control groups of version 2: one hierarchy, in which the cage starts (clone3(2),
//! `CLONE_INTO_CGROUP`) and can be killed as a whole.
//!
//! A group whose controllers are handed on to groups below it must not have processes itself. If
//! only this process and those that it has started are in the way, they move to a group of their
//! own, [`SUPERVISOR`]; what anybody else has started stays where it is.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::ancestry::descends_from_this_process;
use crate::backend::Obstacle;
use crate::directory::{Directory, PROCESSES, Version};
use crate::hierarchy::{Hierarchies, Place};
use crate::numbers::{Limit, Numbers, PERIOD};
use crate::usage::{counter, number};
use crate::watch::Watch;
use crate::{LimitsError, Usage};

#[cfg(test)]
mod tests;

/// The group below which this process may make others.
#[derive(Debug)]
pub(crate) struct Base {
    directory: Arc<Directory>,
    held: Vec<Limit>,
    obstacles: Vec<(Limit, Obstacle)>,
}

impl Base {
    /// Looks at the hierarchy; none if there is none with a controller that matters.
    pub(crate) fn find(hierarchies: &Hierarchies) -> Option<Self> {
        let place = base_place(hierarchies.version_two().ok()?);
        let directory = Directory::open(&place, Version::Two).ok()?;
        let has_any = |file: &str| {
            let words = directory.read(file).unwrap_or_default();
            Limit::ALL.into_iter().any(|limit| has_word(&words, limit.controller()))
        };
        if !has_any(CONTROLLERS) {
            return None;
        }
        let directory = Arc::new(directory);
        let mut base = Self { directory, held: Vec::new(), obstacles: Vec::new() };
        base.examine();
        Some(base)
    }

    /// Whether systemd has marked the group as this caller's to divide (`Delegate=`).
    pub(crate) fn is_delegated(&self) -> bool {
        ["user.delegate", "trusted.delegate"].into_iter().any(|name| {
            let mut value = [0_u8; 2];
            rustix::fs::fgetxattr(&self.directory, name, &mut value) == Ok(1) && value == [b'1', 0]
        })
    }

    fn examine(&mut self) {
        let available = self.directory.read(CONTROLLERS).unwrap_or_default();
        let handed_on = self.directory.read(HANDED_ON).unwrap_or_default();
        let obstacle = self.obstacle();
        let crowded = self.crowd();
        for limit in Limit::ALL {
            let controller = limit.controller();
            let in_the_way = if !has_word(&available, controller) {
                Some(self.not_handed_down(controller))
            } else if has_word(&handed_on, controller) {
                obstacle.clone()
            } else {
                obstacle.clone().or_else(|| crowded.clone())
            };
            match in_the_way {
                Some(obstacle) => self.obstacles.push((limit, obstacle)),
                None => self.held.push(limit),
            }
        }
    }

    /// Whether this caller may make groups and hand controllers on to them.
    fn obstacle(&self) -> Option<Obstacle> {
        let checked = self.directory.may_make().and_then(|()| {
            [PROCESSES, HANDED_ON].into_iter().try_for_each(|file| self.directory.may_write(file))
        });
        let errno = checked.err()?;
        let path = self.directory.path().display();
        let why = format!(
            "the control group `{path}` is not delegated to this user: {}",
            std::io::Error::from(errno)
        );
        Some(Obstacle { why, fix: delegation(&path.to_string()) })
    }

    /// Whether processes that are not ours are in the way of handing controllers on.
    fn crowd(&self) -> Option<Obstacle> {
        if self.directory.read("cgroup.type").is_err() {
            // The root of all groups may have processes.
            return None;
        }
        let inside = self.directory.read(PROCESSES).ok()?;
        // One in another process id namespace is told as 0, and is none of ours.
        let pid = |line: &str| Pid::from_raw(line.trim().parse().ok()?);
        let is_other = |line: &&str| pid(line).is_none_or(|pid| !descends_from_this_process(pid));
        let others = inside.lines().filter(is_other).count();
        if others == 0 {
            return None;
        }
        let path = self.directory.path().display();
        Some(Obstacle {
            why: format!(
                "the control group `{path}` has {others} other processes, so its controllers \
                 cannot be handed on"
            ),
            fix: format!(
                "sh -c 'mkdir -p {path}/{SUPERVISOR} && for p in $(cat {path}/{PROCESSES}); do \
                 echo $p > {path}/{SUPERVISOR}/{PROCESSES}; done'"
            ),
        })
    }

    fn not_handed_down(&self, controller: &str) -> Obstacle {
        let path = self.directory.path();
        let above = path.parent().unwrap_or(path).display();
        Obstacle {
            why: format!("the control group `{}` has no `{controller}` controller", path.display()),
            fix: format!("sudo sh -c 'echo +{controller} > {above}/{HANDED_ON}'"),
        }
    }

    pub(crate) fn holds(&self) -> &[Limit] {
        &self.held
    }

    pub(crate) fn obstacles(&self) -> &[(Limit, Obstacle)] {
        &self.obstacles
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Makes a group with these limits.
    pub(crate) fn prepare(&self, numbers: &Numbers, name: &str) -> Result<Group, LimitsError> {
        self.hand_on(&numbers.limits())?;
        let below = Arc::clone(&self.directory);
        let own = self.directory.make(name)?;
        // What was made before a failure goes with `group`.
        let mut group = Group { name: name.to_owned(), below, own, watch: None };
        set(&group.own, numbers)?;
        group.watch = Some(begin_to_watch(&group.own, numbers)?);
        Ok(group)
    }

    /// Hands controllers on to the groups below, unless they are already.
    fn hand_on(&self, limits: &[Limit]) -> Result<(), LimitsError> {
        let handed_on = self.directory.read(HANDED_ON).unwrap_or_default();
        let words: Vec<String> = limits
            .iter()
            .map(|limit| limit.controller())
            .filter(|controller| !has_word(&handed_on, controller))
            .map(|controller| format!("+{controller}"))
            .collect();
        if words.is_empty() {
            return Ok(());
        }
        match self.directory.try_write(HANDED_ON, words.join(" ")) {
            Err(Errno::BUSY) => {
                self.make_way()?;
                self.directory.write(HANDED_ON, words.join(" "))
            }
            Err(errno) => {
                let path = self.directory.path().join(HANDED_ON);
                Err(LimitsError::kernel("set", &path, errno))
            }
            Ok(()) => Ok(()),
        }
    }

    /// Moves this process and what it has started to a group of their own.
    fn make_way(&self) -> Result<(), LimitsError> {
        let leaf = match self.directory.make(SUPERVISOR) {
            Err(LimitsError::Kernel { errno: Errno::EXIST, .. }) => {
                self.directory.child(SUPERVISOR)?
            }
            made => made?,
        };
        let failed = |errno| LimitsError::kernel("read", self.directory.path(), errno);
        for pid in self.directory.processes().map_err(failed)? {
            if descends_from_this_process(pid) {
                match leaf.try_write(PROCESSES, pid.as_raw_nonzero()) {
                    // It has ended in between.
                    Ok(()) | Err(Errno::SRCH) => {}
                    Err(errno) => {
                        let path = leaf.path().join(PROCESSES);
                        return Err(LimitsError::kernel("set", &path, errno));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The group of one cage. Dropping it removes it if it is empty.
#[derive(Debug)]
pub(crate) struct Group {
    name: String,
    below: Arc<Directory>,
    own: Directory,
    watch: Option<Watch>,
}

impl Group {
    pub(crate) fn cgroup(&self) -> BorrowedFd<'_> {
        self.own.as_fd()
    }

    /// A process that started here need not be moved, which would hold up every fork of the machine.
    pub(crate) fn adopt(&self, pid: Pid) -> Result<(), LimitsError> {
        if self.own.processes().is_ok_and(|inside| inside.contains(&pid)) {
            return Ok(());
        }
        self.own.write(PROCESSES, pid.as_raw_nonzero())
    }

    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn usage(&self) -> Usage {
        read_usage(&self.own, self.watch.as_ref())
    }

    pub(crate) fn kill(&self, deadline: Instant) -> Result<(), LimitsError> {
        kill(&self.own, deadline)
    }

    pub(crate) fn remove(&mut self, deadline: Instant) -> Result<(), LimitsError> {
        self.below.remove_when_empty(&self.name, deadline)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that is still in use is left to whoever sweeps.
        let _left = self.below.remove(&self.name);
    }
}

/// The counters of a group.
pub(crate) fn read_usage(own: &Directory, watch: Option<&Watch>) -> Usage {
    let text = |file: &str| own.read(file).unwrap_or_default();
    let events =
        |file: &'static str| watch.and_then(|watch| watch.read(file)).unwrap_or_else(|| text(file));
    let (memory, stat) = (events(MEMORY_EVENTS), text("cpu.stat"));
    // Counted when the kernel begins to choose a process to kill; the other counter follows.
    let wanting = counter(&memory, "oom").unwrap_or_default();
    let microseconds = |word: &str| counter(&stat, word).map(Duration::from_micros);
    Usage {
        memory_peak: number(&text("memory.peak")),
        memory_limit: number(&text("memory.max")),
        memory_limit_met: wanting > 0,
        oom_kills: counter(&memory, "oom_kill").unwrap_or_default().max(wanting.min(1)),
        pids_refused: counter(&events(PIDS_EVENTS), "max").unwrap_or_default(),
        throttled: microseconds("throttled_usec").unwrap_or_default(),
        cpu: microseconds("usage_usec"),
    }
}

/// Kills everything in a group.
pub(crate) fn kill(own: &Directory, deadline: Instant) -> Result<(), LimitsError> {
    match own.try_write("cgroup.kill", 1) {
        // Gone with its last process.
        Ok(()) | Err(Errno::NODEV) => Ok(()),
        // Kernels before 5.14 do not have the file.
        Err(Errno::NOENT) => own.kill_each(deadline),
        Err(errno) => Err(LimitsError::kernel("set", &own.path().join("cgroup.kill"), errno)),
    }
}

/// Begins to watch the counters of a group.
pub(crate) fn begin_to_watch(own: &Directory, numbers: &Numbers) -> Result<Watch, LimitsError> {
    let failed = |errno| LimitsError::kernel("watch", own.path(), errno);
    let mut watch = Watch::new().map_err(failed)?;
    if numbers.memory.is_some() {
        watch.add_file(own, MEMORY_EVENTS).map_err(failed)?;
    }
    if numbers.pids.is_some() {
        watch.add_file(own, PIDS_EVENTS).map_err(failed)?;
    }
    Ok(watch)
}

fn set(own: &Directory, numbers: &Numbers) -> Result<(), LimitsError> {
    if let Some(bytes) = numbers.memory {
        own.write("memory.max", bytes)?;
        own.write("memory.oom.group", 1)?;
        match own.try_write("memory.swap.max", 0) {
            // A kernel without swap has no such file.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => {
                let path = own.path().join("memory.swap.max");
                return Err(LimitsError::kernel("set", &path, errno));
            }
        }
    }
    if let Some(pids) = numbers.pids {
        own.write("pids.max", pids)?;
    }
    if let Some(weight) = numbers.weight {
        own.write("cpu.weight", weight)?;
    }
    if let Some(quota) = numbers.quota {
        own.write("cpu.max", format!("{quota} {PERIOD}"))?;
    }
    Ok(())
}

/// A supervisor that has moved to its own leaf makes groups beside it.
fn base_place(mut place: Place) -> Place {
    if place.relative.file_name().is_some_and(|name| name == SUPERVISOR) {
        place.relative.pop();
    }
    place
}

fn delegation(path: &str) -> String {
    let user = rustix::process::geteuid().as_raw();
    format!(
        "sudo sh -c 'mkdir -p {path}/user-{user}/{SUPERVISOR} && \
         chown -R {user} {path}/user-{user} && echo '$$' > {path}/user-{user}/{SUPERVISOR}/{PROCESSES}'"
    )
}

/// Whether a list has a word.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.split_ascii_whitespace().any(|one| one == word)
}

/// The group to which a supervisor moves so that its own can hand controllers on.
pub(crate) const SUPERVISOR: &str = "supervisor";

const CONTROLLERS: &str = "cgroup.controllers";
const HANDED_ON: &str = "cgroup.subtree_control";
const MEMORY_EVENTS: &str = "memory.events";
const PIDS_EVENTS: &str = "pids.events";
