//! Renames: one directory or two, replacing, not replacing, exchanging, in one transaction.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{Kind, Rename, Replace, Result, write};

use crate::database::Change;
use crate::names::Led;
use crate::node::{Facts, Node};
use crate::rows;
use crate::schema::ROOT;
use crate::store::Store;

/// What a rename is about.
struct Parts {
    from: Arc<Node>,
    to: Arc<Node>,
    moved: Arc<Node>,
    replaced: Option<Arc<Node>>,
}

/// What is known of all of them afterwards.
#[derive(Default)]
struct After {
    all: Vec<(Arc<Node>, Facts, Facts)>,
    /// A name of a file that has others went.
    lost_a_name: bool,
}

impl Store {
    pub(crate) fn perform(&self, rename: &Rename<'_>) -> Result<()> {
        let parts = Parts {
            from: self.node(rename.from)?,
            to: self.node(rename.to)?,
            moved: self.node(rename.moved)?,
            replaced: rename.replaced.map(|inode| self.node(inode)).transpose()?,
        };
        parts.from.directory()?;
        parts.to.directory()?;
        if parts.replaced.is_some() && parts.moved.kind == Kind::File {
            // Who puts a file in another's place wants its contents there after a crash.
            self.flush_contents(&parts.moved, &mut write(&parts.moved.contents))?;
        }
        let mut writer = self.database.writer();
        let after = writer.change(|change| self.try_rename(change, rename, &parts))?;
        if after.lost_a_name {
            self.inodes.give(1);
        }
        for (node, before, after) in after.all {
            node.set_facts(&before, after);
        }
        Ok(())
    }

    fn try_rename(&self, change: &Change<'_>, rename: &Rename<'_>, parts: &Parts) -> Result<After> {
        let Parts { from, to, moved, replaced } = parts;
        let is_other_directory = from.number != to.number;
        let is_exchange = rename.replace == Replace::Exchange;
        if is_other_directory {
            if self.is_within(change, to.number, moved.number)? {
                return Err(Errno::INVAL.into());
            }
            if let Some(replaced) = replaced
                && self.is_within(change, from.number, replaced.number)?
            {
                return Err(if is_exchange { Errno::INVAL } else { Errno::NOTEMPTY }.into());
            }
        }
        let (of_from, of_to) = (from.facts(), to.facts());
        if of_from.links == 0 || of_to.links == 0 {
            return Err(Errno::NOENT.into());
        }
        let found = self.led(change, from.number, rename.name)?;
        let there = self.led(change, to.number, rename.new_name)?;
        judge(rename, found, there)?;
        if replaced.as_ref().is_some_and(|replaced| replaced.number == moved.number) {
            // Two names of one file: nothing happens.
            return Ok(After::default());
        }
        if replaced.is_none() && is_other_directory {
            self.check_room(&of_to)?;
        }
        check_kinds(rename, moved, replaced.as_deref())?;
        match replaced {
            Some(other) if is_exchange => {
                self.turn_name(change, from.number, rename.name, other.number, other.kind)?;
                self.turn_name(change, to.number, rename.new_name, moved.number, moved.kind)?;
            }
            Some(_) => {
                self.drop_name(change, from.number, rename.name)?;
                self.turn_name(change, to.number, rename.new_name, moved.number, moved.kind)?;
            }
            None => {
                self.drop_name(change, from.number, rename.name)?;
                self.put_name(change, to.number, rename.new_name, moved.number, moved.kind)?;
            }
        }
        let after = facts_after(rename, parts);
        for (node, _, facts) in &after.all {
            match node.kind {
                Kind::Directory => rows::update_directory(change, self.tree, node.number, facts)?,
                _ => rows::update(change, self.tree, node.number, facts)?,
            }
        }
        Ok(after)
    }

    /// Whether a directory is another one, or somewhere below it.
    fn is_within(&self, change: &Change<'_>, directory: u64, above: u64) -> Result<bool> {
        let text = "SELECT parent FROM inode WHERE tree = ?1 AND number = ?2";
        let mut at = directory;
        // Nothing is deeper than there are inodes.
        for _ in 0..=self.inodes.most() {
            if at == above {
                return Ok(true);
            }
            if at == ROOT {
                return Ok(false);
            }
            let parent = change.one(text, rusqlite::params![self.tree, at], |row| row.get(0))?;
            at = parent.ok_or(Errno::NOENT)?;
        }
        Err(change.database().damaged("a directory is below itself"))
    }
}

fn judge(rename: &Rename<'_>, found: Option<Led>, there: Option<Led>) -> Result<()> {
    let found = found.ok_or(Errno::NOENT)?;
    match (rename.replace, there) {
        (Replace::No, Some(_)) => return Err(Errno::EXIST.into()),
        (Replace::Exchange, None) => return Err(Errno::NOENT.into()),
        _ => {}
    }
    let is_as_judged = found.child == rename.moved.0
        && there.map(|led| led.child) == rename.replaced.map(|inode| inode.0);
    if is_as_judged { Ok(()) } else { Err(Errno::STALE.into()) }
}

/// What is replaced must be of the kind that replaces it, and empty.
fn check_kinds(rename: &Rename<'_>, moved: &Node, replaced: Option<&Node>) -> Result<()> {
    let Some(replaced) = replaced.filter(|_| rename.replace != Replace::Exchange) else {
        return Ok(());
    };
    match (moved.kind == Kind::Directory, replaced.kind == Kind::Directory) {
        (true, false) => Err(Errno::NOTDIR.into()),
        (false, true) => Err(Errno::ISDIR.into()),
        (true, true) if replaced.facts().names > 0 => Err(Errno::NOTEMPTY.into()),
        _ => Ok(()),
    }
}

/// Times, the directory that one is in, and the links by which a directory counts those in it.
fn facts_after(rename: &Rename<'_>, parts: &Parts) -> After {
    let Parts { from, to, moved, replaced } = parts;
    let is_exchange = rename.replace == Replace::Exchange;
    let moved_directory = i32::from(moved.kind == Kind::Directory);
    let other = replaced.as_deref();
    let other_directory = other.map_or(0, |node| i32::from(node.kind == Kind::Directory));
    let mut after = After::default();
    let mut put = |node: &Arc<Node>, change: &dyn Fn(&Facts) -> Facts| {
        let before = node.facts();
        let changed = change(&before);
        after.all.push((Arc::clone(node), before, changed));
    };
    let lost = -i64::from(other.is_some() && !is_exchange);
    if from.number == to.number {
        let directories = if is_exchange { 0 } else { -other_directory };
        put(from, &|facts| facts.names_changed(lost, directories));
    } else if is_exchange {
        put(from, &|facts| facts.names_changed(0, other_directory - moved_directory));
        put(to, &|facts| facts.names_changed(0, moved_directory - other_directory));
    } else {
        put(from, &|facts| facts.names_changed(-1, -moved_directory));
        put(to, &|facts| facts.names_changed(1 + lost, moved_directory - other_directory));
    }
    put(moved, &|facts| Facts { parent: to.number, ..facts.touched() });
    match replaced {
        Some(node) if is_exchange => {
            put(node, &|facts| Facts { parent: from.number, ..facts.touched() });
        }
        Some(node) => {
            put(node, &|facts| facts.without_name(node.kind));
            after.lost_a_name = after.all.last().is_some_and(|(_, _, facts)| facts.links > 0);
        }
        None => {}
    }
    after
}
