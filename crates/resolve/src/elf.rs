//! Reads from a program or library which loader and which libraries it asks for. Every count and
//! length in the file is bounded before it is used; nothing is loaded or run.

use std::os::unix::fs::FileExt as _;

#[cfg(test)]
mod tests;

/// Bytes that can be read at any place.
pub(super) trait ReadAt {
    /// Fills the buffer from `offset` on, or says that it cannot.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ElfError>;

    /// Reads up to the buffer's length; less at the end of the file.
    fn read_at_most(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ElfError>;
}

impl ReadAt for std::fs::File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ElfError> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
            .map_err(|_| ElfError::Truncated)
    }

    fn read_at_most(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ElfError> {
        self.read_at(buffer, offset).map_err(|_| ElfError::Truncated)
    }
}

/// What a 64-bit program or library asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// The kind of processor, as ELF numbers it.
    pub(super) machine: u16,
    /// The loader that the kernel starts instead of the program.
    pub(super) interpreter: Option<Vec<u8>>,
    /// The libraries that the loader must find.
    pub(super) needed: Vec<Vec<u8>>,
    /// Directories in which this object, and what it loads, looks first; the old form.
    pub(super) rpath: Option<Vec<u8>>,
    /// Directories in which this object alone looks first.
    pub(super) runpath: Option<Vec<u8>>,
}

/// Why a file is not a program or library that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElfError {
    #[error("it is neither a program nor a script")]
    NotElf,
    #[error("it is a 32-bit program, and those are not run in a cage")]
    ThirtyTwoBit,
    #[error("it is a program for another kind of processor")]
    ForeignByteOrder,
    #[error("its headers point outside the file")]
    Truncated,
    #[error("its headers have impossible sizes")]
    OutOfBounds,
}

impl Elf {
    /// Reads the headers of a file.
    pub(super) fn read(file: &impl ReadAt) -> Result<Self, ElfError> {
        let mut header = [0; HEADER_BYTES];
        let length = file.read_at_most(&mut header, 0)?;
        if !header.starts_with(b"\x7fELF") || length < HEADER_BYTES {
            return Err(ElfError::NotElf);
        }
        match (header.get(4), header.get(5)) {
            (Some(&CLASS_64), Some(&LITTLE_ENDIAN)) => {}
            (Some(&CLASS_64), _) => return Err(ElfError::ForeignByteOrder),
            _ => return Err(ElfError::ThirtyTwoBit),
        }
        let segments = Segments::read(file, &header)?;
        let mut elf = Self { machine: u16_at(&header, 18)?, ..Self::default() };
        if let Some(interpreter) = segments.first(PT_INTERP) {
            elf.interpreter = Some(string_at(file, interpreter.offset)?);
        }
        if let Some(dynamic) = segments.first(PT_DYNAMIC) {
            elf.read_dynamic(file, &segments, dynamic)?;
        }
        Ok(elf)
    }

    fn read_dynamic(
        &mut self,
        file: &impl ReadAt,
        segments: &Segments,
        dynamic: &Segment,
    ) -> Result<(), ElfError> {
        let length = usize::try_from(dynamic.file_size).map_err(|_| ElfError::OutOfBounds)?;
        if length > MOST_DYNAMIC_BYTES {
            return Err(ElfError::OutOfBounds);
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, dynamic.offset)?;
        let mut entries = Vec::new();
        for entry in bytes.chunks_exact(DYNAMIC_ENTRY_BYTES) {
            match (u64_at(entry, 0)?, u64_at(entry, 8)?) {
                (DT_NULL, _) => break,
                pair => entries.push(pair),
            }
        }
        let Some(strings) = entries.iter().find(|(tag, _)| *tag == DT_STRTAB) else {
            return Ok(());
        };
        let strings = segments.file_offset(strings.1)?;
        for (tag, value) in entries {
            let text = || {
                let offset = strings.checked_add(value).ok_or(ElfError::OutOfBounds)?;
                string_at(file, offset)
            };
            match tag {
                DT_NEEDED if self.needed.len() >= MOST_NEEDED => return Err(ElfError::OutOfBounds),
                DT_NEEDED => self.needed.push(text()?),
                DT_RPATH => self.rpath = Some(text()?),
                DT_RUNPATH => self.runpath = Some(text()?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// One entry of the program header.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    file_size: u64,
}

struct Segments(Vec<Segment>);

impl Segments {
    fn read(file: &impl ReadAt, header: &[u8]) -> Result<Self, ElfError> {
        let offset = u64_at(header, 32)?;
        let size = usize::from(u16_at(header, 54)?);
        let count = usize::from(u16_at(header, 56)?);
        if count == 0 {
            return Ok(Self(Vec::new()));
        }
        if size != SEGMENT_BYTES || count > MOST_SEGMENTS {
            return Err(ElfError::OutOfBounds);
        }
        let mut bytes = vec![0; SEGMENT_BYTES * count];
        file.read_exact_at(&mut bytes, offset)?;
        let segment = |entry: &[u8]| {
            Ok(Segment {
                kind: u32_at(entry, 0)?,
                offset: u64_at(entry, 8)?,
                address: u64_at(entry, 16)?,
                file_size: u64_at(entry, 32)?,
            })
        };
        bytes.chunks_exact(SEGMENT_BYTES).map(segment).collect::<Result<_, _>>().map(Self)
    }

    fn first(&self, kind: u32) -> Option<&Segment> {
        self.0.iter().find(|segment| segment.kind == kind)
    }

    /// Where in the file the byte lies that would be loaded at an address.
    fn file_offset(&self, address: u64) -> Result<u64, ElfError> {
        let holds = |segment: &&Segment| {
            segment.kind == PT_LOAD
                && address.checked_sub(segment.address).is_some_and(|at| at < segment.file_size)
        };
        let segment = self.0.iter().find(holds).ok_or(ElfError::OutOfBounds)?;
        segment.offset.checked_add(address - segment.address).ok_or(ElfError::OutOfBounds)
    }
}

/// A string that ends in NUL.
fn string_at(file: &impl ReadAt, offset: u64) -> Result<Vec<u8>, ElfError> {
    let mut buffer = vec![0; MOST_STRING_BYTES];
    let length = file.read_at_most(&mut buffer, offset)?;
    buffer.truncate(length);
    let end = buffer.iter().position(|byte| *byte == 0).ok_or(ElfError::OutOfBounds)?;
    buffer.truncate(end);
    if buffer.is_empty() { Err(ElfError::OutOfBounds) } else { Ok(buffer) }
}

fn bytes_at<const LENGTH: usize>(bytes: &[u8], at: usize) -> Result<[u8; LENGTH], ElfError> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<LENGTH>())
        .copied()
        .ok_or(ElfError::Truncated)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, ElfError> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, ElfError> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, ElfError> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

// Names and numbers as in elf(5).
const HEADER_BYTES: usize = 64;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const SEGMENT_BYTES: usize = 56;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DYNAMIC_ENTRY_BYTES: usize = 16;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

// Bounds far above what any real program has.
const MOST_SEGMENTS: usize = 512;
const MOST_DYNAMIC_BYTES: usize = 64 * 1024;
const MOST_NEEDED: usize = 1024;
const MOST_STRING_BYTES: usize = 4096;
