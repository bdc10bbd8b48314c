//! Work that a seed decides, so that whoever looks later knows what was synced: files are replaced, grown, overwritten,
//! cut, renamed and removed, and after some steps everything is synced.

use std::collections::BTreeMap;
use std::sync::Arc;

use store::Store;
use vfs::{At, Caller, Engine, FileSystem, Limits, New, OpenFlags, Removal, Replace};

/// What is in each file after so many steps.
pub(crate) type Files = BTreeMap<Vec<u8>, Vec<u8>>;

/// Numbers that a seed decides.
#[derive(Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }
}

/// One thing to do.
pub(crate) enum Step {
    Write(Vec<u8>, usize, Vec<u8>),
    Resize(Vec<u8>, usize),
    Rename(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    /// Everything is on the disk when it is done.
    Sync,
}

impl Step {
    pub(crate) fn random(random: &mut Random) -> Self {
        let name =
            |random: &mut Random| format!("/{}/{}", random.below(3), random.below(6)).into_bytes();
        match random.below(14) {
            0..=5 => {
                let at = usize::try_from(random.below(200_000)).unwrap();
                let length =
                    usize::try_from([10, 5_000, 150_000][random.below(3) as usize]).unwrap();
                let byte = u8::try_from(1 + random.below(255)).unwrap();
                Self::Write(name(random), at, vec![byte; length])
            }
            6 => Self::Resize(name(random), usize::try_from(random.below(300_000)).unwrap()),
            7..=8 => Self::Rename(name(random), name(random)),
            9 => Self::Remove(name(random)),
            10 => Self::Link(name(random), name(random)),
            _ => Self::Sync,
        }
    }
}

/// A store and what should be in it.
pub(crate) struct Worker {
    pub(crate) store: Arc<Store>,
    files: FileSystem,
    root: Caller,
}

impl Worker {
    pub(crate) fn new(path: &std::path::Path) -> Self {
        let store = Arc::new(Store::open(path, Limits::default()).unwrap());
        let engine: Arc<dyn Engine> = Arc::<Store>::clone(&store);
        let files = FileSystem::new(engine, &Limits::default());
        Self { store, files, root: Caller::root() }
    }

    /// Makes a store with the directories that the work is done in.
    pub(crate) fn prepare(path: &std::path::Path) {
        Store::create(path, &Caller::root(), 0o755).unwrap();
        let worker = Self::new(path);
        for name in ["/0", "/1", "/2"] {
            worker
                .files
                .make(&worker.root, At::Root, name.as_bytes(), New::Directory, 0o755)
                .unwrap();
        }
        worker.store.sync_all().unwrap();
    }

    /// Does it. What cannot be done, such as removing what is not there, is not.
    pub(crate) fn perform(&self, step: &Step) {
        let (files, root) = (&self.files, &self.root);
        match step {
            Step::Write(path, at, bytes) => {
                let flags = OpenFlags { create: true, ..OpenFlags::WRITE };
                let file = files.open(root, At::Root, path, flags, 0o644).unwrap();
                assert_eq!(file.write_at(root, *at as u64, bytes).unwrap(), bytes.len());
                file.close(root).unwrap();
            }
            Step::Resize(path, size) => {
                let _none = files.set_size(root, At::Root, path, *size as u64);
            }
            Step::Rename(from, to) => {
                let _none = files.rename(root, (At::Root, from), (At::Root, to), Replace::Yes);
            }
            Step::Remove(path) => drop(files.remove(root, At::Root, path, Removal::File)),
            Step::Link(from, to) => {
                let existing = vfs::Existing::Path(from, vfs::Follow::No);
                let _none = files.link(root, existing, At::Root, to);
            }
            Step::Sync => self.store.sync_all().unwrap(),
        }
    }

    /// Everything that is in the store.
    pub(crate) fn found(&self) -> Files {
        let mut found = Files::new();
        for directory in [&b"/0"[..], b"/1", b"/2"] {
            for listed in self.files.list(&self.root, directory).unwrap() {
                let path = [directory, b"/", &listed.name].concat();
                let contents = self.files.read_file(&self.root, &path, 1 << 20).unwrap();
                found.insert(path, contents);
            }
        }
        found
    }
}

/// What should be there, without a store: contents by number, so that links share them.
#[derive(Clone, Default)]
pub(crate) struct Model {
    names: BTreeMap<Vec<u8>, u64>,
    contents: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

impl Model {
    pub(crate) fn perform(&mut self, step: &Step) {
        match step {
            Step::Write(path, at, bytes) => {
                let next = &mut self.next;
                let number = *self.names.entry(path.clone()).or_insert_with(|| {
                    *next += 1;
                    *next
                });
                let contents = self.contents.entry(number).or_default();
                if contents.len() < at + bytes.len() {
                    contents.resize(at + bytes.len(), 0);
                }
                contents[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Step::Resize(path, size) => {
                if let Some(number) = self.names.get(path) {
                    self.contents.entry(*number).or_default().resize(*size, 0);
                }
            }
            Step::Rename(from, to) => {
                if let Some(number) = self.names.get(from).copied()
                    && self.names.get(to) != Some(&number)
                {
                    self.names.remove(from);
                    self.names.insert(to.clone(), number);
                }
            }
            Step::Remove(path) => drop(self.names.remove(path)),
            Step::Link(from, to) => {
                if let Some(number) = self.names.get(from).copied()
                    && !self.names.contains_key(to)
                {
                    self.names.insert(to.clone(), number);
                }
            }
            Step::Sync => {}
        }
    }

    pub(crate) fn files(&self) -> Files {
        let contents = |number: &u64| self.contents.get(number).cloned().unwrap_or_default();
        self.names.iter().map(|(path, number)| (path.clone(), contents(number))).collect()
    }
}
