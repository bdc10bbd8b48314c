//! Sessions: directories that outlive a cage, ended over the API.

use std::time::Duration;

use serde_json::json;

use crate::serving::{Serving, eventually, eventually_within, has};

/// K38, K163, K177: what one cage keeps the next one finds; the end of the session ends its cages
/// and wipes what they kept.
#[test]
fn scratch_is_kept_for_a_session_and_wiped_at_its_end() {
    let serving = Serving::new();
    let session = serving.post("/v1/sessions", &json!({ "id": "work" })).expect(201);
    assert_eq!((&session["id"], &session["one_run"]), (&json!("work"), &json!(false)));
    serving.post("/v1/sessions", &json!({ "id": "work" })).refused(409, "conflict");
    serving.post("/v1/sessions", &json!({ "id": "Not/A-Name" })).refused(400, "bad_request");
    let in_session = |line: &str| {
        let mut request = serving.shell(line);
        request["session"] = json!("work");
        request["rules"] = json!({ "state": "scratch" });
        serving.spawn(&request)
    };
    serving.wait(&in_session("echo kept > /scratch/file"));
    let second = in_session("cat /scratch/file; sleep 60");
    serving.wait_for_output(&second, "kept");
    let shown = serving.get("/v1/sessions/work");
    assert_eq!(shown["processes"], json!([serving.pid()]), "{shown:#}");
    assert_eq!(serving.get("/v1/cages?session=work&state=running")["cages"][0]["id"], second);
    let ended = serving.ask("DELETE", "/v1/sessions/work", None).expect(200);
    assert_eq!(ended["killed"], 1);
    assert_eq!(serving.wait(&second)["end"]["reason"], "session_ended");
    serving.ask("GET", "/v1/sessions/work", None).refused(404, "not_found");
    serving.ask("DELETE", "/v1/sessions/work", None).refused(404, "not_found");
    let state = serving.place.state().join("stockade/sessions/work");
    assert!(!state.exists());
}

/// A cage with scratch and no session has one of its own, which ends with it.
#[test]
fn scratch_without_a_session_ends_with_the_cage() {
    let serving = Serving::new();
    let mut request = serving.shell("echo x > /scratch/file; echo ready; sleep 60");
    request["rules"] = json!({ "state": "scratch" });
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "ready");
    let sessions = serving.get("/v1/sessions")["sessions"].clone();
    assert_eq!(sessions[0]["one_run"], true, "{sessions:#}");
    serving.ask("DELETE", &format!("/v1/cages/{id}"), None).expect(200);
    eventually("the session is gone", || serving.get("/v1/sessions")["sessions"] == json!([]));
}

/// A session without a name gets one that nobody could guess.
#[test]
fn sessions_get_names() {
    let serving = Serving::new();
    let one = serving.post("/v1/sessions", &json!({})).expect(201);
    let other = serving.ask("POST", "/v1/sessions", None).expect(201);
    assert_ne!(one["id"], other["id"]);
    assert_eq!(serving.get("/v1/sessions")["sessions"].as_array().unwrap().len(), 2);
}

/// The end of a session by somebody else ends the programs in it, and not the daemon.
#[test]
fn a_session_that_the_command_ends_leaves_the_daemon_alone() {
    let serving = Serving::new();
    let mut request = serving.shell("echo ready; sleep 60");
    request["session"] = json!("shared");
    let inside = serving.spawn(&request);
    let outside = serving.spawn(&serving.shell("sleep 60"));
    serving.wait_for_output(&inside, "ready");
    let ended = serving.place.stockade().args(["session", "end", "shared"]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(serving.wait(&inside)["end"]["reason"], "session_ended");
    assert_eq!(serving.get(&format!("/v1/cages/{outside}"))["state"], "running");
    assert_eq!(serving.get("/v1/status")["phase"], "serving");
}

/// Nor when the programs in it end or begin while it is being ended: the signal comes when there is
/// nobody left to whom it could be passed on.
#[test]
fn sessions_that_end_while_programs_come_and_go_leave_the_daemon_alone() {
    let serving = Serving::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut request = serving.shell("exit 0");
    request["session"] = json!("shared");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let client = daemon::client::Client::at(&serving.place.socket());
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let _refused = client.ask("POST", "/v1/cages", Some(&request));
                }
            });
        }
        let client = daemon::client::Client::at(&serving.place.socket());
        for _ in 0..30 {
            let _not_there = client.ask("DELETE", "/v1/sessions/shared", None);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(serving.get("/v1/status")["phase"], "serving", "{}", serving.said());
}

/// A session that is being ended ends, whether or not somebody waits for it, and so does a cage.
#[test]
fn an_end_does_not_need_its_client() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    serving.post("/v1/sessions", &json!({ "id": "one" })).expect(201);
    let mut request = serving.shell("trap '' TERM; echo ready; sleep 60");
    let alone = serving.spawn(&request);
    request["session"] = json!("one");
    let within = serving.spawn(&request);
    for id in [&alone, &within] {
        serving.wait_for_output(id, "ready");
    }
    for path in ["/v1/sessions/one".to_owned(), format!("/v1/cages/{alone}")] {
        let mut curl = serving.curl();
        curl.args(["-X", "DELETE", "--max-time", "0.3", &format!("http://stockade{path}")]);
        assert!(!curl.output().unwrap().status.success(), "{path} ended too soon");
    }
    eventually_within(Duration::from_secs(30), "the session is gone", || {
        !serving.get("/v1/sessions").to_string().contains("\"one\"")
    });
    eventually_within(Duration::from_secs(30), "the cage is forgotten", || {
        serving.ask("GET", &format!("/v1/cages/{alone}"), None).status == 404
    });
}
