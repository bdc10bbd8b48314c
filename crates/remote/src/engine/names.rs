//! Names: finding, making, removing, renaming. What is known of a name is believed for a short time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;
use vfs::{Entry, Inode, Kind, Name, New, Rename, Replace, Result, read, write};

use super::{Names, Node, Remote, kind_of, lock, new_node};
use crate::backend::{Meta, Mode, below};
use crate::failure::Why;

impl Remote {
    /// What a name leads to, held.
    pub(super) fn find(&self, parent: &Node, name: Name<'_>) -> Result<Arc<Node>> {
        let path = path_of(parent, name)?;
        if let Some(node) = self.held_at(&path) {
            let is_fresh = read(&node.meta).1 > Instant::now();
            // What is written here and is not there yet is newer than what is there.
            if is_fresh || lock(&node.late).is_some() {
                return Ok(node);
            }
            self.give_back(node.number, 1);
        }
        match self.backend.stat(&path) {
            Ok(meta) => Ok(self.known(path, parent.number, meta)),
            Err(failure) => {
                if failure.why == Why::Missing {
                    self.unknow(&path);
                }
                self.told(Err(failure))
            }
        }
    }

    /// The node of a path of which something is known now, held.
    fn known(&self, path: String, parent: u64, meta: Meta) -> Arc<Node> {
        let path: Arc<str> = path.into();
        let mut known = lock(&self.known);
        let there = known.get(&path).and_then(|number| self.nodes.get(*number));
        if let Some(node) = there.filter(|node| node.kind == kind_of(&meta)) {
            node.held.fetch_add(1, Ordering::SeqCst);
            if lock(&node.late).is_none() {
                *write(&node.meta) = (meta, Instant::now() + self.settings.believed);
            }
            return node;
        }
        let number = self.nodes.next();
        let node = Arc::new(new_node(number, Arc::clone(&path), parent, meta, &self.settings));
        self.nodes.put(number, Arc::clone(&node));
        known.insert(path, number);
        drop(known);
        // `..` leads there as long as this one is held.
        if let Some(above) = self.nodes.get(parent) {
            above.held.fetch_add(1, Ordering::SeqCst);
        }
        node
    }

    fn held_at(&self, path: &str) -> Option<Arc<Node>> {
        let known = lock(&self.known);
        let node = known.get(path).and_then(|number| self.nodes.get(*number))?;
        node.held.fetch_add(1, Ordering::SeqCst);
        Some(node)
    }

    /// Nothing has this path any more.
    fn unknow(&self, path: &str) {
        let gone = lock(&self.known).remove(path);
        if let Some(node) = gone.and_then(|number| self.nodes.get(number)) {
            node.is_gone.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn number_of(&self, parent: &Node, name: &str) -> Option<u64> {
        lock(&self.known).get(&*below(&parent.path(), name)).copied()
    }

    pub(super) fn entry(&self, node: &Node) -> Entry {
        let (inode, generation) = (Inode(node.number), 1);
        Entry { inode, generation, attributes: self.attributes_of(node) }
    }

    pub(super) fn give_back(&self, number: u64, count: u64) {
        let (mut number, mut count) = (number, count);
        loop {
            let Some(node) = self.nodes.get(number) else { return };
            let mut known = lock(&self.known);
            if node.held.fetch_sub(count, Ordering::SeqCst) != count || number == self.root.number {
                return;
            }
            let path = node.path();
            if known.get(&path) == Some(&number) {
                known.remove(&path);
            }
            self.nodes.take(number);
            drop(known);
            (number, count) = (node.parent, 1);
        }
    }

    pub(super) fn names_of(&self, node: &Node) -> Result<Names> {
        let listed = self.told(self.backend.list(&node.path(), self.settings.most_names))?;
        Ok(listed.into_iter().map(|(name, meta)| (name, kind_of(&meta))).collect())
    }

    pub(super) fn make_named(
        &self,
        parent: &Node,
        name: Name<'_>,
        new: New<'_>,
    ) -> Result<Arc<Node>> {
        let path = path_of(parent, name)?;
        if parent.is_gone.load(Ordering::SeqCst) {
            return Err(Errno::NOENT.into());
        }
        match self.backend.stat(&path) {
            Ok(_) => return Err(Errno::EXIST.into()),
            Err(failure) if failure.why == Why::Missing => {}
            Err(failure) => return self.told(Err(failure)),
        }
        let made = match new {
            New::File => self.backend.write(&path, b"", Mode::Create),
            New::Directory => self.backend.make_directory(&path),
            New::Link(_) | New::Fifo | New::Socket => return Err(Errno::PERM.into()),
        };
        let meta = self.told(made)?;
        Ok(self.known(path, parent.number, meta))
    }

    pub(super) fn remove_named(&self, parent: &Node, name: Name<'_>, judged: Inode) -> Result<()> {
        let path = path_of(parent, name)?;
        let node = self.node(judged)?;
        if *node.path() != *path || node.is_gone.load(Ordering::SeqCst) {
            return Err(Errno::STALE.into());
        }
        if node.kind == Kind::Directory {
            match self.backend.list(&path, 0) {
                Ok(names) if names.is_empty() => {}
                Ok(_) => return Err(Errno::NOTEMPTY.into()),
                Err(failure) if failure.why == Why::TooLarge => {
                    return Err(Errno::NOTEMPTY.into());
                }
                Err(failure) => return self.told(Err(failure)),
            }
        } else {
            self.keep_for_who_has_it_open(&node)?;
        }
        self.told(self.backend.remove(&path, &node.meta()))?;
        self.unknow(&path);
        Ok(())
    }

    pub(super) fn perform(&self, rename: &Rename<'_>) -> Result<()> {
        if rename.replace == Replace::Exchange {
            return Err(Errno::INVAL.into());
        }
        let (from, to) = (self.directory(rename.from)?, self.directory(rename.to)?);
        let (old, new) = (path_of(&from, rename.name)?, path_of(&to, rename.new_name)?);
        let node = self.node(rename.moved)?;
        if *node.path() != *old || node.is_gone.load(Ordering::SeqCst) {
            return Err(Errno::STALE.into());
        }
        if old == new {
            return Ok(());
        }
        let is_directory = node.kind == Kind::Directory;
        if is_directory && !self.backend.renames_directories() {
            return Err(Errno::XDEV.into());
        }
        if is_directory && new.starts_with(&format!("{old}/")) {
            return Err(Errno::INVAL.into());
        }
        self.check_replaced(rename, is_directory, &new)?;
        self.push(&node)?;
        self.told(self.backend.rename(&old, &node.meta(), &new))?;
        self.unknow(&new);
        self.moved(&old, &new);
        if !is_directory && let Ok(meta) = self.backend.stat(&new) {
            *write(&node.meta) = (meta, Instant::now() + self.settings.believed);
        }
        Ok(())
    }

    fn check_replaced(&self, rename: &Rename<'_>, is_directory: bool, new: &str) -> Result<()> {
        let Some(replaced) = rename.replaced else { return Ok(()) };
        if rename.replace == Replace::No {
            return Err(Errno::EXIST.into());
        }
        let replaced = self.node(replaced)?;
        match (is_directory, replaced.kind == Kind::Directory) {
            (true, false) => Err(Errno::NOTDIR.into()),
            (false, true) => Err(Errno::ISDIR.into()),
            (true, true) if !self.told(self.backend.list(new, 1))?.is_empty() => {
                Err(Errno::NOTEMPTY.into())
            }
            (true, true) => Ok(()),
            (false, false) => self.keep_for_who_has_it_open(&replaced),
        }
    }

    /// Everything at and below a path has another one.
    fn moved(&self, old: &str, new: &str) {
        let mut known = lock(&self.known);
        let start = format!("{old}/");
        let is_moved = |path: &Arc<str>| &**path == old || path.starts_with(&start);
        let moved: Vec<Arc<str>> = known.keys().filter(|path| is_moved(path)).cloned().collect();
        for path in moved {
            let Some(number) = known.remove(&path) else { continue };
            let rest = path.strip_prefix(old).unwrap_or_default();
            let now: Arc<str> = format!("{new}{rest}").into();
            if let Some(node) = self.nodes.get(number) {
                *write(&node.path) = Arc::clone(&now);
            }
            known.insert(now, number);
        }
    }
}

/// The path of a name: text, as the other side has it.
fn path_of(parent: &Node, name: Name<'_>) -> Result<String> {
    let name = std::str::from_utf8(name.as_bytes()).map_err(|_| Errno::ILSEQ)?;
    if name.chars().any(char::is_control) {
        return Err(Errno::ILSEQ.into());
    }
    Ok(below(&parent.path(), name))
}
