//! Open files and directories of an overlay. A file that is copied up while it is open is read from its copy from then on.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, RwLock};

use rustix::io::Errno;

use super::find::Merged;
use super::{Node, Overlay, lock};
use crate::caller::Caller;
use crate::engine::{Engine, Handle, Inode, Listed, Use};
use crate::error::Result;
use crate::table::{read, write};

/// An open file, where it lies now, or a directory.
#[derive(Debug)]
pub(super) struct Open {
    node: Arc<Node>,
    how: Use,
    /// In which layer, the upper one being none.
    inner: RwLock<Option<(Option<usize>, Handle)>>,
    /// What a listing shows, as it was when it began.
    listing: Mutex<Option<Arc<Vec<Merged>>>>,
}

impl Open {
    /// A file that is open in the upper layer.
    pub(super) fn upper(node: Arc<Node>, how: Use, handle: Handle) -> Self {
        let inner = RwLock::new(Some((None, handle)));
        Self { node, how, inner, listing: Mutex::new(None) }
    }

    pub(super) fn directory(node: Arc<Node>) -> Self {
        let how = Use { read: true, write: false };
        Self { node, how, inner: RwLock::new(None), listing: Mutex::new(None) }
    }
}

impl Overlay {
    pub(super) fn open_file(&self, caller: &Caller, inode: Inode, how: Use) -> Result<Handle> {
        let node = self.node(inode)?;
        if how.write {
            self.copy_up(&node)?;
        }
        self.handles.take(1)?;
        let inner = self.open_inner(caller, &node, how).inspect_err(|_| self.handles.give(1))?;
        let listing = Mutex::new(None);
        Ok(self.put_open(Open { node, how, inner: RwLock::new(Some(inner)), listing }))
    }

    fn open_inner(
        &self,
        caller: &Caller,
        node: &Node,
        how: Use,
    ) -> Result<(Option<usize>, Handle)> {
        let place = read(&node.place).clone();
        match (place.upper, place.lowers.first()) {
            (Some(inode), _) => Ok((None, self.upper.open(caller, inode, how)?)),
            (None, Some((layer, inode))) => {
                Ok((Some(*layer), self.lower(*layer)?.open(caller, *inode, how)?))
            }
            (None, None) => Err(Errno::STALE.into()),
        }
    }

    pub(super) fn put_open(&self, open: Open) -> Handle {
        open.node.held.fetch_add(1, Ordering::SeqCst);
        let number = self.open.next();
        self.open.put(number, Arc::new(open));
        Handle(number)
    }

    pub(super) fn close(&self, handle: Handle) {
        let Some(open) = self.open.take(handle.0) else { return };
        if let Some(inner) = write(&open.inner).take() {
            self.release_inner(inner);
        }
        self.handles.give(1);
        self.give_back(open.node.number, 1);
    }

    fn release_inner(&self, (layer, handle): (Option<usize>, Handle)) {
        match layer.map(|layer| self.lower(layer)) {
            None => self.upper.release(handle),
            Some(Ok(lower)) => lower.release(handle),
            Some(Err(_)) => {}
        }
    }

    /// Does something with an open file where it lies now.
    pub(super) fn with<T>(
        &self,
        handle: Handle,
        act: impl FnOnce(&dyn Engine, Handle) -> Result<T>,
    ) -> Result<T> {
        let open = self.open.get(handle.0).ok_or(Errno::BADF)?;
        let inner = *read(&open.inner);
        let Some((layer, handle)) = inner else { return Err(Errno::ISDIR.into()) };
        let Some(layer) = layer else { return act(&*self.upper, handle) };
        if read(&open.node.place).upper.is_none() {
            return act(self.lower(layer)?, handle);
        }
        let mut inner = write(&open.inner);
        if let Some((Some(_), _)) = *inner {
            let moved = self.open_inner(&Caller::root(), &open.node, open.how)?;
            if let Some(before) = inner.replace(moved) {
                self.release_inner(before);
            }
        }
        let Some((_, handle)) = *inner else { return Err(Errno::BADF.into()) };
        drop(inner);
        act(&*self.upper, handle)
    }

    pub(super) fn list(
        &self,
        handle: Handle,
        after: u64,
        sink: &mut dyn FnMut(&Listed<'_>) -> bool,
    ) -> Result<()> {
        let open = self.open.get(handle.0).ok_or(Errno::BADF)?;
        if open.node.is_gone.load(Ordering::SeqCst) {
            return Err(Errno::NOENT.into());
        }
        let parent = match &*lock(&open.node.seat) {
            Some(seat) => seat.parent.number,
            None => open.node.number,
        };
        let kind = open.node.kind;
        for (cookie, name, number) in [(1, &b"."[..], open.node.number), (2, b"..", parent)] {
            if cookie > after && !sink(&Listed { name, number, kind, cookie }) {
                return Ok(());
            }
        }
        let all = {
            let mut listing = lock(&open.listing);
            match &*listing {
                Some(all) if after > 0 => Arc::clone(all),
                _ => Arc::clone(listing.insert(Arc::new(self.merged(&open.node)?))),
            }
        };
        let from = usize::try_from(after.saturating_sub(2)).unwrap_or(usize::MAX);
        for (index, merged) in all.iter().enumerate().skip(from) {
            let (number, kind) = (merged.number, merged.kind);
            let cookie = index as u64 + FIRST_COOKIE;
            if !sink(&Listed { name: &merged.name, number, kind, cookie }) {
                break;
            }
        }
        Ok(())
    }
}

const FIRST_COOKIE: u64 = 3;
