//! Control groups of version 1: a hierarchy for each controller, and a group for the cage in each of
//! those that it needs.
//!
//! No process can be started in such a group, so the cage's first process is moved there while it
//! waits behind the gate and has no children. There is no kill of a whole group either; the cage's
//! processes have a process id namespace of their own, which ends with its first process.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::announcement::Announcement;
use crate::backend::Obstacle;
use crate::directory::{Directory, PROCESSES, Version};
use crate::hierarchy::{Absent, Hierarchies, Place};
use crate::numbers::{Limit, Numbers, PERIOD, shares_of_weight};
use crate::usage::{counter, number};
use crate::{LimitsError, Usage};

/// The groups that this process is in, as far as it may make others below them.
#[derive(Debug, Default)]
pub(crate) struct Base {
    usable: Vec<(Vec<Limit>, Arc<Directory>)>,
    obstacles: Vec<(Limit, Obstacle)>,
    /// Groups in which this caller may not make others.
    foreign: Vec<(Limit, Place, Errno)>,
}

impl Base {
    /// Looks at the hierarchies of this machine.
    pub(crate) fn find(hierarchies: &Hierarchies) -> Self {
        let mut base = Self::default();
        for limit in Limit::ALL {
            match hierarchies.version_one(limit.controller()) {
                Ok(place) => base.consider(limit, &place),
                Err(absent) => base.obstacles.push((limit, absence(limit, absent))),
            }
        }
        base.tell_how_to_delegate();
        base
    }

    /// One command for all groups that are not this caller's.
    fn tell_how_to_delegate(&mut self) {
        let paths: Vec<String> =
            self.foreign.iter().map(|(_, place, _)| place.path().display().to_string()).collect();
        let fix = delegation(&paths.join(" "));
        for (limit, place, errno) in std::mem::take(&mut self.foreign) {
            let (path, error) = (place.path(), std::io::Error::from(errno));
            let why = format!("`{}` may not be written: {error}", path.display());
            self.obstacles.push((limit, Obstacle { why, fix: fix.clone() }));
        }
    }

    fn consider(&mut self, limit: Limit, place: &Place) {
        // Controllers may share a hierarchy.
        let path = place.path();
        if let Some((limits, _)) = self.usable.iter_mut().find(|(_, known)| known.path() == path) {
            return limits.push(limit);
        }
        match Directory::open(place, Version::One) {
            Ok(directory) => match directory.may_make() {
                Ok(()) => self.usable.push((vec![limit], Arc::new(directory))),
                Err(errno) => self.foreign.push((limit, place.clone(), errno)),
            },
            Err(error) => {
                let fix = Obstacle::ELSEWHERE.to_owned();
                self.obstacles.push((limit, Obstacle { why: error.to_string(), fix }));
            }
        }
    }

    pub(crate) fn holds(&self) -> Vec<Limit> {
        let mut held: Vec<Limit> =
            self.usable.iter().flat_map(|(limits, _)| limits.iter().copied()).collect();
        held.sort_unstable();
        held
    }

    pub(crate) fn obstacles(&self) -> &[(Limit, Obstacle)] {
        &self.obstacles
    }

    /// The directories in which groups are made.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Directory> {
        self.usable.iter().map(|(_, directory)| directory.as_ref())
    }

    /// Makes a group in each hierarchy that these limits need, or none at all.
    pub(crate) fn prepare(&self, numbers: &Numbers, name: &str) -> Result<Group, LimitsError> {
        let mut group = Group { name: name.to_owned(), members: Vec::new(), announcement: None };
        let wanted = numbers.limits();
        for (limits, below) in &self.usable {
            let needed: Vec<Limit> =
                limits.iter().copied().filter(|limit| wanted.contains(limit)).collect();
            if needed.is_empty() {
                continue;
            }
            let own = below.make(name)?;
            // What was made before a failure goes with `group`.
            group.members.push(Member { limits: needed.clone(), below: Arc::clone(below) });
            needed.iter().try_for_each(|limit| set(&own, *limit, numbers))?;
            if needed.contains(&Limit::Memory) {
                let requested = Announcement::request(&own);
                let failed = |errno| LimitsError::kernel("watch", own.path(), errno);
                group.announcement = Some(requested.map_err(failed)?);
            }
        }
        Ok(group)
    }
}

/// The groups of one cage. Dropping it removes them if they are empty.
#[derive(Debug)]
pub(crate) struct Group {
    name: String,
    members: Vec<Member>,
    announcement: Option<Announcement>,
}

/// A group in one hierarchy. It is opened when it is needed: a supervisor of many cages would have
/// its descriptors used up otherwise.
#[derive(Debug)]
struct Member {
    limits: Vec<Limit>,
    below: Arc<Directory>,
}

impl Group {
    pub(crate) fn adopt(&self, pid: Pid) -> Result<(), LimitsError> {
        let number = pid.as_raw_nonzero();
        self.members
            .iter()
            .try_for_each(|member| member.below.child(&self.name)?.write(PROCESSES, number))
    }

    pub(crate) fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.announcement.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for Member { limits, below } in &self.members {
            let own = below.child(&self.name);
            let text = |file: &str| {
                let text = own.as_ref().ok().and_then(|own| own.read(file).ok());
                text.unwrap_or_default()
            };
            for limit in limits {
                match limit {
                    Limit::Memory => self.read_memory(&text, &mut usage),
                    Limit::Pids => {
                        let refused = counter(&text("pids.events"), "max");
                        usage.pids_refused = refused.unwrap_or_default();
                    }
                    Limit::Cpu => {
                        let stat = text("cpu.stat");
                        let nanoseconds = counter(&stat, "throttled_time").unwrap_or_default();
                        usage.throttled = Duration::from_nanos(nanoseconds);
                        usage.cpu = number(&text("cpuacct.usage")).map(Duration::from_nanos);
                    }
                }
            }
        }
        usage
    }

    fn read_memory(&self, text: &dyn Fn(&str) -> String, usage: &mut Usage) {
        // Announced means that the kernel is choosing a process to kill; the counter follows.
        let announced = self.announcement.as_ref().map_or(0, Announcement::heard).min(1);
        let killed = counter(&text("memory.oom_control"), "oom_kill").unwrap_or_default();
        usage.oom_kills = killed.max(announced);
        usage.memory_peak = number(&text("memory.max_usage_in_bytes"));
        usage.memory_limit = number(&text("memory.limit_in_bytes"));
        let refused = |file: &str| number(&text(file)).is_some_and(|count| count > 0);
        // Newer kernels no longer count refusals, so the highest mark has to tell.
        usage.memory_limit_met = refused("memory.failcnt")
            || refused("memory.memsw.failcnt")
            || reaches(usage.memory_peak, usage.memory_limit);
    }

    pub(crate) fn kill(&self, deadline: Instant) -> Result<(), LimitsError> {
        self.members
            .iter()
            .try_for_each(|member| member.below.child(&self.name)?.kill_each(deadline))
    }

    pub(crate) fn remove(&mut self, deadline: Instant) -> Result<(), LimitsError> {
        while let Some(member) = self.members.last() {
            member.below.remove_when_empty(&self.name, deadline)?;
            self.members.pop();
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for member in &self.members {
            // One that is still in use is left to whoever sweeps.
            let _left = member.below.remove(&self.name);
        }
    }
}

/// Whether the most that was used is as close to the limit as the kernel's portions allow.
fn reaches(peak: Option<u64>, limit: Option<u64>) -> bool {
    match (peak, limit) {
        (Some(peak), Some(limit)) => peak >= limit.saturating_sub(PORTION),
        _ => false,
    }
}

fn set(own: &Directory, limit: Limit, numbers: &Numbers) -> Result<(), LimitsError> {
    match limit {
        Limit::Memory => numbers.memory.map_or(Ok(()), |bytes| set_memory(own, bytes)),
        Limit::Pids => numbers.pids.map_or(Ok(()), |pids| own.write("pids.max", pids)),
        Limit::Cpu => set_cpu(own, numbers),
    }
}

/// Memory that the kernel itself uses for the cage counts as the cage's. Only the buffers of TCP
/// sockets have an account of their own, which gets the same limit.
fn set_memory(own: &Directory, bytes: u64) -> Result<(), LimitsError> {
    own.write("memory.limit_in_bytes", bytes)?;
    // Never written to swap, so that it can neither be a way around the limit nor reach a disk.
    own.write("memory.swappiness", 0)?;
    for file in ["memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"] {
        match own.try_write(file, bytes) {
            // A kernel that does not account for swap, or for sockets, has no such file.
            Ok(()) | Err(Errno::NOENT | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(LimitsError::kernel("set", &own.path().join(file), errno)),
        }
    }
    Ok(())
}

fn set_cpu(own: &Directory, numbers: &Numbers) -> Result<(), LimitsError> {
    if let Some(weight) = numbers.weight {
        own.write("cpu.shares", shares_of_weight(weight))?;
    }
    if let Some(quota) = numbers.quota {
        own.write("cpu.cfs_period_us", PERIOD)?;
        own.write("cpu.cfs_quota_us", quota)?;
    }
    Ok(())
}

fn absence(limit: Limit, absent: Absent) -> Obstacle {
    let controller = limit.controller();
    let (why, fix) = match absent {
        Absent::Unknown => (
            format!("this kernel has no `{controller}` controller of version 1"),
            Obstacle::ELSEWHERE.to_owned(),
        ),
        Absent::NotMounted => (
            format!(
                "the hierarchy of the `{controller}` controller is not mounted where this process is in it"
            ),
            format!(
                "sudo mkdir -p /sys/fs/cgroup/{controller} && \
                 sudo mount -t cgroup -o {controller} cgroup /sys/fs/cgroup/{controller}"
            ),
        ),
    };
    Obstacle { why, fix }
}

/// The shell that the command is given to goes on in the new groups.
fn delegation(paths: &str) -> String {
    let user = rustix::process::geteuid().as_raw();
    format!(
        "sudo sh -c 'for d in {paths}; do mkdir -p $d/user-{user} && \
         chown -R {user} $d/user-{user} && echo '$$' > $d/user-{user}/{PROCESSES}; done'"
    )
}

/// The kernel charges up to 64 pages at once.
const PORTION: u64 = 64 * 4096;
