//! A made-up program read whole, cut short and damaged. Runs none of them.

use super::*;

struct Bytes<'a>(&'a [u8]);

impl ReadAt for Bytes<'_> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ElfError> {
        let length = self.read_at_most(buffer, offset)?;
        if length == buffer.len() { Ok(()) } else { Err(ElfError::Truncated) }
    }

    fn read_at_most(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ElfError> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.get(start..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

/// A program with a loader, two libraries and both kinds of search path.
fn program() -> Vec<u8> {
    let strings = b"\0libone.so\0libtwo.so\0/old\0$ORIGIN/new\0";
    let interpreter = b"/lib64/ld.so\0";
    let segments_at = 64u64;
    let interpreter_at = segments_at + 3 * 56;
    let strings_at = interpreter_at + interpreter.len() as u64;
    let dynamic_at = strings_at + strings.len() as u64;
    let address = 0x1000u64;
    let dynamic: Vec<(u64, u64)> = vec![
        (DT_NEEDED, 1),
        (DT_STRTAB, address + strings_at),
        (DT_NEEDED, 11),
        (DT_RPATH, 21),
        (DT_RUNPATH, 26),
        (DT_NULL, 0),
        (DT_NEEDED, 1),
    ];
    let end = dynamic_at + 16 * dynamic.len() as u64;
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend(3u16.to_le_bytes());
    bytes.extend(62u16.to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend(segments_at.to_le_bytes());
    bytes.extend([0; 14]);
    bytes.extend(56u16.to_le_bytes());
    bytes.extend(3u16.to_le_bytes());
    bytes.resize(64, 0);
    let mut segment = |kind: u32, offset: u64, size: u64| {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(5u32.to_le_bytes());
        for value in [offset, address + offset, address + offset, size, size, 1] {
            bytes.extend(value.to_le_bytes());
        }
    };
    segment(PT_LOAD, 0, end);
    segment(PT_INTERP, interpreter_at, interpreter.len() as u64);
    segment(PT_DYNAMIC, dynamic_at, 16 * dynamic.len() as u64);
    bytes.extend(interpreter);
    bytes.extend(strings);
    for (tag, value) in dynamic {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes
}

#[test]
fn a_program_says_what_it_needs() {
    let elf = Elf::read(&Bytes(&program())).unwrap();
    assert_eq!(elf.machine, 62);
    assert_eq!(elf.interpreter.unwrap(), b"/lib64/ld.so");
    assert_eq!(elf.needed, [b"libone.so", b"libtwo.so"]);
    assert_eq!(elf.rpath.unwrap(), b"/old");
    assert_eq!(elf.runpath.unwrap(), b"$ORIGIN/new");
}

#[test]
fn this_very_program_can_be_read() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let elf = Elf::read(&file).unwrap();
    assert!([62, 183].contains(&elf.machine));
}

#[test]
fn what_is_no_program_is_told_apart() {
    let mut thirty_two = program();
    thirty_two[4] = 1;
    let mut foreign = program();
    foreign[5] = 2;
    let mut segments = program();
    segments[56..58].copy_from_slice(&0xffffu16.to_le_bytes());
    let mut size = program();
    size[54..56].copy_from_slice(&8u16.to_le_bytes());
    let mut offset = program();
    offset[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    let table: [(&[u8], ElfError); 8] = [
        (b"", ElfError::NotElf),
        (b"#!/bin/sh\n", ElfError::NotElf),
        (b"\x7fELF", ElfError::NotElf),
        (&thirty_two, ElfError::ThirtyTwoBit),
        (&foreign, ElfError::ForeignByteOrder),
        (&segments, ElfError::OutOfBounds),
        (&size, ElfError::OutOfBounds),
        (&offset, ElfError::Truncated),
    ];
    for (bytes, expected) in table {
        assert_eq!(Elf::read(&Bytes(bytes)), Err(expected));
    }
}

/// Every truncation and every change of one byte gives an answer and never a panic or much memory.
#[test]
fn damaged_files_are_survived() {
    let whole = program();
    for length in 0..whole.len() {
        let _ = Elf::read(&Bytes(&whole[..length]));
    }
    for position in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            damaged[position] = value;
            let _ = Elf::read(&Bytes(&damaged));
        }
    }
}
