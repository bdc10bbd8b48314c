//! What retention removes, and what can be proved afterwards.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::directory::Directory;
use crate::hash::Hash;
use crate::key::Key;
use crate::removal::{ANCHOR_FILE, AnchorFound};
use crate::verify::{Broken, Fault, Verified};
use crate::{Event, Filter, Name, Reader, Start, anchor, export, follow};

/// A log of several files.
struct Fixture {
    parent: tempfile::TempDir,
    directory: PathBuf,
    log: Log,
}

const BY_SIZE: Retention = Retention { days: None, bytes: Some(6000) };
const BY_AGE: Retention = Retention { days: Some(30), bytes: None };

impl Fixture {
    fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("audit");
        let log = Log::open_with_file_limit(&directory, 2500).unwrap();
        let fixture = Self { parent, directory, log };
        fixture.write(50);
        fixture.log.checkpoint().unwrap();
        fixture
    }

    fn write(&self, count: usize) {
        for number in 0..count {
            self.log.append(&event(number)).unwrap();
        }
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap());
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".jsonl"));
        names.sort();
        names
    }

    fn size(&self) -> u64 {
        let length = |name: &String| fs::metadata(self.directory.join(name)).unwrap().len();
        self.files().iter().map(length).sum()
    }

    fn verify(&self) -> Result<Verified, VerifyError> {
        verify(&self.directory, &Expected::default())
    }

    #[track_caller]
    fn is_broken(&self, file: &str, fault: Fault) -> Broken {
        let verified = self.verify();
        let Err(VerifyError::Broken(found)) = verified else { panic!("{verified:?}") };
        assert_eq!((found.file.as_str(), found.fault), (file, fault), "{found}");
        found
    }

    /// States a removal as `prune` does, and dies before any file is gone.
    fn state(&self, retention: &Retention) -> Removal {
        let removal = retention.plan(&self.directory).unwrap().removal.unwrap();
        assert!(self.log.state_removal(removal.clone()).unwrap());
        removal
    }
}

fn event(number: usize) -> Event {
    Event::SessionBegun { session_id: format!("s{number}").into(), project_id: "/srv".into() }
}

fn in_days(days: u64) -> Timestamp {
    let later = Timestamp::now().microseconds() + days * MICROSECONDS_OF_DAY;
    Timestamp::from_microseconds(later).unwrap()
}

/// K242
#[test]
fn the_oldest_files_go_until_the_rest_is_small_enough() {
    let fixture = Fixture::new();
    let (before, size) = (fixture.files(), fixture.size());
    let records = fixture.verify().unwrap().records;
    let planned = BY_SIZE.plan(&fixture.directory).unwrap();
    assert_eq!(fixture.files(), before, "a plan removes nothing");
    let pruned = fixture.log.prune(&BY_SIZE).unwrap();
    assert_eq!(pruned, planned);
    let removal = pruned.removal.unwrap();
    let (first, after) = (removal.first_sequence, fixture.files());
    assert_eq!(first, 1);
    assert_eq!(after, before[before.len() - pruned.files..]);
    assert_eq!(removal.last_file(), before[before.len() - pruned.files - 1]);
    assert!(size - removal.bytes <= 6000, "{removal:?}");
    assert_eq!(removal.rule, "keep-size 6000");
    let verified = fixture.verify().unwrap();
    // The removal has a record of its own.
    assert_eq!(verified.records + removal.last_sequence, records + 1);
    assert_eq!((verified.removed, verified.files), (removal.last_sequence, after.len()));
    assert_eq!(verified.covered, verified.removed + verified.records);
    let [recorded] = verified.removals.as_slice() else { panic!("{verified:?}") };
    assert_eq!((recorded.sequence, &recorded.removal), (records + 1, &removal));
    assert!(removal.first_time <= removal.last_time && removal.last_time < recorded.time);
    // Nothing more is to go, and that needs no record.
    assert_eq!(fixture.log.prune(&BY_SIZE).unwrap().removal, None);
    assert_eq!(fixture.verify().unwrap(), verified);
}

/// K242
#[test]
fn files_go_when_their_last_record_is_too_old() {
    let fixture = Fixture::new();
    let before = fixture.files();
    assert_eq!(fixture.log.prune_at(&BY_AGE, in_days(29)).unwrap().removal, None);
    assert_eq!(fixture.files(), before);
    let removal = fixture.log.prune_at(&BY_AGE, in_days(31)).unwrap().removal.unwrap();
    assert_eq!(removal.rule, "keep-days 30");
    // The file that was written to was ended by it, and is too old as well; the log goes on in another.
    assert_eq!(&removal.last_file(), before.last().unwrap());
    assert_eq!(fixture.files().len(), 1);
    fixture.write(30);
    fixture.log.checkpoint().unwrap();
    let verified = fixture.verify().unwrap();
    assert_eq!(verified.removed, removal.last_sequence);
    assert_eq!(verified.covered, verified.removed + verified.records);
}

/// K242: a file that little is written to is ended when it has grown old, so that it can go some day.
#[test]
fn a_file_that_grows_slowly_is_ended_when_it_is_old() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    let log = Log::open(&directory).unwrap();
    log.record(&event(1)).unwrap();
    let fixture = Fixture { parent, directory, log };
    fixture.log.prune_at(&BY_SIZE, in_days(31)).unwrap();
    assert_eq!(fixture.files().len(), 1);
    fixture.log.prune_at(&BY_AGE, in_days(29)).unwrap();
    assert_eq!(fixture.files().len(), 1);
    fixture.log.prune_at(&BY_AGE, in_days(31)).unwrap();
    assert_eq!(fixture.files(), ["000002.jsonl"]);
    fixture.verify().unwrap();
}

/// K242
#[test]
fn the_rule_that_reaches_furthest_is_the_one_on_record() {
    let fixture = Fixture::new();
    let files = fixture.files().len();
    let both = Retention { days: Some(30), bytes: Some(6000) };
    let rule = |now| both.plan_at(&fixture.directory, now).unwrap().removal.unwrap().rule;
    assert_eq!(rule(Timestamp::now()), "keep-size 6000");
    assert_eq!(rule(in_days(31)), "keep-days 30");
    let all = Retention { days: Some(30), bytes: Some(0) };
    let planned = all.plan_at(&fixture.directory, in_days(31)).unwrap();
    assert_eq!(planned.removal.unwrap().rule, "keep-days 30, keep-size 0");
    // The file that is written to stays, whatever the rules are.
    assert_eq!((planned.files, files > 3), (1, true));
    assert_eq!(Retention::default().plan(&fixture.directory).unwrap().removal, None);
}

/// K243: a removal by a second rule follows the first, and both are told.
#[test]
fn removals_follow_each_other() {
    let fixture = Fixture::new();
    let first = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    fixture.write(8);
    let second = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    assert_eq!(second.first_sequence, first.last_sequence + 1);
    let verified = fixture.verify().unwrap();
    let told: Vec<_> = verified.removals.iter().map(|one| one.removal.clone()).collect();
    assert_eq!(told, [first, second.clone()]);
    // The record of the first goes with its file one day, and the log is still proved from the last on.
    fixture.write(80);
    let third = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let verified = fixture.verify().unwrap();
    let told: Vec<_> = verified.removals.iter().map(|one| one.removal.clone()).collect();
    assert_eq!((told, verified.removed), (vec![third.clone()], third.last_sequence));
}

/// K243, T54: whoever is cut short leaves a log that can be verified, and the next one finishes.
#[test]
fn a_removal_that_is_cut_short_is_finished() {
    let fixture = Fixture::new();
    let all = fixture.files();
    // Before the anchor: on record, and it has not happened.
    let plan = BY_SIZE.plan(&fixture.directory).unwrap().removal.unwrap();
    let directory = Directory::make(&fixture.directory).unwrap();
    let key = Key::load(&directory).unwrap();
    let signed = plan.sign(&key);
    crate::writer::Writer::open(&fixture.directory, 2500).unwrap().append(&signed.event()).unwrap();
    let verified = fixture.verify().unwrap();
    assert_eq!((verified.removed, verified.removals), (0, Vec::new()));
    // Behind the anchor, with all files there, and with some of them gone.
    let removal = fixture.state(&BY_SIZE);
    let check = |left: usize| {
        let verified = fixture.verify().unwrap();
        assert_eq!((verified.removed, verified.left_over.len()), (removal.last_sequence, left));
        assert_eq!(verified.removals.len(), 1, "{verified:?}");
        let read = Reader::open(&fixture.directory).unwrap();
        let first = read.records(Filter::default()).next().unwrap().unwrap();
        assert_eq!(first.sequence, removal.last_sequence + 1);
        // Writers that know the log and writers that do not.
        fixture.log.record(&event(0)).unwrap();
        Log::open(&fixture.directory).unwrap().record(&event(0)).unwrap();
    };
    let left = all.iter().position(|name| *name == removal.last_file()).unwrap() + 1;
    check(left);
    for (index, name) in all.iter().take(left - 1).enumerate() {
        fs::remove_file(fixture.directory.join(name)).unwrap();
        check(left - index - 1);
    }
    fixture.log.prune(&Retention::default()).unwrap();
    check(0);
    assert!(!fixture.directory.join(removal.last_file()).exists());
}

/// K243: the anchor cannot be changed, exchanged or left out.
#[test]
fn a_changed_anchor_is_found() {
    let fixture = Fixture::new();
    let first = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let path = fixture.directory.join(ANCHOR_FILE);
    let early = fs::read_to_string(&path).unwrap();
    fixture.write(20);
    let second = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let genuine = fs::read_to_string(&path).unwrap();
    let forge = |from: &str, to: &str| {
        assert!(genuine.contains(from), "{genuine}");
        fs::write(&path, genuine.replace(from, to)).unwrap();
    };
    let refused = || {
        let refused = Log::open(&fixture.directory).unwrap().append(&event(1)).unwrap_err();
        assert!(matches!(refused, AuditError::Damaged { .. }), "{refused}");
        let all = Retention { bytes: Some(0), ..BY_SIZE };
        assert!(fixture.log.prune(&all).is_err());
    };
    for (from, to) in [
        ("keep-size 6000", "keep-size 6001"),
        (second.last_file().as_str(), first.last_file().as_str()),
        (&format!("\"last_seq\":{}", second.last_sequence), "\"last_seq\":18446744073709551615"),
        (&format!("\"first_seq\":{}", second.first_sequence), "\"first_seq\":1"),
        (&second.last_time.to_string(), &first.last_time.to_string()),
        ("log.pruned", "log.other"),
        ("{", "["),
    ] {
        forge(from, to);
        fixture.is_broken(ANCHOR_FILE, Fault::ForgedRemoval);
        refused();
    }
    // One that was right once.
    fs::write(&path, &early).unwrap();
    let missing = format!("{:06}.jsonl", first.last_file + 1);
    fixture.is_broken(&missing, Fault::FileMissing);
    refused();
    fs::remove_file(&path).unwrap();
    fixture.is_broken("000001.jsonl", Fault::FileMissing);
    refused();
    // One of somebody else.
    let other = Fixture::new();
    other.log.prune(&BY_SIZE).unwrap();
    fs::copy(other.directory.join(ANCHOR_FILE), &path).unwrap();
    fixture.is_broken(ANCHOR_FILE, Fault::OtherKey);
    refused();
    fs::write(&path, &genuine).unwrap();
    fixture.verify().unwrap();
}

/// K243: whoever has the key and removes files without a record of it is found.
#[test]
fn an_anchor_that_is_not_on_record_is_found() {
    let fixture = Fixture::new();
    fixture.log.prune(&BY_SIZE).unwrap();
    let more = Retention { bytes: Some(3000), ..BY_SIZE };
    let removal = more.plan(&fixture.directory).unwrap().removal.unwrap();
    let directory = Directory::make(&fixture.directory).unwrap();
    let signed = removal.clone().sign(&Key::load(&directory).unwrap());
    signed.store(&directory).unwrap();
    fs::remove_file(fixture.directory.join(removal.last_file())).unwrap();
    let broken = fixture.is_broken(ANCHOR_FILE, Fault::RemovalNotOnRecord);
    assert!(broken.to_string().contains("no record says"), "{broken}");
}

/// K243: a file that is removed by hand is missed, be it before or after a removal.
#[test]
fn a_file_removed_by_hand_is_found() {
    let fixture = Fixture::new();
    fixture.log.prune(&BY_SIZE).unwrap();
    let first = fixture.files().remove(0);
    let kept = fs::read(fixture.directory.join(&first)).unwrap();
    fs::remove_file(fixture.directory.join(&first)).unwrap();
    fixture.is_broken(&first, Fault::FileMissing);
    assert!(Log::open(&fixture.directory).unwrap().append(&event(1)).is_err());
    assert!(export(&fixture.directory, &mut Vec::new()).is_err());
    fs::write(fixture.directory.join(&first), kept).unwrap();
    fixture.verify().unwrap();
}

/// K243: what was done to a log is not covered up by removing it.
#[test]
fn nothing_is_removed_from_a_log_that_was_changed() {
    let fixture = Fixture::new();
    let files = fixture.files();
    let first = fixture.directory.join("000001.jsonl");
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, text.replace("s1\"", "s2\"")).unwrap();
    let refused = fixture.log.prune(&BY_SIZE).unwrap_err();
    assert!(matches!(refused, PruneError::NotVerified(VerifyError::Broken(_))), "{refused}");
    assert_eq!(fixture.files(), files);
    let directory = Directory::open_to_read(&fixture.directory).unwrap();
    assert_eq!(AnchorFound::of(&directory).unwrap(), AnchorFound::Absent);
}

/// K243: a head that was kept elsewhere vouches for nothing once its record is removed, and says so.
#[test]
fn a_head_from_elsewhere_is_held_to_what_is_left() {
    let fixture = Fixture::new();
    let late = anchor(&fixture.directory).unwrap();
    let removal = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let against = |head| verify(&fixture.directory, &Expected::new(None, Some(head)).unwrap());
    against(late).unwrap();
    let early = {
        let directory = Directory::make(&fixture.directory).unwrap();
        let reached = crate::head::Reached { sequence: 3, hash: Hash::NONE, file: 1, offset: 9 };
        crate::Head::sign(&reached, &Key::load(&directory).unwrap())
    };
    let Err(VerifyError::Broken(broken)) = against(early) else { panic!("it cannot be compared") };
    assert_eq!(broken.fault, Fault::AnchorRemoved { through: removal.last_sequence });
}

/// K243
#[test]
fn an_export_begins_behind_what_was_removed() {
    let fixture = Fixture::new();
    let removal = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let here = fixture.verify().unwrap();
    let file = fixture.parent.path().join("exported");
    export(&fixture.directory, &mut fs::File::create(&file).unwrap()).unwrap();
    let verified = verify(&file, &Expected::default()).unwrap();
    assert_eq!((verified.removed, verified.removals), (removal.last_sequence, here.removals));
    // Without the anchor, or with another, it is not what was exported.
    let text = fs::read_to_string(&file).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: serde_json::Value = serde_json::from_str(header).unwrap();
    let with = |header: &serde_json::Value| {
        fs::write(&file, format!("{header}\n{rest}")).unwrap();
        let verified = verify(&file, &Expected::default());
        let Err(VerifyError::Broken(broken)) = verified else { panic!("{verified:?}") };
        broken.fault
    };
    header["removed"]["rule"] = "keep-days 1".into();
    assert_eq!(with(&header), Fault::ForgedRemoval);
    header.as_object_mut().unwrap().remove("removed");
    assert_eq!(with(&header), Fault::FileMissing);
}

/// K243: readers that have a file open go on reading it, and whoever follows goes on with the next.
#[test]
fn readers_are_not_disturbed() {
    let fixture = Fixture::new();
    let records = fixture.verify().unwrap().records;
    let reader = Reader::open(&fixture.directory).unwrap();
    let mut opened = follow(&fixture.directory, Filter::default(), Start::Beginning).unwrap();
    assert_eq!(opened.next_now().unwrap().unwrap().sequence, 1);
    let removal = fixture.log.prune(&BY_SIZE).unwrap().removal.unwrap();
    let read = reader.records(Filter::default()).filter(Result::is_ok).count();
    assert_eq!(read as u64, records, "a reader has the log as it was");
    let mut sequences = vec![1];
    while let Some(record) = opened.next_now().unwrap() {
        sequences.push(record.sequence);
    }
    assert!(sequences.is_sorted() && sequences.contains(&2), "{sequences:?}");
    assert_eq!(sequences.last(), Some(&(records + 1)));
    let rest = removal.last_sequence + 1..=records + 1;
    assert!(rest.clone().all(|number| sequences.contains(&number)), "{sequences:?}");
    // One that begins now begins with what is left.
    let mut new = follow(&fixture.directory, Filter::default(), Start::Beginning).unwrap();
    assert_eq!(new.next_now().unwrap().unwrap().sequence, removal.last_sequence + 1);
}

/// V18: what stands once in every file is noted for the last file, whatever was removed before it.
#[test]
fn notes_of_the_last_file_stay() {
    let fixture = Fixture::new();
    let name = Name::from("hash");
    let add = || fixture.log.append_once(&name, || vec![event(7)]).unwrap();
    let once = add().unwrap();
    fixture.log.keep(&once).unwrap();
    fs::create_dir(fixture.directory.join("noted-000001")).unwrap();
    fixture.log.prune(&BY_SIZE).unwrap();
    assert!(add().is_none());
    assert!(!fixture.directory.join("noted-000001").exists());
}

/// K242: removing begins no log.
#[test]
fn nothing_is_made_where_there_is_no_log() {
    let parent = tempfile::tempdir().unwrap();
    let log = Log::open(&parent.path().join("audit")).unwrap();
    let refused = log.prune(&BY_AGE).unwrap_err();
    assert!(
        matches!(&refused, PruneError::NotVerified(VerifyError::Unreadable(ReadError::NoLog(_)))),
        "{refused}"
    );
}

#[test]
fn sizes_are_read_as_they_are_written() {
    for (given, bytes) in [
        ("0", Some(0)),
        ("500000", Some(500_000)),
        ("512K", Some(512 << 10)),
        ("100M", Some(100 << 20)),
        ("2G", Some(2 << 30)),
        ("1T", Some(1 << 40)),
        ("", None),
        ("M", None),
        ("-1", None),
        ("+1M", None),
        ("1MM", None),
        ("1m", None),
        ("1.5G", None),
        ("99999999999T", None),
    ] {
        assert_eq!(Retention::size(given), bytes, "{given}");
    }
}
