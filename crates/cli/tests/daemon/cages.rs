//! A cage from its start to its end, by plain requests alone.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use daemon::client::ClientError;
use serde_json::{Value, json};

use crate::serving::{Serving, eventually, is_alive};

/// K14, K16, K172, K178, K195: started, shown, waited for, closed.
#[test]
fn a_program_runs_and_its_end_is_told() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("echo out; echo err >&2; exit 3"));
    let cage = serving.wait(&id);
    assert_eq!((&cage["caged"], &cage["cage"]), (&json!(true), &json!("default")));
    assert_eq!((&cage["end"]["exit_code"], &cage["end"]["reason"]), (&json!(3), &json!("exited")));
    assert_eq!(serving.output(&id, "stdout"), "out\n");
    assert_eq!(serving.output(&id, "stderr"), "err\n");
    let listed = serving.get("/v1/cages?state=ended");
    assert_eq!(listed["cages"][0]["id"], id);
    assert_eq!(serving.get("/v1/cages?state=running")["cages"], json!([]));
    let plan = serving.get(&format!("/v1/cages/{id}/plan"));
    assert_eq!(plan["start"]["invocation"], id);
    serving.ask("DELETE", &format!("/v1/cages/{id}"), None).expect(200);
    serving.ask("GET", &format!("/v1/cages/{id}"), None).refused(404, "not_found");
}

/// K16, K174, K196
#[test]
fn signals_reach_the_program_and_closing_ends_it() {
    let serving = Serving::new();
    let line = "trap 'echo usr1' USR1; trap 'echo term; exit 9' TERM; echo ready; \
                while :; do sleep 0.02; done";
    let id = serving.spawn(&serving.shell(line));
    serving.wait_for_output(&id, "ready");
    let path = format!("/v1/cages/{id}/signal");
    serving.post(&path, &json!({ "signal": "USR1" })).expect(200);
    serving.wait_for_output(&id, "usr1");
    serving.post(&path, &json!({ "signal": "nonsense" })).refused(400, "bad_request");
    let pid = serving.get(&format!("/v1/cages/{id}"))["pid"].as_u64().unwrap();
    let closed = serving.ask("DELETE", &format!("/v1/cages/{id}"), None).expect(200);
    assert_eq!(closed["end"]["reason"], "cancelled");
    assert_eq!(closed["end"]["exit_code"], 9);
    assert!(!is_alive(u32::try_from(pid).unwrap()));
}

/// K16, K174: whoever signals a program while it ends is told that it was sent, or that there is none any more.
#[test]
fn a_signal_to_a_program_that_ends_is_sent_or_too_late() {
    let serving = Serving::new();
    let client = daemon::client::Client::at(&serving.place.socket());
    let signal = json!({ "signal": "CONT" });
    for round in 0..60 {
        let path = format!("/v1/cages/{}/signal", serving.spawn(&serving.shell("exit 0")));
        let refused = loop {
            match client.ask("POST", &path, Some(&signal)) {
                Ok(_) => {}
                Err(refused) => break refused,
            }
        };
        let is_conflict =
            matches!(&refused, ClientError::Refused { code, .. } if code == "conflict");
        assert!(is_conflict, "round {round}: {refused:?}");
    }
}

/// K174: what does not end by itself is killed.
#[test]
fn closing_does_not_wait_for_ever() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
    serving.wait_for_output(&id, "ready");
    let closed = serving.ask("DELETE", &format!("/v1/cages/{id}"), None).expect(200);
    assert_eq!(closed["end"]["signal"], 9);
}

/// A wait that is shorter than the program says that it still runs.
#[test]
fn a_wait_can_be_short() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("sleep 30"));
    let cage = serving.get(&format!("/v1/cages/{id}/wait?timeout_ms=100"));
    assert_eq!((&cage["state"], &cage["end"]), (&json!("running"), &Value::Null));
    let path = format!("/v1/cages/{id}/wait?timeout_ms=90000");
    serving.ask("GET", &path, None).refused(400, "bad_request");
    serving.post(&format!("/v1/cages/{id}/signal"), &json!({ "signal": 9 })).expect(200);
    assert_eq!(serving.wait(&id)["end"]["signal"], 9);
    let path = format!("/v1/cages/{id}/signal");
    serving.post(&path, &json!({ "signal": "TERM" })).refused(409, "conflict");
}

/// One request starts a program and waits for its end, as long as it says.
#[test]
fn a_start_can_wait_for_the_end() {
    let serving = Serving::new();
    let cage = serving.post("/v1/cages?wait_ms=30000", &serving.shell("echo out; exit 3"));
    let cage = cage.expect(201);
    assert_eq!((&cage["state"], &cage["end"]["exit_code"]), (&json!("ended"), &json!(3)));
    assert_eq!(serving.output(cage["id"].as_str().unwrap(), "stdout"), "out\n");
    for short in ["wait_ms=100", "wait_ms=0"] {
        let cage = serving.post(&format!("/v1/cages?{short}"), &serving.shell("sleep 1000"));
        let cage = cage.expect(201);
        assert_eq!((&cage["state"], &cage["end"]), (&json!("running"), &Value::Null));
    }
    for wrong in ["wait_ms=90000", "wait_ms=-1", "wait_ms=", "wait=1"] {
        let answer = serving.post(&format!("/v1/cages?{wrong}"), &serving.shell("true"));
        answer.refused(400, "bad_request");
    }
    assert_eq!(serving.get("/v1/cages")["cages"].as_array().unwrap().len(), 3);
}

/// A client that waits for the end and goes away does not end the program.
#[test]
fn who_waits_for_the_end_may_go() {
    let serving = Serving::new();
    let body = serving.shell("echo ready; sleep 1000").to_string();
    let mut stream = UnixStream::connect(serving.place.socket()).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v1/cages?wait_ms=60000 HTTP/1.1\r\nHost: stockade\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let running = || serving.get("/v1/cages?state=running")["cages"].clone();
    eventually("it runs", || running().as_array().unwrap().len() == 1);
    drop(stream);
    let id = running()[0]["id"].as_str().unwrap().to_owned();
    serving.wait_for_output(&id, "ready");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(running()[0]["id"], *id);
}

/// K180, K183, K184: what cannot start is told with its kind.
#[test]
fn what_does_not_start_says_why() {
    let serving = Serving::new();
    let project = &serving.place.project;
    let with = |fields: Value| {
        let mut request = json!({ "project": project, "argv": ["true"] });
        for (name, value) in fields.as_object().unwrap() {
            request[name] = value.clone();
        }
        serving.post("/v1/cages", &request)
    };
    with(json!({ "argv": ["no-such-program"] })).refused(422, "program_not_found");
    with(json!({ "argv": [] })).refused(400, "bad_request");
    with(json!({ "argv": ["a\0b"] })).refused(400, "bad_request");
    with(json!({ "rules": { "ro": ["/no/such/path"] } })).refused(422, "path_missing");
    with(json!({ "cage": "absent" })).refused(422, "policy_invalid");
    with(json!({ "rules": { "net": ["*.*"] } })).refused(400, "bad_request");
    with(json!({ "project": "/no/such/project" })).refused(400, "bad_request");
    with(json!({ "project": "relative" })).refused(400, "bad_request");
    with(json!({ "arguments": [] })).refused(400, "bad_request");
    let misspelt = with(json!({ "ruels": { "rw": ["."] } })).expect(400);
    assert!(misspelt["help"].to_string().contains("did you mean `rules`?"), "{misspelt}");
    with(json!({ "rules": { "hidden": [] } })).refused(400, "bad_request");
    with(json!({ "environment": { "A=B": "x" } })).refused(400, "bad_request");
    with(json!({ "output": { "bytes": 1_000_000_000 } })).refused(400, "bad_request");
    with(json!({ "stdin": "pipe", "terminal": {} })).refused(400, "bad_request");
    with(json!({ "terminal": { "kind": "a b" } })).refused(400, "bad_request");
    with(json!({ "session": "../up" })).refused(400, "bad_request");
    serving.place.default_cage("net.allow = [\"example.com\"]");
    with(json!({})).refused(403, "not_approved");
    serving.place.policy("version = 1\n[cage.default]\nfs = [{ rd = \".\" }]\n");
    let message = with(json!({})).refused(422, "policy_syntax");
    assert!(message.contains("stockade.toml"), "{message}");
    let (running, ended) = {
        let status = serving.get("/v1/status");
        (status["cages"]["running"].clone(), status["cages"]["ended"].clone())
    };
    assert_eq!((running, ended), (json!(0), json!(0)));
}

/// The rules of a request are those of the command line.
#[test]
fn rules_working_directory_and_environment_hold() {
    let serving = Serving::new();
    let deep = serving.place.project.join("deep");
    std::fs::create_dir(&deep).unwrap();
    std::fs::write(deep.join("secret"), "s3cret").unwrap();
    let line = "pwd; cat secret; echo \"$WORD-$OTHER\"; touch made && echo made; \
                cat /proc/self/status | grep -c NoNewPrivs";
    let request = json!({
        "project": serving.place.project,
        "working_directory": deep,
        "environment": { "WORD": "passed", "OTHER": "kept back", "HOME": serving.place.home },
        "rules": { "rw": ["."], "hide": ["secret"], "env": ["WORD"] },
        "argv": ["sh", "-c", line],
    });
    let id = serving.spawn(&request);
    serving.wait(&id);
    let output = serving.output(&id, "stdout");
    assert!(output.contains(deep.to_str().unwrap()), "{output}");
    assert!(output.contains("passed-\n") && output.contains("made"), "{output}");
    assert!(!output.contains("s3cret"), "{output}");
    assert!(deep.join("made").exists());
}

/// K220: what a cage was denied is told while it runs, and the same after its end.
#[test]
fn traffic_is_told_while_a_cage_runs() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("true"));
    assert_eq!(serving.wait(&id)["traffic"], Value::Null);
    let mut request = serving.shell("getent hosts evil.example; echo asked; exec sleep 60");
    request["rules"] = json!({ "net": ["good.example"] });
    let id = serving.spawn(&request);
    let traffic = || serving.get(&format!("/v1/cages/{id}"))["traffic"].clone();
    eventually("the denial is told", || {
        traffic()["denied"].as_u64().is_some_and(|count| count > 0)
    });
    let so_far = traffic();
    serving.post(&format!("/v1/cages/{id}/signal"), &json!({ "signal": "KILL" }));
    let ended = serving.wait(&id);
    assert_eq!(ended["traffic"], so_far, "{ended:#}");
    assert_eq!(ended["end"]["network"]["denied"], so_far["denied"], "{ended:#}");
}

/// K153, K162: limits of a request hold.
#[test]
fn a_program_is_held_to_its_time() {
    let serving = Serving::new();
    let mut request = serving.shell("sleep 60");
    request["rules"] = json!({ "time": "1s" });
    let cage = serving.wait(&serving.spawn(&request));
    assert_eq!(cage["end"]["reason"], "walltime_exceeded", "{cage:#}");
    assert!(cage["end"]["explanation"].is_string());
}

/// T55: a policy that changes, or breaks, changes nothing for a cage that runs; it holds for the next.
#[test]
fn a_changed_policy_never_reaches_a_running_cage() {
    let serving = Serving::new();
    let place = &serving.place;
    std::fs::write(place.project.join("readable"), "one").unwrap();
    place.default_cage("fs = [{ ro = \".\" }]");
    let line =
        "echo ready; while ! test -e go; do cat readable >/dev/null || exit 7; sleep 0.02; done";
    let running = serving.spawn(&serving.shell(line));
    serving.wait_for_output(&running, "ready");
    let before = serving.get(&format!("/v1/cages/{running}"))["plan_hash"].clone();
    place.policy("this is no policy");
    serving.post("/v1/cages", &serving.shell("true")).refused(422, "policy_syntax");
    place.default_cage("fs = [{ rw = \".\" }]");
    let wider = serving.spawn(&serving.shell("touch written"));
    assert_eq!(serving.wait(&wider)["end"]["exit_code"], 0);
    let cage = serving.get(&format!("/v1/cages/{running}"));
    assert_eq!((&cage["plan_hash"], &cage["state"]), (&before, &json!("running")));
    assert_ne!(serving.get(&format!("/v1/cages/{wider}"))["plan_hash"], before);
}

/// K237: parallel clients get cages of their own, and each its own output.
#[test]
fn sixty_four_clients_at_once() {
    let serving = Serving::new();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|number| {
                let serving = &serving;
                scope.spawn(move || {
                    let id = serving.spawn(&serving.shell(&format!("echo number-{number}-")));
                    serving.wait(&id);
                    let output = serving.output(&id, "stdout");
                    assert_eq!(output, format!("number-{number}-\n"));
                    id
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 64);
    assert_eq!(serving.get("/v1/audit/verify")["whole"], true);
}

/// The beginning of an id is enough where it is clear.
#[test]
fn an_id_can_be_abbreviated() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("true"));
    let short = id[..12].to_lowercase();
    assert_eq!(serving.get(&format!("/v1/cages/{short}"))["id"], id);
    serving.ask("GET", &format!("/v1/cages/{}", &id[..3]), None).refused(404, "not_found");
    let _second = serving.spawn(&serving.shell("true"));
    serving.ask("GET", &format!("/v1/cages/{}", &id[..4]), None).refused(409, "conflict");
}

/// K227: what a program plants is quarantined here as after `run`.
#[test]
fn what_was_planted_is_quarantined() {
    let serving = Serving::new();
    let mut request = serving.shell("mkdir -p sub && echo 'all: ; evil' > sub/.envrc");
    request["rules"] = json!({ "rw": ["."] });
    let cage = serving.wait(&serving.spawn(&request));
    let quarantined = cage["end"]["quarantined"].as_array().unwrap();
    assert_eq!(quarantined.len(), 1, "{cage:#}");
    assert!(!serving.place.project.join("sub/.envrc").exists());
}

/// Ended cages go when there are too many, the oldest first; running ones never.
#[test]
fn there_is_a_most_of_cages() {
    let serving = crate::serving::Place::new().serving(&["--most-cages", "2"]);
    let first = serving.spawn(&serving.shell("sleep 60"));
    let _second = serving.spawn(&serving.shell("sleep 60"));
    serving.post("/v1/cages", &serving.shell("true")).refused(429, "too_many");
    serving.ask("DELETE", &format!("/v1/cages/{first}"), None).expect(200);
    eventually("there is room again", || {
        serving.post("/v1/cages", &serving.shell("true")).status == 201
    });
}

/// What the command notes, whoever asks over the API is told too.
#[test]
fn a_rule_that_does_nothing_is_noted() {
    let serving = Serving::new();
    let mut request = serving.shell("true");
    request["rules"] = json!({ "hide": ["secrest"], "env": ["UNSET", "HERE", "SET=1"] });
    request["environment"] = json!({ "HERE": "x" });
    let cage = serving.post("/v1/cages", &request).expect(201);
    let notes = cage["notes"].to_string();
    assert!(notes.contains("nothing to hide at"), "{notes}");
    assert!(notes.contains("`UNSET` is not set here"), "{notes}");
    assert_eq!(notes.matches("is not set").count(), 1, "{notes}");
    let checked = serving.post("/v1/policy/check", &request).expect(200);
    assert_eq!(checked["notes"], cage["notes"]);
}

/// T76: a cage that makes and removes protected names all the time does not keep others from starting.
#[test]
fn names_that_come_and_go_do_not_stop_a_start() {
    let serving = Serving::new();
    let request = |line: &str| {
        let mut request = serving.shell(line);
        request["rules"] = json!({ "rw": ["."] });
        request
    };
    let churn = "echo ready; while [ ! -e stop ]; do echo x > .envrc; rm .envrc; \
                 mkdir -p d/.git/hooks; echo x > d/.git/config; rm -r d; done";
    let other = serving.spawn(&request(churn));
    serving.wait_for_output(&other, "ready");
    let mut started = 0;
    for _ in 0..STARTS {
        let answer = serving.post("/v1/cages", &request("true"));
        let help = answer.body.contains("changes all the time");
        assert!(answer.status == 201 || help, "{}", answer.body);
        started += usize::from(answer.status == 201);
    }
    std::fs::write(serving.place.project.join("stop"), "").unwrap();
    assert!(started > STARTS / 2, "{started}");
}

const STARTS: usize = 16;
