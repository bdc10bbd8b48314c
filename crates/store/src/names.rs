//! Names: making, linking, removing. All names are changed by whoever has the writer, so what is judged there is so.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use vfs::{Caller, Entry, Error, Inode, Kind, Name, New, Result, Setting, inherit};

use crate::database::{Change, one};
use crate::node::{Facts, Node};
use crate::rows;
use crate::schema::ROOT;
use crate::store::{Store, Taken};

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Led {
    pub(crate) child: u64,
    pub(crate) kind: Kind,
    pub(crate) cookie: u64,
}

impl Store {
    pub(crate) fn look_up(&self, parent: &Node, name: Name<'_>) -> Result<Entry> {
        parent.directory()?;
        let text = "SELECT child, kind FROM name WHERE tree = ?1 AND parent = ?2 AND name = ?3";
        let values = rusqlite::params![self.tree, parent.number, name.as_bytes()];
        for _ in 0..MOST_TRIES {
            let led = self.database.read(|reader| {
                one(reader, text, values, |row| Ok((row.get(0)?, rows::kind(row.get(1)?)?)))
            })?;
            let (child, kind) = led.ok_or(Errno::NOENT)?;
            match self.hold(child) {
                // Its last name went just now, and another one may lead from here.
                Err(error) if error.errno == Errno::NOENT => {}
                held => {
                    let node = held?;
                    if node.kind == kind && is_in(&node, parent) {
                        return Ok(Self::entry(&node));
                    }
                    self.give_back(child, 1);
                    // Unless a rename is about to say where it is now.
                    drop(self.database.writer());
                }
            }
        }
        let what =
            "a name leads to no file, to one of another kind, or to a directory that is elsewhere";
        Err(self.database.damaged(what))
    }

    pub(crate) fn make_named(
        &self,
        caller: &Caller,
        parent: &Node,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let target = if let New::Link(target) = new { target } else { &[] };
        self.make_kind(caller, parent, name, new.kind(), target, mode)
    }

    /// Makes what a layer of overlayfs has for a name that is removed, for whoever keeps such layers. No guest has a way
    /// to it: to guests it is a device that does not exist.
    ///
    /// # Errors
    /// As [`vfs::Engine::make`].
    pub fn make_whiteout(&self, caller: &Caller, parent: Inode, name: Name<'_>) -> Result<Entry> {
        let parent = self.node(parent)?;
        self.make_kind(caller, &parent, name, Kind::CharacterDevice, &[], 0)
    }

    fn make_kind(
        &self,
        caller: &Caller,
        parent: &Node,
        name: Name<'_>,
        kind: Kind,
        target: &[u8],
        mode: u32,
    ) -> Result<Entry> {
        parent.directory()?;
        let number = self.next_inode.fetch_add(1, Ordering::Relaxed);
        let is_directory = kind == Kind::Directory;
        let mut writer = self.database.writer();
        let before = parent.facts();
        let after = before.names_changed(1, i32::from(is_directory));
        let taken = writer.change(|change| {
            self.check_new_name(change, parent, &before, name)?;
            let inode = Taken::new(&self.inodes, 1)?;
            let text = Taken::new(&self.bytes, target.len() as u64)?;
            let (mode, gid) = inherit(caller, &parent.attributes(), kind, mode);
            let links = if is_directory { 2 } else { 1 };
            let made = rows::Inode {
                kind,
                generation: self.generation,
                facts: Facts::new(mode, links, caller.uid, gid, parent.number),
                size: 0,
                pages: 0,
                target: target.into(),
            };
            rows::insert(change, self.tree, number, &made)?;
            self.put_name(change, parent.number, name, number, kind)?;
            rows::update_directory(change, self.tree, parent.number, &after)?;
            Ok((inode, text))
        })?;
        taken.0.keep();
        taken.1.keep();
        parent.set_facts(&before, after);
        drop(writer);
        Ok(Self::entry(&*self.hold(number)?))
    }

    pub(crate) fn link_named(&self, node: &Node, parent: &Node, name: Name<'_>) -> Result<Entry> {
        parent.directory()?;
        if node.kind == Kind::Directory {
            return Err(Errno::PERM.into());
        }
        let mut writer = self.database.writer();
        let (file, before) = (node.facts(), parent.facts());
        let linked = Facts { links: file.links.saturating_add(1), ..file.touched() };
        let after = before.names_changed(1, 0);
        let taken = writer.change(|change| {
            self.check_new_name(change, parent, &before, name)?;
            let inode = Taken::new(&self.inodes, 1)?;
            match file.links {
                // Removed already: only who has it open knows of it.
                0 => return Err(Errno::NOENT.into()),
                MOST_LINKS.. => return Err(Errno::MLINK.into()),
                _ => {}
            }
            self.put_name(change, parent.number, name, node.number, node.kind)?;
            rows::update(change, self.tree, node.number, &linked)?;
            rows::update_directory(change, self.tree, parent.number, &after)?;
            Ok(inode)
        })?;
        taken.keep();
        node.set_facts(&file, linked);
        parent.set_facts(&before, after);
        drop(writer);
        Ok(Self::entry(&*self.hold(node.number)?))
    }

    pub(crate) fn remove_named(&self, parent: &Node, name: Name<'_>, node: &Node) -> Result<()> {
        parent.directory()?;
        let is_directory = node.kind == Kind::Directory;
        let mut writer = self.database.writer();
        let (file, before) = (node.facts(), parent.facts());
        let removed = file.without_name(node.kind);
        let after = before.names_changed(-1, -i32::from(is_directory));
        writer.change(|change| {
            if before.links == 0 {
                return Err(Errno::NOENT.into());
            }
            let led = self.led(change, parent.number, name)?.ok_or(Errno::NOENT)?;
            if led.child != node.number {
                return Err(Errno::STALE.into());
            }
            if is_directory && file.names > 0 {
                return Err(Errno::NOTEMPTY.into());
            }
            self.drop_name(change, parent.number, name)?;
            rows::update(change, self.tree, node.number, &removed)?;
            rows::update_directory(change, self.tree, parent.number, &after)
        })?;
        if removed.links > 0 {
            self.inodes.give(1);
        }
        node.set_facts(&file, removed);
        parent.set_facts(&before, after);
        Ok(())
    }

    /// Whether a directory may have one more name, and this one.
    fn check_new_name(
        &self,
        change: &Change<'_>,
        parent: &Node,
        facts: &Facts,
        name: Name<'_>,
    ) -> Result<()> {
        if facts.links == 0 {
            return Err(Errno::NOENT.into());
        }
        if self.led(change, parent.number, name)?.is_some() {
            return Err(Errno::EXIST.into());
        }
        self.check_room(facts)
    }

    pub(crate) fn check_room(&self, facts: &Facts) -> Result<()> {
        if facts.names < self.limits.max_directory_entries {
            return Ok(());
        }
        Err(Error::of_setting(Errno::NOSPC, Setting::DirectoryEntries))
    }

    pub(crate) fn led(
        &self,
        change: &Change<'_>,
        parent: u64,
        name: Name<'_>,
    ) -> Result<Option<Led>> {
        let text =
            "SELECT child, kind, cookie FROM name WHERE tree = ?1 AND parent = ?2 AND name = ?3";
        change.one(text, rusqlite::params![self.tree, parent, name.as_bytes()], |row| {
            Ok(Led { child: row.get(0)?, kind: rows::kind(row.get(1)?)?, cookie: row.get(2)? })
        })
    }

    pub(crate) fn put_name(
        &self,
        change: &Change<'_>,
        parent: u64,
        name: Name<'_>,
        child: u64,
        kind: Kind,
    ) -> Result<()> {
        let cookie = self.next_cookie.fetch_add(1, Ordering::Relaxed);
        let text = "INSERT INTO name (tree, parent, name, child, kind, cookie)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let kind = rows::number_of(kind);
        let values = rusqlite::params![self.tree, parent, name.as_bytes(), child, kind, cookie];
        change.run(text, values).map(drop)
    }

    /// Lets a name lead elsewhere. It keeps its place in listings.
    pub(crate) fn turn_name(
        &self,
        change: &Change<'_>,
        parent: u64,
        name: Name<'_>,
        child: u64,
        kind: Kind,
    ) -> Result<()> {
        let text = "UPDATE name SET child = ?4, kind = ?5
                    WHERE tree = ?1 AND parent = ?2 AND name = ?3";
        let kind = rows::number_of(kind);
        change
            .run(text, rusqlite::params![self.tree, parent, name.as_bytes(), child, kind])
            .map(drop)
    }

    pub(crate) fn drop_name(&self, change: &Change<'_>, parent: u64, name: Name<'_>) -> Result<()> {
        let text = "DELETE FROM name WHERE tree = ?1 AND parent = ?2 AND name = ?3";
        change.run(text, rusqlite::params![self.tree, parent, name.as_bytes()]).map(drop)
    }

    /// Removes all rows of a file that has no name. Returns what its extended attributes took.
    pub(crate) fn remove_rows(&self, change: &Change<'_>, number: u64) -> Result<u64> {
        self.cut_extents(change, number, 0)?;
        let key = rusqlite::params![self.tree, number];
        let text = "DELETE FROM xattr WHERE tree = ?1 AND inode = ?2
                    RETURNING length(name) + length(value)";
        let xattrs = change.all(text, key, |row| row.get::<_, u64>(0))?.into_iter().sum();
        change.run("DELETE FROM mark WHERE tree = ?1 AND directory = ?2", key)?;
        change.run("DELETE FROM inode WHERE tree = ?1 AND number = ?2", key)?;
        Ok(xattrs)
    }
}

/// Whether a directory knows that it is in this one. Whoever wrote the database cannot lead anybody in a circle so: every
/// directory is in one only, and none has the root in it. Files have as many names as they like.
fn is_in(node: &Node, parent: &Node) -> bool {
    node.kind != Kind::Directory || (node.number != ROOT && node.facts().parent == parent.number)
}

/// A name that leads to nothing is looked at so often: each time somebody may have removed and made it meanwhile.
const MOST_TRIES: u32 = 100;

/// As the kernel's own file systems have it.
const MOST_LINKS: u32 = 65_000;
