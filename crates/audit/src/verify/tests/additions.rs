//! What somebody without the key put behind a log, and what the log itself leaves at the ends of its
//! files.

use super::*;
use crate::event::Event;
use crate::line;

/// Records that follow a line, with hashes that fit: whoever has the line can make them.
fn after(last: &str, events: &[Event]) -> String {
    let last = Line::parse(last.as_bytes()).unwrap();
    let (mut sequence, mut previous, mut bytes) = (last.sequence, last.hash, Vec::new());
    for event in events {
        sequence += 1;
        let now = Timestamp::now();
        previous = line::write(&mut bytes, sequence, now, previous, event).unwrap();
    }
    String::from_utf8(bytes).unwrap()
}

/// An exported log, and what its reader knows of it from elsewhere.
struct Exported {
    fixture: Fixture,
    file: PathBuf,
    header: serde_json::Value,
    body: String,
    expected: Expected,
    records: u64,
}

impl Exported {
    fn new() -> Self {
        let fixture = Fixture::new();
        let file = fixture.directory.with_extension("export");
        let head = export(&fixture.directory, &mut fs::File::create(&file).unwrap()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let (header, body) = text.split_once('\n').unwrap();
        let (header, body) = (serde_json::from_str(header).unwrap(), body.to_owned());
        let (public_key, records) = (Some(head.public_key().to_owned()), head.sequence());
        let expected = Expected { public_key, anchor: Some(head) };
        Self { fixture, file, header, body, expected, records }
    }

    fn last_file(&self) -> String {
        self.header["files"].as_array().unwrap().last().unwrap()["name"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Puts something behind the last file and states that it belongs to it.
    fn lengthened(mut self, addition: &str) -> Self {
        let bytes = &mut self.header["files"].as_array_mut().unwrap().last_mut().unwrap()["bytes"];
        *bytes = (bytes.as_u64().unwrap() + addition.len() as u64).into();
        self.body.push_str(addition);
        self
    }

    /// Puts another file behind the last one.
    fn with_file(mut self, name: &str, text: &str) -> Self {
        let file = serde_json::json!({ "name": name, "bytes": text.len() });
        self.header["files"].as_array_mut().unwrap().push(file);
        self.body.push_str(text);
        self
    }

    fn last_line(&self) -> &str {
        self.body.lines().next_back().unwrap()
    }

    fn verify(&self) -> Result<Verified, VerifyError> {
        fs::write(&self.file, format!("{}\n{}", self.header, self.body)).unwrap();
        verify(&self.file, &self.expected)
    }

    #[track_caller]
    fn is_broken(&self, line: u64, fault: Fault) {
        broken(self.verify(), &self.last_file(), line, self.records + 1, fault);
    }
}

/// How many lines the last file has.
fn lines_of_last_file(fixture: &Fixture) -> u64 {
    let name = format!("{:06}.jsonl", fixture.verify().unwrap().files);
    fixture.lines(&name).len() as u64
}

/// T52
#[test]
fn records_behind_the_head_of_an_export_are_found() {
    let exported = Exported::new();
    exported.verify().unwrap();
    let line = lines_of_last_file(&exported.fixture) + 1;
    let addition = after(exported.last_line(), &[event(1), event(2)]);
    exported.lengthened(&addition).is_broken(line, Fault::BeyondHead);
    // Also where the file's length is left as it was.
    let mut exported = Exported::new();
    exported.body.push_str(&addition);
    exported.is_broken(0, Fault::TrailingBytes);
}

/// T52
#[test]
fn bytes_behind_an_export_are_found() {
    for junk in ["x", "\n", "{}\n", "one\ntwo", "\0\0\0"] {
        let mut exported = Exported::new();
        exported.body.push_str(junk);
        exported.is_broken(0, Fault::TrailingBytes);
        let exported = Exported::new();
        let line = lines_of_last_file(&exported.fixture) + 1;
        exported.lengthened(junk).is_broken(line, Fault::TrailingBytes);
    }
}

/// T52
#[test]
fn a_file_that_the_log_does_not_go_on_in_is_found() {
    let exported = Exported::new();
    let name = format!("{:06}.jsonl", exported.fixture.verify().unwrap().files + 1);
    let addition = after(exported.last_line(), &[event(1), event(2)]);
    // It names the file before it, but that one says nothing of it.
    let public_key = exported.expected.public_key.clone().unwrap().into();
    let continued = Event::LogContinued { after: exported.last_file().into(), public_key };
    let continued = after(exported.last_line(), &[continued, event(1)]);
    let (fixture, next) = (Fixture::new(), exported.records + 1);
    let last = fixture.lines(&exported.last_file()).pop().unwrap();
    for text in [addition.as_str(), continued.as_str(), "", "torn"] {
        let exported = Exported::new().with_file(&name, text);
        exported.is_broken(0, Fault::StrayFile);
    }
    let here = [after(&last, &[event(1), event(2)]), String::new(), "torn".to_owned()];
    for text in here {
        fs::write(fixture.path(&name), text).unwrap();
        fixture.is_broken(&name, 0, next, Fault::StrayFile);
    }
}

/// T52
#[test]
fn a_file_that_does_not_begin_as_the_log_begins_one_is_found() {
    let fixture = Fixture::new();
    let files = fixture.verify().unwrap().files;
    let rotated = fixture.lines("000001.jsonl").pop().unwrap();
    for number in 2..=files {
        fs::remove_file(fixture.path(&format!("{number:06}.jsonl"))).unwrap();
    }
    fs::write(fixture.path("000002.jsonl"), after(&rotated, &[event(1)])).unwrap();
    let next = IN_FIRST_FILE as u64 + 1;
    fixture.is_broken("000002.jsonl", 1, next, Fault::Misplaced);
    // Nor does one go on in the middle of a file.
    let fixture = Fixture::new();
    let public_key = fixture.verify().unwrap().public_key;
    let first = fixture.lines("000001.jsonl").remove(0);
    let after_none = "000000.jsonl".into();
    let continued = Event::LogContinued { after: after_none, public_key: public_key.into() };
    let text = format!("{first}\n{}", after(&first, &[continued]));
    fs::write(fixture.path("000001.jsonl"), text).unwrap();
    fixture.is_broken("000001.jsonl", 2, 2, Fault::Misplaced);
}

/// T54
#[test]
fn a_file_may_be_begun_and_not_written_yet() {
    let fixture = Fixture::new();
    let verified = fixture.verify().unwrap();
    let last = format!("{:06}.jsonl", verified.files);
    let log = Log::open_with_file_limit(&fixture.directory, 1).unwrap();
    log.append(&event(1)).unwrap();
    let next = format!("{:06}.jsonl", verified.files + 1);
    assert!(fixture.lines(&last).last().unwrap().contains("log.rotated"));
    for text in ["", "{\"v\":1"] {
        fs::write(fixture.path(&next), text).unwrap();
        assert_eq!(fixture.verify().unwrap().unfinished, text.len() as u64);
    }
    fs::remove_file(fixture.path(&next)).unwrap();
    fixture.verify().unwrap();
    Log::open(&fixture.directory).unwrap().record(&event(2)).unwrap();
    assert_eq!(fixture.verify().unwrap().records, verified.records + 3);
}

/// T54
#[test]
fn a_file_may_begin_with_a_checkpoint() {
    let fixture = Fixture::new();
    let records = fixture.verify().unwrap().records;
    let log = Log::open(&fixture.directory).unwrap();
    for number in records..CHECKPOINT_INTERVAL - 2 {
        log.append(&event(usize::try_from(number).unwrap())).unwrap();
    }
    Log::open_with_file_limit(&fixture.directory, 1).unwrap().append(&event(1)).unwrap();
    let verified = fixture.verify().unwrap();
    let name = format!("{:06}.jsonl", verified.files);
    let lines = fixture.lines(&name);
    assert!(lines[0].contains("log.checkpoint") && lines[1].contains("log.continued"), "{lines:?}");
    // Whoever wrote both was cut short between them, and the next one set that apart.
    let torn = format!("{}\n{}", lines[0], &lines[1][..50]);
    fs::write(fixture.path(&name), torn).unwrap();
    fixture.verify().unwrap();
    log.record(&event(2)).unwrap();
    assert_eq!(fixture.verify().unwrap().recovered.len(), 1);
    // Nothing else may come in its place.
    let forged = format!("{}\n{}", lines[0], after(&lines[0], &[event(1)]));
    fs::write(fixture.path(&name), forged).unwrap();
    fixture.is_broken(&name, 2, CHECKPOINT_INTERVAL + 1, Fault::Misplaced);
}

/// T52
#[test]
fn an_export_has_only_what_its_head_covers() {
    for limit in [1, 1024 * 1024] {
        let fixture = Fixture::new();
        let covered = fixture.verify().unwrap();
        let log = Log::open_with_file_limit(&fixture.directory, limit).unwrap();
        for number in 0..3 {
            log.append(&event(number)).unwrap();
        }
        let here = fixture.verify().unwrap();
        assert!(here.records > here.covered && here.covered == covered.records, "{here:?}");
        let file = fixture.directory.with_extension("export");
        let head = export(&fixture.directory, &mut fs::File::create(&file).unwrap()).unwrap();
        assert_eq!(head.sequence(), covered.records);
        assert_eq!(verify(&file, &Expected::default()).unwrap(), covered);
    }
}

/// T52: whoever has the key can set something apart where the anchor states another record.
#[test]
fn an_anchor_is_compared_with_records_that_set_something_apart() {
    let fixture = Fixture::new();
    let files = fs::read_dir(&fixture.directory).unwrap().flatten();
    let old: Vec<_> = files.map(|file| (file.path(), fs::read(file.path()).unwrap())).collect();
    let log = Log::open(&fixture.directory).unwrap();
    log.record(&event(1)).unwrap();
    log.checkpoint().unwrap();
    let anchor = crate::anchor(&fixture.directory).unwrap();
    let stated = anchor.sequence();
    for (path, bytes) in old {
        fs::write(path, bytes).unwrap();
    }
    let name = format!("{:06}.jsonl", fixture.verify().unwrap().files);
    let mut text = fs::read(fixture.path(&name)).unwrap();
    text.extend_from_slice(b"torn");
    fs::write(fixture.path(&name), text).unwrap();
    Log::open(&fixture.directory).unwrap().record(&event(2)).unwrap();
    assert_eq!(fixture.verify().unwrap().recovered[0].sequence, stated);
    let expected = Expected { anchor: Some(anchor), ..Expected::default() };
    let Err(VerifyError::Broken(found)) = verify(&fixture.directory, &expected) else { panic!() };
    assert_eq!((found.sequence, found.fault), (stated, Fault::NotAsAnchored));
}
