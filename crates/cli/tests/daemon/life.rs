//! The daemon's own life: one at a time, ended in order, killed out of order, started again.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::remains::Process;
use crate::serving::{Ended, Place, Serving, eventually, is_alive, is_root, skip};

fn pid_of(serving: &Serving, id: &str) -> u32 {
    let pid = serving.get(&format!("/v1/cages/{id}"))["pid"].as_u64().unwrap();
    u32::try_from(pid).unwrap()
}

#[test]
fn a_second_daemon_is_refused() {
    let serving = Serving::new();
    let second = Ended::of(&serving.place.serve(&[]).output().unwrap());
    second.expect_code(1);
    let first = format!("process {}", serving.pid());
    assert!(second.stderr.contains(&first), "{second:#?}");
    serving.get("/v1/health");
}

/// K163, K190: asked to end, it asks its cages, waits for them and says so.
#[test]
fn a_daemon_that_is_asked_to_end_drains() {
    let serving = Serving::new();
    let file = serving.place.project.join("ended");
    let mut request = serving.shell(
        "trap 'sleep 0.2; echo asked > ended; exit 0' TERM; echo ready; while :; do sleep 0.02; done",
    );
    request["rules"] = json!({ "rw": ["."] });
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "ready");
    let pid = pid_of(&serving, &id);
    serving.signal(Signal::TERM);
    let (code, said, place) = serving.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("draining") && said.contains("stopped"), "{said}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "asked\n");
    assert!(!is_alive(pid) && !place.socket().exists());
    let log = std::fs::read_dir(place.state().join("stockade/audit")).unwrap();
    let text: String = log
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    let last = text.lines().last().unwrap();
    assert!(last.contains("daemon.stopped") && last.contains("\"killed\":1"), "{last}");
    let verified = place.stockade().args(["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

/// A client can ask for the end too; new connections are not taken then.
#[test]
fn a_client_can_have_it_drained() {
    let serving = Serving::new();
    let _id = serving.spawn(&serving.shell("sleep 60"));
    let answer = serving.ask("POST", "/v1/drain", None);
    answer.expect(202);
    let (code, said, _place) = serving.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a client asked"), "{said}");
}

/// A second signal ends at once what does not want to end, and a first one only after its grace.
#[test]
fn a_second_signal_kills_at_once() {
    let (once, twice) = (time_to_end(1), time_to_end(2));
    assert!(twice < once, "{twice:?} and {once:?}");
}

/// How long a daemon with a deaf program takes to end after some signals.
fn time_to_end(signals: usize) -> Duration {
    let serving = Serving::new();
    let line = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let id = serving.spawn(&serving.shell(line));
    serving.wait_for_output(&id, "ready");
    let pid = pid_of(&serving, &id);
    let began = Instant::now();
    serving.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_alive(pid));
    for _ in 1..signals {
        serving.signal(Signal::TERM);
    }
    let (code, said, _place) = serving.end();
    assert_eq!(code, 0, "{said}");
    assert!(!is_alive(pid));
    began.elapsed()
}

/// K156, K219, K239, T54: cages die with a killed daemon; the next one sweeps, tells, and works.
#[test]
fn after_a_kill_the_next_daemon_sweeps_and_works() {
    let serving = Serving::new();
    let mut request = serving.shell("echo x > /scratch/file; echo ready; sleep 60");
    request["rules"] = json!({ "state": "scratch" });
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "ready");
    let pid = pid_of(&serving, &id);
    serving.signal(Signal::KILL);
    let (_, _, place) = serving.end();
    eventually("the cage is dead", || !is_alive(pid));
    assert!(place.socket().exists(), "a killed daemon leaves its socket");
    let serving = place.serving(&[]);
    let swept = serving.get("/v1/status")["swept"].clone();
    let sessions = swept.as_array().unwrap().iter().filter(|one| one["what"] == "session");
    assert_eq!(sessions.count(), 1, "{swept:#}");
    assert!(serving.said().contains("supervisor that is gone"), "{}", serving.said());
    let records = serving.get("/v1/audit?event=sweep")["records"].clone();
    let what = |record: &Value| record["what"] == "session";
    assert_eq!(records.as_array().unwrap().iter().filter(|record| what(record)).count(), 1);
    assert_eq!(serving.get("/v1/sessions")["sessions"], json!([]));
    assert_eq!(serving.get("/v1/audit/verify")["whole"], true);
    serving.wait(&serving.spawn(&serving.shell("true")));
}

/// K219, K239: the control group of a killed daemon's cage is removed by the next one, where such a
/// group could be had.
#[test]
fn control_groups_of_a_killed_daemon_are_swept() {
    let serving = Serving::new();
    let mut request = serving.shell("sleep 60");
    request["rules"] = json!({ "memory": "64M" });
    let answer = serving.post("/v1/cages", &request);
    if answer.status != 201 {
        answer.refused(503, "limits_unavailable");
        return skip("no limits can be held here");
    }
    let id = answer.expect(201)["id"].as_str().unwrap().to_owned();
    serving.signal(Signal::KILL);
    let (_, _, place) = serving.end();
    let serving = place.serving(&[]);
    let swept = serving.get("/v1/status")["swept"].clone();
    // The sweep of another daemon that started at the same moment may have been faster.
    let own =
        swept.as_array().unwrap().iter().filter(|one| {
            one["subject"].as_str().unwrap().to_uppercase().contains(&id.to_uppercase())
        });
    assert!(own.clone().all(|one| one["what"] == "control_group" && one["left"].is_null()));
    let mut again = serving.shell("true");
    again["rules"] = json!({ "memory": "64M" });
    serving.wait(&serving.spawn(&again));
}

/// K192: a launcher that is gone takes every cage with it; the daemon ends so that it is started
/// again.
#[test]
fn without_its_launcher_the_daemon_ends() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("sleep 60"));
    let pid = pid_of(&serving, &id);
    let parent = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let parent = parent.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().to_owned();
    let launcher = Pid::from_raw(parent.parse().unwrap()).unwrap();
    assert_ne!(u32::try_from(launcher.as_raw_nonzero().get()).unwrap(), serving.pid());
    rustix::process::kill_process(launcher, Signal::KILL).unwrap();
    let (code, said, place) = serving.end();
    assert_eq!(code, 122, "{said}");
    assert!(said.contains("launcher"), "{said}");
    assert!(!is_alive(pid));
    let shown = place.stockade().args(["audit", "show", "--json"]).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    let is_kill = |line: &&str| line.contains("\"subagent.killed\"") && line.contains(&id);
    let kill = shown.lines().find(is_kill).unwrap_or_else(|| panic!("no end: {shown}"));
    assert!(kill.contains("\"supervisor_lost\""), "{kill}");
}

/// K192: a daemon that could give no cage a network any more ends as well, and takes its cages with it.
#[test]
fn without_the_launcher_of_gatekeepers_the_daemon_ends() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("sleep 60"));
    let pid = pid_of(&serving, &id);
    let helpers = Process::children(serving.pid());
    // The one that started first is the gatekeepers' alone.
    let first = helpers.iter().min_by_key(|one| one.pid).unwrap();
    assert!(Process::children(first.pid).iter().all(|child| child.pid != pid));
    let launcher = Pid::from_raw(first.pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(launcher, Signal::KILL).unwrap();
    let (code, said, _place) = serving.end();
    assert_eq!(code, 122, "{said}");
    assert!(said.contains("launcher process of gatekeepers"), "{said}");
    assert!(!is_alive(pid));
}

/// The user's configuration has to be right before anything is served.
#[test]
fn a_broken_configuration_is_told_at_once() {
    let place = Place::new();
    place.configuration("version = 1\nnonsense = true\n");
    let refused = Ended::of(&place.serve(&[]).output().unwrap());
    refused.expect_code(123);
    assert!(refused.stderr.contains("nonsense"), "{refused:#?}");
}

/// What the manuals show as a user's configuration is served with, wherever the daemon stands.
#[test]
fn a_configuration_of_the_manuals_is_served_with() {
    let manuals =
        [include_str!("../../../../docs/policy.md"), include_str!("../../../../docs/agents.md")];
    let examples = manuals.iter().flat_map(|manual| manual.split("```toml\n").skip(1));
    let examples = examples.filter_map(|rest| Some(rest.split_once("```")?.0));
    let of_user = |example: &&str| {
        let words = ["[ceiling]", "[network]", "~/"];
        example.starts_with("version") && words.iter().any(|word| example.contains(word))
    };
    let mut count = 0;
    for example in examples.filter(of_user) {
        let place = Place::new();
        place.configuration(example);
        place.serving(&[]).get("/v1/status");
        count += 1;
    }
    assert!(count >= 4, "{count} examples");
    let place = Place::new();
    let text =
        "version = 1\n[cage.notes]\nfs = [{ rw = \".\" }, { ro = \"run\" }, { ro = \"tmp\" }]\n";
    place.configuration(text);
    let serving = place.serving(&[]);
    let missing = serving.post(
        "/v1/cages",
        &serde_json::json!({
            "project": serving.place.project, "cage": "notes", "argv": ["true"],
        }),
    );
    // Each start reads it for its own project.
    assert!(missing.refused(422, "path_missing").contains("/project/run`"));
}

#[test]
fn only_root_serves_the_system() {
    if is_root() {
        return skip("root may serve the system");
    }
    let place = Place::new();
    Ended::of(&place.serve(&["--system"]).output().unwrap()).expect_code(125);
}

#[test]
fn units_are_printed() {
    let place = Place::new();
    for flags in [vec!["--print-unit"], vec!["--print-unit", "--system"]] {
        let printed = Ended::of(&place.serve(&flags).output().unwrap());
        printed.expect_code(0);
        assert!(printed.stdout.contains("Delegate=yes"), "{printed:#?}");
    }
    assert!(!place.socket().exists());
}
