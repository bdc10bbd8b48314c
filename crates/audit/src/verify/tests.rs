//! What was done to a log, and what is said of it.

mod additions;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::directory::Directory;
use crate::head::{Head, HeadFile};
use crate::key::Key;
use crate::{Log, Reader, export};
use rustix::fs::OFlags;

/// A log of several files with a head, and everything that is needed to change it.
struct Fixture {
    _parent: tempfile::TempDir,
    directory: PathBuf,
}

/// Records of the first file of a [`Fixture`].
const IN_FIRST_FILE: usize = 11;

impl Fixture {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("audit");
        let log = Log::open_with_file_limit(&directory, 2500).unwrap();
        for number in 0..20 {
            log.append(&event(number)).unwrap();
        }
        log.checkpoint().unwrap();
        Self { _parent: parent, directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn put(&self, name: &str, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(name), text).unwrap();
    }

    /// Changes the lines of the first file.
    fn edit(&self, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines = self.lines("000001.jsonl");
        change(&mut lines);
        self.put("000001.jsonl", &lines);
    }

    fn verify(&self) -> Result<Verified, VerifyError> {
        verify(&self.directory, &Expected::default())
    }

    #[track_caller]
    fn is_broken(&self, file: &str, line: u64, sequence: u64, fault: Fault) {
        broken(self.verify(), file, line, sequence, fault);
    }
}

#[track_caller]
fn broken(
    verified: Result<Verified, VerifyError>,
    file: &str,
    line: u64,
    sequence: u64,
    fault: Fault,
) {
    let Err(VerifyError::Broken(found)) = verified else { panic!("{verified:?}") };
    assert_eq!(found, Broken { file: file.to_owned(), line, sequence, fault }, "{found}");
}

fn event(number: usize) -> Event {
    Event::SessionBegun { session_id: format!("s{number}").into(), project_id: "/srv".into() }
}

/// A line with other fields and a hash that fits.
fn forged(line: &str, from: &str, to: &str) -> String {
    assert!(line.contains(from), "{line}");
    let (body, _) = line.split_once(",\"hash\"").unwrap();
    let body = body.replace(from, to);
    format!("{body},\"hash\":\"{}\"}}", Hash::of(body.as_bytes()))
}

#[test]
fn a_log_that_nobody_touched_is_whole() {
    let fixture = Fixture::new();
    let verified = fixture.verify().unwrap();
    let files = verified.files as u64;
    assert!(files > 2);
    assert_eq!(verified.records, 21 + 2 * (files - 1));
    assert_eq!(verified.checkpoints, files - 1);
    assert_eq!(verified.covered, verified.records);
    assert_eq!(fixture.lines("000001.jsonl").len(), IN_FIRST_FILE);
    let read = Reader::open(&fixture.directory).unwrap();
    assert_eq!(read.records(crate::Filter::default()).count() as u64, verified.records);
}

/// T52
#[test]
fn a_changed_byte_is_found() {
    for line in [0, 3, 7] {
        let fixture = Fixture::new();
        fixture.edit(|lines| lines[line] = lines[line].replacen('5', "6", 1));
        let at = line as u64 + 1;
        fixture.is_broken("000001.jsonl", at, at, Fault::Changed);
    }
}

/// T52
#[test]
fn a_dropped_line_is_found() {
    let fixture = Fixture::new();
    fixture.edit(|lines| drop(lines.remove(3)));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Missing { next: 5 });
    let fixture = Fixture::new();
    fixture.edit(|lines| drop(lines.drain(3..6)));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Missing { next: 7 });
    let fixture = Fixture::new();
    fixture.edit(|lines| drop(lines.pop()));
    let lost = IN_FIRST_FILE as u64;
    fixture.is_broken("000002.jsonl", 1, lost, Fault::Missing { next: lost + 1 });
}

/// T52
#[test]
fn a_swapped_pair_is_found() {
    let fixture = Fixture::new();
    fixture.edit(|lines| lines.swap(3, 4));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Reordered);
    let fixture = Fixture::new();
    let mut later = fixture.lines("000002.jsonl");
    fixture.edit(|lines| std::mem::swap(&mut lines[3], &mut later[2]));
    fixture.put("000002.jsonl", &later);
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Reordered);
}

/// T52
#[test]
fn an_inserted_line_is_found() {
    let fixture = Fixture::new();
    fixture.edit(|lines| lines.insert(3, "nonsense".to_owned()));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Inserted);
    let fixture = Fixture::new();
    fixture.edit(|lines| lines.insert(3, String::new()));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Inserted);
    let fixture = Fixture::new();
    fixture.edit(|lines| lines.insert(5, lines[2].clone()));
    fixture.is_broken("000001.jsonl", 6, 6, Fault::Inserted);
    // One that follows the record before it is told by the one that it pushes aside.
    let fixture = Fixture::new();
    fixture.edit(|lines| lines.insert(3, forged(&lines[3], "s2", "x2")));
    fixture.is_broken("000001.jsonl", 5, 5, Fault::Inserted);
}

/// T52
#[test]
fn a_replaced_record_is_found_by_the_next() {
    let fixture = Fixture::new();
    fixture.edit(|lines| lines[3] = forged(&lines[3], "s2", "x2"));
    fixture.is_broken("000001.jsonl", 5, 5, Fault::Replaced);
}

/// T52
#[test]
fn a_cut_tail_is_found() {
    let last_file = |fixture: &Fixture| {
        let number = fixture.verify().unwrap().files;
        format!("{number:06}.jsonl")
    };
    let fixture = Fixture::new();
    let (name, stated) = (last_file(&fixture), fixture.verify().unwrap().records);
    let mut lines = fixture.lines(&name);
    lines.pop();
    fixture.put(&name, &lines);
    fixture.is_broken(&name, 0, stated, Fault::Truncated { stated });
    // In the middle of a line.
    let fixture = Fixture::new();
    let text = fs::read(fixture.path(&name)).unwrap();
    fs::write(fixture.path(&name), &text[..text.len() - 20]).unwrap();
    fixture.is_broken(&name, 0, stated, Fault::Truncated { stated });
    // A whole file.
    let fixture = Fixture::new();
    let lost = Line::parse(fixture.lines(&name)[0].as_bytes()).unwrap().sequence;
    fs::remove_file(fixture.path(&name)).unwrap();
    let before = format!("{:06}.jsonl", fixture.directory.read_dir().unwrap().count() - 3);
    fixture.is_broken(&before, 0, lost, Fault::Truncated { stated });
    // All of them.
    let fixture = Fixture::new();
    for number in 1..=fixture.verify().unwrap().files {
        fs::remove_file(fixture.path(&format!("{number:06}.jsonl"))).unwrap();
    }
    fixture.is_broken("000001.jsonl", 0, 1, Fault::FileMissing);
}

/// T52
#[test]
fn a_missing_file_is_found() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.path("000002.jsonl")).unwrap();
    let first = IN_FIRST_FILE as u64 + 1;
    fixture.is_broken("000002.jsonl", 0, first, Fault::FileMissing);
    let fixture = Fixture::new();
    fs::remove_file(fixture.path("000001.jsonl")).unwrap();
    fixture.is_broken("000001.jsonl", 0, 1, Fault::FileMissing);
}

/// T52
#[test]
fn a_head_that_is_gone_or_forged_is_found() {
    let fixture = Fixture::new();
    let records = fixture.verify().unwrap().records;
    let head = fs::read_to_string(fixture.path("head")).unwrap();
    fs::remove_file(fixture.path("head")).unwrap();
    fixture.is_broken("head", 0, records + 1, Fault::HeadMissing);
    fs::write(fixture.path("head"), "nothing").unwrap();
    fixture.is_broken("head", 0, 0, Fault::ForgedHead);
    let lower = head.replace(&format!("\"seq\":{records},"), "\"seq\":2,");
    assert_ne!(lower, head);
    fs::write(fixture.path("head"), lower).unwrap();
    fixture.is_broken("head", 0, 2, Fault::ForgedHead);
}

/// Signs the head with the key that now lies beside it.
fn sign_head_again(fixture: &Fixture) {
    let directory = Directory::make(&fixture.directory).unwrap();
    let key = Key::load(&directory).unwrap();
    let file = HeadFile::open(&directory, OFlags::RDWR).unwrap().unwrap();
    let before = fs::read(fixture.path("head")).unwrap();
    let slots = file.read(&directory).unwrap();
    let reached = slots.head.as_ref().unwrap().reached().unwrap();
    file.write(&directory, &slots, &Head::sign(&reached, &key)).unwrap();
    let after = fs::read(fixture.path("head")).unwrap();
    let changed = after.chunks(512).find(|slot| !before.chunks(512).any(|old| old == *slot));
    fs::write(fixture.path("head"), changed.unwrap().repeat(2)).unwrap();
}

/// T52
#[test]
fn a_replaced_key_is_found() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    fs::copy(other.path("key"), fixture.path("key")).unwrap();
    fixture.is_broken("key", 0, 0, Fault::OtherKey);
    // Nobody goes on writing, unless the head is signed with it as well.
    let log = Log::open(&fixture.directory).unwrap();
    assert!(log.record(&event(0)).is_err());
    sign_head_again(&fixture);
    log.record(&event(0)).unwrap();
    log.checkpoint().unwrap();
    fixture.is_broken("000001.jsonl", 1, 1, Fault::OtherKey);
    // A whole log of another key is one, unless the key is known.
    let expected = Expected { public_key: Some("00".repeat(32)), ..Expected::default() };
    let sequence = other.verify().unwrap().records;
    broken(verify(&other.directory, &expected), "head", 0, sequence, Fault::OtherKey);
    let own = Some(other.verify().unwrap().public_key);
    verify(&other.directory, &Expected { public_key: own, ..Expected::default() }).unwrap();
}

/// T52: nobody can go on writing such a log, so it is not told to be in order.
#[test]
fn a_key_that_is_gone_or_none_is_found() {
    let fixture = Fixture::new();
    let (key, verified) = (fixture.path("key"), fixture.verify().unwrap());
    let next = verified.records + 1;
    for nonsense in [&b""[..], b"nonsense\n", b"\xff\xfe", &[b'0'; 64], &[b'0'; 70]] {
        fs::write(&key, nonsense).unwrap();
        fixture.is_broken("key", 0, next, Fault::KeyUnusable);
        assert!(Log::open(&fixture.directory).unwrap().record(&event(0)).is_err());
    }
    fs::remove_file(&key).unwrap();
    fixture.is_broken("key", 0, next, Fault::KeyMissing);
    assert!(Log::open(&fixture.directory).unwrap().record(&event(0)).is_err());
    // A copy may be kept without it, where it is known.
    let public_key = Some(verified.public_key.clone());
    let expected = Expected { public_key, ..Expected::default() };
    assert_eq!(verify(&fixture.directory, &expected).unwrap(), verified);
    // What was done to the records is told first.
    fixture.edit(|lines| lines[3] = lines[3].replacen('5', "6", 1));
    fixture.is_broken("000001.jsonl", 4, 4, Fault::Changed);
    // A link is never followed, and neither is anything else that is no file.
    let fixture = Fixture::new();
    let away = fixture.path("away");
    fs::rename(fixture.path("key"), &away).unwrap();
    std::os::unix::fs::symlink(&away, fixture.path("key")).unwrap();
    fixture.is_broken("key", 0, next, Fault::KeyUnusable);
    fs::remove_file(fixture.path("key")).unwrap();
    fs::create_dir(fixture.path("key")).unwrap();
    fixture.is_broken("key", 0, next, Fault::KeyUnusable);
}

/// T54: a log is begun before it has a key.
#[test]
fn a_log_that_was_only_begun_needs_no_key() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("000001.jsonl"), "").unwrap();
    assert_eq!(verify(parent.path(), &Expected::default()).unwrap().records, 0);
    // One with a record has one, also before it has a head.
    let (fixture, other) = (Fixture::new(), Fixture::new());
    (2..=fixture.verify().unwrap().files)
        .for_each(|number| fs::remove_file(fixture.path(&format!("{number:06}.jsonl"))).unwrap());
    fs::remove_file(fixture.path("head")).unwrap();
    fixture.edit(|lines| lines.truncate(1));
    assert_eq!(fixture.verify().unwrap().records, 1);
    fs::copy(other.path("key"), fixture.path("key")).unwrap();
    fixture.is_broken("key", 0, 2, Fault::OtherKey);
}

/// T52
#[test]
fn an_old_head_with_a_cut_log_is_found_by_an_anchor() {
    let fixture = Fixture::new();
    let files: Vec<_> = fs::read_dir(&fixture.directory).unwrap().flatten().collect();
    let old: Vec<_> =
        files.iter().map(|file| (file.path(), fs::read(file.path()).unwrap())).collect();
    let log = Log::open(&fixture.directory).unwrap();
    log.record(&event(1)).unwrap();
    log.checkpoint().unwrap();
    let anchor = crate::anchor(&fixture.directory).unwrap();
    let stated = anchor.sequence();
    let expected = Expected { anchor: Some(anchor), ..Expected::default() };
    verify(&fixture.directory, &expected).unwrap();
    for (path, bytes) in old {
        fs::write(path, bytes).unwrap();
    }
    // Nothing in the directory tells.
    let verified = fixture.verify().unwrap();
    assert_eq!(verified.records, stated - 1);
    let name = format!("{:06}.jsonl", verified.files);
    let fault = Fault::TruncatedSinceAnchor { stated };
    broken(verify(&fixture.directory, &expected), &name, 0, stated, fault);
    // Nor if it goes on differently.
    let log = Log::open(&fixture.directory).unwrap();
    log.record(&event(2)).unwrap();
    log.checkpoint().unwrap();
    let Err(VerifyError::Broken(found)) = verify(&fixture.directory, &expected) else { panic!() };
    assert_eq!((found.sequence, found.fault), (stated, Fault::NotAsAnchored));
}

/// T52
#[test]
fn forged_checkpoints_are_found() {
    let fixture = Fixture::new();
    let log = Log::open(&fixture.directory).unwrap();
    for number in 0..1100 {
        log.append(&event(number)).unwrap();
    }
    let name = format!("{:06}.jsonl", fixture.verify().unwrap().files);
    let mut lines = fixture.lines(&name);
    let at = lines.iter().position(|line| line.contains("log.checkpoint")).unwrap();
    let (begin, _) = lines[at].split_once("\"signature\":\"").unwrap();
    let digits = lines[at][begin.len() + 13..begin.len() + 15].to_owned();
    let other = if digits == "00" { "11" } else { "00" };
    lines[at] = forged(
        &lines[at],
        &format!("\"signature\":\"{digits}"),
        &format!("\"signature\":\"{other}"),
    );
    fixture.put(&name, &lines);
    fixture.is_broken(&name, at as u64 + 1, 1024, Fault::ForgedCheckpoint);
    // None at all.
    lines[at] = forged(&lines[at], "log.checkpoint", "log.checkpoin2");
    fixture.put(&name, &lines);
    fixture.is_broken(&name, at as u64 + 1, 1024, Fault::ForgedCheckpoint);
}

/// T54
#[test]
fn what_a_dead_writer_left_is_told() {
    let fixture = Fixture::new();
    let verified = fixture.verify().unwrap();
    let name = format!("{:06}.jsonl", verified.files);
    let path = fixture.path(&name);
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"v\":1,\"seq");
    fs::write(&path, &text).unwrap();
    assert_eq!(fixture.verify().unwrap(), Verified { unfinished: 11, ..verified.clone() });
    let log = Log::open(&fixture.directory).unwrap();
    log.record(&event(1)).unwrap();
    let recovered = Recovered { sequence: verified.records + 1, file: name.clone(), bytes: 12 };
    assert_eq!(fixture.verify().unwrap().recovered, [recovered]);
    // Of the record and of what it sets apart, no byte can be changed.
    let whole = fs::read(&path).unwrap();
    for offset in [text.len() - 1, text.len() - 8, text.len() + 200] {
        let mut changed = whole.clone();
        changed[offset] ^= 1;
        fs::write(&path, changed).unwrap();
        let Err(VerifyError::Broken(found)) = fixture.verify() else { panic!("{offset}") };
        assert_eq!(found.sequence, verified.records + 1, "{found}");
    }
}

/// T54: writers that die one after the other, before the head has moved, leave a piece each. What is
/// whole between two of them stays a part of the log.
#[test]
fn what_several_dead_writers_left_is_told_piece_by_piece() {
    let fixture = Fixture::new();
    let before = fixture.verify().unwrap();
    let path = fixture.path(&format!("{:06}.jsonl", before.files));
    for round in 1..=3 {
        let mut file = fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"v\":1,\"seq").unwrap();
        Log::open(&fixture.directory).unwrap().append(&event(round)).unwrap();
    }
    let verified = fixture.verify().unwrap();
    let pieces: Vec<(u64, u64)> =
        verified.recovered.iter().map(|piece| (piece.sequence, piece.bytes)).collect();
    let first = before.records + 1;
    assert_eq!(pieces, [(first, 12), (first + 2, 12), (first + 4, 12)]);
    assert_eq!(verified.records, before.records + 6);
}

/// T54: what is set apart is not durable by then, and the power may take a part of it.
#[test]
fn a_piece_that_has_changed_is_set_apart_with_all_behind_it() {
    let fixture = Fixture::new();
    let before = fixture.verify().unwrap();
    let path = fixture.path(&format!("{:06}.jsonl", before.files));
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [whole.as_slice(), b"{\"v\":1,\"seq"].concat()).unwrap();
    Log::open(&fixture.directory).unwrap().append(&event(1)).unwrap();
    let mut text = fs::read(&path).unwrap();
    text[whole.len() + 3] = 0;
    fs::write(&path, &text).unwrap();
    let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    fs::File::options().append(true).open(&path).unwrap().set_times(long_ago).unwrap();
    Log::open(&fixture.directory).unwrap().append(&event(2)).unwrap();
    let verified = fixture.verify().unwrap();
    assert_eq!(verified.recovered.len(), 1);
    assert_eq!(verified.recovered[0].bytes, (text.len() - whole.len()) as u64);
    assert_eq!(verified.records, before.records + 2);
}

/// T54
#[test]
fn what_the_power_took_is_set_apart_with_all_behind_it() {
    let fixture = Fixture::new();
    let log = Log::open(&fixture.directory).unwrap();
    (0..3).for_each(|number| assert!(log.append(&event(number)).is_ok()));
    let name = format!("{:06}.jsonl", fixture.verify().unwrap().files);
    let path = fixture.path(&name);
    let mut lines = fixture.lines(&name);
    let count = lines.len();
    let zeros = "\0".repeat(lines[count - 2].len());
    lines[count - 2] = zeros;
    fixture.put(&name, &lines);
    let long_ago = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    fs::File::options().append(true).open(&path).unwrap().set_times(long_ago).unwrap();
    Log::open(&fixture.directory).unwrap().record(&event(9)).unwrap();
    let verified = fixture.verify().unwrap();
    assert_eq!(verified.recovered.len(), 1);
    let lost = lines[count - 2].len() + lines[count - 1].len() + 2;
    assert_eq!(verified.recovered[0].bytes, lost as u64);
}

#[test]
fn an_exported_log_is_verified_elsewhere() {
    let fixture = Fixture::new();
    let file = fixture.directory.with_extension("export");
    let mut output = fs::File::create(&file).unwrap();
    export(&fixture.directory, &mut output).unwrap();
    let here = fixture.verify().unwrap();
    assert_eq!(verify(&file, &Expected::default()).unwrap(), here);
    let read = Reader::open(&file).unwrap();
    assert_eq!(read.records(crate::Filter::default()).count() as u64, here.records);
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replacen("s1\"", "s9\"", 1)).unwrap();
    let changed = verify(&file, &Expected::default());
    broken(changed, "000001.jsonl", 3, 3, Fault::Changed);
    fs::write(&file, &whole[..whole.len() - 10]).unwrap();
    let Err(VerifyError::Broken(found)) = verify(&file, &Expected::default()) else { panic!() };
    assert_eq!(found.fault, Fault::Truncated { stated: here.records });
    for nonsense in ["", "{}", "nothing\n", "{\"stockade_audit_export\":2}\n"] {
        fs::write(&file, nonsense).unwrap();
        let refused = verify(&file, &Expected::default());
        assert!(matches!(refused, Err(VerifyError::Unreadable(ReadError::NotAnExport { .. }))));
    }
}

#[test]
fn nothing_recorded_is_told_as_such() {
    let parent = tempfile::tempdir().unwrap();
    for path in [parent.path().join("none"), parent.path().to_owned()] {
        let refused = verify(&path, &Expected::default());
        assert!(matches!(refused, Err(VerifyError::Unreadable(ReadError::NoLog(_)))));
    }
}

#[test]
fn every_fault_is_in_the_documentation() {
    let page = include_str!("../../../../docs/audit.md");
    let (next, stated) = (1, 1);
    let faults = [
        Fault::Changed,
        Fault::Replaced,
        Fault::Missing { next },
        Fault::Reordered,
        Fault::Inserted,
        Fault::Misplaced,
        Fault::FileMissing,
        Fault::StrayFile,
        Fault::BeyondHead,
        Fault::TrailingBytes,
        Fault::Truncated { stated },
        Fault::TruncatedSinceAnchor { stated },
        Fault::NotAsStated,
        Fault::NotAsAnchored,
        Fault::ForgedCheckpoint,
        Fault::ForgedHead,
        Fault::ForgedAnchor,
        Fault::ForgedRemoval,
        Fault::RemovalNotOnRecord,
        Fault::AnchorRemoved { through: stated },
        Fault::HeadMissing,
        Fault::OtherKey,
        Fault::KeyMissing,
        Fault::KeyUnusable,
    ];
    for fault in faults {
        assert!(page.contains(&format!("`{}`", fault.code())), "{fault:?}");
    }
}
