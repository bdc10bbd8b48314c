//! Copying a file up: with contents, holes, mode, owner, times and extended attributes, under a name that nobody sees,
//! and then into its place by one rename.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::{Node, Overlay, lock, notes};
use crate::attributes::{Attributes, Changes, Kind, NewTime};
use crate::caller::Caller;
use crate::engine::{Engine, Inode, New, Rename, Replace, Seek, SetXattr, Use, WriteAt};
use crate::error::Result;
use crate::name::Name;
use crate::table::{read, write};

impl Overlay {
    /// The inode that a file has in the upper layer, to which it is copied if it is not there. Never called with the
    /// names of a directory locked.
    pub(super) fn copy_up(&self, node: &Arc<Node>) -> Result<Inode> {
        let mut above = vec![Arc::clone(node)];
        // The directories that it is in come first.
        while let Some(one) = above.last() {
            let upper = read(&one.place).upper;
            if let Some(upper) = upper {
                above.pop();
                if above.is_empty() {
                    return Ok(upper);
                }
                continue;
            }
            let seat = lock(&one.seat).clone();
            match seat {
                Some(seat) if read(&seat.parent.place).upper.is_none() => above.push(seat.parent),
                _ => {
                    let one = Arc::clone(one);
                    self.copy(&one)?;
                }
            }
        }
        read(&node.place).upper.ok_or(Errno::STALE.into())
    }

    /// Copies one whose directory is there.
    fn copy(&self, node: &Arc<Node>) -> Result<()> {
        let _copying = lock(&node.copying);
        let (upper, lower) = {
            let place = read(&node.place);
            (place.upper, place.lowers.first().copied())
        };
        let (None, Some((layer, source))) = (upper, lower) else { return Ok(()) };
        let root = Caller::root();
        let engine = self.lower(layer)?;
        let found = engine.attributes(&root, source)?;
        let number = self.next_copy.fetch_add(1, Ordering::Relaxed);
        let staged = format!("{number}");
        let staged = Name::new(staged.as_bytes())?;
        let target = match node.kind {
            Kind::Link => engine.read_link(&root, source)?,
            _ => Vec::new(),
        };
        let new = match node.kind {
            Kind::File => New::File,
            Kind::Directory => New::Directory,
            Kind::Link => New::Link(&target),
            Kind::Fifo => New::Fifo,
            Kind::Socket => New::Socket,
            // No guest can make one, and none is copied to where guests write.
            Kind::CharacterDevice | Kind::BlockDevice => return Err(Errno::PERM.into()),
        };
        // Nobody can change that of a link afterwards.
        let mode = if node.kind == Kind::Link { 0o777 } else { 0o600 };
        let made = self.upper.make(&root, self.staging, staged, new, mode)?;
        let filled = self
            .marks()
            .and_then(|marks| marks.note_copy(made.inode))
            .and_then(|()| self.fill(engine, source, made.inode, &found))
            .and_then(|()| self.place_copy(node, (layer, source), staged, made.inode));
        if filled.is_err() {
            let _left = self.upper.remove(&root, self.staging, staged, made.inode);
            self.upper.forget(made.inode, 1);
        }
        filled
    }

    /// Puts a copy where the name of its file is, if the file still has one; else it has none in the upper layer either.
    fn place_copy(
        &self,
        node: &Arc<Node>,
        from: (usize, Inode),
        staged: Name<'_>,
        copy: Inode,
    ) -> Result<()> {
        let root = Caller::root();
        let seat = lock(&node.seat).clone();
        let names = seat.as_ref().map(|seat| lock(&seat.parent.names));
        // It may have lost its name just now.
        let seat = seat.as_ref().filter(|_| lock(&node.seat).is_some());
        let parent = seat.and_then(|seat| Some((read(&seat.parent.place).upper?, seat)));
        let is_removed = node.kind == Kind::Directory && node.is_gone.load(Ordering::SeqCst);
        match parent.filter(|_| !is_removed) {
            Some((to, seat)) => {
                let before = self.upper.attributes(&root, to)?;
                let rename = Rename {
                    from: self.staging,
                    name: staged,
                    moved: copy,
                    to,
                    new_name: Name::new(&seat.name)?,
                    replaced: None,
                    replace: Replace::No,
                };
                self.upper.rename(&root, &rename)?;
                // Nothing has changed for whoever looks at the directory.
                let modified = Some(NewTime::At(before.modified));
                self.upper.change(&root, to, &Changes { modified, ..Changes::default() })?;
                if node.kind != Kind::Directory {
                    node.names_below.fetch_sub(1, Ordering::SeqCst);
                    node.is_pinned.store(true, Ordering::SeqCst);
                }
            }
            None => self.upper.remove(&root, self.staging, staged, copy)?,
        }
        {
            let mut place = write(&node.place);
            place.upper = Some(copy);
            debug_assert_eq!(place.lowers.first(), Some(&from));
        }
        self.known.put(None, copy, node.number);
        drop(names);
        Ok(())
    }

    /// Everything that belongs to a file, but its name.
    fn fill(
        &self,
        engine: &dyn Engine,
        source: Inode,
        copy: Inode,
        found: &Attributes,
    ) -> Result<()> {
        let root = Caller::root();
        if found.kind == Kind::File {
            self.fill_contents(engine, source, copy, found.size)?;
        }
        if engine.abilities().xattrs && self.upper.abilities().xattrs {
            let names = engine.xattrs(&root, source)?;
            // What another overlay has noted there means nothing here.
            for name in names.into_iter().filter(|name| notes::refuse(name).is_ok()) {
                let value = engine.xattr(&root, source, &name)?;
                self.upper.set_xattr(&root, copy, &name, &value, SetXattr::Any)?;
            }
        }
        let changes = Changes {
            mode: (found.kind != Kind::Link).then_some(found.mode),
            uid: Some(found.uid),
            gid: Some(found.gid),
            size: None,
            accessed: Some(NewTime::At(found.accessed)),
            modified: Some(NewTime::At(found.modified)),
        };
        self.upper.change(&root, copy, &changes).map(drop)
    }

    fn fill_contents(
        &self,
        engine: &dyn Engine,
        source: Inode,
        copy: Inode,
        size: u64,
    ) -> Result<()> {
        let root = Caller::root();
        let from = engine.open(&root, source, Use { read: true, write: false })?;
        let to = self.upper.open(&root, copy, Use { read: false, write: true });
        let copied = to.and_then(|to| {
            let copied = (|| {
                let mut buffer = vec![0; COPY_BYTES];
                let mut at = 0;
                while at < size {
                    // Holes stay holes.
                    at = match engine.seek(from, Seek::Data, at) {
                        Ok(data) => data,
                        Err(error) if error.errno == Errno::NXIO => break,
                        Err(error) => return Err(error),
                    };
                    let hole = engine.seek(from, Seek::Hole, at)?;
                    while at < hole {
                        let left = usize::try_from(hole - at).unwrap_or(usize::MAX);
                        let room = buffer.get_mut(..left.min(COPY_BYTES)).unwrap_or_default();
                        let count = engine.read(from, at, room)?;
                        if count == 0 {
                            break;
                        }
                        let mut bytes = room.get(..count).unwrap_or_default();
                        while !bytes.is_empty() {
                            let written = self.upper.write(to, WriteAt::Offset(at), bytes)?;
                            bytes = bytes.get(written.count..).unwrap_or_default();
                            at = written.end;
                        }
                    }
                }
                self.upper.flush(to)
            })();
            self.upper.release(to);
            copied
        });
        engine.release(from);
        copied?;
        let changes = Changes { size: Some(size), ..Changes::default() };
        self.upper.change(&root, copy, &changes).map(drop)
    }

    /// Copies a file so that the upper layer has it under this name: of several that a lower layer has, a copy is put under
    /// one, and the others are names of that copy.
    pub(super) fn copy_name(
        &self,
        parent: &Arc<Node>,
        name: Name<'_>,
        node: &Arc<Node>,
    ) -> Result<()> {
        let (copy, directory) = (self.copy_up(node)?, self.copy_up(parent)?);
        if node.kind == Kind::Directory {
            return Ok(());
        }
        let root = Caller::root();
        let _names = lock(&parent.names);
        let (found, upper) = self.find(parent, name)?;
        let is_below = found.number == node.number && upper.is_none();
        self.give_back(found.number, 1);
        if !is_below {
            return Ok(());
        }
        let before = self.upper.attributes(&root, directory)?;
        let linked = self.upper.link(&root, copy, directory, name);
        let linked = linked.map_err(|error| match error.errno {
            // The copy has lost its name: whoever moves the file copies it, as between file systems.
            Errno::NOENT => Errno::XDEV.into(),
            _ => error,
        })?;
        self.upper.forget(linked.inode, 1);
        let modified = Some(NewTime::At(before.modified));
        self.upper.change(&root, directory, &Changes { modified, ..Changes::default() })?;
        node.names_below.fetch_sub(1, Ordering::SeqCst);
        node.is_pinned.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Copies a directory with everything in it, so that it can be moved. `EXDEV` where that is too much: whoever moves
    /// it then copies it, as between file systems.
    pub(super) fn copy_tree(&self, node: &Arc<Node>) -> Result<()> {
        self.copy_up(node)?;
        if node.kind != Kind::Directory {
            return Ok(());
        }
        node.held.fetch_add(1, Ordering::SeqCst);
        let mut held = vec![Arc::clone(node)];
        let copied = (|| {
            let mut next = 0;
            while let Some(directory) = held.get(next).cloned() {
                next += 1;
                if directory.kind != Kind::Directory || read(&directory.place).lowers.is_empty() {
                    continue;
                }
                for merged in self.merged(&directory)? {
                    if held.len() > MOST_MOVED {
                        return Err(Errno::XDEV.into());
                    }
                    let name = Name::new(&merged.name)?;
                    let (below, _) = self.find(&directory, name)?;
                    held.push(Arc::clone(&below));
                    self.copy_name(&directory, name, &below)?;
                }
            }
            // From the innermost on: each has everything by now.
            for directory in held.iter().rev().filter(|node| node.kind == Kind::Directory) {
                let upper = self.copy_up(directory)?;
                self.marks()?.set(upper, super::OPAQUE)?;
                let lowers = std::mem::take(&mut write(&directory.place).lowers);
                for (layer, inode) in lowers {
                    self.lower(layer)?.forget(inode, 1);
                }
            }
            Ok(())
        })();
        for one in held {
            self.give_back(one.number, 1);
        }
        copied
    }

    /// Removes copies that were not finished when an earlier process ended.
    pub(super) fn empty_staging(&self) -> Result<()> {
        let root = Caller::root();
        let handle = self.upper.open_directory(&root, self.staging)?;
        let mut names = Vec::new();
        let listed = self.upper.read_directory(handle, 0, &mut |listed| {
            if !matches!(listed.name, b"." | b"..") {
                names.push(listed.name.to_vec());
            }
            true
        });
        self.upper.release(handle);
        listed?;
        for name in names {
            let name = Name::new(&name)?;
            let entry = self.upper.lookup(&root, self.staging, name)?;
            let emptied = self.empty_of_notes(entry.inode, entry.attributes.kind);
            let removed =
                emptied.and_then(|()| self.upper.remove(&root, self.staging, name, entry.inode));
            self.upper.forget(entry.inode, 1);
            removed?;
        }
        Ok(())
    }
}

const COPY_BYTES: usize = 256 << 10;

/// How many files are copied at most so that a directory can be moved.
const MOST_MOVED: usize = 10_000;
