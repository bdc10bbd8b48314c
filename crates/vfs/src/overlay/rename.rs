//! Renames in an overlay: what moves is in the upper layer first, and what lower layers have under the old name is hidden.

use std::sync::{Arc, PoisonError};

use rustix::io::Errno;

use super::notes::Spot;
use super::{Node, OPAQUE, Overlay, lock};
use crate::attributes::Kind;
use crate::caller::Caller;
use crate::engine::{Inode, Rename, Replace};
use crate::error::{Error, Result};
use crate::name::Name;

impl Overlay {
    pub(super) fn perform(&self, caller: &Caller, rename: &Rename<'_>) -> Result<()> {
        let (from, to) = (self.directory(rename.from)?, self.directory(rename.to)?);
        let moved = self.node(rename.moved)?;
        let is_exchange = rename.replace == Replace::Exchange;
        self.copy_tree(&moved)?;
        self.copy_name(&from, rename.name, &moved)?;
        if let Some(other) = rename.replaced.filter(|_| is_exchange) {
            let other = self.node(other)?;
            self.copy_tree(&other)?;
            self.copy_name(&to, rename.new_name, &other)?;
        }
        let (from_upper, to_upper) = (self.copy_up(&from)?, self.copy_up(&to)?);
        let _one_at_a_time = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = if from.number < to.number { (&from, &to) } else { (&to, &from) };
        let _first = lock(&first.names);
        let _second = (first.number != second.number).then(|| lock(&second.names));
        let (found, moved_upper) = self.find(&from, rename.name)?;
        let result = (|| {
            let moved_upper = moved_upper.filter(|_| found.number == rename.moved.0);
            let moved_upper = moved_upper.ok_or(Errno::STALE)?;
            let replaced = match self.find(&to, rename.new_name) {
                Ok(found) => Some(found),
                Err(error) if error.errno == Errno::NOENT => None,
                Err(error) => return Err(error),
            };
            let inner = Inner { from_upper, to_upper, moved_upper, from: &from, to: &to };
            let done = self.judged(caller, rename, &inner, &found, replaced.as_ref());
            if let Some((node, _)) = replaced {
                self.give_back(node.number, 1);
            }
            done
        })();
        self.give_back(found.number, 1);
        result
    }

    fn judged(
        &self,
        caller: &Caller,
        rename: &Rename<'_>,
        inner: &Inner<'_>,
        moved: &Arc<Node>,
        replaced: Option<&(Arc<Node>, Option<Inode>)>,
    ) -> Result<()> {
        let is_as_judged =
            replaced.map(|(node, _)| node.number) == rename.replaced.map(|inode| inode.0);
        match (rename.replace, replaced) {
            (Replace::No, Some(_)) => return Err(Errno::EXIST.into()),
            (Replace::Exchange, None) => return Err(Errno::NOENT.into()),
            _ if !is_as_judged => return Err(Errno::STALE.into()),
            _ => {}
        }
        if replaced.is_some_and(|(node, _)| node.number == moved.number) {
            return Ok(());
        }
        let is_exchange = rename.replace == Replace::Exchange;
        let other = replaced.filter(|_| !is_exchange);
        let _below = other
            .filter(|(node, _)| node.kind == Kind::Directory)
            .map(|(node, _)| lock(&node.names));
        if let Some((node, _)) = other {
            match (moved.kind == Kind::Directory, node.kind == Kind::Directory) {
                (true, false) => return Err(Errno::NOTDIR.into()),
                (false, true) => return Err(Errno::ISDIR.into()),
                (true, true) if !self.is_empty(node)? => return Err(Errno::NOTEMPTY.into()),
                _ => {}
            }
        }
        let in_upper = replaced.and_then(|(_, upper)| *upper);
        if self.notes_take_names() {
            self.move_among_notes(rename, inner, moved, replaced)?;
        } else {
            self.move_beside_notes(caller, rename, inner, in_upper)?;
        }
        self.reseat(moved, inner.to, rename.new_name);
        match replaced {
            Some((node, _)) if is_exchange => self.reseat(node, inner.from, rename.name),
            Some((node, upper)) => {
                self.lost(node, upper.is_some());
                self.unseat_file(node, inner.to, rename.new_name);
            }
            None => {}
        }
        Ok(())
    }

    /// Where notes lie elsewhere a name that was hidden stays so, whatever is there.
    fn move_beside_notes(
        &self,
        caller: &Caller,
        rename: &Rename<'_>,
        inner: &Inner<'_>,
        in_upper: Option<Inode>,
    ) -> Result<()> {
        if self.is_below(inner.from, rename.name)? {
            self.marks()?.set(inner.from_upper, rename.name.as_bytes())?;
        }
        let replace = match (rename.replace, in_upper) {
            (Replace::Exchange, Some(_)) => Replace::Exchange,
            (Replace::Exchange, None) => return Err(Errno::STALE.into()),
            (Replace::Yes | Replace::No, None) => Replace::No,
            (Replace::Yes | Replace::No, Some(_)) => Replace::Yes,
        };
        let renamed = self.upper.rename(
            caller,
            &Rename {
                from: inner.from_upper,
                name: rename.name,
                moved: inner.moved_upper,
                to: inner.to_upper,
                new_name: rename.new_name,
                replaced: in_upper,
                replace,
            },
        );
        renamed.map_err(|error: Error| match error.errno {
            // What is left of a lower directory's names is not in the upper one.
            Errno::EXIST if rename.replace == Replace::Yes => Errno::STALE.into(),
            _ => error,
        })
    }

    /// Where notes are in the places of names: a directory that comes to a name which lower layers have hides what they
    /// have there, and a note is left where something was moved away from such a name. That note is made before, so that
    /// nothing is missing for it afterwards; a process that is ended between both shows the old name once more.
    fn move_among_notes(
        &self,
        rename: &Rename<'_>,
        inner: &Inner<'_>,
        moved: &Node,
        replaced: Option<&(Arc<Node>, Option<Inode>)>,
    ) -> Result<()> {
        let from = Spot { directory: inner.from_upper, name: rename.name };
        let to = Spot { directory: inner.to_upper, name: rename.new_name };
        let from_below = self.is_below(inner.from, rename.name)?;
        let to_below = self.is_below(inner.to, rename.new_name)?;
        if moved.kind == Kind::Directory && to_below {
            self.marks()?.set(inner.moved_upper, OPAQUE)?;
        }
        let in_upper = replaced.and_then(|(node, upper)| Some((node, (*upper)?)));
        if rename.replace == Replace::Exchange {
            let (other, inode) = in_upper.ok_or(Errno::STALE)?;
            if other.kind == Kind::Directory && from_below {
                self.marks()?.set(inode, OPAQUE)?;
            }
            // At once or not at all (`EINVAL`): in steps, one of both would be lost with a process that is ended between.
            return self.move_upper((from, inner.moved_upper), to, Some(inode), Replace::Exchange);
        }
        let staged = self.staged_name();
        let staged = Spot { directory: self.staging, name: Name::new(staged.as_bytes())? };
        let note = if from_below { Some(self.staged_note(staged.name)?) } else { None };
        let whiteout = if in_upper.is_none() { self.whiteout(to)? } else { None };
        let done = self.place((from, inner.moved_upper), to, (in_upper, whiteout), moved.kind);
        let left = done.and_then(|left| match (left, note) {
            // The note that was in the way is where one is needed, or not needed there.
            (Some(_), Some(_)) => Ok(()),
            (Some(whiteout), None) => {
                self.upper.remove(&Caller::root(), from.directory, from.name, whiteout)
            }
            (None, Some(note)) => self.move_upper((staged, note), from, None, Replace::No),
            (None, None) => Ok(()),
        });
        if let Some(note) = note {
            self.upper.forget(note, 1);
            let _moved_away = self.marks()?.clear(self.staging, staged.name.as_bytes());
        }
        if let Some(whiteout) = whiteout {
            self.upper.forget(whiteout, 1);
        }
        left
    }

    /// Moves something to a name at which there may be something, or a note, which a directory changes places with: that
    /// one is returned.
    fn place(
        &self,
        (from, moved): (Spot<'_>, Inode),
        to: Spot<'_>,
        (there, whiteout): (Option<(&Arc<Node>, Inode)>, Option<Inode>),
        kind: Kind,
    ) -> Result<Option<Inode>> {
        match (there, whiteout) {
            (Some((node, inode)), _) => {
                self.empty_of_notes(inode, node.kind)?;
                self.move_upper((from, moved), to, Some(inode), Replace::Yes)?;
                Ok(None)
            }
            (None, Some(whiteout)) if kind == Kind::Directory => {
                self.exchange((from, moved), (to, whiteout))?;
                Ok(Some(whiteout))
            }
            (None, Some(whiteout)) => {
                self.move_upper((from, moved), to, Some(whiteout), Replace::Yes)?;
                Ok(None)
            }
            (None, None) => {
                self.move_upper((from, moved), to, None, Replace::No)?;
                Ok(None)
            }
        }
    }

    fn reseat(&self, node: &Node, parent: &Arc<Node>, name: Name<'_>) {
        let seat = self.seat(parent, name);
        let before = lock(&node.seat).replace(seat);
        if let Some(before) = before {
            self.give_back(before.parent.number, 1);
        }
    }
}

/// The directories of a rename, and where things lie in the upper layer.
struct Inner<'a> {
    from_upper: Inode,
    to_upper: Inode,
    moved_upper: Inode,
    from: &'a Arc<Node>,
    to: &'a Arc<Node>,
}
