//! A machine that stops: of the log what was synced is there, and what came later is cut, missing or torn; of the file
//! itself, pages that were being moved from the log are there or not.

use std::path::Path;
use std::sync::Arc;

use store::Store;
use vfs::{Caller, FileSystem, Limits};

use crate::work::{Model, Random, Step, Worker};
use crate::{crashes, first_seed};

/// A15: what was synced survives whatever becomes of what was not.
#[test]
fn torn_logs_lose_nothing_synced() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("store"), directory.path().join("copy"));
    let mut seed = first_seed();
    let mut left = crashes(30);
    while left > 0 {
        Worker::prepare(&path);
        let worker = Worker::new(&path);
        let (mut model, mut random) = (Model::default(), Random::new(seed));
        let mut chance = Random::new(!seed);
        let mut durable = bytes(&log(&path));
        // Everything that may be there: what was synced, and what each step left since.
        let mut possible = vec![model.files()];
        for _ in 0..150 {
            let step = Step::random(&mut random);
            worker.perform(&step);
            if let Step::Write(file, ..) = &step {
                // A file is made first, and written then.
                let mut made = model.files();
                made.entry(file.clone()).or_default();
                possible.push(made);
            }
            model.perform(&step);
            possible.push(model.files());
            if matches!(step, Step::Sync) {
                durable = bytes(&log(&path));
                possible = vec![model.files()];
            } else if left > 0 && chance.below(10) == 0 {
                left -= 1;
                std::fs::write(&copy, bytes(&path)).unwrap();
                std::fs::write(log(&copy), torn(&durable, bytes(&log(&path)), &mut chance))
                    .unwrap();
                let copied = Worker::new(&copy);
                assert_eq!(copied.store.check().unwrap(), Vec::<String>::new(), "seed {seed}");
                assert!(possible.contains(&copied.found()), "seed {seed}");
                drop(copied);
                remove(&copy);
            }
        }
        drop(worker);
        remove(&path);
        seed += 1;
    }
}

/// A15: a store whose pages were being moved from the log when the machine stopped.
#[test]
fn torn_files_are_mended_from_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("store"), directory.path().join("copy"));
    for seed in first_seed()..first_seed() + crashes(30).div_ceil(10) {
        Worker::prepare(&path);
        let worker = Worker::new(&path);
        let (mut model, mut random) = (Model::default(), Random::new(seed));
        for _ in 0..60 {
            let step = Step::random(&mut random);
            worker.perform(&step);
            model.perform(&step);
        }
        worker.store.sync_all().unwrap();
        let (before, log_before) = (bytes(&path), bytes(&log(&path)));
        // Closing it moves everything.
        drop(worker);
        let after = bytes(&path);
        let mut chance = Random::new(!seed);
        for _ in 0..3 {
            let mut mixed = Vec::new();
            for at in (0..after.len()).step_by(PAGE) {
                let side = if chance.below(2) == 0 { &before } else { &after };
                let page = side.get(at..at + PAGE).or_else(|| after.get(at..at + PAGE));
                mixed.extend_from_slice(page.unwrap());
            }
            std::fs::write(&copy, mixed).unwrap();
            std::fs::write(log(&copy), &log_before).unwrap();
            let copied = Worker::new(&copy);
            assert_eq!(copied.store.check().unwrap(), Vec::<String>::new(), "seed {seed}");
            assert_eq!(copied.found(), model.files(), "seed {seed}");
            drop(copied);
            remove(&copy);
        }
        remove(&path);
    }
}

/// A15: a file that is damaged is an error, whatever is damaged; never a panic.
#[test]
fn damage_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("store"), directory.path().join("copy"));
    Worker::prepare(&path);
    let worker = Worker::new(&path);
    let mut random = Random::new(1);
    for _ in 0..60 {
        worker.perform(&Step::random(&mut random));
    }
    drop(worker);
    let whole = bytes(&path);
    for seed in first_seed()..first_seed() + crashes(30) {
        let mut chance = Random::new(seed);
        let mut damaged = whole.clone();
        let from = usize::try_from(chance.below(whole.len() as u64)).unwrap();
        let most = [1, 16, 4096, 100_000][chance.below(4) as usize];
        let to = whole.len().min(from + 1 + usize::try_from(chance.below(most)).unwrap());
        for byte in &mut damaged[from..to] {
            *byte ^= u8::try_from(1 + chance.below(255)).unwrap();
        }
        if chance.below(8) == 0 {
            damaged.truncate(to);
        }
        std::fs::write(&copy, damaged).unwrap();
        if let Ok(store) = Store::open(&copy, Limits::default()) {
            // It may be found only by who asks; then everything that is read is read or an error.
            let _found = store.check();
            read_what_can_be_read(store);
        }
        remove(&copy);
    }
}

fn read_what_can_be_read(store: Store) {
    let limits = Limits::default();
    let (files, root) = (FileSystem::new(Arc::new(store), &limits), Caller::root());
    for directory in [&b"/0"[..], b"/1", b"/2"] {
        for listed in files.list(&root, directory).unwrap_or_default() {
            let path = [directory, b"/", &listed.name].concat();
            let _read = files.read_file(&root, &path, 1 << 20);
            let _written = files.write_file(&root, &path, b"new");
            let _removed = files.remove_tree(&root, &path);
        }
    }
}

/// The log as it may be on the disk: all that was synced of it, and of the rest whatever arrived.
fn torn(durable: &[u8], now: Vec<u8>, chance: &mut Random) -> Vec<u8> {
    // A log that was begun anew since has everything from before in the file.
    if !now.starts_with(durable) {
        return now;
    }
    let mut torn = now;
    let more = torn.len() - durable.len();
    let end = durable.len() + usize::try_from(chance.below(more as u64 + 1)).unwrap();
    match chance.below(3) {
        0 => torn.truncate(end),
        1 => torn[end..].fill(0),
        _ => {
            for sector in torn[durable.len()..].chunks_mut(512) {
                if chance.below(3) == 0 {
                    sector.fill(0);
                }
            }
        }
    }
    torn
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn log(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let _none = std::fs::remove_file(name);
    }
}

const PAGE: usize = 4096;
