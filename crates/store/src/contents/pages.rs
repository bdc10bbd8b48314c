//! A piece of a file in memory: its bytes, and which of its pages were written and which it takes. Knows nothing of
//! databases.

/// Some pages of a file. Bytes beyond what is there are zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    pub(crate) map: Map,
}

/// Which pages of a piece there are, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    /// They hold data.
    pub(crate) written: u32,
    /// They are counted, whether or not they hold data.
    pub(crate) taken: u32,
}

impl Map {
    pub(crate) const fn pages(self) -> u64 {
        self.taken.count_ones() as u64
    }

    pub(crate) const fn is_written(self, page: u32) -> bool {
        self.written >> page & 1 == 1
    }
}

impl Piece {
    /// Reads from a place in it.
    pub(crate) fn read(&self, at: usize, into: &mut [u8]) {
        read(&self.bytes, at, into);
    }

    /// Writes within it.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        let pages = bits(at / PAGE_BYTES, end.div_ceil(PAGE_BYTES));
        self.map.written |= pages;
        self.map.taken |= pages;
    }

    /// Everything from a place on is no more.
    pub(crate) fn cut(&mut self, at: usize) {
        self.bytes.truncate(at);
        let pages = bits(0, at.div_ceil(PAGE_BYTES));
        self.map.written &= pages;
        self.map.taken &= pages;
    }

    /// Makes a hole: whole pages are no more, parts of pages become zeros.
    pub(crate) fn punch(&mut self, from: usize, to: usize) {
        let end = to.min(self.bytes.len());
        if let Some(place) = self.bytes.get_mut(from.min(end)..end) {
            place.fill(0);
        }
        let pages = bits(from.div_ceil(PAGE_BYTES), to / PAGE_BYTES);
        self.map.written &= !pages;
        self.map.taken &= !pages;
    }

    /// What is kept of its bytes.
    pub(crate) fn trimmed(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.bytes.get(..end).unwrap_or_default()
    }
}

/// Reads from bytes that end in zeros without end.
pub(crate) fn read(bytes: &[u8], at: usize, into: &mut [u8]) {
    let there = bytes.get(at..).unwrap_or_default();
    let length = there.len().min(into.len());
    let (data, hole) = into.split_at_mut(length);
    data.copy_from_slice(there.get(..length).unwrap_or_default());
    hole.fill(0);
}

/// The bits of pages from one to before another.
pub(crate) fn bits(from: usize, to: usize) -> u32 {
    (from..to.min(PAGES)).fold(0, |all, page| all | 1 << page)
}

/// The piece of a byte, and where it is in that.
pub(crate) fn split(offset: u64) -> (u64, usize) {
    (offset / PIECE, usize::try_from(offset % PIECE).unwrap_or_default())
}

/// The unit of holes, and of what files take.
pub(crate) const PAGE: u64 = 4096;
pub(crate) const PAGE_BYTES: usize = 4096;
/// How many pages are in a piece.
pub(crate) const PAGES: usize = 16;
pub(crate) const PIECE_BYTES: usize = PAGE_BYTES * PAGES;
pub(crate) const PIECE: u64 = PAGE * PAGES as u64;
