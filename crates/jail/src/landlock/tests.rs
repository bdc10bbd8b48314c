//! The domain by itself, without the namespaces that stand before it: what it holds in a thread that has
//! entered it, and that the same works in one that has not.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command};

use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use plan::{Access, GuestPath, LandlockPlan, LandlockRule};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::LandlockState;

/// What the thread tries; a domain is a thread's own.
fn in_a_thread<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(body).join().unwrap())
}

fn rules(writable: &Path) -> LandlockPlan {
    let rule = |at: &str, access| LandlockRule { at: GuestPath::new(at).unwrap(), access };
    let writable = writable.to_str().unwrap();
    LandlockPlan { rules: vec![rule("/", Access::ReadOnly), rule(writable, Access::ReadWrite)] }
}

/// Whether the kernel has all that the rules use, as it says itself.
fn kernel_has_all() -> bool {
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create);
    if created.is_err() {
        println!("skipped: landlock: this kernel has no landlock of version 6");
    }
    created.is_ok()
}

/// A process that is not in the domain; ended on drop.
struct Outsider(Child);

impl Outsider {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// T26: it is entered, and says so in full where it is.
#[test]
fn files_are_held() {
    if !kernel_has_all() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (open, closed) = (directory.path().join("open"), directory.path().join("closed"));
    for place in [&open, &closed] {
        std::fs::create_dir(place).unwrap();
        std::fs::write(place.join("file"), "before").unwrap();
    }
    let attempt = || {
        [
            std::fs::write(closed.join("file"), "x"),
            std::fs::write(closed.join("new"), "x"),
            std::fs::remove_file(closed.join("file")),
            std::fs::rename(closed.join("file"), open.join("moved")),
        ]
        .map(|result| result.err().map(|error| error.kind()))
    };
    let state = in_a_thread(|| {
        let state = super::restrict(&rules(&open), &[]).unwrap();
        assert_eq!(attempt()[..3], [Some(ErrorKind::PermissionDenied); 3]);
        assert!(attempt()[3].is_some());
        assert_eq!(std::fs::read_to_string(closed.join("file")).unwrap(), "before");
        std::fs::write(open.join("new"), "x").unwrap();
        state
    });
    assert_eq!(state, LandlockState::Full);
    assert_eq!(attempt()[..3], [None; 3]);
}

/// T19, T26: a process outside gets no signal, by whichever call.
#[test]
fn signals_stay_inside() {
    if !kernel_has_all() {
        return;
    }
    let outsider = Outsider::new();
    let pid = outsider.pid();
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let attempt = || {
        [
            rustix::process::kill_process(pid, Signal::URG),
            sys::raw::signal_thread(pid, libc::SIGURG),
            rustix::process::pidfd_send_signal(&handle, Signal::URG),
        ]
    };
    in_a_thread(|| {
        super::restrict(&rules(&std::env::temp_dir()), &[]).unwrap();
        assert_eq!(attempt(), [Err(Errno::PERM); 3]);
        let own = Outsider::new();
        rustix::process::kill_process(own.pid(), Signal::URG).unwrap();
    });
    assert_eq!(attempt(), [Ok(()); 3]);
}

/// T26, T32: nor is a socket without a path reached that was made outside, connected or not.
#[test]
fn abstract_sockets_stay_inside() {
    if !kernel_has_all() {
        return;
    }
    let address = |kind: &str| {
        let name = format!("stockade-test-{kind}-{}", std::process::id());
        SocketAddr::from_abstract_name(name).unwrap()
    };
    let (stream, datagram, own) = (address("stream"), address("datagram"), address("own"));
    let _listener = UnixListener::bind_addr(&stream).unwrap();
    let _receiver = UnixDatagram::bind_addr(&datagram).unwrap();
    let attempt = || {
        let unbound = UnixDatagram::unbound().unwrap();
        [
            UnixStream::connect_addr(&stream).map(drop),
            unbound.send_to_addr(b"x", &datagram).map(drop),
            unbound.connect_addr(&datagram),
        ]
        .map(|result| result.err().and_then(|error| error.raw_os_error()))
    };
    in_a_thread(|| {
        super::restrict(&rules(&std::env::temp_dir()), &[]).unwrap();
        assert_eq!(attempt(), [Some(libc::EPERM); 3]);
        let _inside = UnixListener::bind_addr(&own).unwrap();
        UnixStream::connect_addr(&own).unwrap();
    });
    assert_eq!(attempt(), [None; 3]);
}
