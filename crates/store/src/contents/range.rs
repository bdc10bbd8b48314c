//! What is done to a range of a file: cutting, punching, reserving, seeking.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use vfs::{Result, Seek};

use super::pages::{Map, PAGE, PAGE_BYTES, PAGES, PIECE, PIECE_BYTES, bits, split};
use super::{Contents, MOST_LATE};
use crate::node::Node;
use crate::store::Store;

impl Store {
    /// Changes the length of a file.
    pub(crate) fn resize(&self, node: &Node, contents: &mut Contents, size: u64) -> Result<()> {
        if size <= contents.size {
            let (position, at) = split(size);
            let whole = position + u64::from(at > 0);
            let mut gone = 0;
            let mut from = whole;
            while from < END {
                let (maps, next) = self.maps(node, contents, from, END)?;
                gone += maps.values().map(|map| map.pages()).sum::<u64>();
                from = next;
            }
            if at > 0 && self.has(node, contents, position)? {
                let piece = self.late_piece(node, contents, position, false)?;
                let before = piece.map.pages();
                piece.cut(at);
                gone += before - piece.map.pages();
            }
            let dropped = contents.late.split_off(&whole);
            self.late.fetch_sub(dropped.len() as u64, Ordering::Relaxed);
            contents.cut = Some(contents.cut.map_or(whole, |cut| cut.min(whole)));
            contents.pages -= gone;
            self.bytes.give(gone * PAGE);
        }
        contents.size = size;
        contents.is_late = true;
        self.note_contents(node, contents);
        node.modified();
        Ok(())
    }

    /// Makes a range a hole: whole pages go, the rest becomes zeros.
    pub(crate) fn punch(
        &self,
        node: &Node,
        contents: &mut Contents,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let end = offset.saturating_add(length);
        let mut from = offset / PIECE;
        let to = end.div_ceil(PIECE);
        while from < to {
            let (maps, next) = self.maps(node, contents, from, to)?;
            for position in maps.into_keys() {
                let within = |at: u64| {
                    let at = at.saturating_sub(position * PIECE).min(PIECE);
                    usize::try_from(at).unwrap_or_default()
                };
                let (first, last) = (within(offset), within(end));
                let covers = first == 0 && last == PIECE_BYTES;
                let piece = self.late_piece(node, contents, position, covers)?;
                let before = piece.map.pages();
                piece.punch(first, last);
                let gone = before - piece.map.pages();
                contents.pages -= gone;
                self.bytes.give(gone * PAGE);
                self.flush_some(node, contents)?;
            }
            from = next;
        }
        contents.is_late = true;
        self.note_contents(node, contents);
        node.modified();
        Ok(())
    }

    /// Makes room for a range, or none of it.
    pub(crate) fn reserve(
        &self,
        node: &Node,
        contents: &mut Contents,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let (first, end) = (offset / PAGE, offset.saturating_add(length).div_ceil(PAGE));
        let pages_of = PAGES as u64;
        let (from, to) = (first / pages_of, end.div_ceil(pages_of));
        let wanted = |position: u64| {
            let within = |page: u64| {
                usize::try_from(page.saturating_sub(position * pages_of)).unwrap_or(PAGES)
            };
            bits(within(first).min(PAGES), within(end))
        };
        let mut there = 0;
        let mut at = from;
        while at < to {
            let (maps, next) = self.maps(node, contents, at, to)?;
            let taken = |(position, map): (&u64, &Map)| map.taken & wanted(*position);
            there += maps.iter().map(|one| u64::from(taken(one).count_ones())).sum::<u64>();
            at = next;
        }
        let new = end - first - there;
        self.bytes.take(new.saturating_mul(PAGE))?;
        let mut left = new;
        for position in from..to {
            let mut one = || {
                let piece = self.late_piece(node, contents, position, false)?;
                let before = piece.map.pages();
                piece.map.taken |= wanted(position);
                let more = piece.map.pages() - before;
                contents.pages += more;
                left -= more;
                self.flush_some(node, contents)
            };
            let done = one();
            if let Err(error) = done {
                self.bytes.give(left * PAGE);
                return Err(error);
            }
        }
        contents.is_late = true;
        self.note_contents(node, contents);
        node.modified();
        Ok(())
    }

    /// Finds the next data or hole.
    pub(crate) fn seek_contents(
        &self,
        node: &Node,
        contents: &Contents,
        what: Seek,
        offset: u64,
    ) -> Result<u64> {
        if offset >= contents.size {
            return Err(Errno::NXIO.into());
        }
        let (mut from, end) = (offset / PIECE, contents.size.div_ceil(PIECE));
        // Of the first piece only what comes after the offset.
        let mut first_page = u32::try_from(offset % PIECE / PAGE).unwrap_or_default();
        while from < end {
            let (maps, next) = self.maps(node, contents, from, end)?;
            let found = match what {
                Seek::Data => maps.iter().find_map(|(position, map)| {
                    let skipped = if *position == from { first_page } else { 0 };
                    next_page(*map, skipped, true).map(|page| position * PIECE + page)
                }),
                Seek::Hole => (from..next).find_map(|position| {
                    let skipped = if position == from { first_page } else { 0 };
                    let map = maps.get(&position).copied().unwrap_or_default();
                    next_page(map, skipped, false).map(|page| position * PIECE + page)
                }),
            };
            match found.map(|at| at.max(offset)) {
                Some(at) if what == Seek::Hole => return Ok(at.min(contents.size)),
                Some(at) if at < contents.size => return Ok(at),
                Some(_) => break,
                None => {}
            }
            (from, first_page) = (next, 0);
        }
        match what {
            Seek::Hole => Ok(contents.size),
            Seek::Data => Err(Errno::NXIO.into()),
        }
    }

    /// Whether there is anything of a piece.
    fn has(&self, node: &Node, contents: &Contents, position: u64) -> Result<bool> {
        Ok(!self.maps(node, contents, position, position + 1)?.0.is_empty())
    }

    /// Keeps what waits for the database within its bound.
    fn flush_some(&self, node: &Node, contents: &mut Contents) -> Result<()> {
        if contents.late.len() < MOST_LATE {
            return Ok(());
        }
        self.flush_contents(node, contents)
    }
}

/// Where the next page begins that is written or is not, in the bytes of a piece.
fn next_page(map: Map, from: u32, is_written: bool) -> Option<u64> {
    let pages = u32::try_from(PAGES).unwrap_or_default();
    let page = (from..pages).find(|page| map.is_written(*page) == is_written)?;
    Some(u64::from(page) * PAGE_BYTES as u64)
}

/// Beyond every piece of every file.
const END: u64 = i64::MAX.unsigned_abs() / PIECE + 1;
