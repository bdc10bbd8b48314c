//! A tree into a store. Zeros become holes.

use rustix::io::Errno;
use store::Store;
use vfs::{
    Caller, Changes, Engine, Inode, Kind, Marks as _, Name, New, NewTime, SetXattr, Timestamp, Use,
    WriteAt,
};

use crate::error::{SnapshotError, on_file};
use crate::item::{Contents, Item, ItemKind, Sink, split};

/// Fills a store that is empty.
#[derive(Debug)]
pub struct IntoStore<'a> {
    store: &'a Store,
    caller: Caller,
    /// Times that are set when nothing comes into the directories any more.
    directories: Vec<(Vec<u8>, Timestamp)>,
}

impl<'a> IntoStore<'a> {
    /// Into this one.
    pub fn new(store: &'a Store) -> Self {
        Self { store, caller: Caller::root(), directories: Vec::new() }
    }

    /// Walks to a directory of the tree by names alone; holds it.
    fn find(&self, path: &[u8]) -> vfs::Result<Inode> {
        let mut at = self.store.root();
        let mut is_held = false;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = self.store.lookup(&self.caller, at, Name::new(name)?);
            if is_held {
                self.store.forget(at, 1);
            }
            (at, is_held) = (found?.inode, true);
        }
        if !is_held {
            // The root, held as the others are.
            self.store.lookup_parent(&self.caller, at)?;
        }
        Ok(at)
    }

    fn make(&self, item: &Item, contents: &mut dyn Contents) -> vfs::Result<Inode> {
        if item.path.is_empty() {
            return self.find(b"");
        }
        let (directory, name) = split(&item.path);
        let name = Name::new(name)?;
        let parent = self.find(directory)?;
        let make = |new| self.store.make(&self.caller, parent, name, new, item.mode);
        let made = match &item.kind {
            ItemKind::Directory => match make(New::Directory) {
                // It was needed before it came.
                Err(error) if error.errno == Errno::EXIST => {
                    self.store.lookup(&self.caller, parent, name)
                }
                made => made,
            },
            ItemKind::File(_) => make(New::File),
            ItemKind::Link(target) => make(New::Link(target)),
            ItemKind::Fifo => make(New::Fifo),
            ItemKind::Socket => make(New::Socket),
            ItemKind::Whiteout => self.store.make_whiteout(&self.caller, parent, name),
            ItemKind::HardLink(first) => self.find(first).and_then(|inode| {
                let linked = self.store.link(&self.caller, inode, parent, name);
                self.store.forget(inode, 1);
                linked
            }),
        };
        self.store.forget(parent, 1);
        let inode = made?.inode;
        if let ItemKind::File(size) = item.kind {
            self.fill(inode, size, contents).inspect_err(|_| self.store.forget(inode, 1))?;
        }
        Ok(inode)
    }

    fn fill(&self, inode: Inode, size: u64, contents: &mut dyn Contents) -> vfs::Result<()> {
        let how = Use { read: false, write: true };
        let handle = self.store.open(&self.caller, inode, how)?;
        let filled = (|| {
            let unread = |error: std::io::Error| {
                vfs::Error::from(Errno::from_io_error(&error).unwrap_or(Errno::IO))
            };
            let mut buffer = vec![0; BUFFER];
            let mut at = contents.pass_hole().map_err(unread)?;
            loop {
                let mut bytes = crate::archive::fill(contents, &mut buffer).map_err(unread)?;
                if bytes.is_empty() {
                    break;
                }
                if bytes.iter().all(|byte| *byte == 0) {
                    at += bytes.len() as u64 + contents.pass_hole().map_err(unread)?;
                    continue;
                }
                while !bytes.is_empty() {
                    let written = self.store.write(handle, WriteAt::Offset(at), bytes)?;
                    bytes = bytes.get(written.count..).unwrap_or_default();
                    at = written.end;
                }
            }
            self.store.flush(handle)
        })();
        self.store.release(handle);
        filled?;
        let changes = Changes { size: Some(size), ..Changes::default() };
        self.store.change(&self.caller, inode, &changes).map(drop)
    }

    fn adorn(&self, inode: Inode, item: &Item) -> vfs::Result<()> {
        for (name, value) in &item.xattrs {
            self.store.set_xattr(&self.caller, inode, name, value, SetXattr::Any)?;
        }
        for mark in &item.marks {
            self.store.set(inode, mark)?;
        }
        let time = Some(NewTime::At(item.modified));
        let changes = Changes {
            mode: (!matches!(item.kind, ItemKind::Link(_))).then_some(item.mode),
            uid: Some(item.uid),
            gid: Some(item.gid),
            size: None,
            accessed: time,
            modified: time,
        };
        self.store.change(&self.caller, inode, &changes).map(drop)
    }
}

impl Sink for IntoStore<'_> {
    fn put(&mut self, item: &Item, contents: &mut dyn Contents) -> Result<(), SnapshotError> {
        let failed = on_file("write", &item.path);
        let inode = self.make(item, contents).map_err(&failed)?;
        let is_new = !matches!(item.kind, ItemKind::HardLink(_));
        let adorned = if is_new { self.adorn(inode, item) } else { Ok(()) };
        self.store.forget(inode, 1);
        if item.kind == ItemKind::Directory {
            self.directories.push((item.path.clone(), item.modified));
        }
        adorned.map_err(&failed)
    }

    fn finish(&mut self) -> Result<(), SnapshotError> {
        for (path, modified) in std::mem::take(&mut self.directories) {
            let failed = on_file("write", &path);
            let inode = self.find(&path).map_err(&failed)?;
            let time = Some(NewTime::At(modified));
            let changes = Changes { accessed: time, modified: time, ..Changes::default() };
            let kind = self.store.attributes(&self.caller, inode).map(|found| found.kind);
            if kind == Ok(Kind::Directory) {
                self.store.change(&self.caller, inode, &changes).map_err(&failed)?;
            }
            self.store.forget(inode, 1);
        }
        self.store.sync_all().map_err(on_file("write", b"/"))
    }
}

const BUFFER: usize = 256 << 10;
