//! Files that somebody holds a lease on: whoever opens one has to wait, or is told to come again.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use crate::support::{Ended, Place, has};

/// A process of the host that holds a lease until it is dropped.
struct Holder(Child);

impl Holder {
    fn of(place: &Place, file: &str) -> Self {
        let mut child = Command::new("/usr/bin/python3")
            .args(["-c", LEASE])
            .arg(place.project.join(file))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Asks for a lease and says how that went.
const LEASE: &str = "
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
descriptor = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    print('held', flush=True)
    time.sleep(60)
except OSError as error:
    print(error.strerror, flush=True)
";

fn repository() -> Place {
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/config", "[core]\nhooksPath = tools/hooks\nfsmonitor = tools/monitor.sh\n");
    place.write("tools/monitor.sh", "original");
    place
}

/// T5, T29: a file that can be read must not be one that the host has to wait for.
#[test]
fn a_program_gets_no_lease() {
    if !has("python3") {
        return;
    }
    let place = repository();
    for profile in ["default", "relaxed"] {
        let lease = ["run", "--seccomp", profile, "--", "/usr/bin/python3", "-c", LEASE];
        let ended = place.ask([&lease[..], &[".git/config"]].concat());
        ended.expect_code(0).says("fcntl");
        assert_eq!(ended.stdout, "Operation not permitted\n", "{profile}");
    }
}

/// T5, T6: what configuration names is not known when it cannot be read, so there is no cage.
#[test]
fn configuration_that_cannot_be_read_is_no_empty_one() {
    if !has("python3") {
        return;
    }
    let place = repository();
    let holder = Holder::of(&place, ".git/config");
    let ended = place.shell(&["--rw", "."], "echo x > tools/monitor.sh");
    assert_ne!(ended.code, 0);
    ended.says(".git/config").says("temporarily unavailable");
    assert_eq!(fs::read_to_string(place.project.join("tools/monitor.sh")).unwrap(), "original");
    drop(holder);
    place.shell(&["--rw", "."], "! echo x > tools/monitor.sh").expect_code(0);
}

/// The same where it cannot be read when the run has ended.
#[test]
fn configuration_that_cannot_be_searched_is_told() {
    if !has("python3") {
        return;
    }
    let place = repository();
    let mut command = place.stockade();
    command.args([
        "run",
        "--rw",
        ".",
        "--",
        "sh",
        "-c",
        "echo begun; read line; mkdir tools/hooks",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let _holder = Holder::of(&place, ".git/config");
    running.stdin.take().unwrap().write_all(b"\n").unwrap();
    let ended = Ended::of(running.wait_with_output().unwrap());
    ended.expect_code(0).says(".git/config` was not searched");
}
