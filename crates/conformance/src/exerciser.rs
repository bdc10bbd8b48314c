//! One file, read, written, cut, reserved and punched at random, against a copy in memory: what fsx does.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use vfs::{Allocate, At, Caller, Engine, FileSystem, Limits, OpenFile, OpenFlags, SeekTo};

use crate::random::Random;

/// A file that is exercised.
pub trait Exercised {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> usize;
    fn write(&mut self, offset: u64, bytes: &[u8]);
    fn set_size(&mut self, size: u64);
    fn size(&mut self) -> u64;
    fn allocate(&mut self, how: Allocate, offset: u64, length: u64);
    /// Closes and opens it.
    fn reopen(&mut self);
}

/// Does so many operations, and compares everything that is read.
///
/// # Panics
/// Where what is read is not what was written, with what came before.
pub fn run(what: &str, seed: u64, operations: u64, file: &mut dyn Exercised) {
    let mut random = Random::new(seed);
    let mut copy: Vec<u8> = Vec::new();
    let mut history: Vec<(String, usize)> = Vec::new();
    for number in 0..operations {
        let offset = random.below(MOST);
        let length = 1 + random.below(MOST_AT_ONCE);
        let (end, kind) = (offset + length, random.below(20));
        history.push((format!("{kind} {offset} {length}"), copy.len()));
        match kind {
            0..=6 => {
                let mut bytes = vec![0xee; length];
                let count = file.read(offset as u64, &mut bytes);
                let expected = copy.get(offset..end.min(copy.len())).unwrap_or_default();
                if bytes[..count] != *expected {
                    crate::compare::tell(&history);
                    panic!("{what}, seed {seed}, operation {number}: {length} at {offset}");
                }
            }
            7..=13 => {
                let bytes = vec![u8::try_from(1 + number % 250).unwrap(); length];
                file.write(offset as u64, &bytes);
                copy.resize(copy.len().max(end), 0);
                copy[offset..end].copy_from_slice(&bytes);
            }
            14..=15 => {
                file.set_size(offset as u64);
                copy.resize(offset, 0);
            }
            16..=17 => {
                file.allocate(Allocate::PunchHole, offset as u64, length as u64);
                let end = end.min(copy.len());
                copy[offset.min(end)..end].fill(0);
            }
            18 => {
                file.allocate(Allocate::Extend, offset as u64, length as u64);
                copy.resize(copy.len().max(end), 0);
            }
            _ => file.reopen(),
        }
        assert_eq!(file.size(), copy.len() as u64, "{what}, seed {seed}, operation {number}");
    }
}

/// A file of the kernel's, wherever it is mounted.
#[derive(Debug)]
pub struct Mounted<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> Mounted<'a> {
    pub fn new(path: &'a Path) -> Self {
        Self { path, file: Self::open(path) }
    }

    fn open(path: &Path) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).open(path).unwrap()
    }
}

impl Exercised for Mounted<'_> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], offset + done as u64).unwrap() {
                0 => break,
                count => done += count,
            }
        }
        done
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, offset).unwrap();
    }

    fn set_size(&mut self, size: u64) {
        self.file.set_len(size).unwrap();
    }

    fn size(&mut self) -> u64 {
        self.file.metadata().unwrap().len()
    }

    fn allocate(&mut self, how: Allocate, offset: u64, length: u64) {
        let flags = match how {
            Allocate::Extend => FallocateFlags::empty(),
            Allocate::KeepSize => FallocateFlags::KEEP_SIZE,
            Allocate::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        };
        rustix::fs::fallocate(self.file.as_fd(), flags, offset, length).unwrap();
    }

    fn reopen(&mut self) {
        self.file = Self::open(self.path);
    }
}

/// A file of an engine in this process.
#[derive(Debug)]
pub struct InProcess {
    files: FileSystem,
    file: Option<OpenFile>,
    caller: Caller,
}

impl InProcess {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        let files = FileSystem::new(engine, &Limits::default());
        let mut new = Self { files, file: None, caller: Caller::root() };
        new.reopen();
        new
    }

    fn file(&self) -> &OpenFile {
        self.file.as_ref().unwrap()
    }
}

impl Exercised for InProcess {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> usize {
        self.file().read_at(offset, into).unwrap()
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert_eq!(self.file().write_at(&self.caller, offset, bytes).unwrap(), bytes.len());
    }

    fn set_size(&mut self, size: u64) {
        self.file().set_size(&self.caller, size).unwrap();
    }

    fn size(&mut self) -> u64 {
        self.file().seek(&self.caller, SeekTo::End(0)).unwrap()
    }

    fn allocate(&mut self, how: Allocate, offset: u64, length: u64) {
        self.file().allocate(&self.caller, how, offset, length).unwrap();
    }

    fn reopen(&mut self) {
        drop(self.file.take());
        let flags = OpenFlags { read: true, create: true, ..OpenFlags::WRITE };
        self.file = Some(self.files.open(&self.caller, At::Root, b"/f", flags, 0o644).unwrap());
    }
}

const MOST: usize = 256 << 10;
const MOST_AT_ONCE: usize = 64 << 10;
