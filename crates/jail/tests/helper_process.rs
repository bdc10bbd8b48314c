//! A helper process of our own in its jail: what it can no longer do, and what it still can.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use jail::helper_process::{Confined, HelperFiles, HelperJail, HelperLife, HelperNetwork, confine};
use plan::seccomp::Helper as Kind;
use rustix::io::Errno;
use rustix::process::Pid;
use sys::clone::{Forked, Namespaces, fork_into};

/// A jailed process, and what it said so far.
struct Helper {
    pid: Pid,
    said: std::io::PipeReader,
}

/// As the gatekeeper is jailed.
fn gatekeeper(parent: Pid) -> HelperJail<'static> {
    HelperJail {
        kind: Kind::Gatekeeper,
        life: HelperLife::With(parent),
        network: HelperNetwork::Kept,
        files: HelperFiles::None,
        descriptors: 4096,
    }
}

/// Forks a helper that jails itself, says what `body` returns, and stays.
fn helper(body: impl FnOnce(Confined) -> String) -> Helper {
    let (said, mut says) = std::io::pipe().unwrap();
    let parent = rustix::process::getpid();
    match fork_into(Namespaces::NONE, None).unwrap() {
        Forked::Child => {
            drop(said);
            let text = match confine(&gatekeeper(parent)) {
                Ok(layers) => body(layers),
                Err(failure) => failure.to_string(),
            };
            // Only what the filter knows is left, so the end is a signal from outside.
            let _told = says.write_all(text.as_bytes());
            drop(says);
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Forked::Parent { pid, .. } => Helper { pid, said },
    }
}

impl Helper {
    fn said(&mut self) -> String {
        let mut text = String::new();
        self.said.read_to_string(&mut text).unwrap();
        text
    }

    fn status(&self, field: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap().trim_start_matches(':').trim().to_owned()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _gone = rustix::process::kill_process(self.pid, rustix::process::Signal::KILL);
        let options = rustix::process::WaitOptions::empty();
        let _reaped = rustix::process::waitpid(Some(self.pid), options);
    }
}

/// K72
fn it_has_no_files_and_no_power() {
    let mut helper = helper(|layers| {
        let tries = [
            std::fs::read("/etc/passwd").map(drop),
            std::fs::read_dir("/").map(drop),
            std::fs::write("/new", "x"),
            std::fs::metadata("/").map(drop),
        ];
        let numbers =
            tries.map(|result| result.map_or_else(|error| error.raw_os_error(), |()| None));
        let killed = rustix::process::test_kill_process(Pid::INIT).err();
        format!("{numbers:?} {killed:?} {}", layers.descriptors >= 1024)
    });
    let refused = Some(libc::EPERM);
    let expected = format!("{:?} {:?} true", [refused; 4], Some(Errno::PERM));
    assert_eq!(helper.said(), expected);
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(helper.status(field), "0000000000000000", "{field}");
    }
    assert_eq!(
        (helper.status("NoNewPrivs").as_str(), helper.status("Seccomp").as_str()),
        ("1", "2")
    );
    // T72: nor does its memory go to a helper of the host.
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", helper.pid)).unwrap();
    let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    let hard = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    let most = if hard == Some(0) { "0" } else { "1" };
    assert_eq!(core.split_whitespace().take(2).collect::<Vec<_>>(), [most; 2]);
    let uid = helper.status("Uid");
    let own = rustix::process::getuid().as_raw();
    let ids: Vec<u32> = uid.split_whitespace().map(|id| id.parse().unwrap()).collect();
    if own == 0 {
        assert!(ids.iter().all(|id| (1_900_000_000..2_000_000_000).contains(id)), "{uid}");
        assert_eq!(helper.status("Groups"), "");
    } else {
        assert!(ids.iter().all(|id| *id == own), "{uid}");
    }
}

fn it_keeps_its_network_and_little_else() {
    let mut helper = helper(|_| "jailed".to_owned());
    assert_eq!(helper.said(), "jailed");
    if !rustix::process::getuid().is_root() {
        // It is not to be looked into, not even by who started it.
        let link = std::fs::read_link(format!("/proc/{}/ns/net", helper.pid));
        assert_eq!(link.unwrap_err().raw_os_error(), Some(libc::EACCES));
        return;
    }
    for (name, is_own) in [
        ("net", false),
        ("pid", false),
        ("user", true),
        ("mnt", true),
        ("ipc", true),
        ("uts", true),
    ] {
        let theirs = std::fs::read_link(format!("/proc/{}/ns/{name}", helper.pid)).unwrap();
        let ours = std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
        assert_eq!(theirs != ours, is_own, "{name}");
    }
    let table = std::fs::read_to_string(format!("/proc/{}/mountinfo", helper.pid)).unwrap();
    assert_eq!(table.lines().count(), 1, "{table}");
    assert!(table.contains(" ro,nosuid,nodev,noexec"), "{table}");
}

fn it_dials_and_serves() {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = outside.local_addr().unwrap();
    let given = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = given.local_addr().unwrap();
    let mut helper = helper(move |_| {
        TcpStream::connect(to).unwrap().write_all(b"dialled").unwrap();
        let (mut stream, _) = given.accept().unwrap();
        stream.write_all(b"served").unwrap();
        let listened = TcpListener::bind("127.0.0.1:0").map(drop);
        format!("{:?}", listened.map_err(|error| error.raw_os_error()))
    });
    let mut text = String::new();
    outside.accept().unwrap().0.read_to_string(&mut text).unwrap();
    TcpStream::connect(at).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "dialledserved");
    assert_eq!(helper.said(), format!("Err({:?})", Some(libc::EPERM)));
}

fn it_does_not_start_a_program() {
    let helper = helper(|_| {
        let failed = sys::exec::execute(
            c"/bin/true",
            &sys::exec::CStringArray::new(Vec::new()),
            &sys::exec::CStringArray::new(Vec::new()),
        );
        format!("{failed:?}")
    });
    let options = rustix::process::WaitOptions::empty();
    let (_, status) = rustix::process::waitpid(Some(helper.pid), options).unwrap().unwrap();
    assert_eq!(status.terminating_signal(), Some(libc::SIGSYS));
}

/// K192
fn it_dies_with_its_parent() {
    let (mut said, says) = std::io::pipe().unwrap();
    let parent = match fork_into(Namespaces::NONE, None).unwrap() {
        Forked::Child => {
            let kill = Some(rustix::process::Signal::KILL);
            rustix::process::set_parent_process_death_signal(kill).unwrap();
            let mut helper = helper(|_| "jailed".to_owned());
            let line = format!("{} {}", helper.said(), helper.pid);
            let mut says = says;
            says.write_all(line.as_bytes()).unwrap();
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Forked::Parent { pid, pidfd } => (pid, pidfd),
    };
    drop(says);
    let mut line = [0; 64];
    let length = said.read(&mut line).unwrap();
    let line = std::str::from_utf8(&line[..length]).unwrap().trim().to_owned();
    let helper = line.strip_prefix("jailed ").expect("it was jailed").to_owned();
    rustix::process::kill_process(parent.0, rustix::process::Signal::KILL).unwrap();
    let id = rustix::process::WaitId::PidFd(parent.1.as_fd());
    rustix::process::waitid(id, rustix::process::WaitIdOptions::EXITED).unwrap();
    let until = Instant::now() + testing::slowly(Duration::from_secs(5));
    let is_alive = || {
        let status = std::fs::read_to_string(format!("/proc/{helper}/status"));
        status.is_ok_and(|text| !text.contains("State:\tZ"))
    };
    while is_alive() {
        assert!(Instant::now() < until, "the helper {helper} outlives its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn main() {
    support::run_single_threaded(&[
        ("it_has_no_files_and_no_power", it_has_no_files_and_no_power),
        ("it_keeps_its_network_and_little_else", it_keeps_its_network_and_little_else),
        ("it_dials_and_serves", it_dials_and_serves),
        ("it_does_not_start_a_program", it_does_not_start_a_program),
        ("it_dies_with_its_parent", it_dies_with_its_parent),
    ]);
}
