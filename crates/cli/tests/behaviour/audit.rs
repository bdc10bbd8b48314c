//! The record through the command: what is shown, and what is found when somebody changed it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use audit::{Event, Log, Reason};

use super::support::{Ended, Place};

/// A user with a log of several files.
struct Recorded {
    place: Place,
    log: PathBuf,
}

/// What is said of a log: the fault's word, the file, the line and the record.
type Said<'a> = (&'a str, &'a str, u64, u64);

impl Recorded {
    fn new() -> Self {
        let place = Place::new();
        let log = place.state().join("stockade/audit");
        let writer = Log::open_with_file_limit(&log, 3000).unwrap();
        for number in 0..10 {
            writer.append(&intent(number)).unwrap();
            writer.append(&killed(number)).unwrap();
        }
        writer.checkpoint().unwrap();
        Self { place, log }
    }

    fn ask(&self, words: &[&str]) -> Ended {
        self.place.ask([&["audit"], words].concat())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.log.join(name)
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.log).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
        files.sort();
        files
    }

    fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.file(name)).unwrap().lines().map(str::to_owned).collect()
    }

    fn put(&self, name: &str, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.file(name), text).unwrap();
    }

    fn answer(&self, words: &[&str]) -> serde_json::Value {
        let ended = self.ask(&[&["verify", "--json"], words].concat());
        let value: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        ended.expect_code(i32::from(value.get("whole") != Some(&true.into())));
        value
    }

    #[track_caller]
    fn is_told(&self, words: &[&str], (fault, file, line, sequence): Said<'_>) {
        let mut value = self.answer(words);
        let message = value.as_object_mut().and_then(|object| object.remove("message"));
        let said = serde_json::json!({
            "whole": false, "fault": fault, "file": file, "line": line, "sequence": sequence,
        });
        assert_eq!(value, said, "{message:?}");
        let record = format!("{sequence}");
        let person = self.ask(&[&["verify"], words].concat());
        person.expect_code(1).prints("the log is not what was written").prints(file);
        if sequence > 0 && !["other_key", "forged_head", "forged_removal"].contains(&fault) {
            person.prints(&record);
        }
    }
}

fn intent(number: usize) -> Event {
    Event::SubagentIntent {
        invocation_id: format!("01START{number:02}").into(),
        project_id: "/srv/app".into(),
        session_id: None,
        subagent_name: None,
        cage: Some(if number.is_multiple_of(2) { "even" } else { "odd" }.into()),
        effective_cage_hash: None,
        argv0: "sh\x1b[2J\n".into(),
        caged: true,
    }
}

fn killed(number: usize) -> Event {
    Event::SubagentKilled {
        invocation_id: format!("01START{number:02}").into(),
        reason: Reason::Cancelled,
    }
}

/// T52
#[test]
fn a_changed_record_is_named() {
    let recorded = Recorded::new();
    assert_eq!(recorded.answer(&[])["whole"], true);
    let whole = recorded.lines("000001.jsonl");
    let change = |lines: Vec<String>, said: Said<'_>| {
        recorded.put("000001.jsonl", &lines);
        recorded.is_told(&[], said);
    };
    let edited = |edit: &dyn Fn(&mut Vec<String>)| {
        let mut lines = whole.clone();
        edit(&mut lines);
        lines
    };
    let first = "000001.jsonl";
    change(edited(&|l| l[2] = l[2].replace("cancelled", "cancelle1")), ("changed", first, 3, 3));
    change(edited(&|l| drop(l.remove(3))), ("missing", first, 4, 4));
    change(edited(&|l| l.swap(3, 4)), ("reordered", first, 4, 4));
    change(edited(&|l| l.insert(2, l[1].clone())), ("inserted", first, 3, 3));
    change(edited(&|l| l.insert(2, "{}".to_owned())), ("inserted", first, 3, 3));
    let next = whole.len() as u64;
    change(edited(&|l| drop(l.pop())), ("missing", "000002.jsonl", 1, next));
    recorded.put(first, &whole);
    assert_eq!(recorded.answer(&[])["whole"], true);
}

/// T52
#[test]
fn a_cut_tail_is_named() {
    let recorded = Recorded::new();
    let files = recorded.files();
    assert!(files.len() > 2, "{files:?}");
    let last = files.last().unwrap();
    let whole = recorded.lines(last);
    let sequence = recorded.answer(&[])["records"].as_u64().unwrap();
    let bytes = fs::read(recorded.file(last)).unwrap();
    recorded.put(last, &whole[..whole.len() - 1]);
    recorded.is_told(&[], ("truncated", last, 0, sequence));
    fs::write(recorded.file(last), &bytes[..bytes.len() - 7]).unwrap();
    recorded.is_told(&[], ("truncated", last, 0, sequence));
    // Nothing is added to such a log.
    let refused = Log::open(&recorded.log).unwrap().append(&killed(1)).unwrap_err();
    assert!(refused.to_string().contains("was changed"), "{refused}");
    fs::remove_file(recorded.file(last)).unwrap();
    let first_gone = sequence - whole.len() as u64 + 1;
    recorded.is_told(&[], ("truncated", &files[files.len() - 2], 0, first_gone));
    fs::write(recorded.file(last), bytes).unwrap();
    assert_eq!(recorded.answer(&[])["whole"], true);
}

/// T52: what a run recorded last is stated as well, whatever ran it.
#[test]
fn the_end_of_a_run_cannot_be_cut_off() {
    for flags in [&["run", "--", "true"][..], &["run", "--no-sandbox", "--", "true"]] {
        let place = Place::new();
        place.ask(flags).expect_code(0);
        place.ask(["audit", "verify"]).expect_code(0);
        let file = place.state().join("stockade/audit/000001.jsonl");
        let whole = fs::read_to_string(&file).unwrap();
        let cut = whole.trim_end().rfind('\n').unwrap();
        assert!(whole[cut..].contains("subagent.exit"), "{whole}");
        fs::write(&file, &whole[..=cut]).unwrap();
        place.ask(["audit", "verify"]).expect_code(1).prints("cut off");
    }
}

/// T52
#[test]
fn a_missing_file_a_foreign_key_and_a_forged_head_are_named() {
    let (recorded, other) = (Recorded::new(), Recorded::new());
    let hidden = recorded.file("000002.jsonl.away");
    fs::rename(recorded.file("000002.jsonl"), &hidden).unwrap();
    let next = recorded.lines("000001.jsonl").len() as u64 + 1;
    recorded.is_told(&[], ("file_missing", "000002.jsonl", 0, next));
    fs::rename(&hidden, recorded.file("000002.jsonl")).unwrap();
    let key = fs::read(recorded.file("key")).unwrap();
    fs::copy(other.file("key"), recorded.file("key")).unwrap();
    recorded.is_told(&[], ("other_key", "key", 0, 0));
    fs::write(recorded.file("key"), key).unwrap();
    let head = fs::read_to_string(recorded.file("head")).unwrap();
    let records = recorded.answer(&[])["records"].as_u64().unwrap();
    fs::write(recorded.file("head"), head.replace(&format!(":{records},"), ":2,")).unwrap();
    recorded.is_told(&[], ("forged_head", "head", 0, 2));
    fs::remove_file(recorded.file("head")).unwrap();
    recorded.is_told(&[], ("head_missing", "head", 0, records + 1));
    fs::copy(other.file("head"), recorded.file("head")).unwrap();
    recorded.is_told(&[], ("other_key", "key", 0, 0));
}

/// T52: what `run` refuses to write to is not told to be whole.
#[test]
fn a_log_that_cannot_go_on_is_named() {
    let recorded = Recorded::new();
    let next = recorded.answer(&[])["records"].as_u64().unwrap() + 1;
    let refuses = |part: &str| {
        recorded.place.ask(["run", "--no-sandbox", "--", "true"]).says(part);
    };
    let key = fs::read(recorded.file("key")).unwrap();
    fs::write(recorded.file("key"), "").unwrap();
    recorded.is_told(&[], ("key_unusable", "key", 0, next));
    refuses("is not a key");
    fs::remove_file(recorded.file("key")).unwrap();
    recorded.is_told(&[], ("key_missing", "key", 0, next));
    refuses("is gone");
    fs::write(recorded.file("key"), key).unwrap();
    let stray = format!("{:06}.jsonl", recorded.files().len() + 1);
    fs::write(recorded.file(&stray), "").unwrap();
    recorded.is_told(&[], ("stray_file", &stray, 0, next));
    refuses("is not as it was");
    for name in recorded.files() {
        fs::remove_file(recorded.file(&name)).unwrap();
    }
    recorded.is_told(&[], ("file_missing", "000001.jsonl", 0, 1));
    refuses("is gone");
}

/// T52
#[test]
fn a_log_that_was_set_back_is_told_by_an_anchor() {
    let recorded = Recorded::new();
    let copy = recorded.place.home.join("copy");
    let run = |from: &PathBuf, to: &PathBuf| {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    run(&recorded.log, &copy);
    Log::open(&recorded.log).unwrap().record(&killed(1)).unwrap();
    let anchor = recorded.place.home.join("anchor");
    let anchor = anchor.to_str().unwrap();
    recorded.ask(&["export", "--head", anchor]).expect_code(0).says("exported the head");
    assert_eq!(recorded.answer(&["--anchor", anchor])["whole"], true);
    let stated = recorded.answer(&[])["records"].as_u64().unwrap();
    run(&copy, &recorded.log);
    assert_eq!(recorded.answer(&[])["whole"], true);
    let last = recorded.files().pop().unwrap();
    recorded.is_told(&["--anchor", anchor], ("truncated_since_anchor", &last, 0, stated));
    fs::write(anchor, "{}").unwrap();
    recorded.ask(&["verify", "--anchor", anchor]).expect_code(1).says("not an exported head");
}

#[test]
fn an_export_is_verified_and_shown_elsewhere() {
    let recorded = Recorded::new();
    let file = recorded.place.home.join("record.audit");
    let file = file.to_str().unwrap();
    recorded.ask(&["export", file]).expect_code(0).says("exported the log");
    recorded.ask(&["export", file]).expect_code(1).says("cannot create");
    let here = recorded.answer(&[]);
    let (elsewhere, text) = (Place::new(), fs::read_to_string(file).unwrap());
    let secret = fs::read_to_string(recorded.file("key")).unwrap();
    assert!(!text.contains(secret.trim()), "the key must stay");
    let there = elsewhere.ask(["audit", "verify", "--json", file]);
    let there: serde_json::Value = serde_json::from_str(&there.expect_code(0).stdout).unwrap();
    assert_eq!(there, here);
    let key = here["public_key"].as_str().unwrap();
    elsewhere.ask(["audit", "verify", file, "--key", key]).expect_code(0).prints("is whole");
    let wrong = "0".repeat(64);
    elsewhere.ask(["audit", "verify", file, "--key", &wrong]).expect_code(1).prints("another key");
    elsewhere.ask(["audit", "verify", file, "--key", "short"]).expect_code(2);
    let shown = elsewhere.ask(["audit", "show", "--json", "--log", file]);
    assert_eq!(shown.stdout.lines().count() as u64, here["records"].as_u64().unwrap());
    fs::write(file, text.replacen("01START03", "01START04", 1)).unwrap();
    elsewhere.ask(["audit", "verify", file]).expect_code(1).prints("was changed");
    fs::write(file, "nothing").unwrap();
    elsewhere.ask(["audit", "verify", file]).expect_code(1).says("is not an exported log");
    let piped = recorded.ask(&["export", "-"]);
    assert_eq!(piped.expect_code(0).stdout, text);
}

/// A record that follows a line, with a hash that fits: no key is needed to make one.
fn forged_after(line: &str, number: usize) -> String {
    let last = audit::Line::parse(line.as_bytes()).unwrap();
    let (next, previous, id) = (last.sequence + 1, last.hash, format!("01FORGED{number:02}"));
    let body = format!(
        "{{\"v\":1,\"seq\":{next},\"time\":\"{}\",\"prev\":\"{previous}\",\"event\":\"subagent.killed\",\
         \"invocation_id\":\"{id}\",\"reason\":\"cancelled\"",
        last.time
    );
    format!("{body},\"hash\":\"{}\"}}", audit::Hash::of(body.as_bytes()))
}

/// T52: an export goes through many hands, and none of them has the key.
#[test]
fn what_was_added_to_an_export_is_named() {
    let recorded = Recorded::new();
    let home = recorded.place.home.clone();
    let (file, anchor) = (home.join("record.audit"), home.join("anchor"));
    let (file, anchor) = (file.to_str().unwrap(), anchor.to_str().unwrap());
    recorded.ask(&["export", file]).expect_code(0);
    recorded.ask(&["export", "--head", anchor]).expect_code(0);
    let here = recorded.answer(&[]);
    let (key, next) = (here["public_key"].as_str().unwrap(), here["records"].as_u64().unwrap() + 1);
    let words = [file, "--key", key, "--anchor", anchor];
    assert_eq!(recorded.answer(&words), here);
    let text = fs::read_to_string(file).unwrap();
    let (name, bytes) = {
        let name = recorded.files().pop().unwrap();
        let bytes = fs::metadata(recorded.file(&name)).unwrap().len();
        (name, bytes)
    };
    let line = recorded.lines(&name).len() as u64 + 1;
    let record = forged_after(text.lines().next_back().unwrap(), 1);
    let stated = |bytes: u64| format!("{{\"name\":\"{name}\",\"bytes\":{bytes}}}");
    let longer = text.replacen(&stated(bytes), &stated(bytes + record.len() as u64 + 1), 1);
    assert_ne!(longer, text);
    fs::write(file, format!("{longer}{record}\n")).unwrap();
    recorded.is_told(&words, ("beyond_head", &name, line, next));
    fs::write(file, format!("{text}{record}\n")).unwrap();
    recorded.is_told(&words, ("trailing_bytes", &name, 0, next));
    let other = format!("{:06}.jsonl", recorded.files().len() + 1);
    let files = format!("{},{{\"name\":\"{other}\",\"bytes\":0}}", stated(bytes));
    fs::write(file, text.replacen(&stated(bytes), &files, 1)).unwrap();
    recorded.is_told(&words, ("stray_file", &other, 0, next));
}

/// T52: records are written before they are stated, so a log in use may have such; an export has not.
#[test]
fn records_that_the_head_does_not_cover_are_told() {
    let recorded = Recorded::new();
    let name = recorded.files().pop().unwrap();
    let record = forged_after(recorded.lines(&name).last().unwrap(), 1);
    let mut file = fs::OpenOptions::new().append(true).open(recorded.file(&name)).unwrap();
    writeln!(file, "{record}").unwrap();
    recorded.ask(&["verify"]).expect_code(0).prints("it does not vouch for the 1 after it");
    let answer = recorded.answer(&[]);
    assert_eq!(answer["records"].as_u64().unwrap(), answer["covered"].as_u64().unwrap() + 1);
}

/// T52
#[test]
fn records_are_shown_to_a_person_and_to_a_program() {
    let recorded = Recorded::new();
    let lines = |words: &[&str]| -> Vec<String> {
        let ended = recorded.ask(&[&["show"], words].concat());
        ended.expect_code(0).stdout.lines().map(str::to_owned).collect()
    };
    let all = lines(&[]);
    assert!(all.iter().any(|line| line.contains("argv0=sh\\x1b[2J\\x0a")), "{all:?}");
    assert!(all.iter().all(|line| line.is_ascii()));
    assert_eq!(lines(&["--event", "subagent"]).len(), 20);
    recorded.ask(&["show", "--event", "subagnet"]).expect_code(2).says("no event `subagnet`");
    assert_eq!(lines(&["--event", "subagent.killed"]).len(), 10);
    assert_eq!(lines(&["--cage", "odd"]).len(), 10);
    assert_eq!(lines(&["--invocation", "01start04"]).len(), 2);
    assert_eq!(lines(&["--since", "1h"]).len(), all.len());
    assert_eq!(lines(&["--until", "1h"]).len(), 0);
    let last = lines(&["--last", "1"]);
    assert!(
        last[0].contains("subagent.killed               01START09     reason=cancelled"),
        "{last:?}"
    );
    let mut raw = Vec::new();
    recorded.files().iter().for_each(|name| raw.extend(recorded.lines(name)));
    assert_eq!(lines(&["--json"]), raw);
    recorded.ask(&["show", "--since", "soon"]).expect_code(2).says("names no moment");
    let mut damaged = recorded.lines("000001.jsonl");
    damaged[2].truncate(40);
    recorded.put("000001.jsonl", &damaged);
    let ended = recorded.ask(&["show"]);
    ended.expect_code(1).says("`000001.jsonl` line 3").says("stockade audit verify");
    assert_eq!(ended.stdout.lines().count(), all.len() - 1);
}

/// T54
#[test]
fn what_a_dead_writer_left_is_no_damage() {
    let recorded = Recorded::new();
    let last = recorded.files().pop().unwrap();
    let all = recorded.ask(&["show"]).stdout.lines().count();
    let file = fs::OpenOptions::new().append(true).open(recorded.file(&last));
    file.unwrap().write_all(b"{\"v\":1,\"seq\":9").unwrap();
    assert_eq!(recorded.ask(&["show"]).expect_code(0).stdout.lines().count(), all);
    recorded.ask(&["verify"]).expect_code(0).prints("14 bytes at the end");
    Log::open(&recorded.log).unwrap().record(&killed(1)).unwrap();
    assert_eq!(recorded.ask(&["show"]).expect_code(0).stdout.lines().count(), all + 2);
    recorded.ask(&["verify"]).expect_code(0).prints("sets 15 bytes");
}

#[test]
fn a_log_is_followed() {
    let recorded = Recorded::new();
    let mut command = recorded.place.stockade();
    command.args(["audit", "follow", "--cage", "odd", "--json"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let log = Log::open(&recorded.log).unwrap();
    // Until the follower is ready, records may be of the past for it.
    let next = std::thread::spawn(move || lines.next().unwrap().unwrap());
    while !next.is_finished() {
        log.append(&intent(40)).unwrap();
        log.append(&intent(41)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let line = next.join().unwrap();
    assert!(line.contains("\"invocation_id\":\"01START41\""), "{line}");
    // Its reader is gone: the next record ends it.
    while child.try_wait().unwrap().is_none() {
        log.append(&intent(43)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn nothing_recorded_is_told_as_such() {
    let place = Place::new();
    place.ask(["audit", "show"]).expect_code(0).says("nothing has been recorded");
    for words in [&["verify"][..], &["follow"], &["export", "x"]] {
        let ended = place.ask([&["audit"], words].concat());
        ended.expect_code(1).says("nothing has been recorded");
    }
    assert!(!place.state().join("stockade").exists());
    assert!(!place.project.join("x").exists());
}

#[test]
fn the_schema_is_printed() {
    let place = Place::new();
    let ended = place.ask(["audit", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&ended.expect_code(0).stdout).unwrap();
    assert!(schema["oneOf"].as_array().unwrap().len() > 20);
}

/// K242, K243: `prune` says what it removes, and `verify` what is gone, when and by which rule.
#[test]
fn what_was_pruned_is_told() {
    let recorded = Recorded::new();
    let files = recorded.files();
    assert!(files.len() > 2, "{files:?}");
    recorded.ask(&["prune"]).expect_code(2).says("--keep-days");
    recorded.ask(&["prune", "--keep-size", "many"]).expect_code(2).says("number of bytes");
    recorded.ask(&["prune", "--keep-days", "1"]).expect_code(0).prints("nothing is to be removed");
    let dry = recorded.ask(&["prune", "--keep-size", "4K", "--dry-run"]);
    dry.expect_code(0).prints("would remove records 1 to").prints("(keep-size 4096)");
    assert_eq!(recorded.files(), files);
    let pruned = recorded.ask(&["prune", "--keep-size", "4K", "--json"]);
    let pruned: serde_json::Value = serde_json::from_str(&pruned.expect_code(0).stdout).unwrap();
    let removal = pruned["removal"].clone();
    assert_eq!(removal["rule"], "keep-size 4096", "{pruned}");
    assert_eq!(pruned["files"], recorded.files().len());
    let answer = recorded.answer(&[]);
    assert_eq!(answer["removed"], removal["last_sequence"]);
    assert_eq!(answer["removals"][0]["removal"], removal);
    let last = removal["last_sequence"].as_u64().unwrap();
    let person = recorded.ask(&["verify"]);
    person.expect_code(0).prints(&format!("from record {} on", last + 1));
    person.prints("by the rule `keep-size 4096`").prints(&format!("records 1 to {last}"));
    let shown = recorded.ask(&["show", "--event", "log.pruned"]);
    shown.expect_code(0).prints("keep-size 4096");
    // Programs run as before, and are found.
    recorded.place.shell(&[], "true").expect_code(0);
    recorded.ask(&["show", "--event", "subagent.exit"]).expect_code(0).prints("subagent.exit");
    // A changed anchor and a file that somebody removed are found.
    let anchor = fs::read_to_string(recorded.file("removed")).unwrap();
    fs::write(recorded.file("removed"), anchor.replace("4096", "4097")).unwrap();
    recorded.is_told(&[], ("forged_removal", "removed", 0, last));
    recorded.ask(&["prune", "--keep-size", "0"]).expect_code(1).says("not signed with its key");
    recorded.place.shell(&[], "true").expect_code(122);
    fs::write(recorded.file("removed"), anchor).unwrap();
    let first = recorded.files().remove(0);
    let kept = fs::read(recorded.file(&first)).unwrap();
    fs::remove_file(recorded.file(&first)).unwrap();
    recorded.is_told(&[], ("file_missing", &first, 0, last + 1));
    fs::write(recorded.file(&first), kept).unwrap();
    assert_eq!(recorded.answer(&[])["whole"], true);
    // The file that is written to is ended when it is too old, and goes the next time.
    recorded.ask(&["prune", "--keep-days", "0"]).expect_code(0).prints("2 files with");
    let again = recorded.ask(&["prune", "--keep-days", "0"]);
    again.expect_code(0).prints("removed records").prints("(keep-days 0)");
    assert_eq!(recorded.answer(&[])["whole"], true);
}
