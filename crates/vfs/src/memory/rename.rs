//! Renames in memory: one directory or two, replacing, not replacing, exchanging.
//!
//! Two directories are locked in one order: the one above the other first, else the lower number. Which one is above
//! cannot change meanwhile, as only a rename between directories changes that, and there is one at a time.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rustix::io::Errno;

use super::node::{Body, Names, Node};
use super::{Memory, end_if_empty};
use crate::engine::{Inode, Rename, Replace};
use crate::error::Result;

impl Memory {
    pub(super) fn perform(&self, rename: &Rename<'_>) -> Result<()> {
        if rename.from == rename.to {
            let directory = self.node(rename.from)?;
            let mut names = directory.directory()?.change()?;
            let found = judge(rename, &names, &names)?;
            if found.is_same() {
                return Ok(());
            }
            self.check_kinds(rename, &found)?;
            match found.replaced.as_ref().filter(|_| rename.replace == Replace::Exchange) {
                Some(other) => names.put(rename.name.as_bytes(), Arc::clone(other)),
                None => names.remove(rename.name.as_bytes()),
            }
            names.put(rename.new_name.as_bytes(), Arc::clone(&found.moved));
            drop(names);
            self.finish(rename, &directory, &directory, &found);
            return Ok(());
        }
        let _one_at_a_time = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, to) = (self.node(rename.from)?, self.node(rename.to)?);
        if self.is_within(&to, rename.moved.0)? {
            return Err(Errno::INVAL.into());
        }
        if let Some(replaced) = rename.replaced
            && self.is_within(&from, replaced.0)?
        {
            let exchanged = rename.replace == Replace::Exchange;
            return Err(if exchanged { Errno::INVAL } else { Errno::NOTEMPTY }.into());
        }
        let from_first = self.is_within(&to, from.number)?
            || (!self.is_within(&from, to.number)? && from.number < to.number);
        let (mut of_from, mut of_to) = if from_first {
            let of_from = from.directory()?.change()?;
            (of_from, to.directory()?.change()?)
        } else {
            let of_to = to.directory()?.change()?;
            (from.directory()?.change()?, of_to)
        };
        let found = judge(rename, &of_from, &of_to)?;
        if found.is_same() {
            return Ok(());
        }
        if found.replaced.is_none() {
            self.check_room(&of_to)?;
        }
        self.check_kinds(rename, &found)?;
        match found.replaced.as_ref().filter(|_| rename.replace == Replace::Exchange) {
            Some(other) => {
                of_from.put(rename.name.as_bytes(), Arc::clone(other));
                adopt(other, from.number);
            }
            None => of_from.remove(rename.name.as_bytes()),
        }
        of_to.put(rename.new_name.as_bytes(), Arc::clone(&found.moved));
        adopt(&found.moved, to.number);
        drop((of_from, of_to));
        self.finish(rename, &from, &to, &found);
        Ok(())
    }

    /// What is replaced must be of the kind that replaces it, and empty; then nothing is made in it any more.
    fn check_kinds(&self, rename: &Rename<'_>, found: &Found) -> Result<()> {
        let Some(replaced) = &found.replaced else { return Ok(()) };
        if rename.replace == Replace::Exchange {
            return Ok(());
        }
        match (is_directory(&found.moved), is_directory(replaced)) {
            (true, false) => Err(Errno::NOTDIR.into()),
            (false, true) => Err(Errno::ISDIR.into()),
            _ => end_if_empty(replaced).map(drop),
        }
    }

    /// Times, and the links by which a directory counts those in it.
    fn finish(&self, rename: &Rename<'_>, from: &Node, to: &Node, found: &Found) {
        let moved = i32::from(is_directory(&found.moved));
        let replaced = found.replaced.as_deref().map_or(0, |node| i32::from(is_directory(node)));
        let exchanged = rename.replace == Replace::Exchange;
        if from.number == to.number {
            from.names_changed(if exchanged { 0 } else { -replaced });
        } else {
            from.names_changed(if exchanged { replaced - moved } else { -moved });
            to.names_changed(moved - replaced);
        }
        found.moved.touch(|_, _| {});
        match &found.replaced {
            Some(node) if exchanged => node.touch(|_, _| {}),
            Some(node) => self.unnamed(node),
            None => {}
        }
    }

    /// Whether a directory is another one, or somewhere below it.
    fn is_within(&self, directory: &Node, above: u64) -> Result<bool> {
        let mut at = directory.number;
        loop {
            if at == above {
                return Ok(true);
            }
            let node = self.node(Inode(at))?;
            let parent = node.directory()?.parent.load(Ordering::SeqCst);
            if parent == at {
                return Ok(false);
            }
            at = parent;
        }
    }
}

/// What the two names lead to, if that is what was judged.
struct Found {
    moved: Arc<Node>,
    replaced: Option<Arc<Node>>,
}

impl Found {
    /// Two names of one file: nothing happens.
    fn is_same(&self) -> bool {
        self.replaced.as_ref().is_some_and(|replaced| replaced.number == self.moved.number)
    }
}

fn judge(rename: &Rename<'_>, from: &Names, to: &Names) -> Result<Found> {
    let moved = Arc::clone(from.get(rename.name.as_bytes()).ok_or(Errno::NOENT)?);
    let replaced = to.get(rename.new_name.as_bytes()).cloned();
    match (rename.replace, &replaced) {
        (Replace::No, Some(_)) => return Err(Errno::EXIST.into()),
        (Replace::Exchange, None) => return Err(Errno::NOENT.into()),
        _ => {}
    }
    let is_as_judged = moved.number == rename.moved.0
        && replaced.as_ref().map(|node| node.number) == rename.replaced.map(|inode| inode.0);
    if is_as_judged { Ok(Found { moved, replaced }) } else { Err(Errno::STALE.into()) }
}

fn is_directory(node: &Node) -> bool {
    matches!(node.body, Body::Directory(_))
}

fn adopt(node: &Node, parent: u64) {
    if let Body::Directory(directory) = &node.body {
        directory.parent.store(parent, Ordering::SeqCst);
    }
}
