//! The bubblewrap backend, run for real.

use super::support::{Place, has, is_root};

/// K1, K166
#[test]
fn the_same_cage_is_built_by_bubblewrap() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    place.write("file", "contents");
    place.write("hidden/file", "x");
    if is_root() {
        // Without idmapped mounts root's cages see files as strangers do.
        use std::os::unix::fs::PermissionsExt as _;
        for path in [place.home.parent().unwrap(), &place.home, &place.project] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let run = |line: &str| place.shell(&["--backend", "bwrap", "--hide", "hidden"], line);
    run("cat file").expect_code(0).prints("contents");
    let uid = if is_root() { 1000 } else { rustix::process::geteuid().as_raw() };
    run("id -u; hostname").expect_code(0).prints(&format!("{uid}\nstockade-"));
    run("exit 7").expect_code(7);
    run("cat hidden/file").expect_code(1);
    run("touch /x").expect_code(1);
    run("cat /etc/shadow").expect_code(1);
    run("env | grep -c LD_PRELOAD").expect_code(1);
    run("grep Seccomp: /proc/self/status").expect_code(0).prints("2");
    run("unshare -U true").expect_code(1);
    // T72: the filter tells programs that it is so.
    run("grep core /proc/self/limits").expect_code(0).prints(" 1                    1 ");
}

/// K1
#[test]
fn what_it_cannot_do_is_refused() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let flags = ["--backend", "bwrap", "--memory", "64M"];
    place.shell(&flags, "true").expect_code(122).says("bwrap");
}

/// K186: a signal to the command ends the cage.
#[test]
fn it_can_be_ended() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--backend", "bwrap", "--", "sh", "-c", "echo ready; sleep 1000"]);
    let mut run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(run.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(143));
}

/// T9: it gets the standard streams and no other descriptor, and none that is a directory.
#[test]
fn descriptors_of_the_caller_stay_outside() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    place.write("file", "contents");
    let binary = super::support::stockade_binary();
    let run = |redirection: &str, line: &str| {
        let mut shell = std::process::Command::new("sh");
        let script = format!("exec \"$0\" run --backend bwrap -- sh -c '{line}' {redirection}");
        shell.arg("-c").arg(script).arg(&binary).current_dir(&place.project);
        shell.env_clear().env("HOME", &place.home).env("PATH", "/usr/bin:/bin");
        shell.env("XDG_STATE_HOME", place.state());
        super::support::Ended::of(shell.output().unwrap())
    };
    let ended = run("7</ 8<file </dev/null", "ls /proc/self/fd");
    assert_eq!(ended.expect_code(0).stdout, "0\n1\n2\n3\n");
    let ended = run("</", "echo ran");
    assert!(ended.code != 0 && ended.stdout.is_empty(), "{}", ended.stdout);
    ended.says("is a directory, which would be a way out of the cage");
    // Who built a cage is on record.
    let spawned = place.records().into_iter().find(|record| record["event"] == "subagent.spawn");
    let summary = spawned.unwrap()["cage_summary"].as_str().unwrap().to_owned();
    assert!(summary.ends_with("built by bubblewrap"), "{summary}");
}
