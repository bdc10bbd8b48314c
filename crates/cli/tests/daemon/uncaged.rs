//! Programs without a cage: `--no-sandbox` and `cage = "disabled"`. Loud, recorded, ended with the
//! daemon, and told of where they outlived it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serving::{Place, Serving, eventually, is_alive};

/// K157, K159, K160, K161, K164
#[test]
fn no_sandbox_overrides_every_cage_and_says_so() {
    let serving = Place::new().serving(&["--no-sandbox"]);
    eventually("it says so", || serving.said().contains("--no-sandbox"));
    assert_eq!(serving.get("/v1/status")["sandbox"], false);
    let outside = serving.place.home.join("outside");
    let id = serving.spawn(&serving.shell(&format!("touch {}", outside.display())));
    let cage = serving.wait(&id);
    assert_eq!((&cage["caged"], &cage["plan_hash"]), (&json!(false), &Value::Null));
    assert!(outside.exists(), "it ran with the daemon's own files");
    serving.ask("GET", &format!("/v1/cages/{id}/plan"), None).refused(409, "conflict");
    let path = format!("/v1/audit?invocation={id}&event=subagent.spawn.uncaged");
    let record = serving.get(&path)["records"][0].clone();
    assert_eq!(record["reason"], "daemon_no_sandbox", "{record:#}");
    assert!(serving.run_client("status", &[]).stderr.contains("WITHOUT"));
    assert!(serving.run_client("ps", &["--all"]).stdout.contains("UNCAGED"));
    eventually("it is told", || serving.said().contains("runs without a cage"));
    // K162
    for rules in
        [json!({ "memory": "64M" }), json!({ "net": ["example.com"] }), json!({ "no_net": true })]
    {
        let mut request = serving.shell("true");
        request["rules"] = rules;
        serving.post("/v1/cages", &request).refused(400, "bad_request");
    }
}

/// K157, K162: a disabled cage keeps its time limit.
#[test]
fn a_disabled_cage_is_the_users_word_and_keeps_its_time() {
    let serving = Serving::new();
    serving.place.configuration("version = 1\n[cage]\nopen = \"disabled\"\n");
    let configured =
        std::fs::read_to_string(serving.place.home.join(".config/stockade/config.toml"));
    assert!(configured.is_ok());
    let mut request = serving.shell("sleep 60");
    request["cage"] = json!("open");
    request["rules"] = json!({ "time": "1s" });
    let answer = serving.post("/v1/cages", &request);
    let id = answer.expect(201)["id"].as_str().unwrap().to_owned();
    let cage = serving.wait(&id);
    assert_eq!(
        (&cage["caged"], &cage["end"]["reason"]),
        (&json!(false), &json!("walltime_exceeded"))
    );
    let path = format!("/v1/audit?invocation={id}&event=subagent.spawn.uncaged");
    assert_eq!(serving.get(&path)["records"][0]["reason"], "dsl_disabled");
}

/// K163: without a cage a program is asked to end with the daemon all the same.
#[test]
fn the_daemons_end_ends_them() {
    let serving = Place::new().serving(&["--no-sandbox"]);
    let id = serving.spawn(&serving.shell("sleep 60"));
    let pid = serving.get(&format!("/v1/cages/{id}"))["pid"].as_u64().unwrap();
    serving.signal(Signal::TERM);
    let (code, said, _place) = serving.end();
    assert_eq!(code, 0, "{said}");
    assert!(!is_alive(u32::try_from(pid).unwrap()));
}

/// K156: one that outlived a killed daemon is told of, and left alone.
#[test]
fn one_that_outlived_its_daemon_is_reported_and_not_killed() {
    let serving = Place::new().serving(&["--no-sandbox"]);
    let id = serving.spawn(&serving.shell("exec sleep 61"));
    let pid = serving.get(&format!("/v1/cages/{id}"))["pid"].as_u64().unwrap();
    let pid = u32::try_from(pid).unwrap();
    serving.signal(Signal::KILL);
    let (_, _, place) = serving.end();
    assert!(is_alive(pid));
    let serving = place.serving(&[]);
    eventually("it is reported", || {
        serving.get("/v1/status")["untracked"].as_array().is_some_and(|found| !found.is_empty())
    });
    let untracked = serving.get("/v1/status")["untracked"][0].clone();
    assert_eq!((&untracked["id"], &untracked["pid"]), (&json!(id), &json!(pid)));
    assert!(serving.said().contains(&pid.to_string()), "{}", serving.said());
    assert!(serving.run_client("status", &[]).stderr.contains(&pid.to_string()));
    assert!(is_alive(pid));
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::KILL).unwrap();
    eventually("it is gone from the list", || serving.get("/v1/status")["untracked"] == json!([]));
}
