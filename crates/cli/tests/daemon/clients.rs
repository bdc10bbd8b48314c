//! `ps`, `logs`, `kill`, `status`: the daemon's own client, for people.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::serving::{Place, Serving, eventually, read_until, rest_of};

/// K57
#[test]
fn cages_are_listed_killed_and_closed() {
    let serving = Serving::new();
    serving.run_client("ps", &[]).expect_code(0);
    let id = serving.spawn(&serving.shell("echo hello; sleep 60"));
    serving.wait_for_output(&id, "hello");
    let listed = serving.run_client("ps", &[]);
    assert!(listed.stdout.contains(&id) && listed.stdout.contains("running"), "{listed:#?}");
    assert!(listed.stdout.contains(&format!("cage[default@{}", &id[..8])), "{listed:#?}");
    let json: Value = serde_json::from_str(&serving.run_client("ps", &["--json"]).stdout).unwrap();
    assert_eq!(json["cages"][0]["id"], id);
    serving.run_client("kill", &["-s", "KILL", &id]).expect_code(0);
    assert_eq!(serving.wait(&id)["end"]["signal"], 9);
    assert!(!serving.run_client("ps", &[]).stdout.contains(&id));
    assert!(serving.run_client("ps", &["--all"]).stdout.contains("ended 137"));
    serving.run_client("kill", &["--close", &id]).expect_code(0);
    let gone = serving.run_client("kill", &[&id]);
    gone.expect_code(1);
    assert!(gone.stderr.contains("there is no cage"), "{gone:#?}");
}

#[test]
fn logs_are_printed_and_followed() {
    let serving = Serving::new();
    let mut request = serving.shell("echo one; echo err >&2; read x; echo two");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "one");
    eventually("both are there", || serving.output(&id, "stderr") == "err\n");
    let logs = serving.run_client("logs", &[&id]);
    assert_eq!((logs.stdout.as_str(), logs.stderr.as_str()), ("one\n", "err\n"));
    let tail = serving.run_client("logs", &["--tail", "2", &id]);
    assert_eq!((tail.stdout.as_str(), tail.stderr.as_str()), ("e\n", "r\n"));
    let mut command = serving.client("logs", &["-f", &id]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    read_until(&mut output, "one\n");
    serving.post(&format!("/v1/cages/{id}/stdin?close=true"), &json!("x\n"));
    assert_eq!(rest_of(&mut output), "two\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_status_is_told() {
    let serving = Serving::new();
    let status = serving.run_client("status", &[]);
    status.expect_code(0);
    let pid = format!("process {}", serving.pid());
    assert!(status.stdout.contains(&pid) && status.stdout.contains("serving"), "{status:#?}");
    let json: Value =
        serde_json::from_str(&serving.run_client("status", &["--json"]).stdout).unwrap();
    assert_eq!(json["pid"], serving.pid());
}

#[test]
fn without_a_daemon_the_way_to_one_is_told() {
    let place = Place::new();
    for command in ["ps", "status"] {
        let mut stockade = place.stockade();
        stockade.arg(command).arg("--socket").arg(place.socket());
        let output = stockade.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("no daemon serves") && said.contains("stockade serve"), "{said}");
    }
}

/// A program's output does nothing to the terminal of who reads it later, and names are escaped.
#[test]
fn a_list_cannot_be_written_to_by_a_program() {
    let serving = Serving::new();
    let id = serving.spawn(&json!({
        "project": serving.place.project,
        "argv": ["sh", "-c", "sleep 60", "\u{1b}]0;title\u{7}\nline"],
    }));
    let listed = serving.run_client("ps", &[]);
    assert!(!listed.stdout.contains('\u{1b}'), "{listed:#?}");
    assert_eq!(listed.stdout.lines().count(), 2, "{listed:#?}");
    serving.ask("DELETE", &format!("/v1/cages/{id}"), None).expect(200);
}
