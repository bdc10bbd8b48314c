//! The last look before the program starts: the mount table and the view must be what the Plan
//! says, entry by entry. Done on every start; any difference ends it.
//!
//! The view is looked at by pid 1 inside the finished cage. The mount table is compared by whoever
//! opens the gate: it knows the Plan and not what pid 1 made of it, and pid 1 goes on meanwhile.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::os::fd::{BorrowedFd, OwnedFd};

use plan::{GuestPath, MountOp, Plan};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::error::NOT_MOUNTED;
use crate::{SetupFailure, Step, attributes};

/// Looks for what must be in the cage and for what must not be. Mounts that every cage of the Plan
/// has are left to the mount table.
pub(crate) fn verify_view(plan: &Plan) -> Result<(), SetupFailure> {
    let certain =
        plan.walls.mounts.iter().filter(|operation| presence(operation) == Presence::Certain);
    let mut mounted: HashSet<&[u8]> = HashSet::with_capacity(plan.walls.mounts.len());
    mounted.extend(certain.map(|operation| operation.at().as_bytes()));
    for path in &plan.walls.must_exist {
        if !mounted.contains(path.as_bytes()) && !exists(path)? {
            return Err(difference(path, "the plan has it and the cage does not"));
        }
    }
    for path in &plan.walls.must_not_exist {
        if exists(path)? {
            return Err(difference(path, "it must not exist in the cage, and does"));
        }
    }
    Ok(())
}

/// Opens the mount table of this process's namespace, as seen from its root.
pub(crate) fn open_mount_table() -> Result<OwnedFd, SetupFailure> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, c"/proc/self/mountinfo", flags, Mode::empty())
        .map_err(table_cannot_be_read)
}

/// The mounts of a Plan in its order, the root included.
#[derive(Debug)]
pub(crate) struct PlannedMounts(Vec<PlannedMount>);

/// A mount that a cage should have.
#[derive(Debug)]
struct PlannedMount {
    /// Where.
    at: GuestPath,
    /// What its options must say.
    attributes: u64,
    /// Whether the host's own mounts may lie below it.
    brings_submounts: bool,
    kind: Kind,
    presence: Presence,
}

/// What a mount's file system must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Told by what made it.
    Any,
    /// Overlayfs that trusts no note of a user.
    Overlay,
    /// FUSE that holds programs to modes and owners.
    Served,
}

/// Whether a cage of the Plan has a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Every one.
    Certain,
    /// One whose kernel has something there to be covered.
    Possible,
    /// None: the operation is no mount.
    Never,
}

fn kind(operation: &MountOp) -> Kind {
    match (operation.overlay(), operation.served()) {
        (Some(_), _) => Kind::Overlay,
        (_, Some(_)) => Kind::Served,
        _ => Kind::Any,
    }
}

fn presence(operation: &MountOp) -> Presence {
    match (operation.is_mount(), operation.is_optional()) {
        (false, _) => Presence::Never,
        (true, true) => Presence::Possible,
        (true, false) => Presence::Certain,
    }
}

impl PlannedMounts {
    pub(crate) fn of(plan: &Plan) -> Self {
        let root = PlannedMount {
            at: GuestPath::root(),
            attributes: attributes::ROOT_ATTRIBUTES,
            brings_submounts: false,
            kind: Kind::Any,
            presence: Presence::Certain,
        };
        let planned = plan.walls.mounts.iter().map(|operation| PlannedMount {
            at: operation.at().clone(),
            attributes: attributes::attributes(operation),
            brings_submounts: operation.bind().is_some(),
            kind: kind(operation),
            presence: presence(operation),
        });
        let mounts = planned.filter(|mount| mount.presence != Presence::Never);
        Self(std::iter::once(root).chain(mounts).collect())
    }

    /// Compares them with an opened mount table.
    pub(crate) fn compare_with(&self, table: BorrowedFd<'_>) -> Result<(), SetupFailure> {
        // Of several mounts at one place the lowest comes first, in the Plan and in the table.
        let mut expected: BTreeMap<&[u8], VecDeque<&PlannedMount>> = BTreeMap::new();
        for mount in &self.0 {
            expected.entry(mount.at.as_bytes()).or_default().push_back(mount);
        }
        let table = read_table(table)?;
        for line in table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let entry = Entry::parse(line).ok_or_else(|| {
                let detail = format!("cannot read `{}`", String::from_utf8_lossy(line));
                SetupFailure::found(Step::Verify, "the mount table", detail)
            })?;
            match expected.get_mut(&*entry.at).and_then(VecDeque::pop_front) {
                Some(mount) => {
                    entry.check(mount.attributes)?;
                    entry.check_kind(mount.kind)?;
                }
                None => entry.check_submount(&self.0)?,
            }
        }
        let mut left = expected.into_values().flatten();
        match left.find(|mount| mount.presence == Presence::Certain) {
            None => Ok(()),
            Some(mount) => Err(difference(&mount.at, NOT_MOUNTED)),
        }
    }
}

/// One line of `/proc/self/mountinfo`.
struct Entry<'a> {
    at: Cow<'a, [u8]>,
    options: &'a [u8],
    /// The type of its file system, and the options that hold for all of it.
    file_system: &'a [u8],
    all_options: &'a [u8],
}

impl<'a> Entry<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let at = unescape(fields.nth(4)?);
        let options = fields.next()?;
        // Fields that not every mount has end with a `-` (proc_pid_mountinfo(5)).
        let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
        let file_system = rest.next()?;
        let all_options = rest.nth(1)?;
        Some(Self { at, options, file_system, all_options })
    }

    fn check_kind(&self, kind: Kind) -> Result<(), SetupFailure> {
        let has =
            |name: &[u8]| self.all_options.split(|byte| *byte == b',').any(|word| word == name);
        if kind == Kind::Any {
            return Ok(());
        }
        if kind == Kind::Served {
            let kind = [b"fuse.", crate::tree::SERVED_BY.as_bytes()].concat();
            // Without the second the kernel would leave modes and owners to whoever serves.
            return match self.file_system == kind && has(b"default_permissions") {
                true => Ok(()),
                false => Err(self.differs("it is not the served mount that was granted")),
            };
        }
        if self.file_system != b"overlay" || !has(b"userxattr") {
            return Err(self.differs("it is not the view with a layer that was granted"));
        }
        // What overlayfs makes of one whose directory it cannot use, and says to nobody.
        if !has(b"rw") {
            return Err(self.differs("the kernel cannot write to its layer, and made it read-only"));
        }
        Ok(())
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
    fn check_submount(&self, mounted: &[PlannedMount]) -> Result<(), SetupFailure> {
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

fn read_table(table: BorrowedFd<'_>) -> Result<Vec<u8>, SetupFailure> {
    let mut text = Vec::new();
    loop {
        text.reserve(TABLE_CHUNK);
        match rustix::io::read(table, rustix::buffer::spare_capacity(&mut text)) {
            Ok(0) => return Ok(text),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(table_cannot_be_read(errno)),
        }
    }
}

fn table_cannot_be_read(errno: Errno) -> SetupFailure {
    SetupFailure::kernel(Step::Verify, "the mount table", errno)
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
