//! A process that is killed while it works. Every step is closed, so what is there must be what some step left, not
//! before the last one that was reported.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::work::{Model, Random, Step, Worker};
use crate::{crashes, first_seed};

/// Set in the process that works and is killed.
const STORE: &str = "STOCKADE_STORE_CRASHING";
const SEED: &str = "STOCKADE_STORE_CRASHING_SEED";

/// The process that is killed: works without end, and reports each step that it has done.
#[test]
fn worker() {
    use std::io::Write as _;
    let (Some(path), Ok(seed)) = (std::env::var_os(STORE), std::env::var(SEED)) else { return };
    let worker = Worker::new(path.as_ref());
    let mut random = Random::new(seed.parse().unwrap());
    let mut out = std::io::stderr();
    loop {
        worker.perform(&Step::random(&mut random));
        out.write_all(b".").unwrap();
    }
}

/// A15: killed at any point, a store is as it was after some step, and none that was done is lost.
#[test]
fn kills_lose_nothing() {
    if std::env::var_os(STORE).is_some() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for seed in first_seed()..first_seed() + crashes(12) {
        Worker::prepare(&path);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::worker", "--nocapture"])
            .env(STORE, &path)
            .env(SEED, seed.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stderr.take().unwrap();
        let mut first = [0];
        out.read_exact(&mut first).unwrap();
        std::thread::sleep(Duration::from_micros(Random::new(seed ^ 0x55).below(150_000)));
        child.kill().unwrap();
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        child.wait().unwrap();
        let worker = Worker::new(&path);
        assert_eq!(worker.store.check().unwrap(), Vec::<String>::new(), "seed {seed}");
        let found = worker.found();
        let (mut model, mut random) = (Model::default(), Random::new(seed));
        for _ in 0..=rest.len() {
            model.perform(&Step::random(&mut random));
        }
        // One step more may have been done, or half of it: its file made and not written yet.
        let mut possible = vec![model.files()];
        let step = Step::random(&mut random);
        if let Step::Write(file, ..) = &step {
            let mut made = model.files();
            made.entry(file.clone()).or_default();
            possible.push(made);
        }
        model.perform(&step);
        possible.push(model.files());
        assert!(possible.contains(&found), "seed {seed}, after {} steps", rest.len() + 1);
        drop(worker);
        std::fs::remove_file(&path).unwrap();
    }
}
