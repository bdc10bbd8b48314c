//! The log through its front door: one chain, whoever writes and whatever was left behind.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::{Hash, Line};

fn begun(session: &str) -> Event {
    Event::SessionBegun { session_id: session.into(), project_id: "/srv/app".into() }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    (parent, directory)
}

fn text(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap()
}

/// Reads a file and checks that it is one chain after a record.
fn chain(text: &str, mut previous: Hash, mut sequence: u64) -> Vec<String> {
    let mut events = Vec::new();
    for line in text.lines() {
        let line = Line::parse(line.as_bytes()).unwrap();
        assert_eq!((line.sequence, line.previous), (sequence + 1, previous));
        (sequence, previous) = (line.sequence, line.hash);
        events.push(line.event.to_owned());
    }
    events
}

fn events(directory: &Path) -> Vec<String> {
    chain(&text(directory, "000001.jsonl"), Hash::NONE, 0)
}

/// K170
#[test]
fn a_record_follows_the_ones_before_it() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    assert_eq!(log.record(&begun("a")).unwrap().sequence, 2);
    assert_eq!(log.record(&begun("b")).unwrap().sequence, 3);
    let other = Log::open(&directory).unwrap();
    assert_eq!(other.record(&begun("c")).unwrap().sequence, 4);
    assert_eq!(log.record(&begun("d")).unwrap().sequence, 5);
    let expected =
        ["log.begun", "session.begun", "session.begun", "session.begun", "session.begun"];
    assert_eq!(events(&directory), expected);
}

#[test]
fn the_log_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_parent, directory) = place();
    Log::open(&directory).unwrap().record(&begun("a")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for name in ["000001.jsonl", "head", "key", "lock"] {
        assert_eq!(mode(&directory.join(name)), 0o600, "{name}");
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(Log::open(&directory), Err(AuditError::Untrustworthy { .. })));
}

/// T54
#[test]
fn a_torn_line_is_set_apart_and_never_continued() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    log.record(&begun("a")).unwrap();
    let file = directory.join("000001.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let torn = &whole.lines().next_back().unwrap()[..100];
    fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(torn.as_bytes()).unwrap();
    log.record(&begun("b")).unwrap();
    let now = fs::read_to_string(&file).unwrap();
    let rest = now.strip_prefix(&format!("{whole}{torn}\n")).unwrap();
    let last = Line::parse(whole.lines().next_back().unwrap().as_bytes()).unwrap();
    assert_eq!(chain(rest, last.hash, last.sequence), ["log.recovered", "session.begun"]);
    let expected = format!(
        "\"offset\":{},\"bytes\":101,\"sha256\":\"{}\"",
        whole.len(),
        Hash::of(format!("{torn}\n").as_bytes())
    );
    assert!(rest.contains(&expected), "{rest}");
}

#[test]
fn a_log_that_lost_durable_records_takes_no_more() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    log.record(&begun("a")).unwrap();
    log.record(&begun("b")).unwrap();
    log.checkpoint().unwrap();
    let file = directory.join("000001.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let first_two: String = whole.split_inclusive('\n').take(2).collect();
    fs::write(&file, first_two).unwrap();
    let refused = Log::open(&directory).unwrap().append(&begun("c")).unwrap_err();
    assert!(matches!(refused, AuditError::Damaged { .. }), "{refused}");
    assert!(matches!(log.append(&begun("c")), Err(AuditError::Damaged { .. })));
    fs::write(&file, whole).unwrap();
    log.record(&begun("c")).unwrap();
}

#[test]
fn files_end_and_the_chain_goes_on() {
    let (_parent, directory) = place();
    let log = Log::open_with_file_limit(&directory, 1024).unwrap();
    let other = Log::open_with_file_limit(&directory, 1024).unwrap();
    for _ in 0..5 {
        log.record(&begun("a")).unwrap();
        other.record(&begun("b")).unwrap();
    }
    let mut files: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    files.sort();
    assert!(files.len() > 2, "{files:?}");
    let all: String = files.iter().map(|name| text(&directory, name)).collect();
    let events = chain(&all, Hash::NONE, 0);
    assert_eq!(events.iter().filter(|name| *name == "session.begun").count(), 10);
    assert_eq!(events.iter().filter(|name| *name == "log.rotated").count(), files.len() - 1);
    assert_eq!(events.iter().filter(|name| *name == "log.continued").count(), files.len() - 1);
}

#[test]
fn every_1024th_record_is_a_checkpoint() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    for _ in 0..2100 {
        log.append(&begun("a")).unwrap();
    }
    let events = events(&directory);
    for (index, event) in events.iter().enumerate() {
        assert_eq!((index + 1) % 1024 == 0, event == "log.checkpoint", "{index}");
    }
}

#[test]
fn only_the_log_records_its_own_events() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    let forged = Event::LogBegun { public_key: "00".into() };
    assert!(matches!(log.append(&forged), Err(AuditError::Reserved)));
}

#[test]
fn threads_share_one_chain() {
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    log.record(&begun("a")).unwrap();
                }
            });
        }
    });
    log.checkpoint().unwrap();
    assert_eq!(events(&directory).len(), 401);
}

/// T52: records behind a head that somebody else wrote would make it look genuine.
#[test]
fn nothing_is_added_behind_a_forged_head_or_under_another_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit");
    Log::open(&path).unwrap().append(&begun("one")).unwrap();
    Log::open(&path).unwrap().checkpoint().unwrap();
    let (head, key) = (path.join("head"), path.join("key"));
    let (genuine, own) = (std::fs::read(&head).unwrap(), std::fs::read(&key).unwrap());
    let refused = |what: &str| {
        let error = Log::open(&path).unwrap().append(&begun("two")).unwrap_err().to_string();
        assert!(error.contains("its head is not signed with its key"), "{what}: {error}");
    };
    let text = String::from_utf8(genuine.clone()).unwrap();
    std::fs::write(&head, text.replace("\"time\":\"2", "\"time\":\"3")).unwrap();
    refused("a forged head");
    std::fs::write(&head, &genuine).unwrap();
    std::fs::write(&key, format!("{}\n", "ab".repeat(32))).unwrap();
    refused("another key");
    std::fs::write(&key, own).unwrap();
    Log::open(&path).unwrap().append(&begun("two")).unwrap();
}

/// Whoever keeps a log open must not go on where nobody looks.
#[test]
fn nothing_is_added_to_a_log_that_was_moved_away() {
    let (parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    log.record(&begun("a")).unwrap();
    let elsewhere = parent.path().join("elsewhere");
    fs::rename(&directory, &elsewhere).unwrap();
    let refused = |what: &str| {
        // The second time nothing is remembered any more.
        for _ in 0..2 {
            let error = log.append(&begun("b")).unwrap_err();
            assert!(matches!(error, AuditError::Moved { .. }), "{what}: {error}");
            assert!(error.to_string().contains("has to be started again"), "{what}: {error}");
        }
    };
    refused("no directory");
    Log::open(&directory).unwrap().record(&begun("c")).unwrap();
    refused("another directory");
    fs::remove_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &directory).unwrap();
    refused("a link");
    assert_eq!(events(&elsewhere), ["log.begun", "session.begun"]);
    fs::remove_file(&directory).unwrap();
    fs::rename(&elsewhere, &directory).unwrap();
    log.record(&begun("d")).unwrap();
    assert_eq!(events(&directory).len(), 3);
}

#[test]
fn a_log_that_is_kept_open_is_looked_at_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_parent, directory) = place();
    let log = Log::open(&directory).unwrap();
    log.record(&begun("a")).unwrap();
    let refused = |part: &str| {
        for _ in 0..2 {
            let error = log.append(&begun("b")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    };
    for name in ["head", "000001.jsonl"] {
        let (path, away) = (directory.join(name), directory.join("away"));
        fs::rename(&path, &away).unwrap();
        refused("gone");
        fs::rename(&away, &path).unwrap();
        log.record(&begun("c")).unwrap();
    }
    for path in [directory.clone(), directory.join("head"), directory.join("000001.jsonl")] {
        let own = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        refused("others may write to it; fix it with `chmod go-w");
        fs::set_permissions(&path, own).unwrap();
        log.record(&begun("d")).unwrap();
    }
    assert_eq!(events(&directory).len(), 7);
}

#[test]
fn a_log_without_one_of_its_files_takes_no_more() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("audit");
    let log = Log::open_with_file_limit(&path, 1500).unwrap();
    for number in 0..20 {
        log.record(&begun(&format!("s{number}"))).unwrap();
    }
    log.checkpoint().unwrap();
    drop(log);
    let aside = parent.path().join("aside");
    for missing in ["000001.jsonl", "000002.jsonl"] {
        std::fs::rename(path.join(missing), &aside).unwrap();
        let error = Log::open(&path).unwrap().record(&begun("more")).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
        std::fs::rename(&aside, path.join(missing)).unwrap();
    }
    Log::open(&path).unwrap().record(&begun("more")).unwrap();
}

/// K29, V18
#[test]
fn records_that_stand_once_in_a_file_are_added_again_in_the_next() {
    let (_parent, directory) = place();
    let log = Log::open_with_file_limit(&directory, 2000).unwrap();
    let name = Name::from("../of a cage");
    let described = || vec![begun("described")];
    let added = |log: &Log| {
        let once = log.append_once(&name, described).unwrap();
        if let Some(once) = &once {
            log.keep(once).unwrap();
        }
        once.is_some()
    };
    assert!(added(&log));
    assert!(!added(&log));
    // Another process sees the same notes.
    let other = Log::open_with_file_limit(&directory, 2000).unwrap();
    assert!(!added(&other));
    // One that was not noted, because its record may be lost, is added again.
    let lost = Name::from("lost");
    for _ in 0..2 {
        assert!(log.append_once(&lost, described).unwrap().is_some());
    }
    for _ in 0..20 {
        log.append(&begun("filling")).unwrap();
    }
    assert!(added(&log));
    assert!(!added(&log));
    assert!(crate::verify(&directory, &crate::Expected::default()).is_ok());
}
