//! The same request by the command, by the daemon and by a program that embeds the library: the same kind of failure, the same records.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::serving::Place;

/// What came of a request: how it ended or why it did not start, and what is on record.
#[derive(Debug, PartialEq)]
struct Came {
    /// The kind of failure, or the reason of the end; the program's status is in the record.
    to: String,
    events: Vec<(String, Value)>,
}

/// A request in all forms.
struct Asked {
    /// Words in the default cage of the project's policy, or a whole policy.
    policy: &'static str,
    /// For `stockade run`, before the program.
    flags: Vec<String>,
    /// Beside `project` and `argv` in a body.
    fields: Value,
    argv: &'static [&'static str],
    no_sandbox: bool,
}

impl Asked {
    fn new(flags: &[&str], fields: Value, argv: &'static [&'static str]) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Self { policy: "", flags, fields, argv, no_sandbox: false }
    }

    fn place(&self) -> Place {
        let place = Place::new();
        if self.policy.starts_with("version") {
            place.policy(self.policy);
        } else if !self.policy.is_empty() {
            place.default_cage(self.policy);
        }
        place
    }

    fn by_command(&self) -> Came {
        let place = self.place();
        let mut command = place.stockade();
        command.args(["run", "--json"]).args(&self.flags);
        if self.no_sandbox {
            command.arg("--no-sandbox");
        }
        let output = command.arg("--").args(self.argv).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let result: Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
        let to = match result["error"]["code"].as_str() {
            Some(kind) => kind.to_owned(),
            None => result["reason"].as_str().unwrap().to_owned(),
        };
        let mut show = place.stockade();
        let records = of_starts(&lines(show.args(["audit", "show", "--json"])));
        // What has a record has the name that the result tells.
        for (_, record) in &records {
            assert_eq!(record["invocation_id"], result["invocation"], "{result:#}");
        }
        Came { to, events: compared(records) }
    }

    fn by_daemon(&self) -> Came {
        let flags: &[&str] = if self.no_sandbox { &["--no-sandbox"] } else { &[] };
        let serving = self.place().serving(flags);
        let mut body = json!({ "project": serving.place.project, "argv": self.argv });
        for (name, value) in self.fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = serving.post("/v1/cages", &body);
        let told: Value = serde_json::from_str(&answer.body).unwrap();
        let to = match told["id"].as_str() {
            Some(id) => serving.wait(id)["end"]["reason"].as_str().unwrap().to_owned(),
            None => told["code"].as_str().unwrap().to_owned(),
        };
        let records = serving.get("/v1/audit")["records"].as_array().unwrap().clone();
        Came { to, events: compared(of_starts(&records)) }
    }
}

impl Asked {
    /// By a program that has nothing but the library.
    fn by_library(&self) -> Came {
        let place = self.place();
        let mut asked = self.fields.clone();
        asked["project"] = place.project.to_str().unwrap().into();
        asked["argv"] = json!(self.argv);
        asked["no_sandbox"] = self.no_sandbox.into();
        let output = place.command(&embedding()).arg(asked.to_string()).output().unwrap();
        let to = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut show = place.stockade();
        let records = of_starts(&lines(show.args(["audit", "show", "--json"])));
        Came { to, events: compared(records) }
    }
}

/// The example, which is built with all tests of the package and copied where they are.
fn embedding() -> std::path::PathBuf {
    let own = std::env::current_exe().unwrap();
    let directory = own.parent().unwrap();
    let places = [directory.join("embed"), directory.join("../examples/embed")];
    let found = places.into_iter().find(|place| place.exists());
    assert!(found.is_some(), "`cargo build -p stockade-cli --example embed` builds it");
    found.unwrap()
}

fn lines(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of a start, by their events.
fn of_starts(records: &[Value]) -> Vec<(String, Value)> {
    let of_start = |record: &&Value| record["invocation_id"].is_string();
    let named = |record: &Value| (record["event"].as_str().unwrap().to_owned(), record.clone());
    records.iter().filter(of_start).map(named).collect()
}

/// What of a record does not differ from start to start.
fn compared(records: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let same =
        ["error_code", "reason", "exit_code", "limit", "value", "caged", "reduced_isolation"];
    let kept = |record: &Value| same.iter().map(|name| record[*name].clone()).collect::<Value>();
    records.iter().map(|(event, record)| (event.clone(), kept(record))).collect()
}

/// K160, K180, K181, K182, K183, K184, K186: twenty requests, good and bad.
#[test]
fn the_command_the_daemon_and_the_library_agree() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let with_policy = |policy, asked: Asked| Asked { policy, ..asked };
    let uncaged = |asked: Asked| Asked { no_sandbox: true, ..asked };
    let rules = |rules: Value| json!({ "rules": rules });
    let plain = || Asked::new(&[], json!({}), &["true"]);
    let requests = [
        plain(),
        Asked::new(&[], json!({}), &["sh", "-c", "exit 7"]),
        Asked::new(&[], json!({}), &["sh", "-c", "kill -KILL $$"]),
        Asked::new(&[], json!({}), &["no-such-program"]),
        Asked::new(&[], json!({}), &["/etc/passwd"]),
        Asked::new(&["--ro", "missing"], rules(json!({ "ro": ["missing"] })), &["true"]),
        Asked::new(&["--cage", "absent"], json!({ "cage": "absent" }), &["true"]),
        Asked::new(&["--time", "1s"], rules(json!({ "time": "1s" })), &["sleep", "60"]),
        Asked::new(&["--seccomp", "relaxed"], rules(json!({ "seccomp": "relaxed" })), &["true"]),
        Asked::new(&["--publish", &port], rules(json!({ "publish": [port] })), &["true"]),
        Asked::new(
            &["--net", "good.example"],
            rules(json!({ "net": ["good.example"] })),
            &["true"],
        ),
        Asked::new(&["--memory", "lots"], rules(json!({ "memory": "lots" })), &["true"]),
        Asked::new(&["--rw", "."], rules(json!({ "rw": ["."] })), &["sh", "-c", "echo x > .envrc"]),
        with_policy("fss = 1", plain()),
        with_policy("fs = [{ ro = \"missing\" }]", plain()),
        with_policy("net.allow = [\"example.com:443\"]", plain()),
        with_policy("fs = [{ ro = \"/etc\" }]", plain()),
        with_policy("version = 1\n[cage]\ndefault = \"disabled\"\n", plain()),
        uncaged(Asked::new(&[], json!({}), &["sh", "-c", "exit 3"])),
        uncaged(Asked::new(&["--time", "1s"], rules(json!({ "time": "1s" })), &["sleep", "60"])),
        uncaged(Asked::new(&[], json!({}), &["no-such-program"])),
        uncaged(Asked::new(&["--memory", "64M"], rules(json!({ "memory": "64M" })), &["true"])),
        Asked::new(
            &["--capability", "net:x.example:1"],
            json!({ "capabilities": ["net:x.example:1"] }),
            &["true"],
        ),
    ];
    for asked in requests {
        let (command, mut daemon) = (asked.by_command(), asked.by_daemon());
        let leaves = asked.argv.concat().contains(".envrc");
        let has_finding = command.events.iter().any(|(event, _)| event == "quarantine.finding");
        assert_eq!(has_finding, leaves, "{command:#?}");
        // HTTP has a word of its own for what makes no sense.
        if daemon.to == "bad_request" {
            daemon.to = "usage".to_owned();
        }
        assert_eq!(command, daemon, "{:?} {:?} {:?}", asked.policy, asked.flags, asked.argv);
        let library = asked.by_library();
        assert_eq!(command, library, "{:?} {:?} {:?}", asked.policy, asked.flags, asked.argv);
    }
}

/// K182: limits that nobody can hold have the same kind.
#[test]
fn they_agree_about_limits() {
    let asked =
        Asked::new(&["--memory", "64M"], json!({ "rules": { "memory": "64M" } }), &["true"]);
    let (command, daemon) = (asked.by_command(), asked.by_daemon());
    assert_eq!(command.to, daemon.to);
    assert_eq!(command, asked.by_library());
    let expected =
        if rustix::process::geteuid().is_root() { "exited" } else { "limits_unavailable" };
    // Where a user has a part of the control groups, they hold.
    assert!([expected, "exited"].contains(&command.to.as_str()), "{command:?}");
    assert_eq!(command.events, daemon.events);
}
