//! A file or directory that somebody holds: its paths, what is known of it, and what is shown of that.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use vfs::{Attributes, Caller, Kind, Timestamp, inherit, read, write};

use super::contents::Late;
use super::{Remote, lock};
use crate::backend::{Meta, MetaKind};
use crate::notes::{NotedKind, Notes};
use crate::settings::{Owners, Settings};

/// A file or directory that somebody holds.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) paths: RwLock<Paths>,
    /// The directory that it is in; of a file with several names one of them.
    pub(super) parent: AtomicU64,
    pub(super) state: RwLock<State>,
    /// Held by whoever changes what is noted. Locked before `late`.
    pub(super) changing: Mutex<()>,
    pub(super) late: Mutex<Option<Late>>,
    /// How many have it open, and how many of them for writing.
    pub(super) opened: AtomicU64,
    pub(super) writers: AtomicU64,
    pub(super) is_gone: AtomicBool,
    pub(super) held: AtomicU64,
}

/// The paths of a node that are known.
#[derive(Debug)]
pub(super) struct Paths {
    /// One of them; the last one that it had where it has none.
    pub(super) one: Arc<str>,
    pub(super) all: Vec<Arc<str>>,
}

/// What is known of a node.
#[derive(Debug)]
pub(super) struct State {
    pub(super) meta: Meta,
    /// Until when that is believed.
    pub(super) until: Instant,
    /// Something is noted here that the other side does not have yet.
    pub(super) is_unsaved: bool,
    /// How many directories are in it, once they were counted.
    pub(super) directories: Option<u32>,
}

impl Node {
    pub(super) fn new(
        number: u64,
        path: Arc<str>,
        parent: u64,
        meta: Meta,
        until: Instant,
    ) -> Self {
        let all = vec![Arc::clone(&path)];
        Self {
            number,
            kind: kind_of(&meta),
            paths: RwLock::new(Paths { one: path, all }),
            parent: AtomicU64::new(parent),
            state: RwLock::new(State { meta, until, is_unsaved: false, directories: None }),
            changing: Mutex::default(),
            late: Mutex::new(None),
            opened: AtomicU64::new(0),
            writers: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
            held: AtomicU64::new(1),
        }
    }

    pub(super) fn path(&self) -> Arc<str> {
        Arc::clone(&read(&self.paths).one)
    }

    pub(super) fn has_path(&self) -> bool {
        !read(&self.paths).all.is_empty()
    }

    pub(super) fn add_path(&self, path: &Arc<str>) {
        let mut paths = write(&self.paths);
        if !paths.all.contains(path) {
            paths.all.push(Arc::clone(path));
        }
        if !paths.all.contains(&paths.one) {
            paths.one = Arc::clone(path);
        }
    }

    pub(super) fn drop_path(&self, path: &str) {
        let mut paths = write(&self.paths);
        paths.all.retain(|known| **known != *path);
        if &*paths.one == path
            && let Some(other) = paths.all.first().cloned()
        {
            paths.one = other;
        }
    }

    pub(super) fn meta(&self) -> Meta {
        read(&self.state).meta.clone()
    }

    pub(super) fn parent(&self) -> u64 {
        self.parent.load(Ordering::SeqCst)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Notes something here alone, as of now. It goes to the other side with the next that does.
    pub(super) fn note(&self, change: impl FnOnce(&mut Notes, Timestamp)) {
        let mut state = write(&self.state);
        let mut notes = noted(&state.meta);
        let now = Timestamp::now();
        notes.changed = Some(now);
        change(&mut notes, now);
        state.meta.notes = Some(notes);
        state.is_unsaved = true;
    }

    /// Something of it has changed now, which the other side knows.
    pub(super) fn changed_now(&self) {
        let mut state = write(&self.state);
        let notes = Notes { changed: Some(Timestamp::now()), ..noted(&state.meta) };
        state.meta.notes = Some(notes);
    }

    /// Takes over what the other side says now; what is noted here alone is newer, unless it is of other contents.
    pub(super) fn refresh(&self, meta: Meta, until: Instant) {
        let mut state = write(&self.state);
        let mut meta = meta;
        let is_other = self.kind != Kind::Directory && meta.version != state.meta.version;
        state.is_unsaved &= !is_other;
        if state.is_unsaved {
            let further_names = meta.notes.as_ref().map_or(0, |notes| notes.further_names);
            let notes = state.meta.notes.take().unwrap_or_default();
            meta.notes = Some(Notes { further_names, ..notes });
        }
        (state.meta, state.until) = (meta, until);
    }
}

impl Remote {
    pub(super) fn attributes_of(&self, node: &Node) -> Attributes {
        let late =
            lock(&node.late).as_ref().map(|late| (late.contents.size(), late.contents.bytes()));
        let state = read(&node.state);
        let notes = state.meta.notes.clone().unwrap_or_default();
        let is_directory = node.kind == Kind::Directory;
        let (size, bytes) = match node.kind {
            Kind::Directory => (4096, 0),
            Kind::Link => (state.meta.size, 0),
            Kind::File => late.unwrap_or((state.meta.length(), state.meta.size)),
            _ => (0, 0),
        };
        let links = match (node.is_gone(), is_directory) {
            (true, _) => 0,
            // Which directories are in one is known only when they were counted: 1 says so.
            (false, true) => state.directories.map_or(1, |count| count.saturating_add(2)),
            (false, false) => notes.further_names.saturating_add(1),
        };
        let modified = notes.modified.unwrap_or(state.meta.modified);
        let Settings { file_mode, directory_mode, .. } = self.settings;
        let mode = if is_directory { directory_mode } else { file_mode };
        let (uid, gid) = self.owner(&notes);
        Attributes {
            number: node.number,
            kind: node.kind,
            mode: if node.kind == Kind::Link { 0o777 } else { notes.mode.unwrap_or(mode) },
            links,
            uid,
            gid,
            device: 0,
            size,
            blocks: bytes.div_ceil(512),
            accessed: notes.accessed.unwrap_or(modified),
            modified,
            changed: notes.changed.unwrap_or(modified),
        }
    }

    /// Whose a file is.
    fn owner(&self, notes: &Notes) -> (u32, u32) {
        let Settings { uid, gid, owners, .. } = self.settings;
        match owners {
            Owners::OfMount => (uid, gid),
            Owners::AsNoted => (notes.uid.unwrap_or(uid), notes.gid.unwrap_or(gid)),
        }
    }

    /// What is noted of something new.
    pub(super) fn first_notes(
        &self,
        caller: &Caller,
        parent: &Node,
        kind: Kind,
        mode: u32,
    ) -> Notes {
        let (mode, gid) = inherit(caller, &self.attributes_of(parent), kind, mode);
        let now = Some(Timestamp::now());
        let is_noted = self.settings.owners == Owners::AsNoted;
        Notes {
            kind: match kind {
                Kind::Link => NotedKind::Link,
                Kind::Fifo => NotedKind::Fifo,
                Kind::Socket => NotedKind::Socket,
                _ => NotedKind::File,
            },
            mode: Some(mode & vfs::ALL_MODE_BITS),
            uid: is_noted.then_some(caller.uid),
            gid: is_noted.then_some(gid),
            accessed: now,
            modified: now,
            changed: now,
            ..Notes::default()
        }
    }

    /// The names in a directory have changed, and how many directories are in it.
    pub(super) fn names_changed(&self, directory: &Node, directories: i32) {
        {
            let mut state = write(&directory.state);
            let count = state.directories.map(|count| count.saturating_add_signed(directories));
            state.directories = count;
        }
        directory.note(|notes, now| notes.modified = Some(now));
    }
}

/// What is noted of something, to be changed: the time of its contents belongs to it from then on.
pub(super) fn noted(meta: &Meta) -> Notes {
    let notes = meta.notes.clone().unwrap_or_default();
    Notes { modified: Some(notes.modified.unwrap_or(meta.modified)), ..notes }
}

pub(super) fn kind_of(meta: &Meta) -> Kind {
    match (meta.kind, meta.notes.as_ref().map(|notes| notes.kind).unwrap_or_default()) {
        (MetaKind::Directory, _) => Kind::Directory,
        (MetaKind::File, NotedKind::File) => Kind::File,
        (MetaKind::File, NotedKind::Link) => Kind::Link,
        (MetaKind::File, NotedKind::Fifo) => Kind::Fifo,
        (MetaKind::File, NotedKind::Socket) => Kind::Socket,
    }
}
