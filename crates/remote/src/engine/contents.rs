//! Contents: read in blocks and ahead; written in memory, and as a whole to the other side when it is flushed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::Errno;
use vfs::{Allocate, Contents, Error, Kind, Result, Seek, Setting, WriteAt, Written, read, write};

use super::node::{Node, noted};
use super::{MOST_FAULTS, Remote, lock};
use crate::backend::{Meta, Mode, Write};
use crate::cache::{BLOCK, Key};
use crate::failure::{Failure, Why};
use crate::hash::sha256;
use crate::notes::Notes;

/// A file that is being written, whole but for holes.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) contents: Contents,
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
            return Ok(late.contents.read(offset, into));
        }
        let meta = node.meta();
        let left = usize::try_from(meta.length().saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let (into, _) = into.split_at_mut(count);
        let done = self.read_stored(node, &meta, offset, into, reads_on)?;
        let (_, hole) = into.split_at_mut(done);
        hole.fill(0);
        Ok(count)
    }

    /// Reads what the other side has; less than asked for only at its end.
    pub(super) fn read_stored(
        &self,
        node: &Node,
        meta: &Meta,
        offset: u64,
        into: &mut [u8],
        reads_on: bool,
    ) -> Result<usize> {
        let left = usize::try_from(meta.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let bytes = self.block(node, meta, at / BLOCK, reads_on || done > 0)?;
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
        let _moving = read(&self.moving);
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
        self.with_late(node, u64::MAX, |late| {
            let offset = match at {
                WriteAt::Offset(offset) => offset,
                WriteAt::End => late.contents.size(),
            };
            let most = self.limits.max_file_bytes.saturating_sub(offset);
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
            if most == 0 && !bytes.is_empty() {
                return Err(Error::of_setting(Errno::FBIG, Setting::FileBytes));
            }
            let bytes = bytes.get(..most).unwrap_or_default();
            self.check_stored(offset.saturating_add(bytes.len() as u64))?;
            let count = late.contents.write(offset, bytes, &self.late)?;
            Ok(Written { count, end: offset + count as u64 })
        })
    }

    pub(super) fn resize(&self, node: &Node, size: u64) -> Result<()> {
        match node.kind {
            Kind::File => {}
            Kind::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::INVAL.into()),
        }
        if size > self.limits.max_file_bytes {
            return Err(Error::of_setting(Errno::FBIG, Setting::FileBytes));
        }
        self.with_late(node, size, |late| {
            late.contents.resize(size, &self.late);
            Ok(())
        })?;
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

    pub(super) fn allocate_in(
        &self,
        node: &Node,
        how: Allocate,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let too_big = Error::of_setting(Errno::FBIG, Setting::FileBytes);
        let end = offset.checked_add(length).filter(|end| *end <= self.limits.max_file_bytes);
        let end = end.ok_or(too_big)?;
        if how != Allocate::PunchHole {
            self.check_stored(end)?;
        }
        self.with_late(node, u64::MAX, |late| {
            if how == Allocate::PunchHole {
                late.contents.punch(offset, length, &self.late);
                return Ok(());
            }
            late.contents.reserve(offset, length, &self.late)?;
            if how == Allocate::Extend && late.contents.size() < end {
                late.contents.resize(end, &self.late);
            }
            Ok(())
        })
    }

    /// Where the other side has no holes: all that it has is data.
    pub(super) fn seek_in(&self, node: &Node, what: Seek, offset: u64) -> Result<u64> {
        if let Some(late) = &*lock(&node.late) {
            return late.contents.seek(what, offset);
        }
        let meta = node.meta();
        match what {
            _ if offset >= meta.length() => Err(Errno::NXIO.into()),
            Seek::Data if offset < meta.size => Ok(offset),
            Seek::Data => Err(Errno::NXIO.into()),
            Seek::Hole => Ok(offset.max(meta.size)),
        }
    }

    /// Data ends where it can still be brought to the other side as a whole.
    fn check_stored(&self, end: u64) -> Result<()> {
        let is_fine = end <= self.late.most();
        if is_fine { Ok(()) } else { Err(Error::of_setting(Errno::NOSPC, Setting::Bytes)) }
    }

    /// Changes what is written of a file; at first it is what is there, as far as it is needed.
    fn with_late<T>(
        &self,
        node: &Node,
        needed: u64,
        change: impl FnOnce(&mut Late) -> Result<T>,
    ) -> Result<T> {
        let _moving = read(&self.moving);
        let mut late = lock(&node.late);
        let late = self.late(node, &mut late, needed)?;
        let done = change(late)?;
        late.is_dirty = true;
        node.note(|notes, now| notes.modified = Some(now));
        Ok(done)
    }

    fn late<'a>(
        &self,
        node: &Node,
        late: &'a mut Option<Late>,
        needed: u64,
    ) -> Result<&'a mut Late> {
        if late.is_none() {
            let meta = node.meta();
            let wanted = needed.min(meta.size);
            self.late.take(wanted)?;
            let fetched = self.fetch(node, &meta, wanted);
            self.late.give(wanted);
            let bytes = fetched?;
            let mut contents = Contents::default();
            let written = contents.write(0, &bytes, &self.late);
            if written.is_err() || written.is_ok_and(|count| count < bytes.len()) {
                self.late.give(contents.bytes());
                return Err(Error::of_setting(Errno::NOSPC, Setting::Bytes));
            }
            if needed >= meta.size {
                contents.resize(meta.length(), &self.late);
            }
            *late = Some(Late { contents, is_dirty: false });
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

    /// Returns when the other side has what was written. What it does not take stays late.
    pub(super) fn push(&self, node: &Node) -> Result<()> {
        let _moving = read(&self.moving);
        let _changing = lock(&node.changing);
        let mut late = lock(&node.late);
        let Some(late) = late.as_mut().filter(|late| late.is_dirty) else { return Ok(()) };
        if node.is_gone() {
            // It has no name, and nobody will look for it.
            return Ok(());
        }
        let stored = late.contents.data_end();
        // Holes are there in full for as long as it is sent.
        let holes = stored.saturating_sub(late.contents.bytes());
        self.late.take(holes)?;
        let written = self.send(node, &late.contents, stored);
        self.late.give(holes);
        let meta = written?;
        late.is_dirty = false;
        self.renumber(node, &meta);
        let mut state = write(&node.state);
        (state.meta, state.is_unsaved) = (meta, false);
        state.until = Instant::now() + self.settings.believed;
        Ok(())
    }

    fn send(&self, node: &Node, contents: &Contents, stored: u64) -> Result<Meta> {
        let mut bytes = vec![0; usize::try_from(stored).map_err(|_| Errno::FBIG)?];
        contents.read(0, &mut bytes);
        let meta = node.meta();
        let length = (contents.size() > stored).then(|| contents.size());
        let notes = Notes { length, ..noted(&meta) };
        let known = (!node.has_path()).then_some(&meta);
        let how = Write { mode: Mode::Replace, known, notes: Some(&notes) };
        self.told(self.backend.write(&node.path(), &bytes, how))
    }

    pub(super) fn drop_late(&self, node: &Node) {
        let Some(late) = lock(&node.late).take() else { return };
        self.late.give(late.contents.bytes());
        if late.is_dirty && !node.is_gone() {
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
        if node.kind == Kind::File && node.opened.load(Ordering::SeqCst) > 0 {
            self.late(node, &mut lock(&node.late), u64::MAX)?;
        }
        Ok(())
    }
}
