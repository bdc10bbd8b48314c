//! What is noted of a node, where the other side keeps notes: modes, owners, times, extended attributes. Each change is
//! there when it returns; times that change by themselves go with the next that does. Nothing is pretended where none are kept.

use std::time::Instant;

use rustix::io::Errno;
use vfs::{ALL_MODE_BITS, Attributes, Changes, Kind, Result, SetXattr, Timestamp, read, write};

use super::node::{Node, noted};
use super::{Remote, lock};
use crate::backend::Meta;
use crate::failure::Why;
use crate::notes::Notes;
use crate::settings::Owners;

impl Remote {
    pub(super) fn change_node(&self, node: &Node, changes: &Changes) -> Result<Attributes> {
        let now = self.attributes_of(node);
        let is_same_owner = changes.uid.is_none_or(|uid| uid == now.uid)
            && changes.gid.is_none_or(|gid| gid == now.gid);
        let keeps_owners = self.settings.owners == Owners::AsNoted;
        if !is_same_owner && !keeps_owners {
            return Err(Errno::PERM.into());
        }
        if let Some(size) = changes.size {
            self.resize(node, size)?;
        }
        let is_more = Changes { size: None, ..*changes } != Changes::default();
        if is_more {
            self.change_notes(node, |notes, now| {
                notes.mode = changes.mode.map(|mode| mode & ALL_MODE_BITS).or(notes.mode);
                if keeps_owners {
                    notes.uid = changes.uid.or(notes.uid);
                    notes.gid = changes.gid.or(notes.gid);
                }
                notes.accessed = changes.accessed.map(|time| time.or_now(now)).or(notes.accessed);
                notes.modified = changes.modified.map(|time| time.or_now(now)).or(notes.modified);
                Ok(())
            })?;
        }
        Ok(self.attributes_of(node))
    }

    /// Changes what is noted, here and there; of what has no name any more, here.
    fn change_notes(
        &self,
        node: &Node,
        change: impl FnOnce(&mut Notes, Timestamp) -> Result<()>,
    ) -> Result<()> {
        let _moving = read(&self.moving);
        let _changing = lock(&node.changing);
        let meta = node.meta();
        let mut notes = noted(&meta);
        let now = Timestamp::now();
        notes.changed = Some(now);
        change(&mut notes, now)?;
        if node.is_gone() {
            write(&node.state).meta.notes = Some(notes);
            return Ok(());
        }
        self.save(node, &meta, &notes)
    }

    fn save(&self, node: &Node, meta: &Meta, notes: &Notes) -> Result<()> {
        let saved = self.told(self.backend.set_notes(&node.path(), meta, notes))?;
        self.saved(node, saved);
        Ok(())
    }

    fn saved(&self, node: &Node, saved: Meta) {
        let mut state = write(&node.state);
        (state.meta, state.is_unsaved) = (saved, false);
        state.until = Instant::now() + self.settings.believed;
    }

    /// What is noted here alone goes to the other side.
    pub(super) fn save_unsaved(&self, node: &Node) -> Result<()> {
        let _moving = read(&self.moving);
        let _changing = lock(&node.changing);
        if node.is_gone() || !read(&node.state).is_unsaved {
            return Ok(());
        }
        let meta = node.meta();
        let notes = noted(&meta);
        match self.backend.set_notes(&node.path(), &meta, &notes) {
            // Times alone, of a bucket as a whole, which nobody asked for.
            Err(failure) if failure.why == Why::Unable => Ok(()),
            saved => self.told(saved).map(|saved| self.saved(node, saved)),
        }
    }

    pub(super) fn xattr_of(&self, node: &Node, name: &[u8]) -> Result<Vec<u8>> {
        let value = node.meta().notes.and_then(|notes| notes.xattrs.get(name).cloned());
        value.ok_or(Errno::NODATA.into())
    }

    pub(super) fn xattrs_of(&self, node: &Node) -> Vec<Vec<u8>> {
        node.meta().notes.map_or_else(Vec::new, |notes| notes.xattrs.into_keys().collect())
    }

    pub(super) fn set_xattr_of(
        &self,
        node: &Node,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
    ) -> Result<()> {
        self.change_notes(node, |notes, _| {
            match (how, notes.xattrs.contains_key(name)) {
                (SetXattr::Create, true) => return Err(Errno::EXIST.into()),
                (SetXattr::Replace, false) => return Err(Errno::NODATA.into()),
                _ => {}
            }
            // What the other side has no room for it refuses with `ENOSPC`.
            notes.xattrs.insert(name.to_vec(), value.to_vec());
            Ok(())
        })
    }

    pub(super) fn remove_xattr_of(&self, node: &Node, name: &[u8]) -> Result<()> {
        self.change_notes(node, |notes, _| {
            notes.xattrs.remove(name).map(drop).ok_or(Errno::NODATA.into())
        })
    }

    /// Where a link leads.
    pub(super) fn target_of(&self, node: &Node) -> Result<Vec<u8>> {
        if node.kind != Kind::Link {
            return Err(Errno::INVAL.into());
        }
        let meta = node.meta();
        let length = usize::try_from(meta.size).unwrap_or_default().min(vfs::LONGEST_PATH);
        let mut target = vec![0; length];
        let count = self.read_stored(node, &meta, 0, &mut target, false)?;
        // Somebody else may have written it.
        let is_path = count == length && length > 0 && !target.contains(&0);
        if is_path { Ok(target) } else { Err(Errno::IO.into()) }
    }
}
