//! What a guest holds of a directory of the host: found by name, known by device and inode, given back.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::calls::{self, attributes, kind_of};
use super::marks::Marked;
use super::{Host, HostMode, Node, Open};
use crate::attributes::{Attributes, Kind, SET_GID, SET_UID};
use crate::caller::Caller;
use crate::engine::{Engine as _, Entry, Handle, Inode, New, Use};
use crate::error::{Error, Result};
use crate::name::Name;
use crate::rules;

/// Which number a file has that is held: by its device and inode, in shards by inode.
#[derive(Debug)]
pub(super) struct Known {
    shards: Box<[Mutex<Numbers>]>,
    rest: Mutex<Numbers>,
}

type Numbers = HashMap<(u64, u64), u64>;

impl Known {
    pub(super) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, rest: Mutex::default() }
    }

    pub(super) fn of(&self, identity: (u64, u64)) -> MutexGuard<'_, Numbers> {
        let index = usize::try_from(identity.1).map_or(SHARDS, |inode| inode % SHARDS);
        self.shards.get(index).unwrap_or(&self.rest).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is made of access control lists (`acl(5)`), which may deny somebody what a file's mode allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lists {
    /// Nothing.
    Unheeded,
    /// A file with one is its owner's and root's alone, as it is at the moment.
    Heeded,
    /// The same, as it was when it was found: where nobody else changes files.
    HeededOnce,
}

impl Host {
    /// Finds what a name leads to, and holds it.
    pub(super) fn find(&self, parent: &Arc<Node>, name: Name<'_>) -> Result<(Arc<Node>, Entry)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let descriptor = self.reach.open(parent.descriptor.as_fd(), name.as_bytes(), flags)?;
        let found = rustix::fs::fstat(&descriptor)?;
        let node = self.hold(parent, descriptor, &found)?;
        let attributes = self.seen(&node, attributes(&found));
        let entry = Entry { inode: Inode(node.number), generation: 1, attributes };
        Ok((node, entry))
    }

    /// Makes a file and opens it, which takes fewer calls than one after the other, and none through `/proc`.
    pub(super) fn make_open(
        &self,
        caller: &Caller,
        directory: &Arc<Node>,
        name: Name<'_>,
        mode: u32,
        how: Use,
    ) -> Result<(Entry, Handle)> {
        let (at, path) = (directory.descriptor.as_fd(), name.as_bytes());
        let first = self.first_mode(caller, mode);
        self.handles.take(1)?;
        let made = (|| {
            let made = self.reach.create(at, path, calls::access(how), first)?;
            let found = rustix::fs::fstat(&made)?;
            let node = self.hold(directory, self.reference(directory, name, &made)?, &found)?;
            if self.lists != Lists::Unheeded {
                let _asked_before = node.has_list.set(calls::has_open_access_list(&made));
            }
            let attributes = self.seen(&node, attributes(&found));
            Ok((node.number, attributes, made))
        })();
        let (number, attributes, made) = made.inspect_err(|_: &Error| self.handles.give(1))?;
        let entry = Entry { inode: Inode(number), generation: 1, attributes };
        let settled = self.settle(caller, directory, entry, New::File, mode);
        let entry = settled.inspect_err(|_| {
            // What could not be made in full is not there at all.
            let parent = Inode(directory.number);
            let _removed = self.remove(caller, parent, name, entry.inode);
            self.forget(entry.inode, 1);
            self.handles.give(1);
        })?;
        Ok((entry, self.put_open(self.node(entry.inode)?, made, how)))
    }

    /// A descriptor that refers to what was made just now and does nothing else: one for writing would keep the program in
    /// it from being started.
    fn reference(&self, directory: &Node, name: Name<'_>, made: &OwnedFd) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let named = self.reach.open(directory.descriptor.as_fd(), name.as_bytes(), flags);
        let identity = |held: &OwnedFd| rustix::fs::fstat(held).map(|of| (of.st_dev, of.st_ino));
        match named {
            Ok(named) if identity(&named)? == identity(made)? => Ok(named),
            // It has another name by now, or none.
            _ => calls::open_again(made, OFlags::PATH),
        }
    }

    /// Holds what a descriptor refers to, once more if it is held already.
    fn hold(&self, parent: &Arc<Node>, descriptor: OwnedFd, found: &Stat) -> Result<Arc<Node>> {
        let identity = self.reach.identity(&descriptor, found)?;
        let kind = kind_of(found);
        let node = {
            let mut known = self.known.of(identity);
            let there = known.get(&identity).and_then(|number| self.nodes.get(*number));
            match there {
                Some(node) => {
                    node.held.fetch_add(1, Ordering::SeqCst);
                    node
                }
                None => {
                    self.inodes.take(1)?;
                    let number = self.nodes.next();
                    let parent_number = if kind == Kind::Directory {
                        parent.held.fetch_add(1, Ordering::SeqCst);
                        parent.number
                    } else {
                        0
                    };
                    let node = Arc::new(Node {
                        number,
                        identity,
                        descriptor,
                        kind,
                        parent: AtomicU64::new(parent_number),
                        held: AtomicU64::new(1),
                        marks: Marked::default(),
                        has_list: OnceLock::new(),
                    });
                    self.nodes.put(number, Arc::clone(&node));
                    known.insert(identity, number);
                    node
                }
            }
        };
        if kind == Kind::Directory && node.number != self.root.number {
            self.adopt(&node, parent);
        }
        Ok(node)
    }

    /// Notes in which directory a directory was found.
    pub(super) fn adopt(&self, node: &Node, parent: &Node) {
        if node.parent.load(Ordering::SeqCst) == parent.number {
            return;
        }
        parent.held.fetch_add(1, Ordering::SeqCst);
        let before = node.parent.swap(parent.number, Ordering::SeqCst);
        self.forget(Inode(before), 1);
    }

    pub(super) fn attributes_of(&self, node: &Node) -> Result<Attributes> {
        Ok(self.seen(node, attributes(&rustix::fs::fstat(&node.descriptor)?)))
    }

    /// What is told of a file. Whoever judges by it knows of modes alone: where those are not all that the host says about a
    /// file, nobody but the owner has anything of it.
    fn seen(&self, node: &Node, found: Attributes) -> Attributes {
        // A link has neither.
        let has_list = match self.lists {
            _ if node.kind == Kind::Link => false,
            Lists::Unheeded => false,
            Lists::Heeded => calls::has_access_list(&node.descriptor),
            Lists::HeededOnce => {
                *node.has_list.get_or_init(|| calls::has_access_list(&node.descriptor))
            }
        };
        if has_list { Attributes { mode: found.mode & !0o077, ..found } } else { found }
    }

    /// Whether a name leads to what was judged.
    pub(super) fn check(
        &self,
        directory: &Node,
        name: Name<'_>,
        judged: Inode,
    ) -> Result<Arc<Node>> {
        let found =
            rustix::fs::statat(&directory.descriptor, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
        let node = self.node(judged)?;
        let is_same = |(device, inode): (u64, u64)| {
            (device & calls::DEVICE, inode) == (found.st_dev, found.st_ino)
        };
        if is_same(node.identity) { Ok(node) } else { Err(Errno::STALE.into()) }
    }

    /// The mode with which something is made: nobody but the owner has anything of it before it is given to the caller.
    pub(super) fn first_mode(&self, caller: &Caller, mode: u32) -> Mode {
        let is_own = self.mode == HostMode::WritableAsCaller
            && caller.uid == rustix::process::geteuid().as_raw()
            && caller.gid == rustix::process::getegid().as_raw();
        let alone = Mode::RUSR | Mode::WUSR | Mode::XUSR;
        if is_own { Mode::from_raw_mode(mode & 0o777) } else { alone }
    }

    /// Gives something new to its caller, where that is wanted.
    pub(super) fn settle(
        &self,
        caller: &Caller,
        parent: &Node,
        entry: Entry,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let node = self.node(entry.inode)?;
        let found = entry.attributes;
        // A file that is as it should be. In a setgid directory the kernel has given it the group; what else such a
        // directory changes are bits that it does not have.
        let is_plain = new == New::File && mode & (SET_UID | SET_GID) == 0;
        let is_given = self.mode != HostMode::WritableAsCaller
            || (found.uid, found.gid) == (caller.uid, caller.gid);
        if is_plain && is_given && found.mode == mode {
            return Ok(entry);
        }
        // The umask of this process is not the guest's.
        let wanted = if self.mode == HostMode::WritableAsCaller {
            let directory = attributes(&rustix::fs::fstat(&parent.descriptor)?);
            let (mode, gid) = rules::inherit(caller, &directory, new.kind(), mode);
            if (found.uid, found.gid) != (caller.uid, gid) {
                let (uid, gid) = (Uid::from_raw(caller.uid), Gid::from_raw(gid));
                calls::chown(&node.descriptor, Some(uid), Some(gid))?;
            } else if found.mode == mode || new.kind() == Kind::Link {
                return Ok(entry);
            }
            mode
        } else {
            mode | (found.mode & SET_GID)
        };
        if new.kind() != Kind::Link {
            match calls::chmod(&node.descriptor, wanted) {
                // A file system that has one mode for all its files refuses any other. What was made stays, as `open` and
                // `mkdir` of the kernel leave it there.
                Err(error) if error.errno == Errno::PERM && wanted & (SET_UID | SET_GID) == 0 => {}
                changed => changed?,
            }
        }
        Ok(Entry { attributes: self.attributes_of(&node)?, ..entry })
    }

    pub(super) fn put_open(&self, node: Arc<Node>, descriptor: OwnedFd, how: Use) -> Handle {
        node.held.fetch_add(1, Ordering::SeqCst);
        let number = self.open.next();
        self.open.put(number, Arc::new(Open { node, descriptor, how, listing: Mutex::default() }));
        Handle(number)
    }
}

const SHARDS: usize = 64;
