//! Changes of names: making, linking, removing, renaming. Each is there when it returns; the times of the directories in
//! which names have changed are known here, and go there with the next change or sync of each.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;
use vfs::{Caller, Inode, Kind, Name, New, Rename, Replace, Result, read, write};

use super::names::path_of;
use super::node::Node;
use super::{Remote, lock};
use crate::backend::{Mode, Write};
use crate::failure::Why;

impl Remote {
    pub(super) fn make_named(
        &self,
        caller: &Caller,
        parent: &Node,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Arc<Node>> {
        let _moving = read(&self.moving);
        let path = self.free_path(parent, name)?;
        let notes = self.first_notes(caller, parent, new.kind(), mode);
        let how = Write { mode: Mode::Create, known: None, notes: Some(&notes) };
        let made = match new {
            New::File => self.backend.write(&path, b"", how),
            New::Directory => self.backend.make_directory(&path, Some(&notes)),
            New::Link(target) => self.backend.write(&path, target, how),
            New::Fifo | New::Socket => self.backend.write(&path, b"", how),
        };
        let meta = self.told(made)?;
        let node = self.known(path, parent.number, meta);
        let is_directory = new == New::Directory;
        if is_directory {
            write(&node.state).directories = Some(0);
        }
        self.names_changed(parent, i32::from(is_directory));
        Ok(node)
    }

    /// The path of a name that nothing has.
    fn free_path(&self, parent: &Node, name: Name<'_>) -> Result<String> {
        let path = path_of(parent, name)?;
        if parent.is_gone() {
            return Err(Errno::NOENT.into());
        }
        match self.backend.stat(&path) {
            Ok(_) => Err(Errno::EXIST.into()),
            Err(failure) if failure.why == Why::Missing => Ok(path),
            Err(failure) => self.told(Err(failure)),
        }
    }

    pub(super) fn link_named(
        &self,
        node: &Arc<Node>,
        parent: &Node,
        name: Name<'_>,
    ) -> Result<Arc<Node>> {
        if node.kind == Kind::Directory {
            return Err(Errno::PERM.into());
        }
        self.push(node)?;
        self.save_unsaved(node)?;
        let _moving = read(&self.moving);
        let path = self.free_path(parent, name)?;
        if node.is_gone() {
            return Err(Errno::NOENT.into());
        }
        let meta = self.told(self.backend.link(&node.path(), &node.meta(), &path))?;
        self.renumber(node, &meta);
        node.refresh(meta.clone(), Instant::now() + self.settings.believed);
        self.names_changed(parent, 0);
        Ok(self.known(path, parent.number, meta))
    }

    pub(super) fn remove_named(&self, parent: &Node, name: Name<'_>, judged: Inode) -> Result<()> {
        let _moving = read(&self.moving);
        let path = path_of(parent, name)?;
        let node = self.node(judged)?;
        // What is written meanwhile does not bring the name back.
        let _changing = lock(&node.changing);
        if !self.leads_to(&path, &node) {
            return Err(Errno::STALE.into());
        }
        let is_directory = node.kind == Kind::Directory;
        if is_directory {
            self.check_empty(&path)?;
        } else {
            self.keep_for_who_has_it_open(&node)?;
        }
        let left = self.told(self.backend.remove(&path, &node.meta()))?;
        self.unknow(&path, left.into());
        self.names_changed(parent, -i32::from(is_directory));
        Ok(())
    }

    fn check_empty(&self, path: &str) -> Result<()> {
        match self.backend.list(path, 0) {
            Ok(names) if names.is_empty() => Ok(()),
            Ok(_) => Err(Errno::NOTEMPTY.into()),
            Err(failure) if failure.why == Why::TooLarge => Err(Errno::NOTEMPTY.into()),
            Err(failure) => self.told(Err(failure)),
        }
    }

    pub(super) fn perform(&self, rename: &Rename<'_>) -> Result<()> {
        let (from, to) = (self.directory(rename.from)?, self.directory(rename.to)?);
        let node = self.node(rename.moved)?;
        self.push(&node)?;
        let (_alone, _moving) = match node.kind {
            Kind::Directory => (Some(write(&self.moving)), None),
            _ => (None, Some(read(&self.moving))),
        };
        // What is written meanwhile goes to the new name.
        let _changing = lock(&node.changing);
        let (old, new) = (path_of(&from, rename.name)?, path_of(&to, rename.new_name)?);
        if !self.leads_to(&old, &node) {
            return Err(Errno::STALE.into());
        }
        if rename.replaced.is_some() && rename.replace == Replace::No {
            return Err(Errno::EXIST.into());
        }
        if old == new || rename.replaced == Some(rename.moved) {
            // Two names of one file: nothing happens.
            return Ok(());
        }
        if rename.replace == Replace::Exchange {
            // No other side does it in one step.
            return Err(Errno::INVAL.into());
        }
        let is_directory = node.kind == Kind::Directory;
        if is_directory && new.starts_with(&format!("{old}/")) {
            return Err(Errno::INVAL.into());
        }
        if old.starts_with(&format!("{new}/")) {
            return Err(Errno::NOTEMPTY.into());
        }
        let replaces_directory = self.check_replaced(rename, is_directory, &new)?;
        let left = self.told(self.backend.rename(&old, &node.meta(), &new))?;
        self.unknow(&new, left.into());
        self.moved(&old, &new);
        self.has_moved(&node, &from, &to, &new);
        let moved = i32::from(is_directory);
        let replaced = i32::from(replaces_directory);
        if from.number == to.number {
            self.names_changed(&from, -replaced);
        } else {
            self.names_changed(&from, -moved);
            self.names_changed(&to, moved - replaced);
        }
        Ok(())
    }

    /// What is known of something that has another name.
    fn has_moved(&self, node: &Node, from: &Node, to: &Node, path: &str) {
        node.changed_now();
        // Where nothing has an id, a copy has the name: it may have another version.
        if node.kind != Kind::Directory
            && node.meta().id.is_empty()
            && let Ok(meta) = self.backend.stat(path)
        {
            node.refresh(meta, Instant::now() + self.settings.believed);
        }
        if from.number == to.number {
            return;
        }
        let was = node.parent.compare_exchange(
            from.number,
            to.number,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        if was.is_ok() {
            self.hold(to.number);
            self.give_back(from.number, 1);
        }
    }

    /// Whether a directory is replaced, if what is there may be.
    fn check_replaced(&self, rename: &Rename<'_>, is_directory: bool, new: &str) -> Result<bool> {
        let Some(replaced) = rename.replaced else { return Ok(false) };
        let replaced = self.node(replaced)?;
        match (is_directory, replaced.kind == Kind::Directory) {
            (true, false) => Err(Errno::NOTDIR.into()),
            (false, true) => Err(Errno::ISDIR.into()),
            (true, true) => self.check_empty(new).map(|()| true),
            (false, false) => self.keep_for_who_has_it_open(&replaced).map(|()| false),
        }
    }
}
