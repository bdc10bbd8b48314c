//! The walk of a sweep: breadth first, every directory opened beneath the grant's root without
//! links. Reads names; asks for times only where a name is in the table. What Git asks on the host without being
//! led there by a name comes first, and directories of packages and builds come last: they are large, and must
//! not keep the others from being looked at.

mod allowance;
mod committed;
mod directory;
mod index;
mod judge;
mod named;
mod new_repository;
mod novelty;
mod rebase;
mod set_aside;
mod through;
mod watched;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Instant;

use plan::{ByteString, HostPath};
use policy::protected::{Change, Entry, Object, is_repository, table};
use resolve::commits::{Id, Watched};
use resolve::kind_of;
use resolve::protected_names::reader::Reader;
use resolve::protected_names::tracked::Tracked;
use resolve::protected_names::{Begun, ProtectedNames, Step, is_fetched_or_built};
use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use super::dating::{Began, Dating};
use super::report::{Place, SweepReport};
use super::{AtStart, Finding, Link, Unsearched};
use allowance::Allowance;
pub(super) use allowance::Limits;
use committed::Commits;
use directory::{Directory, Interest, Listing, Name, join, open_to_list, times};
use judge::{Judged, Suspect};
use novelty::Novelty;
pub(super) use set_aside::{COMPANIONS, QUARANTINED, move_companions};

/// A sweep and what it has found.
pub(super) struct Sweep<'a> {
    names: &'static ProtectedNames,
    covered_at_start: HashSet<&'a HostPath>,
    links_at_start: HashMap<&'a HostPath, &'a ByteString>,
    /// Links inside protected directories.
    links_inside: &'a [Link],
    read_only_at_start: HashSet<&'a HostPath>,
    /// Directories that were read whole, with the numbers of those in them.
    listed_at_start: HashMap<&'a HostPath, HashMap<&'a [u8], u64>>,
    indexes_at_start: HashMap<&'a HostPath, &'a Tracked>,
    named: HashSet<&'a HostPath>,
    commits: Commits<'a>,
    watched: HashMap<&'a HostPath, &'a Watched>,
    /// Protected paths that are now what a commit of the start held.
    checked_out: BTreeSet<HostPath>,
    /// What the run has committed that no commit held before.
    made: BTreeSet<Id>,
    began: Began,
    /// What the dates of the swept grant are worth.
    dating: Dating,
    suffix: &'a str,
    limits: Limits,
    allowance: Allowance,
    /// Whether it was told that nothing more may be looked at.
    is_over: bool,
    /// Where it is looked now.
    place: Place,
    /// Directories of packages and builds, for later.
    packages: VecDeque<Directory>,
    /// The grant that is swept.
    root: HostPath,
    findings: SweepReport,
    /// What was come upon, names something else, and has not been followed yet.
    leads: Vec<named::Lead>,
    /// Indexes that were come upon, those that were not looked at yet in order.
    indexes: VecDeque<HostPath>,
    known_indexes: HashSet<HostPath>,
    /// Paths that were judged: one can be named in more than one way.
    judged: HashSet<HostPath>,
    /// Where links in the places of directories led, and what was looked for there.
    looked_through: HashSet<(HostPath, Begun)>,
    reader: Reader,
    /// How much may still be read of indexes.
    index_bytes_left: usize,
    /// Which lists of what is in progress run nothing, by device and inode.
    rebases: HashMap<(u64, u64, rebase::Kind), bool>,
    /// Where `~` leads.
    home: Option<&'a HostPath>,
    /// The first path that nothing is known about, and how many there are.
    undated: Option<(HostPath, usize)>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(
        at_start: &'a AtStart,
        began: Began,
        suffix: &'a str,
        limits: Limits,
    ) -> Self {
        let links = at_start.links.iter().map(|link| (&link.path, &link.target));
        let indexes = at_start.indexes.iter().map(|index| (&index.path, &index.tracked));
        Self {
            names: ProtectedNames::shared(),
            covered_at_start: at_start.covered.iter().collect(),
            links_at_start: links.collect(),
            links_inside: &at_start.links_inside,
            read_only_at_start: at_start.read_only.iter().collect(),
            listed_at_start: novelty::listed(at_start),
            indexes_at_start: indexes.collect(),
            named: at_start.named.iter().collect(),
            commits: Commits::of(&at_start.repositories),
            watched: at_start.watched.iter().map(|watched| (&watched.path, watched)).collect(),
            checked_out: BTreeSet::new(),
            made: BTreeSet::new(),
            began,
            dating: Dating::Unknown,
            suffix,
            limits,
            allowance: Allowance::new(&limits),
            is_over: false,
            place: Place::Elsewhere,
            packages: VecDeque::new(),
            root: HostPath::root(),
            findings: SweepReport::default(),
            leads: Vec::new(),
            indexes: VecDeque::new(),
            known_indexes: HashSet::new(),
            judged: HashSet::new(),
            looked_through: HashSet::new(),
            reader: Reader::new(limits.bytes),
            index_bytes_left: limits.index_bytes,
            rebases: HashMap::new(),
            home: at_start.home.as_ref(),
            undated: None,
        }
    }

    /// What was found, and what versions of protected files the run has committed.
    pub(super) fn into_findings(self) -> (Vec<Finding>, BTreeSet<Id>) {
        (self.findings.into_findings(), self.made)
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
        self.root = root.clone();
        self.dating = self.began.on(&top);
        self.leads = named::around(root, &mut self.reader);
        self.leads.extend(named::behind(self.links_inside));
        self.note_known_indexes(root);
        let begun = self.names.begun_at(root);
        let first = Directory { begun, ..Directory::plain(Vec::new(), root.clone()) };
        let mut waiting = VecDeque::new();
        self.look_at_indexes(&top, root, &mut waiting);
        waiting.push_back(first);
        self.search(&top, root, &mut waiting);
        self.search_packages(&top, root);
        self.settle_watched(&top, root);
        self.tell_of_commits(root);
        if let Some((path, count)) = self.undated.take() {
            self.report(Finding::Undated { path, count });
        }
    }

    /// Looks into what waits, and into what that leads to.
    fn search(&mut self, top: &OwnedFd, root: &HostPath, waiting: &mut VecDeque<Directory>) {
        self.visit_all(top, root, waiting);
        // What is named can be a directory of hooks, to be looked into in its turn.
        while !self.leads.is_empty() {
            for lead in std::mem::take(&mut self.leads) {
                if let Some(why) = self.allowance.is_over() {
                    self.tell_over(lead.path().clone(), why);
                    break;
                }
                self.follow(top, root, &lead, waiting);
            }
            self.visit_all(top, root, waiting);
        }
        for (path, errno) in self.reader.take_unread() {
            let why = match errno {
                Errno::FBIG => Unsearched::TooManyBytes,
                errno => Unsearched::Kernel(errno),
            };
            self.not_searched(path, why);
        }
    }

    /// Looks into the directories of packages and builds.
    fn search_packages(&mut self, top: &OwnedFd, root: &HostPath) {
        let mut waiting = std::mem::take(&mut self.packages);
        if waiting.is_empty() {
            return;
        }
        let begun = Instant::now();
        let (before, was_over) = (self.allowance, self.is_over);
        self.allowance = before.among_packages(&self.limits);
        self.place = Place::AmongPackages;
        self.search(top, root, &mut waiting);
        self.place = Place::Elsewhere;
        self.allowance.charge_packages(&mut self.limits, begun);
        (self.allowance, self.is_over) = (before, was_over);
    }

    fn visit_all(&mut self, top: &OwnedFd, root: &HostPath, waiting: &mut VecDeque<Directory>) {
        while let Some(directory) = waiting.pop_front() {
            if let Some(why) = self.allowance.is_over() {
                self.tell_over(directory.path, why);
                waiting.clear();
                return;
            }
            self.visit(top, &directory, waiting);
            // Before what it names is come upon by its own names, which say less of it.
            self.look_at_indexes(top, root, waiting);
        }
    }

    /// What a name means where it is.
    fn step(&self, directory: &Directory, name: &[u8], object: Object) -> Step {
        match directory.interest {
            Interest::Names => self.names.step(&directory.begun, name, object),
            Interest::Begun => self.names.complete(&directory.begun, name, object),
            Interest::Links | Interest::LinksHere | Interest::Covered => {
                Step { entry: None, below: Begun::default() }
            }
        }
    }

    fn visit(&mut self, top: &OwnedFd, directory: &Directory, waiting: &mut VecDeque<Directory>) {
        let listed = self.open(top, directory).and_then(|descriptor| {
            let names = self.list(&descriptor)?;
            Ok((descriptor, names))
        });
        let (descriptor, names) = match listed {
            Ok(listed) => listed,
            // Gone, or a mount of another file system, which the cage had no grant for.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return,
            Err(errno) => {
                return self.not_searched(directory.path.clone(), Unsearched::Kernel(errno));
            }
        };
        let listing = self.listing(directory, &descriptor);
        let bare = is_repository(names.iter().map(|name| name.bytes.as_slice()));
        for (position, name) in names.iter().enumerate() {
            if position % NAMES_AT_A_TIME == NAMES_AT_A_TIME - 1 && self.allowance.is_late() {
                break;
            }
            match directory.interest {
                Interest::Covered => self.look_at_covered(&listing, name, waiting),
                _ => self.look_at(&listing, name, bare, waiting),
            }
        }
        if let Some(why) = self.allowance.is_over() {
            self.tell_over(directory.path.clone(), why);
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
        let by_name = directory.inside.or(step.entry).or(of_repository);
        let entry = by_name.or(link);
        let leads_on = is_link && !step.below.is_empty();
        let is_index = is_in_repository && name.bytes.eq_ignore_ascii_case(b"index");
        if entry.is_none() && !is_directory && !leads_on && !is_index {
            return;
        }
        let Ok(path) = directory.path.join(&name.bytes) else {
            return self.not_searched(directory.path.clone(), Unsearched::TooDeep);
        };
        if is_index && !is_directory {
            self.note_index(path.clone());
        }
        let was_covered =
            directory.novelty != Novelty::Certain && self.covered_at_start.contains(&path);
        if let Some(entry) = entry {
            let is_first = self.judged.insert(path.clone());
            let novelty = match of_repository {
                Some(_) => directory.novelty.max(self.novelty_of_repository(listing)),
                None => directory.novelty,
            };
            let suspect = Suspect { name, path: &path, entry, novelty, role: None };
            if is_first && !was_covered && self.judge(listing, &suspect) == Judged::Moved {
                return;
            }
            self.note_where_it_leads(&directory.path, &path, entry);
            if is_link && (step.below.is_empty() || directory.inside.is_some()) {
                self.note_link(listing, name, by_name);
            }
        }
        if was_covered {
            if is_directory && entry.is_some() {
                let relative = join(&directory.relative, &name.bytes);
                let (inside, interest) = (entry, Interest::Covered);
                let found = Directory::plain(relative, path);
                waiting.push_back(Directory { inside, interest, ..found });
            }
            return;
        }
        if leads_on {
            return self.look_through(listing, name, &path, &step.below, waiting);
        }
        let inside_repository = directory.inside_repository || is_git(&name.bytes);
        let above = directory.interest;
        let interest = Interest::in_directory(above, inside_repository, &name.bytes, &step);
        let interest = match interest {
            Some(interest) if is_directory => interest,
            None if is_directory && entry.is_some() => Interest::Names,
            _ => return,
        };
        let is_named = entry.is_some() && self.is_named(listing, &path);
        if directory.depth >= MOST_DEPTH {
            return self.not_searched(path, Unsearched::TooDeep);
        }
        let is_of_packages = !inside_repository && is_fetched_or_built(&name.bytes);
        let found = Directory {
            relative: join(&directory.relative, &name.bytes),
            path,
            depth: directory.depth + 1,
            begun: step.below,
            inside: entry,
            inside_repository,
            inside_bare,
            among_packages: directory.among_packages || is_of_packages,
            interest,
            novelty: self.novelty_inside(listing, name),
            is_named,
        };
        if found.among_packages && self.place == Place::Elsewhere {
            self.packages.push_back(found);
        } else {
            waiting.push_back(found);
        }
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
            Dating::Unknown => {
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
            if !self.allowance.take_name() {
                break;
            }
            let file_type = kind_of(directory, &entry);
            names.push(Name { bytes: bytes.to_vec(), file_type, inode: entry.ino() });
        }
        Ok(names)
    }

    fn not_searched(&mut self, path: HostPath, why: Unsearched) {
        self.report(Finding::NotSearched { path, why });
    }

    /// Tells once where the search has ended before its end.
    fn tell_over(&mut self, path: HostPath, why: Unsearched) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.not_searched(path, why);
        }
    }

    fn report(&mut self, finding: Finding) {
        self.findings.add(finding, self.place);
    }
}

/// A link among the data of a repository.
static LINK_IN_REPOSITORY: Entry = Entry {
    pattern: ".git/**",
    object: Object::File,
    runs_by: "`git`, which writes to where it leads",
    change: Change::Never,
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

/// The deepest directory that is looked into.
const MOST_DEPTH: usize = 128;

/// After how many names of one directory the clock is asked.
const NAMES_AT_A_TIME: usize = 64;

#[cfg(test)]
mod tests;
