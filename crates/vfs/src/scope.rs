//! Which paths a guest may see, read and write: one wrapper around an engine, which asks before the engine is asked
//! anything. A2
//!
//! The subject is the path that a walk has come to, links resolved: a link itself is read by who may read where it lies,
//! and what it leads to is another path. The bits of an inode above a mount tree's say by which rule it was reached, so
//! that nothing is kept for each file. Nothing is granted by default. Names under different rules are as on different
//! file systems: `EXDEV`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use crate::attributes::{Attributes, Changes, Kind, Space};
use crate::caller::Caller;
use crate::engine::{
    Abilities, Allocate, Engine, Entry, Handle, Inode, Listed, New, Rename, Seek, SetXattr, Use,
    WriteAt, Written,
};
use crate::error::Result;
use crate::locks::LockTable;
use crate::name::Name;

/// What a guest may do with a path and what is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Nothing, not even to know whether it is there. So it is with everything that no rule names.
    Nothing,
    /// Reading.
    Read,
    /// Writing too.
    Write,
}

/// An engine behind rules about paths.
#[derive(Debug)]
pub struct Scoped {
    engine: Arc<dyn Engine>,
    rules: Box<[Rule]>,
}

/// One directory that a rule names, or that is above one.
#[derive(Debug)]
struct Rule {
    grant: Grant,
    /// Whether something below it is granted.
    leads: bool,
    children: BTreeMap<Box<[u8]>, usize>,
    parent: usize,
    /// The directory that was last found there, so that `..` from below ends in it.
    inode: AtomicU64,
}

/// By which rule something was reached: at its path, or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    rule: usize,
    is_below: bool,
}

impl Scoped {
    /// Puts rules around an engine: each an absolute path without links, and what is granted there. The longest path that
    /// fits decides. `EINVAL` for a path that is none, `E2BIG` for too many.
    pub fn new(engine: Arc<dyn Engine>, rules: &[(&[u8], Grant)]) -> Result<Self> {
        let new = |grant, parent| Rule {
            grant,
            leads: false,
            children: BTreeMap::new(),
            parent,
            inode: AtomicU64::new(NOWHERE),
        };
        let mut tree = vec![new(Grant::Nothing, 0)];
        let mut given = vec![None];
        for (path, grant) in rules {
            let names = path.strip_prefix(b"/").ok_or(Errno::INVAL)?;
            let mut at = 0;
            for name in names.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
                let name = Name::new(name).map_err(|_| Errno::INVAL)?.as_bytes();
                let there = tree.get(at).and_then(|rule| rule.children.get(name)).copied();
                at = if let Some(child) = there {
                    child
                } else {
                    let child = tree.len();
                    tree.push(new(Grant::Nothing, at));
                    given.push(None);
                    if let Some(rule) = tree.get_mut(at) {
                        rule.children.insert(name.into(), child);
                    }
                    child
                };
            }
            if let Some(given) = given.get_mut(at) {
                *given = Some(*grant);
            }
        }
        if tree.len() > MOST_RULES {
            return Err(Errno::TOOBIG.into());
        }
        // A parent comes before what is in it, so its grant is known.
        for at in 0..tree.len() {
            let parent = tree.get(at).map_or(0, |rule| rule.parent);
            let inherited = tree.get(parent).map_or(Grant::Nothing, |rule| rule.grant);
            let own = given.get(at).copied().flatten();
            if let Some(rule) = tree.get_mut(at) {
                rule.grant = own.unwrap_or(if at == 0 { Grant::Nothing } else { inherited });
            }
        }
        for at in (1..tree.len()).rev() {
            let (parent, leads) = tree.get(at).map_or((0, false), |rule| {
                (rule.parent, rule.leads || rule.grant > Grant::Nothing)
            });
            if let Some(rule) = tree.get_mut(parent) {
                rule.leads |= leads;
            }
        }
        if let Some(root) = tree.first() {
            root.inode.store(engine.root().0, Ordering::SeqCst);
        }
        Ok(Self { engine, rules: tree.into() })
    }

    fn rule(&self, reach: Reach) -> Result<&Rule> {
        self.rules.get(reach.rule).ok_or(Errno::STALE.into())
    }

    /// What is granted there, and whether it may be known as a directory that leads to something granted.
    fn grant(&self, reach: Reach) -> (Grant, bool) {
        self.rules
            .get(reach.rule)
            .map_or((Grant::Nothing, false), |rule| (rule.grant, !reach.is_below && rule.leads))
    }

    fn child(&self, parent: Reach, name: &[u8]) -> Reach {
        let rule = self.rules.get(parent.rule).filter(|_| !parent.is_below);
        match rule.and_then(|rule| rule.children.get(name)) {
            Some(child) => Reach { rule: *child, is_below: false },
            None => Reach { rule: parent.rule, is_below: true },
        }
    }

    /// The engine's inode, if so much is granted.
    fn inner(&self, inode: Inode, needed: Grant) -> Result<Inode> {
        let (reach, inner) = split(inode);
        if self.grant(reach).0 >= needed { Ok(inner) } else { Err(Errno::ACCESS.into()) }
    }

    /// The same for what may be known of a directory on the way.
    fn visible(&self, inode: Inode) -> Result<Inode> {
        let (reach, inner) = split(inode);
        let (grant, leads) = self.grant(reach);
        if grant >= Grant::Read || leads { Ok(inner) } else { Err(Errno::ACCESS.into()) }
    }

    /// The directory of a name that may be made, moved or removed.
    fn writable(&self, parent: Inode, name: Name<'_>) -> Result<(Inode, Reach)> {
        let (reach, inner) = split(parent);
        let child = self.child(reach, name.as_bytes());
        if self.grant(child).0 < Grant::Write {
            return Err(Errno::ACCESS.into());
        }
        Ok((inner, child))
    }

    /// A name that a rule has stays where it is.
    fn movable(&self, parent: Inode, name: Name<'_>) -> Result<Inode> {
        let (inner, child) = self.writable(parent, name)?;
        if child.is_below { Ok(inner) } else { Err(Errno::BUSY.into()) }
    }
}

impl Engine for Scoped {
    fn abilities(&self) -> Abilities {
        self.engine.abilities()
    }

    fn root(&self) -> Inode {
        tag(Reach { rule: 0, is_below: false }, self.engine.root())
    }

    fn lookup(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let (reach, inner) = split(parent);
        let child = self.child(reach, name.as_bytes());
        let (grant, leads) = self.grant(child);
        if grant < Grant::Read && !leads {
            return Err(Errno::ACCESS.into());
        }
        let entry = self.engine.lookup(caller, inner, name)?;
        if grant < Grant::Read && entry.attributes.kind != Kind::Directory {
            // Only the way to what is granted may be known.
            self.engine.forget(entry.inode, 1);
            return Err(Errno::ACCESS.into());
        }
        if !child.is_below {
            self.rule(child)?.inode.store(entry.inode.0, Ordering::SeqCst);
        }
        Ok(Entry { inode: tag(child, entry.inode), ..entry })
    }

    fn lookup_parent(&self, caller: &Caller, directory: Inode) -> Result<Entry> {
        let (reach, inner) = split(directory);
        let entry = self.engine.lookup_parent(caller, inner)?;
        let rule = self.rule(reach)?;
        let above = if !reach.is_below {
            Reach { rule: rule.parent, is_below: false }
        } else {
            let is_there = rule.inode.load(Ordering::SeqCst) == entry.inode.0;
            Reach { is_below: !is_there, ..reach }
        };
        Ok(Entry { inode: tag(above, entry.inode), ..entry })
    }

    fn forget(&self, inode: Inode, count: u64) {
        self.engine.forget(split(inode).1, count);
    }

    fn attributes(&self, caller: &Caller, inode: Inode) -> Result<Attributes> {
        self.engine.attributes(caller, self.visible(inode)?)
    }

    fn change(&self, caller: &Caller, inode: Inode, changes: &Changes) -> Result<Attributes> {
        self.engine.change(caller, self.inner(inode, Grant::Write)?, changes)
    }

    fn read_link(&self, caller: &Caller, inode: Inode) -> Result<Vec<u8>> {
        self.engine.read_link(caller, self.inner(inode, Grant::Read)?)
    }

    fn make(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let (inner, child) = self.writable(parent, name)?;
        let entry = self.engine.make(caller, inner, name, new, mode)?;
        Ok(Entry { inode: tag(child, entry.inode), ..entry })
    }

    fn link(&self, caller: &Caller, inode: Inode, parent: Inode, name: Name<'_>) -> Result<Entry> {
        // Both ends: what may only be read does not get a name by which it can be written.
        let file = self.inner(inode, Grant::Write)?;
        let (inner, child) = self.writable(parent, name)?;
        let entry = self.engine.link(caller, file, inner, name)?;
        Ok(Entry { inode: tag(child, entry.inode), ..entry })
    }

    fn remove(&self, caller: &Caller, parent: Inode, name: Name<'_>, judged: Inode) -> Result<()> {
        self.engine.remove(caller, self.movable(parent, name)?, name, split(judged).1)
    }

    fn rename(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        let from = self.movable(rename.from, rename.name)?;
        let to = self.movable(rename.to, rename.new_name)?;
        if !self.are_together(rename.from, rename.to) {
            return Err(Errno::XDEV.into());
        }
        let inner = Rename {
            from,
            to,
            moved: split(rename.moved).1,
            replaced: rename.replaced.map(|inode| split(inode).1),
            ..*rename
        };
        self.engine.rename(caller, &inner)
    }

    fn open(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let needed = if how.write { Grant::Write } else { Grant::Read };
        self.engine.open(caller, self.inner(inode, needed)?, how)
    }

    fn open_directory(&self, caller: &Caller, inode: Inode) -> Result<Handle> {
        let (reach, _) = split(inode);
        let handle = self.engine.open_directory(caller, self.visible(inode)?)?;
        Ok(Handle(tag(reach, Inode(handle.0)).0))
    }

    fn release(&self, handle: Handle) {
        self.engine.release(inner_handle(handle));
    }

    fn read(&self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<usize> {
        self.engine.read(inner_handle(handle), offset, into)
    }

    fn write(&self, handle: Handle, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        self.engine.write(inner_handle(handle), at, bytes)
    }

    fn allocate(&self, handle: Handle, how: Allocate, offset: u64, length: u64) -> Result<()> {
        self.engine.allocate(inner_handle(handle), how, offset, length)
    }

    fn seek(&self, handle: Handle, what: Seek, offset: u64) -> Result<u64> {
        self.engine.seek(inner_handle(handle), what, offset)
    }

    fn flush(&self, handle: Handle) -> Result<()> {
        self.engine.flush(inner_handle(handle))
    }

    fn flushes(&self) -> bool {
        self.engine.flushes()
    }

    fn sync(&self, handle: Handle) -> Result<()> {
        self.engine.sync(inner_handle(handle))
    }

    fn read_directory(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let (reach, inner) = split(Inode(handle.0));
        let mut shown = |listed: &Listed<'_>| {
            let (grant, leads) = match listed.name {
                b"." | b".." => (Grant::Read, true),
                name => self.grant(self.child(reach, name)),
            };
            let on_the_way = leads && listed.kind == Kind::Directory;
            if grant >= Grant::Read || on_the_way { sink(listed) } else { true }
        };
        self.engine.read_directory(Handle(inner.0), after, &mut shown)
    }

    fn xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<Vec<u8>> {
        self.engine.xattr(caller, self.inner(inode, Grant::Read)?, name)
    }

    fn xattrs(&self, caller: &Caller, inode: Inode) -> Result<Vec<Vec<u8>>> {
        self.engine.xattrs(caller, self.inner(inode, Grant::Read)?)
    }

    fn set_xattr(
        &self,
        caller: &Caller,
        inode: Inode,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        self.engine.set_xattr(caller, self.inner(inode, Grant::Write)?, name, value, how)
    }

    fn remove_xattr(&self, caller: &Caller, inode: Inode, name: &[u8]) -> Result<()> {
        self.engine.remove_xattr(caller, self.inner(inode, Grant::Write)?, name)
    }

    fn space(&self, inode: Inode) -> Result<Space> {
        self.engine.space(self.visible(inode)?)
    }

    fn locks(&self, inode: Inode) -> Result<(&LockTable, u64)> {
        self.engine.locks(self.visible(inode)?)
    }

    fn is_busy(&self, inode: Inode) -> bool {
        let (reach, inner) = split(inode);
        !reach.is_below || self.engine.is_busy(inner)
    }

    fn are_together(&self, one: Inode, other: Inode) -> bool {
        let ((first, inner), (second, outer)) = (split(one), split(other));
        first.rule == second.rule && self.engine.are_together(inner, outer)
    }
}

const fn inner_handle(handle: Handle) -> Handle {
    Handle(split(Inode(handle.0)).1.0)
}

const fn split(inode: Inode) -> (Reach, Inode) {
    let bits = inode.0 >> SHIFT;
    let reach = Reach { rule: (bits >> 1) as usize, is_below: bits & 1 == 1 };
    (reach, Inode(inode.0 & ((1 << SHIFT) - 1)))
}

const fn tag(reach: Reach, inode: Inode) -> Inode {
    Inode(((reach.rule as u64) << 1 | reach.is_below as u64) << SHIFT | inode.0)
}

/// Above the bits of an engine and those of a mount tree.
const SHIFT: u32 = 52;
/// What fits above them.
const MOST_RULES: usize = 1 << 11;
const NOWHERE: u64 = u64::MAX;
