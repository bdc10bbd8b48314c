//! Contents: read in blocks and ahead; written in memory, and as a whole to the other side when it is flushed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;
use vfs::{Error, Result, Setting, WriteAt, Written, write};

use super::{MOST_FAULTS, Node, Remote, lock};
use crate::backend::{Meta, Mode};
use crate::cache::{BLOCK, Key};
use crate::failure::{Failure, Why};
use crate::hash::sha256;

/// A file that is being written, whole.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) bytes: Vec<u8>,
    /// The other side does not have it yet.
    is_dirty: bool,
}

impl Remote {
    pub(super) fn read_contents(
        &self,
        node: &Node,
        offset: u64,
        into: &mut [u8],
        reads_on: bool,
    ) -> Result<usize> {
        if let Some(late) = &*lock(&node.late) {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let there = late.bytes.get(from..).unwrap_or_default();
            let count = there.len().min(into.len());
            let (place, _) = into.split_at_mut(count);
            place.copy_from_slice(there.get(..count).unwrap_or_default());
            return Ok(count);
        }
        let meta = node.meta();
        let left = usize::try_from(meta.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let bytes = self.block(node, &meta, at / BLOCK, reads_on || done > 0)?;
            let within = usize::try_from(at % BLOCK).unwrap_or_default();
            let there = bytes.get(within..).unwrap_or_default();
            let room = there.len().min(count - done);
            if room == 0 {
                return Err(Errno::IO.into());
            }
            if let Some(place) = into.get_mut(done..done + room) {
                place.copy_from_slice(there.get(..room).unwrap_or_default());
            }
            done += room;
        }
        Ok(count)
    }

    /// One block, from the cache or from the other side, and then some more after it.
    fn block(&self, node: &Node, meta: &Meta, block: u64, reads_on: bool) -> Result<Arc<[u8]>> {
        let version: Arc<str> = meta.version.as_str().into();
        let path = node.path();
        let key = |block| Key { path: Arc::clone(&path), version: Arc::clone(&version), block };
        if let Some(bytes) = self.cache.get(&key(block)) {
            return Ok(bytes);
        }
        // What is small comes as a whole, so that it can be compared with its hash.
        let is_small = meta.size <= self.settings.read_ahead_bytes;
        let from = if is_small { 0 } else { block * BLOCK };
        let ahead = if is_small || reads_on { self.settings.read_ahead_bytes } else { BLOCK };
        let length = ahead.max(BLOCK).min(meta.size - from);
        let fetched = self.told(self.backend.read(&path, meta, from, length))?;
        let mut wanted = None;
        let size = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        for (index, bytes) in fetched.chunks(size).enumerate() {
            let number = from / BLOCK + index as u64;
            let bytes: Arc<[u8]> = bytes.into();
            if number == block {
                wanted = Some(Arc::clone(&bytes));
            }
            self.cache.put(key(number), bytes);
        }
        wanted.ok_or(Errno::IO.into())
    }

    pub(super) fn write_contents(&self, node: &Node, at: WriteAt, bytes: &[u8]) -> Result<Written> {
        let mut late = lock(&node.late);
        let late = self.late(node, &mut late, u64::MAX)?;
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => late.bytes.len() as u64,
        };
        let most = self.limits.max_file_bytes.saturating_sub(offset);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
        if most == 0 && !bytes.is_empty() {
            return Err(Error::of_setting(Errno::FBIG, Setting::FileBytes));
        }
        let bytes = bytes.get(..most).unwrap_or_default();
        let end = offset + bytes.len() as u64;
        self.grow(late, end.max(late.bytes.len() as u64))?;
        let from = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
        if let Some(place) = late.bytes.get_mut(from..from + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        late.is_dirty = true;
        Ok(Written { count: bytes.len(), end })
    }

    pub(super) fn resize(&self, node: &Node, size: u64) -> Result<()> {
        if size > self.limits.max_file_bytes {
            return Err(Error::of_setting(Errno::FBIG, Setting::FileBytes));
        }
        {
            let mut late = lock(&node.late);
            let late = self.late(node, &mut late, size)?;
            self.grow(late, size)?;
            late.is_dirty = true;
        }
        if node.writers.load(Ordering::SeqCst) > 0 {
            return Ok(());
        }
        // Nobody has it open who would flush it.
        let pushed = self.push(node);
        if node.opened.load(Ordering::SeqCst) == 0 {
            self.drop_late(node);
        }
        pushed
    }

    /// What is written of a file; at first it is what is there, as far as it is needed.
    fn late<'a>(
        &self,
        node: &Node,
        late: &'a mut Option<Late>,
        needed: u64,
    ) -> Result<&'a mut Late> {
        if late.is_none() {
            let meta = node.meta();
            let needed = needed.min(meta.size);
            self.late.take(needed)?;
            let bytes = self.fetch(node, &meta, needed).inspect_err(|_| self.late.give(needed))?;
            *late = Some(Late { bytes, is_dirty: false });
        }
        late.as_mut().ok_or(Errno::IO.into())
    }

    fn fetch(&self, node: &Node, meta: &Meta, length: u64) -> Result<Vec<u8>> {
        let path = node.path();
        let mut all = Vec::new();
        while (all.len() as u64) < length {
            let from = all.len() as u64;
            let part = (length - from).min(self.settings.read_ahead_bytes.max(BLOCK));
            all.extend(self.told(self.backend.read(&path, meta, from, part))?);
        }
        if length == meta.size && meta.sha256.is_some_and(|hash| hash != sha256(&all)) {
            let action = format!("read `{path}`");
            return self.told(Err(Failure { action, why: Why::Checksum }));
        }
        Ok(all)
    }

    /// Makes it longer or shorter, within what may be late.
    fn grow(&self, late: &mut Late, size: u64) -> Result<()> {
        let before = late.bytes.len() as u64;
        let length = usize::try_from(size).map_err(|_| Errno::FBIG)?;
        if size > before {
            self.late.take(size - before)?;
        } else {
            self.late.give(before - size);
        }
        late.bytes.resize(length, 0);
        Ok(())
    }

    /// Returns when the other side has what was written. What it does not take stays late.
    pub(super) fn push(&self, node: &Node) -> Result<()> {
        let mut late = lock(&node.late);
        let Some(late) = late.as_mut().filter(|late| late.is_dirty) else { return Ok(()) };
        if node.is_gone.load(Ordering::SeqCst) {
            // It has no name, and nobody will look for it.
            return Ok(());
        }
        let written = self.backend.write(&node.path(), &late.bytes, Mode::Replace);
        let meta = self.told(written)?;
        *write(&node.meta) = (meta, Instant::now() + self.settings.believed);
        late.is_dirty = false;
        Ok(())
    }

    pub(super) fn drop_late(&self, node: &Node) {
        let Some(late) = lock(&node.late).take() else { return };
        self.late.give(late.bytes.len() as u64);
        if late.is_dirty && !node.is_gone.load(Ordering::SeqCst) {
            let why = lock(&self.faults).back().map(|fault| fault.text.clone());
            let why = why.unwrap_or_else(|| "it was refused".to_owned());
            let mut unwritten = lock(&self.unwritten);
            if unwritten.len() < MOST_FAULTS {
                unwritten.push(format!("`{}` ({why})", node.path()));
            }
        }
    }

    /// A file that is about to lose its name stays readable for who has it open.
    pub(super) fn keep_for_who_has_it_open(&self, node: &Node) -> Result<()> {
        if node.opened.load(Ordering::SeqCst) > 0 {
            self.late(node, &mut lock(&node.late), u64::MAX)?;
        }
        Ok(())
    }
}
