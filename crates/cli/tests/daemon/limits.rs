//! Limits where nothing holds them: refused, unless the request takes what there is.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::document::Document;
use crate::serving::{Place, Serving, eventually, has_all, is_root, skip, slowly, stockade_binary};

/// A daemon for which there are no control groups, and `curl` on its socket.
struct Unlimited {
    place: Place,
    daemon: std::process::Child,
}

impl Unlimited {
    fn new() -> Self {
        let place = Place::new();
        let line = format!(
            "umount -R /sys/fs/cgroup; exec '{}' serve --socket '{}'",
            stockade_binary().display(),
            place.socket().display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &line]).current_dir(&place.project);
        command.env("HOME", &place.home).env("XDG_STATE_HOME", place.state());
        let said = std::fs::File::create(place.root().join("said")).unwrap();
        let daemon = command.stdin(Stdio::null()).stderr(said).spawn().unwrap();
        let unlimited = Self { place, daemon };
        let serves = || unlimited.ask("/v1/health", None).1["status"] == "ok";
        eventually("the daemon serves", serves);
        unlimited
    }

    fn ask(&self, path: &str, body: Option<&Value>) -> (u16, Value) {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-w", "\n%{http_code}", "--unix-socket"]).arg(self.place.socket());
        curl.arg(format!("http://stockade{path}"));
        if let Some(body) = body {
            curl.arg("--data-binary").arg(body.to_string());
        }
        let output = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        let (body_text, status) = output.rsplit_once('\n').unwrap();
        let status = status.parse().unwrap();
        if status != 0 {
            let method = if body.is_some() { "POST" } else { "GET" };
            Document::parse(daemon::DOCUMENT).check(method, path, status, body_text);
        }
        (status, serde_json::from_str(body_text).unwrap_or_default())
    }
}

impl Drop for Unlimited {
    fn drop(&mut self) {
        let _ended = self.daemon.kill();
        let _reaped = self.daemon.wait();
    }
}

/// K148, K149, K150, K182, K203: a limit that nobody holds refuses the start; with `degraded_limits` the program
/// starts, the client is told and the record has it.
#[test]
fn limits_that_cannot_be_held_need_the_clients_word() {
    if !is_root() {
        return skip("only root can be without control groups");
    }
    if !has_all(&["unshare", "umount", "curl"]) {
        return;
    }
    let unlimited = Unlimited::new();
    let mut request = json!({
        "project": unlimited.place.project,
        "argv": ["sh", "-c", "ulimit -d"],
        "rules": { "memory": "64M" },
    });
    for refused in [None, Some(json!(false))] {
        if let Some(word) = refused {
            request["degraded_limits"] = word;
        }
        let (status, problem) = unlimited.ask("/v1/cages", Some(&request));
        assert_eq!((status, &problem["code"]), (503, &json!("limits_unavailable")), "{problem:#}");
        assert!(problem["help"].to_string().contains("degraded_limits"), "{problem:#}");
    }
    request["degraded_limits"] = json!(true);
    let (status, cage) = unlimited.ask("/v1/cages", Some(&request));
    assert_eq!(status, 201, "{cage:#}");
    assert!(cage["notes"].to_string().contains("limits are not held in full"), "{cage:#}");
    let id = cage["id"].as_str().unwrap();
    let (_, cage) = unlimited.ask(&format!("/v1/cages/{id}/wait?timeout_ms=30000"), None);
    assert_eq!(cage["end"]["exit_code"], 0, "{cage:#}");
    // What stands in for the limit is there.
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--unix-socket"]).arg(unlimited.place.socket());
    let output = curl.arg(format!("http://stockade/v1/cages/{id}/logs/stdout")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "65536\n");
    let (_, records) = unlimited.ask("/v1/audit?event=subagent.spawn.limits_skipped", None);
    assert_eq!(records["records"].as_array().unwrap().len(), 1, "{records:#}");
    assert_eq!(records["records"][0]["invocation_id"], id, "{records:#}");
    // The operator was warned when the daemon started, and so is who reads the record.
    let said = std::fs::read_to_string(unlimited.place.root().join("said")).unwrap();
    assert!(said.contains("warning: no limit on memory"), "{said}");
    let (_, records) = unlimited.ask("/v1/audit?event=sandbox.limits_not_enforced", None);
    assert_eq!(records["records"].as_array().unwrap().len(), 1, "{records:#}");
    assert!(records["records"][0]["reason"].as_str().unwrap().starts_with("no limit on memory"));
}

/// K149, K203: a daemon says at its start whether limits are held, and says it only where they are not.
#[test]
fn a_daemon_whose_limits_hold_says_nothing_of_them() {
    let serving = Serving::new();
    let layers = serving.get("/v1/doctor")["layers"].clone();
    let limits = layers.as_array().unwrap().iter().find(|layer| layer["name"] == "limits").unwrap();
    let expected = usize::from(limits["state"] != "present");
    let records = serving.get("/v1/audit?event=sandbox.limits_not_enforced")["records"].clone();
    assert_eq!(records.as_array().unwrap().len(), expected, "{limits:#}");
}

/// K204: a limit that a program met without being ended for it is told with what raises it.
#[test]
fn a_limit_that_was_met_is_told() {
    let serving = Serving::new();
    let mut request = serving.shell("for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait; true");
    request["rules"] = json!({ "pids": 5 });
    let answer = serving.post("/v1/cages", &request);
    if answer.status == 503 && !(is_root() && testing::requires_everything()) {
        answer.refused(503, "limits_unavailable");
        return skip("no limits can be held here");
    }
    let id = answer.expect(201)["id"].as_str().unwrap().to_owned();
    let end = serving.wait(&id)["end"].clone();
    assert!(end["warnings"].to_string().contains("limit of 5 processes"), "{end:#}");
}

/// Where the limits hold, the word changes nothing; what is no word is refused.
#[test]
fn the_word_is_true_or_false_and_only_for_starts() {
    let serving = Serving::new();
    let mut request = serving.shell("true");
    for wrong in [json!("true"), json!(1), json!(null), json!(["true"]), json!({})] {
        request["degraded_limits"] = wrong;
        serving.post("/v1/cages", &request).refused(400, "bad_request");
    }
    request["degraded_limits"] = json!(true);
    let cage = serving.post("/v1/cages", &request).expect(201);
    assert_eq!(cage["notes"], json!([]), "{cage:#}");
    let mut rule = serving.shell("true");
    rule["rules"] = json!({ "degraded_limits": true });
    serving.post("/v1/cages", &rule).refused(400, "bad_request");
    let mut check = json!({ "project": serving.place.project, "degraded_limits": true });
    serving.post("/v1/policy/check", &check).refused(400, "bad_request");
    check["path"] = json!(".");
    serving.post("/v1/policy/why", &check).refused(400, "bad_request");
    assert_eq!(serving.get("/v1/cages")["cages"].as_array().unwrap().len(), 1);
}

/// K155: a daemon that was stopped learns of the time and of the end at once, and the end came first.
#[test]
fn a_program_that_ends_in_time_has_kept_it_whoever_looks_later() {
    use rustix::process::Signal;
    let serving = Serving::new();
    let mut request = serving.shell("echo ready; sleep 0.5; exit 4");
    let limit = slowly(Duration::from_secs(2));
    request["rules"] = json!({ "time": format!("{}s", limit.as_secs()) });
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "ready");
    serving.signal(Signal::STOP);
    std::thread::sleep(limit + slowly(Duration::from_secs(1)));
    serving.signal(Signal::CONT);
    let ended = serving.wait(&id);
    assert_eq!(ended["end"]["reason"], "exited", "{ended}");
    assert_eq!(ended["end"]["exit_code"], 4, "{ended}");
}
