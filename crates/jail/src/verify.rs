//! The last look before the program starts: the mount table and the view must be what the Plan
//! says, entry by entry. Runs inside the finished cage on every start; any difference ends it.

use std::borrow::Cow;
use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};

use plan::{GuestPath, Plan};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::tree::Mounted;
use crate::{SetupFailure, Step};

/// Compares what is there with what was planned.
pub(crate) fn verify(plan: &Plan, mounted: &[Mounted]) -> Result<(), SetupFailure> {
    compare_mount_table(mounted)?;
    // What the mount table has is there; only the rest has to be looked for.
    let found: HashSet<&[u8]> = mounted.iter().map(|mount| mount.at.as_bytes()).collect();
    for path in &plan.must_exist {
        if !found.contains(path.as_bytes()) && !exists(path)? {
            return Err(difference(path, "the plan has it and the cage does not"));
        }
    }
    for path in &plan.must_not_exist {
        if exists(path)? {
            return Err(difference(path, "it must not exist in the cage, and does"));
        }
    }
    Ok(())
}

fn compare_mount_table(mounted: &[Mounted]) -> Result<(), SetupFailure> {
    let table = read_mount_table()?;
    let mut expected = Expected::new(mounted);
    for line in table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let entry = Entry::parse(line).ok_or_else(|| {
            let line = String::from_utf8_lossy(line).into_owned();
            SetupFailure::found(Step::Verify, "the mount table", format!("cannot read `{line}`"))
        })?;
        match expected.take(&entry.at) {
            Some(mount) => entry.check(mount.attributes)?,
            None => entry.check_submount(mounted)?,
        }
    }
    match expected.left() {
        None => Ok(()),
        Some(mount) => {
            let at = mount.at.to_string();
            Err(SetupFailure::found(Step::Verify, at, "it is not in the mount table"))
        }
    }
}

/// The mounts that have not been found in the table yet.
struct Expected<'a> {
    /// The first at each place.
    first: HashMap<&'a [u8], &'a Mounted>,
    /// What was mounted over another one, in order.
    stacked: Vec<&'a Mounted>,
}

impl<'a> Expected<'a> {
    fn new(mounted: &'a [Mounted]) -> Self {
        let mut first = HashMap::with_capacity(mounted.len());
        let mut stacked = Vec::new();
        for mount in mounted {
            match first.entry(mount.at.as_bytes()) {
                Slot::Vacant(slot) => {
                    slot.insert(mount);
                }
                Slot::Occupied(_) => stacked.push(mount),
            }
        }
        Self { first, stacked }
    }

    /// The lowest mount at a place, once.
    fn take(&mut self, at: &[u8]) -> Option<&'a Mounted> {
        self.first.remove(at).or_else(|| {
            let position = self.stacked.iter().position(|mount| mount.at.as_bytes() == at)?;
            Some(self.stacked.remove(position))
        })
    }

    fn left(&self) -> Option<&'a Mounted> {
        self.first.values().chain(&self.stacked).next().copied()
    }
}

/// One line of `/proc/self/mountinfo`.
struct Entry<'a> {
    at: Cow<'a, [u8]>,
    options: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let at = unescape(fields.nth(4)?);
        Some(Self { at, options: fields.next()? })
    }

    fn check(&self, attributes: u64) -> Result<(), SetupFailure> {
        let has = |name: &[u8]| self.options.split(|byte| *byte == b',').any(|word| word == name);
        for (attribute, name) in [
            (sys::mount::RDONLY, "ro"),
            (sys::mount::NOSUID, "nosuid"),
            (sys::mount::NODEV, "nodev"),
            (sys::mount::NOEXEC, "noexec"),
        ] {
            if attributes & attribute != 0 && !has(name.as_bytes()) {
                return Err(self.differs(&format!("it is not mounted {name}")));
            }
        }
        if attributes & sys::mount::RDONLY == 0 && !has(b"rw") {
            return Err(self.differs("it is mounted read-only and was granted for writing"));
        }
        Ok(())
    }

    /// A mount that the Plan does not name may only be one that came along with a grant, with
    /// every restriction of that grant.
    fn check_submount(&self, mounted: &[Mounted]) -> Result<(), SetupFailure> {
        let path = GuestPath::new(self.at.to_vec()).map_err(|_| self.differs("it is no path"))?;
        let carrier = mounted
            .iter()
            .filter(|mount| mount.brings_submounts && path != mount.at && path.is_within(&mount.at))
            .max_by_key(|mount| mount.at.as_bytes().len())
            .ok_or_else(|| self.differs("the plan does not have this mount"))?;
        let writable = sys::mount::RDONLY;
        if carrier.attributes & writable == 0 {
            // The host may have mounted it read-only itself; that is narrower than the grant.
            let restrictions = carrier.attributes & !writable;
            return self.check_restrictions(restrictions);
        }
        self.check(carrier.attributes)
    }

    fn check_restrictions(&self, restrictions: u64) -> Result<(), SetupFailure> {
        let read_only = self.options.split(|byte| *byte == b',').any(|word| word == b"ro");
        self.check(if read_only { restrictions | sys::mount::RDONLY } else { restrictions })
    }

    fn differs(&self, how: &str) -> SetupFailure {
        SetupFailure::found(Step::Verify, String::from_utf8_lossy(&self.at), how)
    }
}

/// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return Cow::Borrowed(field);
    }
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if let (b'\\', [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', after @ ..]) =
            (first, tail)
        {
            bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    Cow::Owned(bytes)
}

fn read_mount_table() -> Result<Vec<u8>, SetupFailure> {
    let read = || -> Result<Vec<u8>, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty())?;
        let mut table = Vec::with_capacity(TABLE_CHUNK);
        loop {
            table.reserve(TABLE_CHUNK);
            let read = rustix::io::read(&file, rustix::buffer::spare_capacity(&mut table))?;
            if read == 0 {
                return Ok(table);
            }
        }
    };
    read().map_err(|errno| SetupFailure::kernel(Step::Verify, "the mount table", errno))
}

fn exists(path: &GuestPath) -> Result<bool, SetupFailure> {
    match rustix::fs::statat(CWD, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        // A path below a directory that the cage may not search is as absent as it gets.
        Err(Errno::ACCESS) => Ok(false),
        Err(errno) => Err(SetupFailure::kernel(Step::Verify, path.to_string(), errno)),
    }
}

fn difference(path: &GuestPath, how: &str) -> SetupFailure {
    SetupFailure::found(Step::Verify, path.to_string(), how)
}

const TABLE_CHUNK: usize = 16 * 1024;

#[cfg(test)]
mod tests;
