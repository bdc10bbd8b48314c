//! The walk of a sweep: breadth first, every directory opened beneath the grant's root without
//! links. Reads names; asks for times only where a name is in the table.

mod named;
mod rebase;

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, SystemTime};

use plan::{ByteString, HostPath};
use policy::protected::{Entry, Object, is_repository, table};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, Statx, StatxFlags,
    StatxTimestamp,
};
use rustix::io::Errno;

use super::told::Told;
use super::{AtStart, Finding, Unsearched};
use crate::protected_names::{Begun, ProtectedNames, is_fetched_or_built, is_git_data};
use crate::resolve::kind_of;

/// A sweep and what it has found.
pub(super) struct Sweep<'a> {
    names: &'static ProtectedNames,
    covered_at_start: HashSet<&'a HostPath>,
    links_at_start: HashMap<&'a HostPath, &'a ByteString>,
    named: HashSet<&'a HostPath>,
    since: SystemTime,
    suffix: &'a str,
    names_left: usize,
    findings: Told,
    /// What was come upon, names something else, and has not been followed yet.
    leads: Vec<named::Lead>,
    /// Paths that were judged: one can be named in more than one way.
    judged: HashSet<HostPath>,
}

/// A directory to look into.
struct Directory {
    /// Below the grant's root; empty for the root itself.
    relative: Vec<u8>,
    path: HostPath,
    depth: usize,
    begun: Begun,
    /// Set where every name counts, because the directory itself is a protected one.
    inside: Option<&'static Entry>,
    /// Below `.git`, where only what the table names is of interest.
    inside_repository: bool,
    /// Whether the user has granted this protected directory by its name, or one that it lies in.
    is_named: bool,
}

/// An opened directory.
struct Listing<'a> {
    directory: &'a Directory,
    descriptor: &'a OwnedFd,
    /// Whether names were added to it, or removed, since the start.
    changed: bool,
}

struct Name {
    bytes: Vec<u8>,
    file_type: FileType,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(at_start: &'a AtStart, since: SystemTime, suffix: &'a str) -> Self {
        let links = at_start.links.iter().map(|link| (&link.path, &link.target));
        Self {
            names: ProtectedNames::shared(),
            covered_at_start: at_start.covered.iter().collect(),
            links_at_start: links.collect(),
            named: at_start.named.iter().collect(),
            since,
            suffix,
            names_left: MOST_NAMES,
            findings: Told::default(),
            leads: Vec::new(),
            judged: HashSet::new(),
        }
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.findings.into_findings()
    }

    /// Sweeps one granted directory.
    pub(super) fn below(&mut self, root: &HostPath) {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS;
        let opened = rustix::fs::openat2(CWD, root.as_path(), flags, Mode::empty(), resolve);
        let top = match opened {
            Ok(top) => top,
            // Removed since: nothing is in it.
            Err(Errno::NOENT) => return,
            Err(errno) => return self.not_searched(root.clone(), Unsearched::Kernel(errno)),
        };
        let is_directory = rustix::fs::fstat(&top)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Directory);
        // A granted file is the very file that the user named.
        if !is_directory {
            return;
        }
        let mut waiting = VecDeque::from([Directory {
            relative: Vec::new(),
            path: root.clone(),
            depth: 0,
            begun: self.names.begun_at(root),
            inside: None,
            inside_repository: false,
            is_named: false,
        }]);
        self.leads = named::around(root);
        self.visit_all(&top, &mut waiting);
        // What is named can be a directory of hooks, to be looked into in its turn.
        while !self.leads.is_empty() {
            for lead in std::mem::take(&mut self.leads) {
                self.follow(&top, root, &lead, &mut waiting);
            }
            self.visit_all(&top, &mut waiting);
        }
    }

    fn visit_all(&mut self, top: &OwnedFd, waiting: &mut VecDeque<Directory>) {
        while let Some(directory) = waiting.pop_front() {
            if self.names_left == 0 {
                self.not_searched(directory.path, Unsearched::TooManyNames);
                waiting.clear();
                return;
            }
            self.visit(top, &directory, waiting);
        }
    }

    fn visit(&mut self, top: &OwnedFd, directory: &Directory, waiting: &mut VecDeque<Directory>) {
        let descriptor = match self.open(top, &directory.relative) {
            Ok(descriptor) => descriptor,
            // Gone, or a mount of another file system, which the cage had no grant for.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return,
            Err(errno) => {
                return self.not_searched(directory.path.clone(), Unsearched::Kernel(errno));
            }
        };
        let names = match self.list(&descriptor) {
            Ok(names) => names,
            Err(errno) => {
                return self.not_searched(directory.path.clone(), Unsearched::Kernel(errno));
            }
        };
        let listing = self.listing(directory, &descriptor);
        let bare = is_repository(names.iter().map(|name| name.bytes.as_slice()));
        for name in &names {
            self.look_at(&listing, name, bare, waiting);
        }
    }

    fn listing<'d>(&self, directory: &'d Directory, descriptor: &'d OwnedFd) -> Listing<'d> {
        let changed = match times(descriptor, b"") {
            Ok(times) => self.is_recent(times.stx_ctime),
            Err(_) => true,
        };
        Listing { directory, descriptor, changed }
    }

    fn look_at(
        &mut self,
        listing: &Listing<'_>,
        name: &Name,
        bare: bool,
        waiting: &mut VecDeque<Directory>,
    ) {
        let directory = listing.directory;
        let is_directory = name.file_type == FileType::Directory;
        let object = if is_directory { Object::Directory } else { Object::File };
        let step = self.names.step(&directory.begun, &name.bytes, object);
        let in_bare = || bare_entry(&name.bytes).filter(|_| bare);
        let entry = directory.inside.or(step.entry).or_else(in_bare);
        if entry.is_none() && !is_directory {
            return;
        }
        let Ok(path) = directory.path.join(&name.bytes) else {
            return self.not_searched(directory.path.clone(), Unsearched::TooDeep);
        };
        let was_covered = self.covered_at_start.contains(&path);
        if let Some(entry) = entry {
            self.judged.insert(path.clone());
            if !was_covered && self.judge(listing, name, &path, entry) == Judged::Moved {
                return;
            }
            self.note_where_it_leads(&directory.path, &path, entry);
            if name.file_type == FileType::Symlink && step.below.is_empty() {
                self.note_link(&directory.path, listing, name);
            }
        }
        if was_covered {
            return;
        }
        let inside_repository = directory.inside_repository || is_git(&name.bytes);
        let pass_over = match (entry, inside_repository) {
            (Some(_), _) => false,
            (None, true) => step.below.is_empty() || is_git_data(&name.bytes),
            (None, false) => is_fetched_or_built(&name.bytes),
        };
        if !is_directory || pass_over {
            return;
        }
        let is_named = entry.is_some() && self.is_named(listing, &path);
        if directory.depth >= MOST_DEPTH {
            return self.not_searched(path, Unsearched::TooDeep);
        }
        waiting.push_back(Directory {
            relative: join(&directory.relative, &name.bytes),
            path,
            depth: directory.depth + 1,
            begun: step.below,
            inside: entry,
            inside_repository,
            is_named,
        });
    }

    /// Decides about an object whose name is in the table.
    ///
    /// New is what was made since the start. What is older may have been renamed to this name since
    /// then, which a change of its directory gives away; times of change, unlike those of
    /// modification, cannot be set by a program.
    fn judge(
        &mut self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
        entry: &'static Entry,
    ) -> Judged {
        let times = match times(listing.descriptor, &name.bytes) {
            Ok(times) => times,
            Err(Errno::NOENT) => return Judged::Stays,
            Err(errno) => {
                self.findings.tell(Finding::NotMoved { path: path.clone(), entry, errno });
                return Judged::Stays;
            }
        };
        if !self.is_recent(times.stx_ctime)
            || self.is_link_as_before(listing, name, path)
            || rebase::is_harmless(listing, name, entry)
        {
            return Judged::Stays;
        }
        if self.is_named(listing, path) {
            self.note_change(name, path, entry);
            return Judged::Stays;
        }
        let mask = StatxFlags::from_bits_retain(times.stx_mask);
        let is_older = mask.contains(StatxFlags::BTIME) && !self.is_recent(times.stx_btime);
        if is_older && !listing.changed {
            self.note_change(name, path, entry);
            return Judged::Stays;
        }
        // Old, recently changed, and in a directory whose names have changed: it may have got its
        // name just now. A harmless one that is renamed can be renamed back.
        let renamed = match self.rename(listing, name, path) {
            Err(Errno::ACCESS) if listing.changed => self.rename_in_closed(listing, name, path),
            other => other,
        };
        match renamed {
            Ok(moved_to) => {
                self.findings.tell(Finding::Quarantined { path: path.clone(), moved_to, entry });
                Judged::Moved
            }
            Err(errno) => {
                self.findings.tell(Finding::NotMoved { path: path.clone(), entry, errno });
                Judged::Stays
            }
        }
    }

    /// Whether the user has said that a protected path may be changed.
    fn is_named(&self, listing: &Listing<'_>, path: &HostPath) -> bool {
        listing.directory.is_named || self.named.contains(path)
    }

    /// Of a directory only the list of names has changed: what is new in it comes next.
    fn note_change(&mut self, name: &Name, path: &HostPath, entry: &'static Entry) {
        if name.file_type != FileType::Directory {
            self.findings.tell(Finding::Modified { path: path.clone(), entry });
        }
    }

    /// Whether a link leads where it led before the run. One that was made in the moment before a
    /// start is as recent as one that the program made.
    fn is_link_as_before(&self, listing: &Listing<'_>, name: &Name, path: &HostPath) -> bool {
        let Some(target) = self.links_at_start.get(path) else { return false };
        let now = rustix::fs::readlinkat(listing.descriptor, &*name.bytes, Vec::new());
        now.is_ok_and(|now| now.as_bytes() == target.as_bytes())
    }

    fn open(&self, top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
        match open_to_list(top, relative) {
            Err(Errno::ACCESS) => self.open_up(top, relative),
            opened => opened,
        }
    }

    /// Opens a directory that the program closed to its owner before it ended. One that was closed
    /// before the run is left alone.
    fn open_up(&self, top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let closed = rustix::fs::openat2(top, relative, flags, Mode::empty(), resolve)?;
        if !self.is_recent(times(&closed, b"")?.stx_ctime) {
            return Err(Errno::ACCESS);
        }
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&closed)?.st_mode);
        // A descriptor for reference cannot change what it refers to; its name in `/proc` can.
        let name = format!("/proc/self/fd/{}", closed.as_raw_fd());
        rustix::fs::chmod(name, mode | Mode::RWXU)?;
        open_to_list(top, relative)
    }

    /// Renames in a directory that the program closed for writing before it ended.
    fn rename_in_closed(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> Result<HostPath, Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(listing.descriptor)?.st_mode);
        rustix::fs::fchmod(listing.descriptor, mode | Mode::RWXU)?;
        let renamed = self.rename(listing, name, path);
        rustix::fs::fchmod(listing.descriptor, mode)?;
        renamed
    }

    /// Renames without replacing anything, in the directory that the descriptor refers to.
    fn rename(
        &self,
        listing: &Listing<'_>,
        name: &Name,
        path: &HostPath,
    ) -> Result<HostPath, Errno> {
        let parent = path.parent().ok_or(Errno::INVAL)?;
        for attempt in 0..MOST_ATTEMPTS {
            let new_name = quarantined_name(&name.bytes, self.suffix, attempt);
            let renamed = rustix::fs::renameat_with(
                listing.descriptor,
                name.bytes.as_slice(),
                listing.descriptor,
                new_name.as_slice(),
                RenameFlags::NOREPLACE,
            );
            match renamed {
                Ok(()) => return parent.join(new_name).map_err(|_| Errno::NAMETOOLONG),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    fn list(&mut self, directory: &OwnedFd) -> Result<Vec<Name>, Errno> {
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            if self.names_left == 0 {
                break;
            }
            self.names_left -= 1;
            let file_type = kind_of(directory, &entry);
            names.push(Name { bytes: bytes.to_vec(), file_type });
        }
        Ok(names)
    }

    fn is_recent(&self, time: StatxTimestamp) -> bool {
        // A time before 1970 is not recent.
        let Ok(seconds) = u64::try_from(time.tv_sec) else { return false };
        let since_epoch = Duration::new(seconds, time.tv_nsec);
        SystemTime::UNIX_EPOCH.checked_add(since_epoch).is_none_or(|time| time >= self.since)
    }

    fn not_searched(&mut self, path: HostPath, why: Unsearched) {
        self.findings.tell(Finding::NotSearched { path, why });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Moved,
    Stays,
}

/// What Git obeys in a directory that it takes for a repository, whatever that is called.
fn bare_entry(name: &[u8]) -> Option<&'static Entry> {
    let pattern = match name {
        b"config" => ".git/config",
        b"hooks" => ".git/hooks",
        b"config.worktree" => ".git/config.worktree",
        b"commondir" => ".git/commondir",
        _ => return None,
    };
    table().iter().find(|entry| entry.pattern == pattern)
}

fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

fn open_to_list(top: &OwnedFd, relative: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let relative = if relative.is_empty() { b"." } else { relative };
    for _ in 0..MOST_ATTEMPTS {
        match rustix::fs::openat2(top, relative, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// The times of a name in a directory, or of the directory itself where the name is empty.
fn times(directory: &OwnedFd, name: &[u8]) -> Result<Statx, Errno> {
    let flags = if name.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::SYMLINK_NOFOLLOW };
    rustix::fs::statx(directory, name, flags, StatxFlags::CTIME | StatxFlags::BTIME)
}

fn join(relative: &[u8], name: &[u8]) -> Vec<u8> {
    if relative.is_empty() { name.to_vec() } else { [relative, b"/", name].concat() }
}

/// A name that no pattern of the table matches and that fits into a directory entry.
fn quarantined_name(name: &[u8], suffix: &str, attempt: usize) -> Vec<u8> {
    let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
    let end = [QUARANTINED, suffix.as_bytes(), number.as_bytes()].concat();
    let kept = name.len().min(MOST_NAME_BYTES.saturating_sub(end.len()));
    [name.get(..kept).unwrap_or_default(), &end].concat()
}

/// What comes between a name and the suffix where it was set aside.
pub(super) const QUARANTINED: &[u8] = b".quarantined-";

/// The most that one sweep reads: about a second's work.
const MOST_NAMES: usize = 1_000_000;

/// The deepest directory that is looked into.
const MOST_DEPTH: usize = 128;

const MOST_ATTEMPTS: usize = 64;

/// NAME_MAX of the kernel.
const MOST_NAME_BYTES: usize = 255;
