//! The contents of a file that somebody holds: what was written and is not in the database yet, over what is. Reading
//! and writing; the rest is in the files beside.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use vfs::{Error, Result, Setting};

use crate::chunks::{Chunks, Hash, hash};
use crate::database::{Change, all, one};
use crate::node::Node;
use crate::rows;
use crate::store::Store;

pub(crate) mod pages;
mod range;

use pages::{Map, PAGE, PAGE_BYTES, PIECE_BYTES, Piece, bits, split};

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) size: u64,
    /// How many pages it takes.
    pub(crate) pages: u64,
    /// What is not in the database yet.
    late: BTreeMap<u64, Piece>,
    /// From this piece on, what the database has is no more.
    cut: Option<u64>,
    /// Something of the file is not in the database yet.
    is_late: bool,
}

impl Contents {
    pub(crate) fn new(size: u64, pages: u64) -> Self {
        Self { size, pages, ..Self::default() }
    }

    /// Whether the database has a say about a piece.
    fn is_below(&self, position: u64) -> bool {
        !self.late.contains_key(&position) && self.cut.is_none_or(|cut| position < cut)
    }
}

impl Store {
    /// Reads from a file.
    pub(crate) fn read_contents(
        &self,
        node: &Node,
        contents: &Contents,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize> {
        let left = usize::try_from(contents.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let mut done = 0;
        while done < count {
            let (position, at) = split(offset + done as u64);
            let room = (PIECE_BYTES - at).min(count - done);
            let Some(target) = into.get_mut(done..done + room) else { return Ok(done) };
            match contents.late.get(&position) {
                Some(piece) => piece.read(at, target),
                None if contents.is_below(position) => {
                    let bytes = match self.extent(node.number, position)?.0 {
                        Some(chunk) => Some(self.chunks.get(&self.database, chunk)?),
                        None => None,
                    };
                    pages::read(bytes.as_deref().unwrap_or_default(), at, target);
                }
                None => target.fill(0),
            }
            done += room;
        }
        Ok(count)
    }

    /// Writes to a file as much as there is room for.
    pub(crate) fn write_contents(
        &self,
        node: &Node,
        contents: &mut Contents,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let (position, at) = split(offset + done as u64);
            let room = (PIECE_BYTES - at).min(bytes.len() - done);
            let map = match contents.late.get(&position) {
                Some(piece) => piece.map,
                None if contents.is_below(position) => self.extent(node.number, position)?.1,
                None => Map::default(),
            };
            let fits = match self.take_pages(map, at, room) {
                Ok(fits) => fits,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            };
            let taken = bits(at / PAGE_BYTES, (at + fits).div_ceil(PAGE_BYTES)) & !map.taken;
            let covers = fits == PIECE_BYTES;
            let piece = self.late_piece(node, contents, position, covers).inspect_err(|_| {
                self.bytes.give(u64::from(taken.count_ones()) * PAGE);
            })?;
            piece.write(at, bytes.get(done..done + fits).unwrap_or_default());
            contents.pages += u64::from(taken.count_ones());
            done += fits;
            contents.size = contents.size.max(offset + done as u64);
            if fits < room {
                break;
            }
        }
        contents.is_late = true;
        self.note_contents(node, contents);
        node.modified();
        if contents.late.len() >= MOST_LATE || self.late.load(Ordering::Relaxed) >= MOST_LATE_OF_ALL
        {
            // A failure stays with what is late; who flushes or syncs is told of it.
            let _later = self.flush_contents(node, contents);
        }
        Ok(done)
    }

    /// Counts what a write takes. Returns how much of it there is room for: all, or up to the end of a page.
    fn take_pages(&self, map: Map, at: usize, length: usize) -> Result<usize> {
        let (first, end) = (at / PAGE_BYTES, (at + length).div_ceil(PAGE_BYTES));
        let new = bits(first, end) & !map.taken;
        if self.bytes.take(u64::from(new.count_ones()) * PAGE).is_ok() {
            return Ok(length);
        }
        for page in first..end {
            if new >> page & 1 == 1
                && let Err(error) = self.bytes.take(PAGE)
            {
                return match (page * PAGE_BYTES).saturating_sub(at) {
                    0 => Err(error),
                    fits => Ok(fits),
                };
            }
        }
        Ok(length)
    }

    /// A piece of a file that is about to be changed. Its bytes are not read if all of them are to be.
    fn late_piece<'a>(
        &self,
        node: &Node,
        contents: &'a mut Contents,
        position: u64,
        covers: bool,
    ) -> Result<&'a mut Piece> {
        if !contents.late.contains_key(&position) {
            let piece = match (contents.is_below(position), covers) {
                (false, _) => Piece::default(),
                (true, true) => {
                    Piece { bytes: Vec::new(), map: self.extent(node.number, position)?.1 }
                }
                (true, false) => self.piece(node.number, position)?,
            };
            contents.late.insert(position, piece);
            contents.is_late = true;
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        contents.late.get_mut(&position).ok_or(Errno::IO.into())
    }

    /// A piece as the database has it.
    fn piece(&self, number: u64, position: u64) -> Result<Piece> {
        let (chunk, map) = self.extent(number, position)?;
        let bytes = match chunk {
            Some(chunk) => self.chunks.get(&self.database, chunk)?.to_vec(),
            None => Vec::new(),
        };
        Ok(Piece { bytes, map })
    }

    fn extent(&self, number: u64, position: u64) -> Result<(Option<i64>, Map)> {
        let text = "SELECT chunk, written, taken FROM extent
                    WHERE tree = ?1 AND inode = ?2 AND position = ?3";
        let found = self.database.read(|reader| {
            one(reader, text, rusqlite::params![self.tree, number, position], |row| {
                Ok((row.get(0)?, Map { written: row.get(1)?, taken: row.get(2)? }))
            })
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Which pieces of a file there are, from one to before another, as far as is looked at once. Returns where to go on.
    fn maps(
        &self,
        node: &Node,
        contents: &Contents,
        from: u64,
        to: u64,
    ) -> Result<(BTreeMap<u64, Map>, u64)> {
        let end = contents.cut.map_or(to, |cut| to.min(cut));
        let text = "SELECT position, written, taken FROM extent
                    WHERE tree = ?1 AND inode = ?2 AND position >= ?3 AND position < ?4
                    ORDER BY position LIMIT ?5";
        let values = rusqlite::params![self.tree, node.number, from, end, LOOKED_AT];
        let rows = self.database.read(|reader| {
            all(reader, text, values, |row| {
                Ok((row.get::<_, u64>(0)?, Map { written: row.get(1)?, taken: row.get(2)? }))
            })
        })?;
        let is_all = rows.len() < LOOKED_AT;
        let next = rows.last().filter(|_| !is_all).map_or(to, |(last, _)| last + 1);
        let mut maps: BTreeMap<u64, Map> = rows.into_iter().collect();
        maps.extend(contents.late.range(from..next.max(from)).map(|(at, piece)| (*at, piece.map)));
        Ok((maps, next))
    }

    /// Gives the database everything that is late.
    pub(crate) fn flush_contents(&self, node: &Node, contents: &mut Contents) -> Result<()> {
        if !contents.is_late {
            return Ok(());
        }
        // Nobody waits for the hashes.
        let pieces: Vec<(u64, &Piece, Option<Hash>)> = contents
            .late
            .iter()
            .map(|(position, piece)| {
                let bytes = piece.trimmed();
                (*position, piece, (!bytes.is_empty()).then(|| hash(bytes)))
            })
            .collect();
        self.database.writer().change(|change| {
            if let Some(cut) = contents.cut {
                self.cut_extents(change, node.number, cut)?;
            }
            for (position, piece, hash) in &pieces {
                self.put_extent(change, node.number, *position, piece, hash.as_ref())?;
            }
            rows::update(change, self.tree, node.number, &node.facts())?;
            let text = "UPDATE inode SET size = ?3, pages = ?4 WHERE tree = ?1 AND number = ?2";
            let values = rusqlite::params![self.tree, node.number, contents.size, contents.pages];
            change.run(text, values).map(drop)
        })?;
        self.late.fetch_sub(contents.late.len() as u64, Ordering::Relaxed);
        contents.late.clear();
        contents.cut = None;
        contents.is_late = false;
        Ok(())
    }

    fn put_extent(
        &self,
        change: &Change<'_>,
        number: u64,
        position: u64,
        piece: &Piece,
        hash: Option<&Hash>,
    ) -> Result<()> {
        let text = "SELECT chunk FROM extent WHERE tree = ?1 AND inode = ?2 AND position = ?3";
        let key = rusqlite::params![self.tree, number, position];
        let before: Option<Option<i64>> = change.one(text, key, |row| row.get(0))?;
        // What is kept is taken before what is given, as it may be the same.
        let chunk = match hash {
            Some(hash) => Some(self.chunks.keep(change, hash, piece.trimmed())?),
            None => None,
        };
        if let Some(Some(before)) = before {
            Chunks::give(change, before)?;
        }
        if piece.map.taken == 0 {
            let text = "DELETE FROM extent WHERE tree = ?1 AND inode = ?2 AND position = ?3";
            return change.run(text, key).map(drop);
        }
        let text = "INSERT OR REPLACE INTO extent (tree, inode, position, chunk, written, taken)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let Map { written, taken } = piece.map;
        change
            .run(text, rusqlite::params![self.tree, number, position, chunk, written, taken])
            .map(drop)
    }

    /// Removes what the database has of a file from a piece on.
    pub(crate) fn cut_extents(&self, change: &Change<'_>, number: u64, from: u64) -> Result<()> {
        let text = "DELETE FROM extent WHERE tree = ?1 AND inode = ?2 AND position >= ?3
                    RETURNING chunk";
        let values = rusqlite::params![self.tree, number, from];
        for chunk in
            change.all(text, values, |row| row.get::<_, Option<i64>>(0))?.into_iter().flatten()
        {
            Chunks::give(change, chunk)?;
        }
        Ok(())
    }

    /// Forgets what is late of a file that is gone.
    pub(crate) fn forget_contents(&self, contents: &mut Contents) {
        self.late.fetch_sub(contents.late.len() as u64, Ordering::Relaxed);
        *contents = Contents::default();
    }

    /// Lets others know how large a file is.
    fn note_contents(&self, node: &Node, contents: &Contents) {
        node.size.store(contents.size, Ordering::Relaxed);
        node.pages.store(contents.pages, Ordering::Relaxed);
    }

    pub(crate) fn check_size(&self, end: Option<u64>) -> Result<u64> {
        let too_big = Error::of_setting(Errno::FBIG, Setting::FileBytes);
        end.filter(|end| *end <= self.limits.max_file_bytes).ok_or(too_big)
    }
}

/// How many pieces of one file wait at most: 4 MiB.
const MOST_LATE: usize = 64;
/// How many of all files: 64 MiB. Then every write takes its own file's to the database.
const MOST_LATE_OF_ALL: u64 = 1024;
/// How many extents are looked at in one go.
const LOOKED_AT: usize = 512;
