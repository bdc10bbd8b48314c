//! A tree that an engine has, as items: directories before what is in them, a file with several names once, and by its
//! first name from then on.

use std::collections::HashMap;
use std::io::{Empty, Error as IoError, Read};

use vfs::{Attributes, Caller, Engine, Handle, Inode, Kind, Name, Seek, Use};

use crate::error::{SnapshotError, on_file};
use crate::item::{Contents, Item, ItemKind, Sink};

/// Gives everything below an engine's root to a sink, but for the paths that are left out with all below them. Device
/// files are left out too: no engine of ours makes one.
///
/// # Errors
/// What could not be read, or what the sink refused.
pub fn from_engine(
    engine: &dyn Engine,
    leave_out: &dyn Fn(&[u8]) -> bool,
    sink: &mut dyn Sink,
) -> Result<(), SnapshotError> {
    let caller = Caller::root();
    let root = engine.root();
    let attributes = engine.attributes(&caller, root).map_err(on_file("look at", b"/"))?;
    let mut walk = Walk { engine, leave_out, caller, sink, first_names: HashMap::new() };
    walk.give(Vec::new(), root, &attributes)?;
    // Without recursion: a tree may be deeper than a stack. What is in a directory comes right after it, as those who
    // read archives expect it.
    let mut above = vec![walk.level(Vec::new(), root, false)?];
    let walked = walk.all(&mut above);
    for level in above.iter().filter(|level| level.is_held) {
        engine.forget(level.directory, 1);
    }
    walked?;
    walk.sink.finish()
}

/// A directory that is being looked into.
struct Level {
    path: Vec<u8>,
    directory: Inode,
    is_held: bool,
    names: std::vec::IntoIter<Vec<u8>>,
}

struct Walk<'a> {
    engine: &'a dyn Engine,
    leave_out: &'a dyn Fn(&[u8]) -> bool,
    caller: Caller,
    sink: &'a mut dyn Sink,
    /// Of files with several names, the one that came first.
    first_names: HashMap<u64, Vec<u8>>,
}

impl Walk<'_> {
    fn all(&mut self, above: &mut Vec<Level>) -> Result<(), SnapshotError> {
        while let Some(level) = above.last_mut() {
            let Some(name) = level.names.next() else {
                if level.is_held {
                    self.engine.forget(level.directory, 1);
                }
                above.pop();
                continue;
            };
            let (path, directory) = (&level.path, level.directory);
            let below =
                if path.is_empty() { name.clone() } else { [path, &b"/"[..], &name].concat() };
            if (self.leave_out)(&below) {
                continue;
            }
            let checked = Name::new(&name).map_err(on_file("look at", path))?;
            let entry = match self.engine.lookup(&self.caller, directory, checked) {
                Ok(entry) => entry,
                // It was removed meanwhile.
                Err(error) if error.errno == rustix::io::Errno::NOENT => continue,
                Err(error) => return Err(on_file("look at", path)(error)),
            };
            let is_directory = entry.attributes.kind == Kind::Directory;
            let given = self.give(below.clone(), entry.inode, &entry.attributes);
            let level = given.and_then(|()| {
                is_directory.then(|| self.level(below, entry.inode, true)).transpose()
            });
            match level {
                Ok(Some(level)) => above.push(level),
                done => {
                    self.engine.forget(entry.inode, 1);
                    done?;
                }
            }
        }
        Ok(())
    }

    fn level(
        &self,
        path: Vec<u8>,
        directory: Inode,
        is_held: bool,
    ) -> Result<Level, SnapshotError> {
        let names = self.names(&path, directory)?.into_iter();
        Ok(Level { path, directory, is_held, names })
    }

    fn names(&self, path: &[u8], directory: Inode) -> Result<Vec<Vec<u8>>, SnapshotError> {
        let failed = on_file("list", path);
        let handle = self.engine.open_directory(&self.caller, directory).map_err(&failed)?;
        let mut names = Vec::new();
        let listed = self.engine.read_directory(handle, 0, &mut |listed| {
            if !matches!(listed.name, b"." | b"..") {
                names.push(listed.name.to_vec());
            }
            true
        });
        self.engine.release(handle);
        listed.map_err(&failed)?;
        // So that the same tree gives the same archive.
        names.sort_unstable();
        Ok(names)
    }

    fn give(
        &mut self,
        path: Vec<u8>,
        inode: Inode,
        attributes: &Attributes,
    ) -> Result<(), SnapshotError> {
        let failed = |action| on_file(action, &path);
        let is_directory = attributes.kind == Kind::Directory;
        let is_known = !is_directory && attributes.links > 1;
        let first = self.first_names.get(&attributes.number).filter(|_| is_known).cloned();
        let kind = match (first, attributes.kind) {
            (Some(first), _) => ItemKind::HardLink(first),
            (None, Kind::Directory) => ItemKind::Directory,
            (None, Kind::File) => ItemKind::File(attributes.size),
            (None, Kind::Link) => {
                let target = self.engine.read_link(&self.caller, inode);
                ItemKind::Link(target.map_err(failed("read"))?)
            }
            (None, Kind::Fifo) => ItemKind::Fifo,
            (None, Kind::Socket) => ItemKind::Socket,
            (None, Kind::CharacterDevice) if attributes.device == 0 => ItemKind::Whiteout,
            (None, Kind::CharacterDevice | Kind::BlockDevice) => return Ok(()),
        };
        if is_known && !matches!(kind, ItemKind::HardLink(_)) {
            self.first_names.insert(attributes.number, path.clone());
        }
        let marks = match self.engine.marks().filter(|_| is_directory) {
            Some(marks) => marks.all(inode).map_err(failed("read"))?,
            None => Vec::new(),
        };
        let item = Item {
            xattrs: self.xattrs(inode, &kind).map_err(failed("read the attributes of"))?,
            kind,
            mode: attributes.mode,
            uid: attributes.uid,
            gid: attributes.gid,
            modified: attributes.modified,
            marks,
            path: path.clone(),
        };
        if !matches!(item.kind, ItemKind::File(_)) {
            return self.sink.put(&item, &mut Empty::default());
        }
        let how = Use { read: true, write: false };
        let handle = self.engine.open(&self.caller, inode, how).map_err(failed("read"))?;
        let mut contents = EngineFile { engine: self.engine, handle, at: 0, end: attributes.size };
        let put = self.sink.put(&item, &mut contents);
        self.engine.release(handle);
        put
    }

    fn xattrs(&self, inode: Inode, kind: &ItemKind) -> vfs::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut all = Vec::new();
        if matches!(kind, ItemKind::HardLink(_)) || !self.engine.abilities().xattrs {
            return Ok(all);
        }
        let mut names = match self.engine.xattrs(&self.caller, inode) {
            Err(error) if error.errno == rustix::io::Errno::OPNOTSUPP => return Ok(all),
            names => names?,
        };
        names.sort_unstable();
        // What a kernel means by the others does not hold elsewhere.
        for name in names.into_iter().filter(|name| name.starts_with(b"user.")) {
            let value = self.engine.xattr(&self.caller, inode, &name)?;
            all.push((name, value));
        }
        Ok(all)
    }
}

/// What is in a file of an engine: as much as its length said, whatever becomes of it meanwhile.
struct EngineFile<'a> {
    engine: &'a dyn Engine,
    handle: Handle,
    at: u64,
    end: u64,
}

impl Read for EngineFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = into.len().min(left);
        let place = into.get_mut(..most).unwrap_or_default();
        if place.is_empty() {
            return Ok(0);
        }
        let read = self.engine.read(self.handle, self.at, place);
        let count = read.map_err(|error| IoError::from(error.errno))?;
        // A file that was cut meanwhile ends in zeros.
        let count = if count == 0 {
            place.fill(0);
            place.len()
        } else {
            count
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Contents for EngineFile<'_> {
    fn pass_hole(&mut self) -> std::io::Result<u64> {
        let from = self.at;
        self.at = match self.engine.seek(self.handle, Seek::Data, from) {
            Ok(data) => data.min(self.end).max(from),
            Err(error) if error.errno == rustix::io::Errno::NXIO => self.end,
            // An engine that cannot tell has no holes.
            Err(_) => from,
        };
        Ok(self.at - from)
    }
}
