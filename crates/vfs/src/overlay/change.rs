//! Names of an overlay that come and go: made, linked, removed. What lower layers have under a name is hidden when it
//! goes, and stays so when something else is made there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::find::Found;
use super::notes::Spot;
use super::open::Open;
use super::{Node, OPAQUE, Overlay, lock};
use crate::attributes::{Changes, Kind, NewTime, SET_GID};
use crate::caller::Caller;
use crate::engine::{Entry, Handle, Inode, New, Use};
use crate::error::{Error, Result};
use crate::name::Name;
use crate::rules;
use crate::table::read;

impl Overlay {
    pub(super) fn make_name(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let parent = self.directory(parent)?;
        let upper = self.copy_up(&parent)?;
        let found = {
            let _names = lock(&parent.names);
            if parent.is_gone.load(Ordering::SeqCst) {
                return Err(Errno::NOENT.into());
            }
            self.refuse_taken(&parent, name)?;
            let spot = Spot { directory: upper, name };
            let made = match self.whiteout(spot)? {
                Some(whiteout) => {
                    let made = self.make_over(caller, spot, whiteout, new, mode);
                    self.upper.forget(whiteout, 1);
                    made?
                }
                None => {
                    let made = self.upper.make(caller, upper, name, new, mode)?;
                    if new == New::Directory && self.is_below(&parent, name)? {
                        // Whatever a lower layer has of this name is not in it.
                        let marked = self.marks().and_then(|marks| marks.set(made.inode, OPAQUE));
                        marked.inspect_err(|_| self.upper.forget(made.inode, 1))?;
                    }
                    made
                }
            };
            let node = self.made(&parent, name, &made);
            Found { node, upper: Some(made.inode), attributes: made.attributes }
        };
        self.entry_found(caller, found)
    }

    /// Makes a file and opens it, at once where the upper layer can.
    pub(super) fn create_file(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        mode: u32,
        how: Use,
    ) -> Result<(Entry, Handle)> {
        if self.notes_take_names() {
            let entry = self.make_name(caller, parent, name, New::File, mode)?;
            let handle = self.open_file(caller, entry.inode, how);
            return Ok((entry, handle.inspect_err(|_| self.give_back(entry.inode.0, 1))?));
        }
        let parent = self.directory(parent)?;
        let upper = self.copy_up(&parent)?;
        self.handles.take(1)?;
        let made = (|| {
            let _names = lock(&parent.names);
            if parent.is_gone.load(Ordering::SeqCst) {
                return Err(Errno::NOENT.into());
            }
            self.refuse_taken(&parent, name)?;
            let (made, handle) = self.upper.create(caller, upper, name, mode, how)?;
            let node = self.made(&parent, name, &made);
            Ok((Found { node, upper: Some(made.inode), attributes: made.attributes }, handle))
        })();
        let (found, inner) = made.inspect_err(|_: &Error| self.handles.give(1))?;
        let handle = self.put_open(Open::upper(Arc::clone(&found.node), how, inner));
        let entry = self.entry_found(caller, found).inspect_err(|_| self.close(handle))?;
        Ok((entry, handle))
    }

    /// Makes something where a note is: whole first, and then in its place, so that what lower layers have there never
    /// shows.
    fn make_over(
        &self,
        caller: &Caller,
        spot: Spot<'_>,
        whiteout: Inode,
        new: New<'_>,
        mode: u32,
    ) -> Result<Entry> {
        let staged = self.staged_name();
        let staged = Name::new(staged.as_bytes())?;
        let made = self.upper.make(caller, self.staging, staged, new, mode)?;
        let placed = (|| {
            if new == New::Directory {
                self.marks()?.set(made.inode, OPAQUE)?;
            }
            self.inherit(caller, spot.directory, &made, (new.kind(), mode))?;
            self.put_over((staged, made.inode), spot, whiteout, new.kind())
        })();
        if placed.is_err() {
            let _left = self.upper.remove(&Caller::root(), self.staging, staged, made.inode);
            self.upper.forget(made.inode, 1);
        }
        placed?;
        let attributes = self
            .upper
            .attributes(caller, made.inode)
            .inspect_err(|_| self.upper.forget(made.inode, 1))?;
        Ok(Entry { attributes, ..made })
    }

    /// What is made in a setgid directory has its group, and the mode that it would have there: the staging directory is
    /// another, and who gives a file another group takes its privileges away.
    fn inherit(
        &self,
        caller: &Caller,
        directory: Inode,
        made: &Entry,
        (kind, mode): (Kind, u32),
    ) -> Result<()> {
        let above = self.upper.attributes(caller, directory)?;
        if above.mode & SET_GID == 0 {
            return Ok(());
        }
        let (mode, gid) = rules::inherit(caller, &above, kind, mode);
        let mode = (kind != Kind::Link).then_some(mode);
        let gid = (made.attributes.gid != gid).then_some(gid);
        let changes = Changes { mode, gid, ..Changes::default() };
        self.upper.change(&Caller::root(), made.inode, &changes).map(drop)
    }

    pub(super) fn link_name(
        &self,
        caller: &Caller,
        inode: Inode,
        parent: Inode,
        name: Name<'_>,
    ) -> Result<Entry> {
        let (node, parent) = (self.node(inode)?, self.directory(parent)?);
        if node.kind == Kind::Directory {
            return Err(Errno::PERM.into());
        }
        if self.attributes_of(caller, &node)?.links == 0 {
            return Err(Errno::NOENT.into());
        }
        let (file, upper) = (self.copy_up(&node)?, self.copy_up(&parent)?);
        // Only lower layers still have a name of it: whoever links it copies it instead.
        if self.upper.attributes(caller, file)?.links == 0 {
            return Err(Errno::XDEV.into());
        }
        let found = {
            let _names = lock(&parent.names);
            self.refuse_taken(&parent, name)?;
            let spot = Spot { directory: upper, name };
            match self.whiteout(spot)? {
                Some(whiteout) => {
                    let staged = self.staged_name();
                    let staged = Name::new(staged.as_bytes())?;
                    let linked = self.upper.link(caller, file, self.staging, staged);
                    let placed = linked.and_then(|linked| {
                        self.upper.forget(linked.inode, 1);
                        self.put_over((staged, file), spot, whiteout, node.kind)
                    });
                    self.upper.forget(whiteout, 1);
                    placed?;
                }
                None => {
                    let linked = self.upper.link(caller, file, upper, name)?;
                    self.upper.forget(linked.inode, 1);
                }
            }
            self.find_known(&parent, name)?
        };
        self.entry_found(caller, found)
    }

    pub(super) fn remove_name(
        &self,
        caller: &Caller,
        parent: Inode,
        name: Name<'_>,
        judged: Inode,
    ) -> Result<()> {
        let parent = self.directory(parent)?;
        let upper = self.copy_up(&parent)?;
        let _names = lock(&parent.names);
        let (node, from_upper) = self.find(&parent, name)?;
        let removed = (|| {
            if node.number != judged.0 {
                return Err(Errno::STALE.into());
            }
            let _below = (node.kind == Kind::Directory).then(|| lock(&node.names));
            if node.kind == Kind::Directory && !self.is_empty(&node)? {
                return Err(Errno::NOTEMPTY.into());
            }
            let is_below = self.is_below(&parent, name)?;
            let there = from_upper.map(|inode| (inode, node.kind));
            self.take_away(caller, Spot { directory: upper, name }, there, is_below)?;
            if from_upper.is_none() {
                // The directory has changed as it does where a name is removed from it.
                let modified = Some(NewTime::Now);
                self.upper.change(caller, upper, &Changes { modified, ..Changes::default() })?;
            }
            self.lost(&node, from_upper.is_some());
            self.unseat_file(&node, &parent, name);
            Ok(())
        })();
        self.give_back(node.number, 1);
        removed
    }

    /// `EEXIST` for a name that is there.
    fn refuse_taken(&self, parent: &Arc<Node>, name: Name<'_>) -> Result<()> {
        // Where there is one layer, that engine refuses it itself.
        if read(&parent.place).lowers.is_empty() && !self.notes_take_names() {
            return Ok(());
        }
        match self.find(parent, name) {
            Ok((node, _)) => {
                self.give_back(node.number, 1);
                Err(Errno::EXIST.into())
            }
            Err(error) if error.errno == Errno::NOENT => Ok(()),
            Err(error) => Err(error),
        }
    }
}
