//! The record over the API: queried, verified, followed.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::serving::{Serving, eventually, has, read_until};

fn names(records: &Value) -> Vec<String> {
    let records = records["records"].as_array().unwrap();
    records.iter().map(|record| record["event"].as_str().unwrap().to_owned()).collect()
}

/// K170, K171, K178, K193, K195
#[test]
fn every_start_and_end_is_on_record() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("exit 6"));
    serving.wait(&id);
    let path = format!("/v1/audit?invocation={id}");
    eventually("the end is on record", || names(&serving.get(&path)).len() >= 3);
    let records = serving.get(&path);
    assert_eq!(names(&records), ["subagent.intent", "subagent.spawn", "subagent.exit"]);
    assert_eq!(records["records"][2]["exit_code"], 6);
    assert_eq!(records["records"][1]["project_id"], serving.place.project.to_str().unwrap());
    let all = serving.get("/v1/audit");
    assert!(names(&all).contains(&"daemon.started".to_owned()));
    let last = all["records"].as_array().unwrap().last().unwrap()["seq"].as_u64().unwrap();
    let rest = serving.get(&format!("/v1/audit?after={}", last - 1));
    assert_eq!(rest["records"].as_array().unwrap().len(), 1);
    let first = serving.get("/v1/audit?limit=1");
    assert_eq!(
        (first["records"].as_array().unwrap().len(), &first["more"]),
        (1, &Value::Bool(true))
    );
    assert_eq!(names(&serving.get("/v1/audit?event=daemon")), ["daemon.started"]);
    for wrong in ["SUBAGENT", "sub", "subagent.", ""] {
        let path = format!("/v1/audit?event={wrong}");
        serving.ask("GET", &path, None).refused(400, "bad_request");
    }
    let last = serving.get("/v1/audit?last=2");
    let all = all["records"].as_array().unwrap();
    assert_eq!(last["records"].as_array().unwrap(), &all[all.len() - 2..]);
    assert_eq!(last["more"], false);
    assert_eq!(names(&serving.get("/v1/audit?last=1&event=daemon")), ["daemon.started"]);
    assert_eq!(names(&serving.get("/v1/audit?last=0")), [""; 0]);
    for wrong in ["last=-1", "last=x", "last=10001", "last=1&limit=1", "last=1&last=2"] {
        let path = format!("/v1/audit?{wrong}");
        serving.ask("GET", &path, None).refused(400, "bad_request");
    }
    serving.ask("GET", "/v1/audit?since=yesterday", None).refused(400, "bad_request");
    serving.ask("GET", "/v1/audit?evnt=x", None).refused(400, "bad_request");
}

/// Moments are named as on the command line.
#[test]
fn records_of_a_while_ago_are_found() {
    let serving = Serving::new();
    let path = |since: &str| format!("/v1/audit?event=daemon&since={since}");
    for since in ["2h", "3d", "90s", "2000-01-01", "2000-01-01T00:00:00Z"] {
        assert_eq!(names(&serving.get(&path(since))), ["daemon.started"], "{since}");
    }
    assert_eq!(names(&serving.get("/v1/audit?until=1h")), [""; 0]);
    for wrong in ["-1d", "%2B1d", "1w", "", "d", "99999999999999999999d", "1%00d"] {
        serving.ask("GET", &path(wrong), None).refused(400, "bad_request");
        let events = format!("/v1/events?since={wrong}");
        serving.ask("GET", &events, None).refused(400, "bad_request");
    }
}

/// The schema is that of the command, and holds for what is served.
#[test]
fn the_schema_of_records_is_served() {
    let serving = Serving::new();
    let schema = serving.get("/v1/audit/schema");
    let printed = serving.place.stockade().args(["audit", "schema"]).output().unwrap().stdout;
    assert_eq!(schema, serde_json::from_slice::<Value>(&printed).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let records = serving.get("/v1/audit");
    assert!(records["records"].as_array().unwrap().iter().all(|one| validator.is_valid(one)));
    serving.ask("GET", "/v1/audit/schema?x=1", None).refused(400, "bad_request");
}

/// K180, K202: a policy that makes no cage is on record.
#[test]
fn what_was_not_compiled_is_on_record() {
    let serving = Serving::new();
    serving.place.policy("this is no policy");
    serving.post("/v1/cages", &serving.shell("true")).refused(422, "policy_syntax");
    serving.place.default_cage("fs = [{ ro = \"missing\" }]");
    serving.post("/v1/cages", &serving.shell("true")).refused(422, "path_missing");
    let records = serving.get("/v1/audit?event=sandbox.compile_error");
    assert_eq!(names(&records).len(), 2, "{records:#}");
    assert_eq!(records["records"][0]["error_code"], "policy_syntax");
}

/// T52: a changed log is found over the API as well.
#[test]
fn a_changed_record_is_found() {
    let serving = Serving::new();
    serving.wait(&serving.spawn(&serving.shell("true")));
    assert_eq!(serving.get("/v1/audit/verify")["whole"], true);
    let directory = serving.place.state().join("stockade/audit");
    let files = std::fs::read_dir(directory).unwrap().filter_map(Result::ok);
    let file = files
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let file = file.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("daemon.started", "daemon.starred", 1)).unwrap();
    let verdict = serving.get("/v1/audit/verify");
    assert_eq!(verdict["whole"], false, "{verdict:#}");
    // The command says the same in the same words.
    let mut command = serving.place.stockade();
    let output = command.args(["audit", "verify", "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), said), (Some(1), verdict));
}

/// T52: the daemon does not go on in a log that nobody finds any more.
#[test]
fn nothing_starts_when_the_log_was_moved_away() {
    let serving = Serving::new();
    serving.wait(&serving.spawn(&serving.shell("true")));
    let directory = serving.place.state().join("stockade/audit");
    let elsewhere = directory.with_extension("away");
    std::fs::rename(&directory, &elsewhere).unwrap();
    serving.post("/v1/cages", &serving.shell("true")).refused(503, "record_unavailable");
    std::fs::rename(&elsewhere, &directory).unwrap();
    serving.wait(&serving.spawn(&serving.shell("true")));
}

/// Events come when they happen; a client that was away misses none.
#[test]
fn events_are_followed_and_resumed() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let follow = |query: &str| {
        let url = format!("http://stockade/v1/events{query}");
        serving.curl().args(["-N", &url]).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut curl = follow("?event=subagent");
    let mut events = curl.stdout.take().unwrap();
    read_until(&mut events, ": following");
    let id = serving.spawn(&serving.shell("true"));
    let text = read_until(&mut events, "event: subagent.exit");
    assert!(text.contains("event: subagent.spawn") && text.contains(&id), "{text}");
    let _ended = curl.kill();
    curl.wait().unwrap();
    serving.wait(&serving.spawn(&serving.shell("true")));
    let mut curl = follow("?after=1");
    let text = read_until(&mut curl.stdout.take().unwrap(), "event: subagent.exit");
    assert!(text.contains("id: 2\n"), "{text}");
    let _ended = curl.kill();
    curl.wait().unwrap();
}

/// K240: a log that takes no more is told to everybody whom it concerns: by the end of a program that
/// ran already, by a session that does not begin, and to whoever started the daemon.
#[test]
fn an_end_that_cannot_be_recorded_is_told() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("read line; exit 7");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    serving.post("/v1/sessions", &json!({ "id": "old" })).expect(201);
    std::fs::remove_file(serving.place.state().join("stockade/audit/head")).unwrap();
    let refused = serving.post("/v1/sessions", &json!({ "id": "new" }));
    refused.refused(503, "record_unavailable");
    let sessions = serving.get("/v1/sessions").to_string();
    assert!(sessions.contains("\"old\"") && !sessions.contains("\"new\""), "{sessions}");
    serving.ask("DELETE", "/v1/sessions/old", None).expect(200);
    let mut curl = serving.curl();
    curl.args(["--data-binary", "line\n", &format!("http://stockade/v1/cages/{id}/stdin")]);
    assert!(curl.status().unwrap().success());
    let end = serving.wait(&id)["end"].clone();
    assert_eq!(end["exit_code"], 7, "{end}");
    assert!(end["warnings"].to_string().contains("not on record"), "{end}");
    eventually("the daemon says so", || serving.said().contains(&format!("`{id}`: the end of")));
}

/// K49: what a cage without any network asked about is told over the API as well, and on record.
#[test]
fn a_look_up_without_a_network_is_told() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("getent ahosts wanted.example"));
    let ended = serving.wait(&id);
    assert_eq!(ended["end"]["network"]["denials"][0]["target"], "wanted.example", "{ended}");
    let path = format!("/v1/audit?event=gatekeeper&invocation={id}");
    eventually("the look-up is on record", || names(&serving.get(&path)).len() == 1);
    assert_eq!(serving.get(&path)["records"][0]["hostname"], "wanted.example");
}
