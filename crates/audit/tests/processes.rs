//! A log that many processes write to, some of which are killed while they do, on storage that can
//! be full. The processes are this very program, started again for one of its ignored tests.
#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stockade_audit::{Event, Expected, Filter, Log, Reader, Retention, verify};

/// T52
#[test]
fn processes_share_one_chain() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    let children: Vec<Child> =
        (0..8).map(|_| start("writes_records", &directory, Stdio::null())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    Log::open(&directory).unwrap().checkpoint().unwrap();
    let verified = verify(&directory, &Expected::default()).unwrap();
    assert!(verified.files > 3, "{verified:?}");
    assert!(verified.recovered.is_empty(), "{verified:?}");
    assert_eq!(verified.covered, verified.records);
    let filter = Filter { event: Some("session.begun".to_owned()), ..Filter::default() };
    let mut counts = BTreeMap::new();
    for record in Reader::open(&directory).unwrap().records(filter) {
        *counts.entry(record.unwrap().text("session_id").unwrap().to_owned()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 8);
    assert!(counts.values().all(|count| *count == EACH), "{counts:?}");
}

/// T54
#[test]
fn no_durable_record_is_lost_when_writers_are_killed() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    let mut durable = BTreeMap::new();
    let mut recovered = 0;
    let first = time_to_the_first_record(&parent.path().join("other"));
    for round in 0..ROUNDS {
        let mut writers =
            [(); 2].map(|()| start("writes_until_killed", &directory, Stdio::piped()));
        // Each at another moment of its life, and the first ones while the log is being made.
        let share = u32::try_from(round * 7919 % 1200).unwrap();
        std::thread::sleep(first / 3 + first * share / 800);
        for writer in &mut writers {
            writer.kill().unwrap();
        }
        for mut writer in writers {
            let told = BufReader::new(writer.stdout.take().unwrap());
            // A line that is not whole tells nothing.
            for line in told.lines().map_while(Result::ok) {
                let words: Vec<&str> = line.split(' ').collect();
                if let ["durable", sequence, token, "."] = words.as_slice() {
                    durable.insert(sequence.parse::<u64>().unwrap(), (*token).to_owned());
                }
            }
            writer.wait().unwrap();
        }
        if round % 20 == 19 {
            let verified = verify(&directory, &Expected::default()).unwrap();
            recovered = verified.recovered.len();
        }
    }
    assert!(durable.len() > 50, "{} records in {ROUNDS} rounds", durable.len());
    println!("{} durable records, {recovered} unfinished ones set apart", durable.len());
    let reader = Reader::open(&directory).unwrap();
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    for record in reader.records(Filter::default()) {
        let record = record.unwrap();
        found.insert(record.sequence, record.text("session_id").unwrap_or_default().to_owned());
    }
    for (sequence, token) in &durable {
        assert_eq!(found.get(sequence), Some(token), "record {sequence}");
    }
}

/// K243, T54: one that prunes is killed at any moment, while others write; the log is whole after every time,
/// nothing is gone but what is stated, and the next one finishes.
#[test]
fn a_log_stays_whole_when_whoever_prunes_it_is_killed() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    let log = Log::open_with_file_limit(&directory, 64 * 1024).unwrap();
    let write = || {
        for _ in 0..20 {
            log.append(&long_event("x")).unwrap();
        }
    };
    (0..3).for_each(|_| write());
    let started = Instant::now();
    assert!(start("prunes_once", &directory, Stdio::null()).wait().unwrap().success());
    let whole = started.elapsed();
    let (mut removed, mut left_over) =
        (verify(&directory, &Expected::default()).unwrap().removed, 0);
    assert!(removed > 0);
    for round in 0..KILLED_PRUNERS {
        let mut pruner = start("prunes_once", &directory, Stdio::null());
        std::thread::scope(|scope| {
            scope.spawn(write);
            std::thread::sleep(whole * (round * 37 % KILLED_PRUNERS) / KILLED_PRUNERS * 5 / 4);
            pruner.kill().unwrap();
        });
        pruner.wait().unwrap();
        let verified = verify(&directory, &Expected::default()).unwrap();
        assert!(verified.removed >= removed, "{verified:?}");
        left_over += verified.left_over.len();
        log.prune(&KEPT).unwrap();
        log.checkpoint().unwrap();
        let verified = verify(&directory, &Expected::default()).unwrap();
        assert_eq!(verified.left_over, Vec::<String>::new());
        assert_eq!(verified.covered, verified.removed + verified.records);
        assert!(verified.removed > removed, "{verified:?}");
        removed = verified.removed;
    }
    println!("{removed} records removed, {left_over} files left over by the killed");
}

/// How long a writer lives here until it has told of a record.
fn time_to_the_first_record(directory: &Path) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let mut writer = start("writes_until_killed", directory, Stdio::piped());
        let told = BufReader::new(writer.stdout.take().expect("its output is a pipe"));
        let first = told.lines().map_while(Result::ok).find(|line| line.starts_with("durable"));
        assert!(first.is_some());
        least = least.min(started.elapsed());
        writer.kill().expect("it is a child");
        writer.wait().expect("it is a child");
    }
    least
}

/// K240, T54
#[test]
fn a_full_disk_fails_the_append_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=160k none \"$1\" && exec \"$2\" --exact \"$3\" --ignored";
    let own = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let mut command = Command::new("unshare");
    command.args([own, "sh", "-c", mount, "sh"]).arg(parent.path());
    command.arg(std::env::current_exe().unwrap()).arg("fills_the_disk");
    command.env(DIRECTORY, parent.path());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{complaints}");
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "another test starts it"]
fn writes_records() {
    let log = Log::open_with_file_limit(&directory(), 256 * 1024).unwrap();
    let token = std::process::id().to_string();
    for number in 0..EACH {
        let position = log.append(&event(&token)).unwrap();
        if number % 50 == 0 {
            log.make_durable(position).unwrap();
            log.checkpoint().unwrap();
        }
    }
}

#[test]
#[ignore = "another test starts it"]
fn writes_until_killed() {
    let log = Log::open_with_file_limit(&directory(), 64 * 1024).unwrap();
    for number in 0.. {
        let token = format!("{}-{number}", std::process::id());
        let sequence = log.record(&long_event(&token)).unwrap().sequence;
        let line = format!("durable {sequence} {token} .\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        if number % 7 == 3 {
            log.checkpoint().unwrap();
        }
    }
}

#[test]
#[ignore = "another test starts it"]
fn prunes_once() {
    let log = Log::open_with_file_limit(&directory(), 64 * 1024).unwrap();
    log.prune(&KEPT).unwrap();
}

#[test]
#[ignore = "another test starts it in a mount namespace with a small disk"]
fn fills_the_disk() {
    let parent = directory();
    let (directory, ballast) = (parent.join("audit"), parent.join("ballast"));
    std::fs::write(&ballast, vec![0; 40 * 1024]).unwrap();
    let log = Log::open(&directory).unwrap();
    let size = || std::fs::metadata(directory.join("000001.jsonl")).unwrap().len();
    let (mut written, mut last) = (0, 0);
    let refused = loop {
        match log.record(&event("x")) {
            Ok(_) => (written, last) = (written + 1, size()),
            Err(error) => break error,
        }
    };
    assert!(refused.is_full(), "{refused}");
    assert!(written > 10);
    // Nothing half-written stays, here or for another process.
    assert_eq!(size(), last);
    let verified = verify(&directory, &Expected::default()).unwrap();
    assert_eq!((verified.records, verified.unfinished), (written + 1, 0));
    assert!(log.append(&event("x")).unwrap_err().is_full());
    assert!(Log::open(&directory).unwrap().append(&event("x")).unwrap_err().is_full());
    assert_eq!(size(), last);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(log.record(&event("y")).unwrap().sequence, written + 2);
    log.checkpoint().unwrap();
    let verified = verify(&directory, &Expected::default()).unwrap();
    assert_eq!((verified.records, verified.recovered.len()), (written + 2, 0));
}

fn start(test: &str, directory: &Path, stdout: Stdio) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", test, "--ignored", "--nocapture", "--quiet"])
        .env(DIRECTORY, directory)
        .stdout(stdout)
        .spawn()
        .expect("this program can be started again")
}

fn directory() -> PathBuf {
    std::env::var_os(DIRECTORY).expect("another test says where").into()
}

fn event(token: &str) -> Event {
    Event::SessionBegun { session_id: token.into(), project_id: "/srv/app".into() }
}

/// One that takes more than a page, so that it can be cut short between two.
fn long_event(token: &str) -> Event {
    Event::SubagentSpawn {
        invocation_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
        project_id: "/srv/app".into(),
        session_id: Some(token.into()),
        subagent_name: None,
        cage: "default".into(),
        cage_summary: "\\".repeat(4000).into(),
        effective_cage_hash: "00".into(),
        pid: 1,
        reduced_isolation: None,
    }
}

const DIRECTORY: &str = "STOCKADE_AUDIT_DIRECTORY";
const KEPT: Retention = Retention { days: None, bytes: Some(160 * 1024) };
const KILLED_PRUNERS: u32 = 25;
const EACH: u64 = 500;
const ROUNDS: u64 = 200;
