//! What an overlay notes in its upper layer about names: that one is hidden, and that a directory hides what lies below it.
//! Two forms: beside the names, or in their places as the kernel's overlayfs has it. In the second a name is hidden or is
//! there, and what is there hides by itself what is no directory; so one has to make way for the other, by one rename
//! where the file system can exchange two names.

use std::sync::atomic::Ordering;

use rustix::io::Errno;

use super::{OPAQUE, Overlay};
use crate::attributes::{Attributes, Kind};
use crate::caller::Caller;
use crate::engine::{Inode, Rename, Replace};
use crate::error::Result;
use crate::name::Name;

/// Attributes by which an overlay of the kernel notes something, of whichever kind: a guest neither sees nor makes any.
pub(super) fn refuse(name: &[u8]) -> Result<()> {
    let is_note =
        [&b"user.overlay."[..], b"trusted.overlay."].iter().any(|of| name.starts_with(of));
    if is_note { Err(Errno::OPNOTSUPP.into()) } else { Ok(()) }
}

/// Whether this stands for a name that is hidden. No guest can make one.
pub(super) fn is_whiteout(found: &Attributes) -> bool {
    found.kind == Kind::CharacterDevice && found.device == 0
}

/// One name in a directory of the upper layer.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) directory: Inode,
    pub(super) name: Name<'a>,
}

impl Overlay {
    /// Whether notes are where names are.
    pub(super) fn notes_take_names(&self) -> bool {
        self.upper.marks().is_some_and(|marks| marks.take_names())
    }

    /// Whether the upper layer's file system takes notes of both kinds: known before a guest needs one.
    pub(super) fn try_notes(&self) -> Result<()> {
        let (marks, staged) = (self.marks()?, self.staged_name());
        marks.set(self.staging, staged.as_bytes())?;
        marks.clear(self.staging, staged.as_bytes())?;
        marks.set(self.staging, OPAQUE)?;
        marks.clear(self.staging, OPAQUE)
    }

    /// The note in the place of a name, held; none where notes lie elsewhere.
    pub(super) fn whiteout(&self, spot: Spot<'_>) -> Result<Option<Inode>> {
        if !self.notes_take_names() {
            return Ok(None);
        }
        match self.upper.lookup(&Caller::root(), spot.directory, spot.name) {
            Ok(entry) if is_whiteout(&entry.attributes) => Ok(Some(entry.inode)),
            Ok(entry) => {
                self.upper.forget(entry.inode, 1);
                Ok(None)
            }
            Err(error) if error.errno == Errno::NOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A name in the staging directory that nothing has.
    pub(super) fn staged_name(&self) -> String {
        self.next_copy.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// Puts what is in the staging directory in the place of a note, which is gone then.
    pub(super) fn put_over(
        &self,
        (staged, made): (Name<'_>, Inode),
        spot: Spot<'_>,
        whiteout: Inode,
        kind: Kind,
    ) -> Result<()> {
        let from = Spot { directory: self.staging, name: staged };
        if kind != Kind::Directory {
            return self.move_upper((from, made), spot, Some(whiteout), Replace::Yes);
        }
        // A directory replaces nothing but a directory.
        self.exchange((from, made), (spot, whiteout))?;
        let left = self.upper.remove(&Caller::root(), self.staging, staged, whiteout);
        // It is in nobody's way, and goes with the next start.
        let _left = left;
        Ok(())
    }

    /// Hides a name of the upper layer, if lower ones have it, and takes away what the upper layer has there.
    pub(super) fn take_away(
        &self,
        caller: &Caller,
        spot: Spot<'_>,
        there: Option<(Inode, Kind)>,
        is_below: bool,
    ) -> Result<()> {
        let Spot { directory, name } = spot;
        if !self.notes_take_names() {
            if is_below {
                self.marks()?.set(directory, name.as_bytes())?;
            }
            return there
                .map_or(Ok(()), |(inode, _)| self.upper.remove(caller, directory, name, inode));
        }
        let Some((inode, kind)) = there else {
            return if is_below { self.marks()?.set(directory, name.as_bytes()) } else { Ok(()) };
        };
        if !is_below {
            self.empty_of_notes(inode, kind)?;
            return self.upper.remove(caller, directory, name, inode);
        }
        let staged = self.staged_name();
        let staged = Name::new(staged.as_bytes())?;
        let note = self.staged_note(staged)?;
        let root = Caller::root();
        let exchanged =
            self.exchange((Spot { directory: self.staging, name: staged }, note), (spot, inode));
        self.upper.forget(note, 1);
        exchanged.inspect_err(|_| {
            let _left = self.marks().and_then(|marks| marks.clear(self.staging, staged.as_bytes()));
        })?;
        // The name is hidden. What it led to is gone, or will be with the next start.
        let _left = self
            .empty_of_notes(inode, kind)
            .and_then(|()| self.upper.remove(&root, self.staging, staged, inode));
        Ok(())
    }

    /// A note in the staging directory, held.
    pub(super) fn staged_note(&self, staged: Name<'_>) -> Result<Inode> {
        self.marks()?.set(self.staging, staged.as_bytes())?;
        Ok(self.upper.lookup(&Caller::root(), self.staging, staged)?.inode)
    }

    /// Takes the notes out of a directory that has nothing else, so that it can be removed.
    pub(super) fn empty_of_notes(&self, directory: Inode, kind: Kind) -> Result<()> {
        if kind != Kind::Directory || !self.notes_take_names() {
            return Ok(());
        }
        let marks = self.marks()?;
        for name in marks.all(directory)? {
            if *name != *OPAQUE {
                marks.clear(directory, &name)?;
            }
        }
        Ok(())
    }

    /// Exchanges two names of the upper layer, or as nearly as its file system can.
    pub(super) fn exchange(
        &self,
        (one, first): (Spot<'_>, Inode),
        (other, second): (Spot<'_>, Inode),
    ) -> Result<()> {
        let exchanged = self.move_upper((one, first), other, Some(second), Replace::Exchange);
        match exchanged {
            Err(error) if error.errno == Errno::INVAL => {}
            exchanged => return exchanged,
        }
        let aside = self.staged_name();
        let aside = Spot { directory: self.staging, name: Name::new(aside.as_bytes())? };
        self.move_upper((other, second), aside, None, Replace::No)?;
        if let Err(error) = self.move_upper((one, first), other, None, Replace::No) {
            // As it was before.
            let _back = self.move_upper((aside, second), other, None, Replace::No);
            return Err(error);
        }
        self.move_upper((aside, second), one, None, Replace::No)
    }

    pub(super) fn move_upper(
        &self,
        (from, moved): (Spot<'_>, Inode),
        to: Spot<'_>,
        replaced: Option<Inode>,
        replace: Replace,
    ) -> Result<()> {
        let rename = Rename {
            from: from.directory,
            name: from.name,
            moved,
            to: to.directory,
            new_name: to.name,
            replaced,
            replace,
        };
        self.upper.rename(&Caller::root(), &rename)
    }
}
