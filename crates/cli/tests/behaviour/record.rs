//! The record of runs: what is in it, and that nothing runs without it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Ended, Place, has, has_all, is_root, skip, stockade_binary};

fn events(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["event"].as_str().unwrap()).collect()
}

fn verify(place: &Place) {
    let verified =
        audit::verify(&place.state().join("stockade/audit"), &audit::Expected::default());
    assert!(verified.is_ok(), "{verified:?}");
}

/// K29, K57, K170, K178, K193, K195, K241, V18
#[test]
fn a_run_is_on_record() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]");
    let ended = place.ask(["run", "--json", "--session", "s1", "--", "sh", "-c", "exit 3"]);
    ended.expect_code(3);
    let result: Value = serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    let records = place.records();
    let expected =
        ["session.begun", "sandbox.cage", "subagent.intent", "subagent.spawn", "subagent.exit"];
    assert_eq!(events(&records), expected);
    let [_, cage, intent, spawn, exit] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(cage["effective_cage_hash"], intent["effective_cage_hash"]);
    let grant = format!("grant ro {}", place.project.display());
    let entries = cage["entries"].as_array().unwrap();
    // The owner of root's grants is mapped, and said to be.
    let shows = |entry: &&Value| {
        let entry = entry.as_str().unwrap();
        entry == grant || entry.starts_with("grant ro owner ") && entry.ends_with(&grant[9..])
    };
    assert!(entries.iter().any(|entry| shows(&entry)), "{cage:#}");
    for record in [intent, spawn, exit] {
        assert_eq!(record["invocation_id"], result["invocation"]);
    }
    assert_eq!(intent["effective_cage_hash"], result["plan_hash"]);
    assert_eq!((&intent["argv0"], &intent["caged"]), (&"sh".into(), &true.into()));
    assert_eq!((&spawn["session_id"], &spawn["cage"]), (&"s1".into(), &"default".into()));
    assert!(spawn["cage_summary"].as_str().unwrap().starts_with("cage[default@"), "{spawn}");
    assert_eq!((&exit["exit_code"], &exit["reason"]), (&3.into(), &"exited".into()));
    assert!(exit["duration_ms"].is_u64());
    verify(&place);
}

/// K155, K187, K196, K204, K216
#[test]
fn what_a_program_ran_against_is_on_record() {
    if !has("perl") {
        return;
    }
    let place = Place::new();
    place.shell(&["--time", "1s"], "exec sleep 60").expect_code(124);
    let records = place.records();
    assert_eq!(events(&records)[3..], ["policy.violation", "subagent.killed", "subagent.exit"]);
    assert_eq!((&records[3]["limit"], &records[3]["value"]), (&"walltime".into(), &1.into()));
    assert_eq!(records[4]["reason"], "walltime_exceeded");
    if cfg!(target_arch = "x86_64") {
        let denied = ["run", "--", "perl", "-e", "syscall(101, 0, 0, 0, 0); exit 0"];
        place.ask(denied).expect_code(0);
        let records = place.records();
        let violation = records.iter().rfind(|one| one["event"] == "policy.violation").unwrap();
        assert_eq!(
            (&violation["limit"], &violation["value"]),
            (&"seccomp".into(), &"ptrace".into())
        );
    }
    verify(&place);
}

/// K188, K195
#[test]
fn want_of_memory_is_on_record() {
    if !has("perl") {
        return;
    }
    let place = Place::new();
    let bomb = ["run", "--memory", "32M", "--", "perl", "-e", "$x = 'x' x (200 << 20)"];
    if place.ask(bomb).code == 122 {
        assert!(!is_root() || !testing::requires_everything());
        let records = place.records();
        assert_eq!(events(&records), ["subagent.spawn.failed"]);
        assert_eq!(records[0]["error_code"], "limits_error");
        return skip("no limits can be held here, which is on record");
    }
    let records = place.records();
    assert_eq!(events(&records)[3..], ["policy.violation", "subagent.killed", "subagent.exit"]);
    assert_eq!(
        (&records[3]["limit"], &records[3]["value"]),
        (&"memory".into(), &(32 << 20).into())
    );
    assert_eq!(records[4]["reason"], "oom");
    assert_eq!(records[5]["usage"]["memory_limit"], 32 << 20);
}

/// K180, K183, K184, K202
#[test]
fn starts_that_fail_are_on_record() {
    let place = Place::new();
    place.ask(["run", "--", "no-such-program"]).expect_code(127);
    place.ask(["run", "--ro", "missing", "--", "true"]).expect_code(123);
    let records = place.records();
    let expected =
        ["sandbox.cage", "subagent.intent", "subagent.spawn.failed", "sandbox.compile_error"];
    assert_eq!(events(&records), expected);
    assert_eq!(records[2]["error_code"], "program_not_found");
    assert_eq!(records[3]["error_code"], "path_missing");
    assert!(records[3]["details"].as_str().unwrap().contains("missing"));
    verify(&place);
}

/// K98, K109, K189, K198, K206, T29: refusals are on record as long as there are not too many;
/// what is allowed is not.
#[test]
fn the_network_is_on_record() {
    if !has_all(&["perl", "getent"]) {
        return;
    }
    let place = Place::new();
    let line = "getent hosts evil.example; getent hosts evil.example; exit 0";
    place.shell(&["--net", "good.example"], line).expect_code(0);
    let records = place.records();
    let denied: Vec<&Value> =
        records.iter().filter(|one| one["event"] == "gatekeeper.dns_denied").collect();
    assert!(denied.len() >= 2, "{records:?}");
    assert!(denied.iter().all(|one| one["hostname"] == "evil.example"), "{denied:?}");
    let account = records.iter().find(|one| one["event"] == "gatekeeper.account").unwrap();
    assert_eq!(account["invocation_id"], denied[0]["invocation_id"]);
    assert!(account["dns_denied"].as_u64().unwrap() >= 2);
    let flood = "use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0); \
                 my $to = sockaddr_in(53, inet_aton('127.0.0.1')); my $end = time + 2; \
                 for (my $i = 0; time < $end; $i++) { send($s, pack('n6', $i & 65535, 256, 1, 0, 0, 0) \
                 . \"\\x01x\" . pack('C', length($i)) . $i . \"\\x00\" . pack('n2', 1, 1), 0, $to); }";
    place.ask(["run", "--net", "good.example", "--", "perl", "-e", flood]).expect_code(0);
    let records = place.records();
    let account = records.iter().rfind(|one| one["event"] == "gatekeeper.account").unwrap();
    let of_run: Vec<&Value> = records
        .iter()
        .filter(|one| one["invocation_id"] == account["invocation_id"])
        .filter(|one| one["event"] == "gatekeeper.dns_denied")
        .collect();
    assert!(of_run.len() < 600, "{} records", of_run.len());
    // How many it manages to ask depends on the machine; that each is on record or counted does not.
    let number = |field: &str| usize::try_from(account[field].as_u64().unwrap()).unwrap();
    assert!(number("events_lost") > 0, "{account}");
    assert_eq!(number("dns_denied"), of_run.len() + number("events_lost"), "{account}");
    verify(&place);
}

/// Runs a program where the state directory is a file system of its own, prepared by a line of shell.
/// Only root can make one.
fn run_on(place: &Place, prepare: &str) -> Ended {
    let state = place.state();
    fs::create_dir_all(&state).unwrap();
    let line = format!(
        "cd '{}' && {prepare} && cd - > /dev/null && exec \"$0\" run -- true",
        state.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &line]).arg(stockade_binary());
    command.current_dir(&place.project).env("HOME", &place.home).env("XDG_STATE_HOME", &state);
    Ended::of(command.stdin(Stdio::null()).output().unwrap())
}

/// K171, K240, T54: nothing runs that cannot be recorded.
#[test]
fn a_full_disk_stops_new_cages() {
    if !is_root() {
        return skip("only root can mount a small disk there");
    }
    if !has("unshare") {
        return;
    }
    let place = Place::new();
    let tmpfs = "mount -t tmpfs -o size=96k,mode=700 none . && cd \"$PWD\"";
    run_on(&place, tmpfs).expect_code(0);
    let ended =
        run_on(&place, &format!("{tmpfs} && (head -c 1M /dev/zero > fill; true) 2> /dev/null"));
    ended.expect_code(122).says("No space left on device").says("make room");
    ended.says(place.state().to_str().unwrap());
}

/// K240: a record that takes the start and nothing more ends the program, and does not say that there
/// was none. What the program left is looked for all the same.
#[test]
fn a_disk_that_fills_up_with_the_start_ends_the_program() {
    if !is_root() {
        return skip("only root can mount a small disk there");
    }
    if !has_all(&["unshare", "bash"]) {
        return;
    }
    let place = Place::new();
    let state = place.state();
    fs::create_dir_all(&state).unwrap();
    // Files grow by pages, and a full disk still has room in the last one.
    let line = "\
        mount -t tmpfs -o size=512k,mode=700 none \"$1\" || exit 98
        echo true > what
        for turn in $(seq 60); do
            # The same cage as the last one, which so is described already.
            \"$0\" run --rw . --json=result -- sh ./what || exit 97
            room=$((4096 - $(stat -c %s \"$1/stockade/audit/000001.jsonl\") % 4096))
            if [ $room -ge 560 ] && [ $room -lt 900 ]; then
                (head -c 1M /dev/zero > \"$1/fill\") 2> /dev/null
                echo 'touch .envrc; exec sleep 60' > what
                exec \"$0\" run --rw . --json=result -- sh ./what
            fi
        done
        exit 99";
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-c", line]).arg(stockade_binary()).arg(&state);
    command.current_dir(&place.project).env("HOME", &place.home).env("XDG_STATE_HOME", &state);
    let ended = Ended::of(command.stdin(Stdio::null()).output().unwrap());
    ended.expect_code(137).says("had been started").says("No space left on device");
    let result = fs::read_to_string(place.project.join("result")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["reason"], "record_lost");
    assert_eq!(result["exit_code"], 137);
    assert!(!place.project.join(".envrc").exists(), "{result}");
}

/// K240
#[test]
fn a_read_only_state_stops_new_cages() {
    let place = Place::new();
    let ended = if is_root() {
        run_on(&place, "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"")
    } else {
        fs::create_dir_all(place.state()).unwrap();
        fs::set_permissions(place.state(), fs::Permissions::from_mode(0o500)).unwrap();
        place.shell(&[], "true")
    };
    fs::set_permissions(place.state(), fs::Permissions::from_mode(0o700)).unwrap();
    ended.expect_code(122).says("the record cannot be kept").says("XDG_STATE_HOME");
}

/// T50: a state directory that is not the user's alone is not used.
#[test]
fn odd_state_directories() {
    let place = Place::new();
    let state = place.state().join("stockade");
    fs::create_dir_all(place.state()).unwrap();
    let outside = place.outside();
    symlink(&outside, &state).unwrap();
    place.shell(&[], "true").expect_code(122).says("cannot be trusted").says("a link or a file");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(&state).unwrap();
    fs::write(&state, "").unwrap();
    place.shell(&[], "true").expect_code(122).says("a link or a file");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    place.shell(&[], "true").expect_code(122).says("others may write to it").says("chmod 700");
    fs::remove_dir(&state).unwrap();
    let run = |value: &str| {
        let mut command = place.stockade();
        command.args(["run", "--", "true"]).env("XDG_STATE_HOME", value);
        Ended::of(command.output().unwrap())
    };
    if !is_root() {
        for value in ["relative", "/a/../b", "./x"] {
            run(value).expect_code(0).says("`XDG_STATE_HOME` is ignored");
        }
        run("").expect_code(0);
    }
    run("/proc/self").expect_code(122);
    run("/dev/null").expect_code(122);
    let deep = format!("{}/{}", place.home.display(), "d/".repeat(40));
    run(&deep).expect_code(0);
}

/// K240: a user without any place for a record runs nothing, and hears why.
#[test]
fn no_place_for_a_record() {
    if is_root() {
        return skip("root's record has a place of its own");
    }
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--", "true"]).env_remove("HOME").env_remove("XDG_STATE_HOME");
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(122).says("neither HOME nor XDG_STATE_HOME").says("set XDG_STATE_HOME");
}

/// K237: runs at once make one chain.
#[test]
fn many_runs_make_one_chain() {
    let place = Place::new();
    let children: Vec<_> = (0..12)
        .map(|_| {
            let mut command = place.stockade();
            command.args(["run", "--quiet", "--", "true"]).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let records = place.records();
    assert_eq!(records.iter().filter(|one| one["event"] == "subagent.exit").count(), 12);
    verify(&place);
}

/// K170, T54: the intent of a run is durable whatever becomes of its supervisor, and the chain goes on.
#[test]
fn a_killed_supervisor_leaves_a_whole_record() {
    let place = Place::new();
    for round in 0_u64..20 {
        let mut command = place.stockade();
        command.args(["run", "--quiet", "--", "sleep", "30"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(round * 3));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.shell(&[], "true").expect_code(0);
    verify(&place);
}
