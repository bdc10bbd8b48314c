//! The memory of a module, as its calls read and write it: every address and length is the module's word, and checked.

use super::refusal::{Outcome, Refusal};

/// The memory that a module exports; nothing if it exports none.
pub(super) struct Memory<'a>(pub(super) &'a mut [u8]);

/// A piece of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) at: u32,
    pub(super) length: u32,
}

impl Memory<'_> {
    pub(super) fn bytes(&self, at: u32, length: u32) -> Outcome<&[u8]> {
        let (from, to) = bounds(at, length)?;
        self.0.get(from..to).ok_or(Refusal::FAULT)
    }

    pub(super) fn bytes_mut(&mut self, at: u32, length: u32) -> Outcome<&mut [u8]> {
        let (from, to) = bounds(at, length)?;
        self.0.get_mut(from..to).ok_or(Refusal::FAULT)
    }

    pub(super) fn put(&mut self, at: u32, bytes: &[u8]) -> Outcome<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| Refusal::OVERFLOW)?;
        self.bytes_mut(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn put_u32(&mut self, at: u32, value: u32) -> Outcome<()> {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn put_u64(&mut self, at: u32, value: u64) -> Outcome<()> {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn u32(&self, at: u32) -> Outcome<u32> {
        let bytes = self.bytes(at, 4)?;
        bytes.try_into().map(u32::from_le_bytes).map_err(|_| Refusal::FAULT)
    }

    pub(super) fn u64(&self, at: u32) -> Outcome<u64> {
        let bytes = self.bytes(at, 8)?;
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| Refusal::FAULT)
    }

    pub(super) fn u16(&self, at: u32) -> Outcome<u16> {
        let bytes = self.bytes(at, 2)?;
        bytes.try_into().map(u16::from_le_bytes).map_err(|_| Refusal::FAULT)
    }

    pub(super) fn u8(&self, at: u32) -> Outcome<u8> {
        self.bytes(at, 1)?.first().copied().ok_or(Refusal::FAULT)
    }

    /// The pieces that a list of `iovec` names, each of which is there. Their lengths together fit a `u32`.
    pub(super) fn pieces(&self, list: u32, count: u32) -> Outcome<Vec<Piece>> {
        if count > MOST_PIECES {
            return Err(Refusal::INVAL);
        }
        let mut pieces = Vec::new();
        let mut total: u32 = 0;
        for index in 0..count {
            let entry = list.checked_add(index * 8).ok_or(Refusal::FAULT)?;
            let length_at = entry.checked_add(4).ok_or(Refusal::FAULT)?;
            let piece = Piece { at: self.u32(entry)?, length: self.u32(length_at)? };
            total = total.checked_add(piece.length).ok_or(Refusal::INVAL)?;
            self.bytes(piece.at, piece.length)?;
            pieces.push(piece);
        }
        Ok(pieces)
    }
}

fn bounds(at: u32, length: u32) -> Outcome<(usize, usize)> {
    let from = usize::try_from(at).map_err(|_| Refusal::FAULT)?;
    let length = usize::try_from(length).map_err(|_| Refusal::FAULT)?;
    Ok((from, from.checked_add(length).ok_or(Refusal::FAULT)?))
}

/// As `IOV_MAX` of Linux.
const MOST_PIECES: u32 = 1024;
