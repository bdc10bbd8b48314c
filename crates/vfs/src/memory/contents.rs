//! The contents of one file in memory: pages, and holes where there are none. Also of engines that keep in memory what is
//! not where it belongs yet. Knows nothing of names and owners.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::engine::Seek;
use crate::error::Result;
use crate::limits::Counter;

/// What a file holds. A page that is shorter than a page ends in zeros; one that is empty is reserved, and reads as a
/// hole.
#[derive(Debug, Default)]
pub struct Contents {
    size: u64,
    /// The first page, which is all that most files have.
    first: Option<Vec<u8>>,
    rest: BTreeMap<u64, Vec<u8>>,
}

impl Contents {
    /// Its length, holes included.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// What its pages take of the file system.
    pub fn bytes(&self) -> u64 {
        self.pages() * PAGE
    }

    /// Where its data ends: what comes after is a hole to its end.
    pub fn data_end(&self) -> u64 {
        let last = self.rest.iter().rev().find(|(_, held)| !held.is_empty()).map(|(page, _)| *page);
        let last = last.or(self.first.as_ref().filter(|held| !held.is_empty()).map(|_| 0));
        let held = last.and_then(|page| self.page(page)).map_or(0, |held| held.len() as u64);
        last.map_or(0, |page| page * PAGE + held).min(self.size)
    }

    fn pages(&self) -> u64 {
        u64::from(self.first.is_some()) + self.rest.len() as u64
    }

    /// Reads; less than asked for only at the end.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let (page, within) = split(at);
            let room = (PAGE_BYTES - within).min(count - done);
            let Some(target) = into.get_mut(done..done + room) else { return done };
            let held = self.page(page).and_then(|held| held.get(within..)).unwrap_or_default();
            let length = held.len().min(room);
            let (data, hole) = target.split_at_mut(length);
            data.copy_from_slice(held.get(..length).unwrap_or_default());
            hole.fill(0);
            done += room;
        }
        count
    }

    /// Writes as much as there is room for.
    pub fn write(&mut self, offset: u64, bytes: &[u8], space: &Counter) -> Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let (page, within) = split(offset + done as u64);
            let room = (PAGE_BYTES - within).min(bytes.len() - done);
            let held = match self.page_mut(page, space) {
                Ok(held) => held,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            };
            let source = bytes.get(done..done + room).unwrap_or_default();
            match held.get_mut(within..within + room) {
                Some(target) => target.copy_from_slice(source),
                None => {
                    held.resize(within, 0);
                    held.extend_from_slice(source);
                }
            }
            done += room;
            self.size = self.size.max(offset + done as u64);
        }
        Ok(done)
    }

    /// Makes it longer, with a hole, or shorter.
    pub fn resize(&mut self, size: u64, space: &Counter) {
        if size <= self.size {
            let before = self.pages();
            let (page, within) = split(size);
            let first_gone = page + u64::from(within > 0);
            if first_gone == 0 {
                self.first = None;
            }
            self.rest.split_off(&first_gone);
            if let Some(held) = self.existing(page) {
                held.truncate(within);
            }
            space.give((before - self.pages()) * PAGE);
        }
        self.size = size;
    }

    /// Makes room for a range, or none of it.
    pub fn reserve(&mut self, offset: u64, length: u64, space: &Counter) -> Result<()> {
        let (from, to) = (offset / PAGE, (offset + length).div_ceil(PAGE));
        let there = self.rest.range(from.max(1)..to.max(1)).count() as u64
            + u64::from(from == 0 && self.first.is_some());
        space.take((to - from - there).saturating_mul(PAGE))?;
        for page in from..to {
            if page == 0 {
                self.first.get_or_insert_default();
            } else {
                self.rest.entry(page).or_default();
            }
        }
        Ok(())
    }

    /// Makes a range a hole: whole pages go, the rest becomes zeros.
    pub fn punch(&mut self, offset: u64, length: u64, space: &Counter) {
        let before = self.pages();
        let end = offset + length;
        let (from, to) = (offset.div_ceil(PAGE), end / PAGE);
        if from < to {
            if from == 0 {
                self.first = None;
            }
            let mut tail = self.rest.split_off(&from);
            self.rest.append(&mut tail.split_off(&to));
        }
        let (first, within) = split(offset);
        let (last, up_to) = split(end);
        if first == last {
            self.blank(first, within, up_to);
        } else {
            self.blank(first, within, PAGE_BYTES);
            self.blank(last, 0, up_to);
        }
        space.give((before - self.pages()) * PAGE);
    }

    /// Finds data or a hole: `ENXIO` where there is none.
    pub fn seek(&self, what: Seek, offset: u64) -> Result<u64> {
        if offset >= self.size {
            return Err(Errno::NXIO.into());
        }
        let (page, _) = split(offset);
        let found = match what {
            Seek::Data => self.data_from(page).map(|page| (page * PAGE).max(offset)),
            Seek::Hole => {
                let mut at = page;
                while self.page(at).is_some_and(|held| !held.is_empty()) {
                    at += 1;
                }
                Some((at * PAGE).max(offset).min(self.size))
            }
        };
        found.filter(|at| what == Seek::Hole || *at < self.size).ok_or(Errno::NXIO.into())
    }

    fn data_from(&self, page: u64) -> Option<u64> {
        if page == 0 && self.first.as_ref().is_some_and(|held| !held.is_empty()) {
            return Some(0);
        }
        self.rest.range(page.max(1)..).find(|(_, held)| !held.is_empty()).map(|(page, _)| *page)
    }

    fn page(&self, page: u64) -> Option<&Vec<u8>> {
        if page == 0 { self.first.as_ref() } else { self.rest.get(&page) }
    }

    fn existing(&mut self, page: u64) -> Option<&mut Vec<u8>> {
        if page == 0 { self.first.as_mut() } else { self.rest.get_mut(&page) }
    }

    fn page_mut(&mut self, page: u64, space: &Counter) -> Result<&mut Vec<u8>> {
        if self.page(page).is_none() {
            space.take(PAGE)?;
        }
        Ok(if page == 0 {
            self.first.get_or_insert_default()
        } else {
            self.rest.entry(page).or_default()
        })
    }

    fn blank(&mut self, page: u64, from: usize, to: usize) {
        if let Some(held) = self.existing(page) {
            let to = to.min(held.len());
            if let Some(range) = held.get_mut(from.min(to)..to) {
                range.fill(0);
            }
        }
    }
}

/// The page of a byte, and where it is in that.
fn split(offset: u64) -> (u64, usize) {
    (offset / PAGE, usize::try_from(offset % PAGE).unwrap_or_default())
}

/// The unit of holes, and of what files take.
pub(super) const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;
