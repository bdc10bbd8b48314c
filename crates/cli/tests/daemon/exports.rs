//! The record on its way out of the daemon: exported with `curl` alone, verified by the command, and
//! held to what a client has kept of it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use audit::{Event, Log};
use serde_json::{Value, json};

use crate::serving::{Ended, Place, Serving, eventually, has, has_all, is_root, skip};

/// Where the log of a place lies.
fn log_of(place: &Place) -> PathBuf {
    place.state().join("stockade/audit")
}

/// Exports the record to a file, and gives the answer's headers.
#[track_caller]
fn export(serving: &Serving, file: &Path) -> String {
    let mut curl = serving.curl();
    curl.args(["-f", "-D", "-", "-o"]).arg(file).arg("http://stockade/v1/audit/export");
    let ended = Ended::of(&curl.output().unwrap());
    ended.expect_code(0);
    ended.stdout.to_lowercase()
}

fn header<'a>(headers: &'a str, name: &str) -> &'a str {
    let line = headers.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("no {name} in {headers}")).trim()
}

/// `stockade audit`, by somebody who has nothing but what was exported.
#[track_caller]
fn elsewhere(words: &[&str]) -> Ended {
    let place = Place::new();
    Ended::of(&place.stockade().arg("audit").args(words).output().unwrap())
}

/// Runs a line of shell, and waits until nothing more will be recorded of it.
#[track_caller]
fn run_to_its_record(serving: &Serving, line: &str) {
    let id = serving.spawn(&serving.shell(line));
    serving.wait(&id);
    let ends = format!("/v1/audit?event=subagent.exit&invocation={id}");
    eventually("the end is on record", || serving.get(&ends)["records"] != json!([]));
}

fn begun(number: usize) -> Event {
    let (session_id, project_id) = (format!("s{number}"), "/srv/".to_owned() + &"x".repeat(150));
    Event::SessionBegun {
        session_id: session_id.as_str().into(),
        project_id: project_id.as_str().into(),
    }
}

/// A place with a log of some megabytes in several files.
fn with_much_on_record() -> Place {
    let place = Place::new();
    let log = Log::open_with_file_limit(&log_of(&place), 1 << 20).unwrap();
    for number in 0..10_000 {
        log.append(&begun(number)).unwrap();
    }
    log.checkpoint().unwrap();
    place
}

/// T52: what `curl` gets is what the command writes, and the command verifies it anywhere.
#[test]
fn an_export_over_http_is_verified_by_the_command() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    run_to_its_record(&serving, "exit 6");
    let file = serving.place.home.join("record.audit");
    let headers = export(&serving, &file);
    let length = std::fs::metadata(&file).unwrap().len().to_string();
    assert_eq!(header(&headers, "content-length"), length);
    let (key, name) = (header(&headers, "stockade-public-key"), file.to_str().unwrap());
    let verified = elsewhere(&["verify", name, "--key", key, "--json"]);
    let verdict: Value = serde_json::from_str(&verified.expect_code(0).stdout).unwrap();
    assert_eq!(verdict["whole"], true);
    assert_eq!(verdict["records"].to_string(), header(&headers, "stockade-sequence"));
    let shown = elsewhere(&["show", "--log", name, "--event", "subagent.exit", "--json"]);
    assert!(shown.stdout.contains("\"exit_code\":6"), "{shown:#?}");
    // The same record, exported by the command.
    let written = serving.place.stockade().args(["audit", "export", "-"]).output().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), written.stdout);
    // What lost its end on the way is no export any more.
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 10]).unwrap();
    elsewhere(&["verify", name]).expect_code(1);
}

/// The export is sent in pieces, and all of them arrive, while others use the daemon.
#[test]
fn a_record_of_several_files_is_exported_while_it_grows() {
    if !has("curl") {
        return;
    }
    let serving = with_much_on_record().serving(&[]);
    let file = serving.place.home.join("record.audit");
    let headers = std::thread::scope(|scope| {
        let exported = scope.spawn(|| export(&serving, &file));
        serving.wait(&serving.spawn(&serving.shell("true")));
        exported.join().unwrap()
    });
    assert!(std::fs::metadata(&file).unwrap().len() > 3 << 20);
    let verified = elsewhere(&["verify", file.to_str().unwrap(), "--json"]);
    let verdict: Value = serde_json::from_str(&verified.expect_code(0).stdout).unwrap();
    assert_eq!(verdict["records"].to_string(), header(&headers, "stockade-sequence"));
    assert!(verdict["files"].as_u64().unwrap() > 2, "{verdict:#}");
}

/// T52: clients who ask for everything and do not read it are bounded, and hold up nobody else.
#[test]
fn exports_at_a_time_are_bounded() {
    let serving = with_much_on_record().serving(&[]);
    let begin = || {
        let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
        stream.write_all(b"GET /v1/audit/export HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        (stream, String::from_utf8_lossy(&answer).into_owned())
    };
    let mut held = Vec::new();
    for _ in 0..8 {
        let (stream, answer) = begin();
        assert_eq!(answer, "HTTP/1.1 200");
        held.push(stream);
    }
    serving.ask("GET", "/v1/audit/export", None).refused(429, "too_many");
    serving.get("/v1/audit/head");
    serving.wait(&serving.spawn(&serving.shell("true")));
    drop(held);
    eventually("there is room again", || begin().1 == "HTTP/1.1 200");
}

/// T52: an export that breaks off cannot be taken for a whole one.
#[test]
fn an_export_that_breaks_off_is_shorter_than_announced() {
    let serving = with_much_on_record().serving(&[]);
    let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
    stream.write_all(b"GET /v1/audit/export HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = vec![0; 4096];
    stream.read_exact(&mut answer).unwrap();
    std::fs::write(log_of(&serving.place).join("000003.jsonl"), "").unwrap();
    let _cut = stream.read_to_end(&mut answer);
    let end_of_headers = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let headers = String::from_utf8_lossy(&answer[..end_of_headers]).to_lowercase();
    let announced: usize = header(&headers, "content-length").parse().unwrap();
    let received = answer.len() - end_of_headers - 4;
    assert!(received > 1 << 20 && received < announced, "{received} of {announced}");
    eventually("the daemon says so", || serving.said().contains("cannot be read on"));
}

/// T52: the key that signs stays where it is, and an export has no other file of the daemon in it.
#[test]
fn an_export_has_no_secret_and_names_no_path() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let file = serving.place.home.join("record.audit");
    export(&serving, &file);
    let exported = std::fs::read(&file).unwrap();
    let key = std::fs::read_to_string(log_of(&serving.place).join("key")).unwrap();
    assert_eq!(key.trim().len(), 64);
    assert!(!String::from_utf8(exported).unwrap().contains(key.trim()));
    for path in [
        "/v1/audit/export?file=/tmp/x",
        "/v1/audit/export?log=/etc",
        "/v1/audit/export?head=true",
        "/v1/audit/head?log=/etc",
        "/v1/audit/verify?path=/etc/passwd",
        "/v1/audit/verify?key=00",
    ] {
        serving.ask("GET", path, None).refused(400, "bad_request");
    }
    for path in ["/v1/audit/key", "/v1/audit/export/..%2fkey", "/v1/audit/export/../key"] {
        serving.ask("GET", path, None).refused(404, "not_found");
    }
    serving
        .post("/v1/audit/export", &json!({ "file": "/tmp/x" }))
        .refused(405, "method_not_allowed");
    serving.post("/v1/audit/head", &json!({})).refused(405, "method_not_allowed");
}

/// T52: a record that was set back together with its head is found by whoever has kept a head.
#[test]
fn a_record_is_held_to_a_key_and_an_anchor() {
    let serving = Serving::new();
    let verify = |known: &Value| serving.post("/v1/audit/verify", known).expect(200);
    let early = serving.get("/v1/audit/head");
    let saved = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &Path| {
        for name in ["000001.jsonl", "head"] {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    };
    let log = log_of(&serving.place);
    copy(&log, saved.path());
    run_to_its_record(&serving, "true");
    let late = serving.get("/v1/audit/head");
    assert!(late["seq"].as_u64() > early["seq"].as_u64());
    let key = late["public_key"].as_str().unwrap();
    for known in [
        json!({ "key": key }),
        json!({ "key": key.to_uppercase() }),
        json!({ "anchor": early }),
        json!({ "key": key, "anchor": late }),
    ] {
        let verdict = verify(&known);
        assert_eq!((&verdict["whole"], &verdict["public_key"]), (&json!(true), &json!(key)));
    }
    assert_eq!(verify(&json!({ "key": "0".repeat(64) }))["fault"], "other_key");
    let mut forged = early.clone();
    forged["seq"] = json!(1);
    assert_eq!(verify(&json!({ "anchor": forged }))["fault"], "forged_anchor");
    // The command takes the same head.
    let file = serving.place.home.join("late.head");
    std::fs::write(&file, late.to_string()).unwrap();
    let mut command = serving.place.stockade();
    command.args(["audit", "verify", "--anchor"]).arg(&file);
    Ended::of(&command.output().unwrap()).expect_code(0);
    copy(saved.path(), &log);
    assert_eq!(serving.get("/v1/audit/verify")["whole"], true);
    let verdict = verify(&json!({ "anchor": late }));
    assert_eq!(verdict["fault"], "truncated_since_anchor", "{verdict:#}");
    assert_eq!(verify(&json!({ "anchor": early }))["whole"], true);
}

/// T52: a comparison that was asked for and cannot be made is refused, and never left out.
#[test]
fn what_is_no_key_and_no_anchor_is_refused() {
    let serving = Serving::new();
    let head = serving.get("/v1/audit/head");
    let changed = |name: &str, value: Value| {
        let mut changed = head.clone();
        changed[name] = value;
        json!({ "anchor": changed })
    };
    let fields: Vec<Value> = head.as_object().unwrap().values().cloned().collect();
    for known in [
        json!({}),
        json!([]),
        json!({ "key": null }),
        json!({ "anchor": null }),
        json!({ "key": head["public_key"], "anchor": null }),
        json!({ "key": "" }),
        json!({ "key": "xyz" }),
        json!({ "key": "g".repeat(64) }),
        json!({ "key": 5 }),
        json!({ "key": [head["public_key"]] }),
        json!({ "anchor": "/etc/passwd" }),
        json!({ "anchor": fields }),
        json!({ "anchor": {} }),
        json!({ "anchor": { "path": "/etc/passwd" } }),
        json!({ "anhcor": head }),
        json!({ "anchor": head, "log": "/etc" }),
        changed("seq", json!(-1)),
        changed("seq", json!("1")),
        changed("hash", json!(null)),
        changed("more", json!(1)),
    ] {
        serving.post("/v1/audit/verify", &known).refused(400, "bad_request");
    }
    serving.ask("POST", "/v1/audit/verify", None).refused(400, "bad_request");
    serving.post("/v1/audit/verify?anchor=x", &json!({})).refused(400, "bad_request");
    // Heads of the right form that state what cannot be are judged, and nothing trips over them.
    for name in ["hash", "file", "public_key", "signature"] {
        let verdict = serving.post("/v1/audit/verify", &changed(name, json!("../../etc/x")));
        assert_eq!(verdict.expect(200)["fault"], "forged_anchor");
    }
}

/// A record without a head cannot be exported, and that is said.
#[test]
fn a_record_without_a_head_is_not_exported() {
    let serving = Serving::new();
    std::fs::remove_file(log_of(&serving.place).join("head")).unwrap();
    for path in ["/v1/audit/export", "/v1/audit/head"] {
        let message = serving.ask("GET", path, None).refused(503, "record_unavailable");
        assert!(message.contains("no head"), "{message}");
    }
    eventually("the daemon says so", || serving.said().contains("cannot be brought forward"));
    let away = log_of(&serving.place).with_extension("away");
    std::fs::rename(log_of(&serving.place), away).unwrap();
    serving.ask("GET", "/v1/audit/export", None).refused(503, "record_unavailable");
}

/// T52: another user gets nothing of the record, by whatever way it is asked for.
#[test]
fn other_users_get_nothing_of_the_record() {
    if !is_root() {
        return skip("only root can be another user");
    }
    if !has_all(&["setpriv", "curl"]) {
        return;
    }
    let serving = Place::new().serving(&["--allow-user", "54321"]);
    for path in [serving.place.root(), serving.place.home.as_path()] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ask_as = |user: &str, words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        command.args(["curl", "-sS", "-w", "%{http_code}", "--unix-socket"]);
        command.arg(serving.place.socket()).args(words);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let ways: [&[&str]; 6] = [
        &["http://stockade/v1/audit/export"],
        &["http://stockade/v1/audit/head"],
        &["http://stockade/v1/audit"],
        &["http://stockade/v1/audit/verify"],
        &["http://stockade/v1/audit/verify", "--data-binary", "{\"key\": \"00\"}"],
        &["http://stockade/v1/events?after=0"],
    ];
    for words in ways {
        let refused = ask_as("54322", words);
        assert!(refused.contains("wrong_peer") && refused.ends_with("403"), "{refused}");
        assert!(!refused.contains("daemon.started") && !refused.contains("seq"), "{refused}");
    }
    assert!(ask_as("54321", ways[0]).contains("daemon.started"));
}

/// T52: over TCP, nothing without the token.
#[test]
fn the_record_needs_the_token_on_tcp() {
    if !has("curl") {
        return;
    }
    let serving = Place::new().serving(&["--listen", "127.0.0.1:0"]);
    let address = serving.get("/v1/status")["listen"].as_str().unwrap().to_owned();
    let ask = |words: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-w", "%{http_code}"]).args(words);
        String::from_utf8_lossy(&curl.output().unwrap().stdout).into_owned()
    };
    let token = std::fs::read_to_string(serving.place.state().join("stockade/token")).unwrap();
    for path in ["/v1/audit/export", "/v1/audit/head"] {
        let url = format!("http://{address}{path}");
        let refused = ask(&[&url]);
        assert!(refused.contains("unauthorized") && refused.ends_with("401"), "{refused}");
        let bearer = format!("Authorization: Bearer {}", token.trim());
        assert!(ask(&["-H", &bearer, &url]).ends_with("200"));
    }
}

/// K242, K243: a daemon that was told what to keep removes the rest, and its endpoint proves what is left.
#[test]
fn the_record_is_kept_within_the_rules() {
    if !has("curl") {
        return;
    }
    let place = with_much_on_record();
    let before: u64 = sizes(&log_of(&place)).iter().sum();
    let serving = place.serving(&["--keep-size", "2M"]);
    let log = log_of(&serving.place);
    eventually("the oldest files are gone", || sizes(&log).iter().sum::<u64>() <= 2 << 20);
    assert!(before > 3 << 20, "{before}");
    run_to_its_record(&serving, "true");
    let verified = serving.get("/v1/audit/verify");
    assert_eq!(verified["whole"], true, "{verified}");
    let removal = &verified["removals"][0]["removal"];
    assert_eq!(
        (&removal["rule"], &removal["last_sequence"]),
        (&json!("keep-size 2097152"), &verified["removed"])
    );
    let recorded = serving.get("/v1/audit?event=log.pruned");
    assert_eq!(recorded["records"][0]["last_seq"], verified["removed"]);
    eventually("it says so", || serving.said().contains("of the record were removed"));
    // What is exported begins behind it, and is verified elsewhere.
    let file = serving.place.root().join("exported");
    export(&serving, &file);
    let words = ["verify", file.to_str().unwrap()];
    let ended = elsewhere(&words);
    ended.expect_code(0);
    assert!(ended.stdout.contains("by the rule `keep-size 2097152`"), "{}", ended.stdout);
    std::fs::remove_file(log.join("removed")).unwrap();
    let verified = serving.get("/v1/audit/verify");
    assert_eq!(
        (&verified["fault"], &verified["file"]),
        (&json!("file_missing"), &json!("000001.jsonl"))
    );
}

fn sizes(log: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"));
    // One may be removed while it is looked at.
    files.filter_map(|entry| Some(entry.metadata().ok()?.len())).collect()
}
