//! The walk of a sweep: breadth first, every directory opened beneath the grant's root without
//! links. Reads names; asks for times only where a name is in the table.

mod judge;
mod named;
mod novelty;
mod rebase;
mod set_aside;
mod through;

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};

use plan::{ByteString, HostPath};
use policy::protected::{Entry, Object, is_repository, table};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::dating::{Began, Dating};
use super::told::Told;
use super::{AtStart, Finding, Unsearched};
use crate::protected_names::{Begun, ProtectedNames, Step, git, is_fetched_or_built, is_git_data};
use crate::resolve::kind_of;
use judge::{Judged, Suspect};
use novelty::Novelty;
pub(super) use set_aside::QUARANTINED;

/// A sweep and what it has found.
pub(super) struct Sweep<'a> {
    names: &'static ProtectedNames,
    covered_at_start: HashSet<&'a HostPath>,
    links_at_start: HashMap<&'a HostPath, &'a ByteString>,
    read_only_at_start: HashSet<&'a HostPath>,
    /// Directories that were read whole, with the numbers of those in them.
    listed_at_start: HashMap<&'a HostPath, HashMap<&'a [u8], u64>>,
    named: HashSet<&'a HostPath>,
    began: Began,
    /// What the dates of the swept grant are worth.
    dating: Dating,
    suffix: &'a str,
    names_left: usize,
    /// The grant that is swept.
    root: HostPath,
    findings: Told,
    /// What was come upon, names something else, and has not been followed yet.
    leads: Vec<named::Lead>,
    /// Paths that were judged: one can be named in more than one way.
    judged: HashSet<HostPath>,
    /// Where links in the places of directories led, and what was looked for there.
    looked_through: HashSet<(HostPath, Begun)>,
    /// Configuration that could not be read.
    unread: git::Unread,
    /// Where `~` leads.
    home: Option<&'a HostPath>,
    /// The first path that nothing is known about, and how many there are.
    undated: Option<(HostPath, usize)>,
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
    /// In what may be a repository without being called one: links count, and so does every name, because
    /// anybody can make a directory look like that.
    inside_bare: bool,
    interest: Interest,
    novelty: Novelty,
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
    inode: u64,
}

/// What is looked for in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    /// Names of the table.
    Names,
    /// Names that complete what has begun above.
    Begun,
    /// Links, where a repository has its data: Git makes none there and writes through those that are.
    Links,
    /// The same, without looking any deeper.
    LinksHere,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(at_start: &'a AtStart, began: Began, suffix: &'a str) -> Self {
        let links = at_start.links.iter().map(|link| (&link.path, &link.target));
        Self {
            names: ProtectedNames::shared(),
            covered_at_start: at_start.covered.iter().collect(),
            links_at_start: links.collect(),
            read_only_at_start: at_start.read_only.iter().collect(),
            named: at_start.named.iter().collect(),
            began,
            dating: Dating::Untold,
            suffix,
            names_left: MOST_NAMES,
            root: HostPath::root(),
            findings: Told::default(),
            leads: Vec::new(),
            judged: HashSet::new(),
            listed_at_start: novelty::listed(at_start),
            looked_through: HashSet::new(),
            unread: Vec::new(),
            home: at_start.home.as_ref(),
            undated: None,
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
            inside_bare: false,
            interest: Interest::Names,
            novelty: Novelty::Known,
            is_named: false,
        }]);
        self.root = root.clone();
        self.dating = self.began.on(&top);
        self.leads = named::around(root, &mut self.unread);
        self.visit_all(&top, &mut waiting);
        // What is named can be a directory of hooks, to be looked into in its turn.
        while !self.leads.is_empty() {
            for lead in std::mem::take(&mut self.leads) {
                self.follow(&top, root, &lead, &mut waiting);
            }
            self.visit_all(&top, &mut waiting);
        }
        for (path, errno) in std::mem::take(&mut self.unread) {
            self.not_searched(path, Unsearched::Kernel(errno));
        }
        if let Some((path, count)) = self.undated.take() {
            self.findings.tell(Finding::Undated { path, count });
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

    /// What a name means where it is.
    fn step(&self, directory: &Directory, name: &[u8], object: Object) -> Step {
        match directory.interest {
            Interest::Names => self.names.step(&directory.begun, name, object),
            Interest::Begun => self.names.complete(&directory.begun, name, object),
            Interest::Links | Interest::LinksHere => Step { entry: None, below: Begun::default() },
        }
    }

    fn visit(&mut self, top: &OwnedFd, directory: &Directory, waiting: &mut VecDeque<Directory>) {
        let descriptor = match self.open(top, directory) {
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
        if self.names_left == 0 {
            self.not_searched(directory.path.clone(), Unsearched::TooManyNames);
        }
        let listing = self.listing(directory, &descriptor);
        let bare = is_repository(names.iter().map(|name| name.bytes.as_slice()));
        for name in &names {
            self.look_at(&listing, name, bare, waiting);
        }
    }

    fn listing<'d>(&self, directory: &'d Directory, descriptor: &'d OwnedFd) -> Listing<'d> {
        let changed = match times(descriptor, b"") {
            Ok(times) => self.dating.is_recent(times.stx_ctime),
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
        let step = self.step(directory, &name.bytes, object);
        let is_link = name.file_type == FileType::Symlink;
        let inside_bare = bare || directory.inside_bare;
        let of_repository = match bare {
            true => bare_entry(&name.bytes),
            false => None,
        };
        let is_in_repository = inside_bare || directory.inside_repository;
        let link = (is_link && is_in_repository).then_some(&LINK_IN_REPOSITORY);
        let entry = directory.inside.or(step.entry).or(of_repository).or(link);
        let leads_on = is_link && !step.below.is_empty();
        if entry.is_none() && !is_directory && !leads_on {
            return;
        }
        let Ok(path) = directory.path.join(&name.bytes) else {
            return self.not_searched(directory.path.clone(), Unsearched::TooDeep);
        };
        let was_covered =
            directory.novelty != Novelty::Certain && self.covered_at_start.contains(&path);
        if let Some(entry) = entry {
            self.judged.insert(path.clone());
            let novelty = match of_repository {
                Some(_) => directory.novelty.max(self.novelty_of_repository(listing)),
                None => directory.novelty,
            };
            let suspect = Suspect { name, path: &path, entry, novelty };
            if !was_covered && self.judge(listing, &suspect) == Judged::Moved {
                return;
            }
            self.note_where_it_leads(&directory.path, &path, entry);
            if is_link && step.below.is_empty() {
                self.note_link(&directory.path, listing, name);
            }
        }
        if was_covered {
            return;
        }
        if leads_on {
            return self.look_through(listing, name, &path, &step.below, waiting);
        }
        let inside_repository = directory.inside_repository || is_git(&name.bytes);
        let interest = match interest_in(directory.interest, inside_repository, &name.bytes, &step)
        {
            Some(interest) if is_directory => interest,
            None if is_directory && entry.is_some() => Interest::Names,
            _ => return,
        };
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
            inside_bare,
            interest,
            novelty: self.novelty_inside(listing, name),
            is_named,
        });
    }

    fn open(&self, top: &OwnedFd, directory: &Directory) -> Result<OwnedFd, Errno> {
        match open_to_list(top, &directory.relative) {
            Err(Errno::ACCESS) => self.open_up(top, directory),
            opened => opened,
        }
    }

    /// Opens a directory that the program closed to its owner before it ended. One that was closed
    /// before the run is left alone.
    fn open_up(&self, top: &OwnedFd, directory: &Directory) -> Result<OwnedFd, Errno> {
        let relative = directory.relative.as_slice();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let closed = rustix::fs::openat2(top, relative, flags, Mode::empty(), resolve)?;
        let was_closed_since = match self.dating {
            Dating::Since(_) => self.dating.is_recent(times(&closed, b"")?.stx_ctime),
            // It was open, or not there.
            Dating::Untold => {
                directory.novelty == Novelty::Certain
                    || self.listed_at_start.contains_key(&directory.path)
            }
        };
        if !was_closed_since {
            return Err(Errno::ACCESS);
        }
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&closed)?.st_mode);
        // A descriptor for reference cannot change what it refers to; its name in `/proc` can.
        let name = format!("/proc/self/fd/{}", closed.as_raw_fd());
        rustix::fs::chmod(name, mode | Mode::RWXU)?;
        open_to_list(top, relative)
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
            names.push(Name { bytes: bytes.to_vec(), file_type, inode: entry.ino() });
        }
        Ok(names)
    }

    fn not_searched(&mut self, path: HostPath, why: Unsearched) {
        self.findings.tell(Finding::NotSearched { path, why });
    }
}

/// What is looked for in a directory, if anything; `above` is what is looked for where it is.
fn interest_in(
    above: Interest,
    inside_repository: bool,
    name: &[u8],
    step: &Step,
) -> Option<Interest> {
    let has_begun = !step.below.is_empty();
    match above {
        Interest::LinksHere => None,
        Interest::Links => Some(Interest::Links),
        _ if inside_repository && is_git_data(name) => Some(Interest::LinksHere),
        Interest::Begun => has_begun.then_some(Interest::Begun),
        Interest::Names if inside_repository && !has_begun => Some(Interest::Links),
        Interest::Names if inside_repository || !is_fetched_or_built(name) => Some(Interest::Names),
        Interest::Names => None,
    }
}

/// A link among the data of a repository.
static LINK_IN_REPOSITORY: Entry = Entry {
    pattern: ".git/**",
    object: Object::File,
    runs_by: "`git`, which writes to where it leads",
};

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

/// The most that one sweep reads: about a second's work.
const MOST_NAMES: usize = 1_000_000;

/// The deepest directory that is looked into.
const MOST_DEPTH: usize = 128;

const MOST_ATTEMPTS: usize = 64;

#[cfg(test)]
mod tests;
