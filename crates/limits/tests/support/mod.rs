//! A process that waits until it is told to go on, as a cage's first process does behind the gate.

pub(crate) mod delegated;

use std::io::{Read, Write};
use std::os::fd::BorrowedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use limits::{Group, Limiter};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;

/// A shell in a group.
pub(crate) struct Held {
    child: Child,
}

impl Held {
    /// Starts a shell that is going to run a script, and has the group adopt it first.
    pub(crate) fn start(group: &mut Group, script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("read go; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if let Err(error) = group.adopt(pid_of(&child)) {
            child.kill().unwrap();
            panic!("{error}");
        }
        Self { child }
    }

    /// Lets it run.
    pub(crate) fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> Pid {
        pid_of(&self.child)
    }

    /// Waits until it and its children have ended, and returns what they printed.
    pub(crate) fn finish(mut self) -> String {
        let mut output = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        self.child.wait().unwrap();
        output
    }
}

pub(crate) fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// An invocation that no other test has.
pub(crate) fn invocation() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test{}n{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A limiter that can hold everything; none, after saying so, where this caller has none.
pub(crate) fn limiter() -> Option<Limiter> {
    let limiter = Limiter::discover();
    let layer = limiter.layer();
    if layer.missing.is_empty() {
        return Some(limiter);
    }
    // Whoever was given no control group has nothing to test.
    let promised = std::env::var_os(DELEGATED).is_some()
        || testing::is_root() && testing::requires_everything();
    assert!(!promised, "{layer:?}");
    only("callers with a control group", &layer.why);
    None
}

/// Set where a control group was delegated to the caller.
pub(crate) const DELEGATED: &str = "STOCKADE_TEST_DELEGATED";

/// Says that a test holds for some callers alone.
pub(crate) fn only(whom: &str, why: &str) {
    testing::skip(format!("only for {whom}: {why}"));
}

/// How long something may take.
pub(crate) fn patience() -> Duration {
    testing::slowly(Duration::from_secs(60))
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < patience(), "never {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a descriptor becomes readable in time.
pub(crate) fn readable(descriptor: BorrowedFd<'_>, longest: Duration) -> bool {
    let timeout = Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&timeout)).unwrap() == 1
}
