//! Where a name leads in this cage, and what the Plan has there: whether a write had to fail because of it, and
//! whether a look-up ended in something that the cage has for itself, so that the host may have what it has
//! not. Never looks at the host, of which this process sees no more than the program.

use std::os::fd::AsRawFd as _;

use plan::seccomp::Watch;
use plan::{Access, BindPurpose, GuestPath, MountOp, TmpfsPurpose};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::names::{Deed, Named};
use crate::control::Observation;

/// What the Plan has where.
pub(super) struct Places {
    mounts: Vec<MountOp>,
    watch: Watch,
}

/// Where a name leads.
struct Leads {
    /// What is there, or the last directory on the way that is.
    existing: GuestPath,
    kind: FileType,
    /// What is written behind it.
    missing: Vec<u8>,
}

impl Places {
    pub(super) fn new(mounts: &[MountOp], watch: Watch) -> Self {
        let mounts = mounts.iter().filter(|operation| operation.is_mount()).cloned().collect();
        Self { mounts, watch }
    }

    /// What is worth a note about a name, with the path that it really means.
    pub(super) fn judge(&self, named: &Named) -> Option<(Observation, GuestPath)> {
        if OWN.iter().any(|tree| named.path.starts_with(tree)) {
            return None;
        }
        let leads = leads_to(&named.path, named.deed != Deed::Replace)?;
        let is_there = leads.missing.is_empty();
        let meant = if is_there {
            leads.existing.clone()
        } else {
            leads.existing.join(&leads.missing).ok()?
        };
        let covering = self.covering(&leads.existing);
        if covering.is_some_and(is_hidden) {
            return Some((Observation::Hidden, meant));
        }
        match named.deed {
            Deed::Make if is_there => None,
            Deed::Make | Deed::ChangeOrMake if !leads.missing.contains(&b'/') => {
                self.written(covering, meant)
            }
            Deed::Change | Deed::Replace if is_there => self.written(covering, meant),
            Deed::Replace => None,
            Deed::Look | Deed::Read | Deed::Execute if is_there => {
                self.used(named.deed, leads.kind, covering, meant)
            }
            _ if Self::is_own(covering) => Some((missed(named.deed), meant)),
            _ => None,
        }
    }

    /// A write to something that is there, or into a directory that is.
    fn written(
        &self,
        covering: Option<&MountOp>,
        meant: GuestPath,
    ) -> Option<(Observation, GuestPath)> {
        // What a protected name covers may be written through no mount that covers its directory.
        let at_name = self.covering(&meant).or(covering);
        let access = at_name.and_then(MountOp::access);
        match access {
            Some(Access::ReadWrite) => {
                let of_host = at_name.is_some_and(shows_host);
                let told = self.watch == Watch::Uses && of_host;
                told.then_some((Observation::Written, meant))
            }
            // The root is the cage's own, and read-only.
            Some(Access::ReadOnly) | None => Some((Observation::Unwritable, meant)),
        }
    }

    fn used(
        &self,
        deed: Deed,
        kind: FileType,
        covering: Option<&MountOp>,
        meant: GuestPath,
    ) -> Option<(Observation, GuestPath)> {
        let covering = covering?;
        let of_rules = match covering.bind().map(|bind| bind.purpose) {
            Some(BindPurpose::Grant | BindPurpose::Protected | BindPurpose::Pin) => true,
            Some(BindPurpose::Base | BindPurpose::Command) => false,
            Some(BindPurpose::Device | BindPurpose::Scratch | BindPurpose::Home) => false,
            None => covering.view().is_some(),
        };
        let observation = match deed {
            _ if kind == FileType::Directory => Observation::Listed,
            Deed::Execute => Observation::Executed,
            _ => Observation::Read,
        };
        (self.watch == Watch::Uses && of_rules).then_some((observation, meant))
    }

    /// Whether what a cage has at a place is its own: the host may have more there.
    fn is_own(covering: Option<&MountOp>) -> bool {
        covering.is_none_or(|operation| !shows_host(operation))
    }

    /// The last mount that covers a path, as the kernel has it.
    fn covering(&self, path: &GuestPath) -> Option<&MountOp> {
        self.mounts.iter().rfind(|operation| path.is_within(operation.at()))
    }
}

/// Whether what is there is the host's, as it is or in a view.
fn shows_host(operation: &MountOp) -> bool {
    operation.bind().is_some() || operation.view().is_some()
}

/// What it means that nothing is there.
fn missed(deed: Deed) -> Observation {
    match deed {
        Deed::Make | Deed::ChangeOrMake => Observation::Unwritable,
        Deed::Look | Deed::Read | Deed::Execute => Observation::Missing,
        Deed::Change | Deed::Replace => Observation::Missing,
    }
}

/// Whether something is there in place of what the host has.
fn is_hidden(operation: &MountOp) -> bool {
    match operation {
        MountOp::Mask { .. } => true,
        MountOp::Tmpfs { purpose, .. } => *purpose == TmpfsPurpose::Hidden,
        MountOp::Bind(_) | MountOp::Overlay(_) | MountOp::Served(_) => false,
        MountOp::Directory { .. } | MountOp::File { .. } | MountOp::Hosts { .. } => false,
        MountOp::Symlink { .. } | MountOp::Proc { .. } | MountOp::Devpts { .. } => false,
        MountOp::SealReadOnly { .. } | MountOp::MaskIfPresent { .. } => false,
    }
}

/// Follows a name as far as it leads. None where that cannot be told.
fn leads_to(path: &[u8], follow_last: bool) -> Option<Leads> {
    let mut path = path.to_owned();
    let mut missing: Vec<u8> = Vec::new();
    let mut links = 0;
    loop {
        let follows = follow_last || !missing.is_empty();
        if let Some((existing, kind)) = existing(&path, follows) {
            // Where something is missing behind `..`, nobody knows what was meant.
            let is_plain = |name: &[u8]| !matches!(name, b"." | b"..");
            let plain = missing.split(|byte| *byte == b'/').all(is_plain);
            return plain.then_some(Leads { existing, kind, missing });
        }
        // A link to what is not there.
        if links < MOST_LINKS
            && follows
            && let Ok(target) = rustix::fs::readlink(path.as_slice(), Vec::new())
        {
            links += 1;
            let target = target.into_bytes();
            path = match target.first() {
                Some(b'/') => target,
                _ => [parent(&path)?, b"/", &target].concat(),
            };
            continue;
        }
        while path.last() == Some(&b'/') {
            path.pop();
        }
        let name_begins = path.iter().rposition(|byte| *byte == b'/')?;
        let name = path.split_off(name_begins + 1);
        if !name.is_empty() && !missing.is_empty() {
            missing.insert(0, b'/');
        }
        missing.splice(0..0, name);
    }
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    path.get(..path.iter().rposition(|byte| *byte == b'/')?)
}

/// What a path leads to, under the name that it really has.
fn existing(path: &[u8], follow: bool) -> Option<(GuestPath, FileType)> {
    let last = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::PATH | OFlags::CLOEXEC | last;
    let found = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&found).ok()?.st_mode);
    let link = format!("/proc/thread-self/fd/{}", found.as_raw_fd());
    let real = rustix::fs::readlink(link.as_str(), Vec::new()).ok()?;
    Some((GuestPath::new(real.into_bytes()).ok()?, kind))
}

/// What every cage has for itself, and what nobody would grant.
const OWN: [&[u8]; 3] = [b"/proc/", b"/dev/", b"/sys/"];
const MOST_LINKS: u32 = 8;
