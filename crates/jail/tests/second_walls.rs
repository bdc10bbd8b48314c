//! Walls that stand behind others, each tried alone: the Plan of such a test opens the one before it,
//! or the test does what no supervisor would. A wall that only shows when another has fallen would
//! not be missed otherwise.
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

use std::fs::Permissions;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use jail::{Child, LimitsHolder, ProgramStreams, SetupFailure, StartError, Stream};
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope,
};
use plan::{Access, HostIds, IdentityMap, MountOp};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::io::Errno;
use rustix::process::Gid;
use support::{Prepared, guest};

fn shell(script: &str) -> Prepared {
    Prepared::new(&["sh", "-c", script])
}

/// A cage behind its gate, and what its program will say.
fn start_child(prepared: &Prepared, stdin: Stream) -> (Child, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let streams = ProgramStreams {
        stdin,
        stdout: Stream::Descriptor(OwnedFd::from(writer.try_clone().unwrap())),
        stderr: Stream::Descriptor(OwnedFd::from(writer)),
    };
    let (plan, sources) = (&prepared.plan, &prepared.sources);
    (jail::start(plan, sources, streams, LimitsHolder::Nobody).unwrap(), reader)
}

/// What a program says on both its outputs.
fn said(prepared: &Prepared) -> Result<String, SetupFailure> {
    said_with(prepared, Stream::Null)
}

fn said_with(prepared: &Prepared, stdin: Stream) -> Result<String, SetupFailure> {
    let (child, mut reader) = start_child(prepared, stdin);
    match child.verify_when_built() {
        Err(StartError::Setup(failure)) => return Err(failure),
        verified => verified.unwrap(),
    }
    child.open_gate().unwrap();
    child.wait_until_gone().unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    Ok(text)
}

/// Whether the kernel has landlock with everything that a cage wants of it.
fn has_landlock(test: &str) -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V6));
    let ruleset = ruleset.and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)));
    let is_there = ruleset.and_then(Ruleset::create).is_ok();
    if !is_there {
        println!("skipped: {test}: this kernel's landlock is too old");
    }
    is_there
}

/// T32: a socket of the host's network, which a caller may hand in as a stream, does not lead to the
/// host's abstract sockets.
fn abstract_sockets_of_the_host_are_out_of_reach() {
    if !has_landlock("abstract_sockets_of_the_host_are_out_of_reach") {
        return;
    }
    let name = format!("stockade-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let handed_in = || {
        let flags = rustix::net::SocketFlags::CLOEXEC;
        let (family, kind) = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM);
        rustix::net::socket_with(family, kind, flags, None).unwrap()
    };
    let connect =
        "use Socket; print connect(STDIN, pack('Sa*', AF_UNIX, \"\\0$ARGV[0]\")) ? 'led' : 0 + $!";
    let words = ["perl", "-e", connect, name.as_str()];
    let twin = std::process::Command::new("perl").args(&words[1..]).stdin(handed_in()).output();
    assert_eq!(String::from_utf8(twin.unwrap().stdout).unwrap(), "led");
    let text = said_with(&Prepared::new(&words), Stream::Descriptor(handed_in())).unwrap();
    drop(listener);
    assert_eq!(text, libc::EPERM.to_string());
}

/// K45: whoever made the Plan, no id of root is mapped.
fn a_plan_with_roots_id_is_refused() {
    let other = HostIds { uid: 1_900_000_123, gid: 1_900_000_123 };
    for host in [HostIds { uid: 0, ..other }, HostIds { gid: 0, ..other }] {
        let mut prepared = shell("true");
        prepared.plan.walls.identity.map = IdentityMap::Unowned;
        prepared.plan.start.unowned = host;
        refuses(&prepared);
    }
    for (uid, gid) in [(0, 1000), (1000, 0)] {
        let mut prepared = shell("true");
        (prepared.plan.walls.identity.uid, prepared.plan.walls.identity.gid) = (uid, gid);
        refuses(&prepared);
    }
}

fn refuses(prepared: &Prepared) {
    let (plan, sources) = (&prepared.plan, &prepared.sources);
    let refused = jail::start(plan, sources, ProgramStreams::null(), LimitsHolder::Nobody);
    assert!(matches!(refused, Err(StartError::Unsupported(_))), "{refused:?}");
}

/// K45: a group that root is in opens nothing to a cage of root's.
fn groups_of_the_caller_are_left_behind() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: groups_of_the_caller_are_left_behind: a user cannot change its groups");
        return;
    }
    let before = rustix::process::getgroups().unwrap();
    rustix::thread::set_thread_groups(&[Gid::from_raw(4242)]).unwrap();
    let text = said(&shell("grep Groups: /proc/self/status"));
    rustix::thread::set_thread_groups(&before).unwrap();
    assert_eq!(text.unwrap().trim(), "Groups:");
}

/// K226, T15: no mount knows set-id bits; of devices, only those that are one; settings of the
/// kernel are read-only.
fn mounts_have_their_restrictions() {
    let text = said(&shell("cat /proc/self/mountinfo")).unwrap();
    let mut places = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (at, options) = (fields[4], fields[5].split(',').collect::<Vec<&str>>());
        assert!(options.contains(&"nosuid"), "{line}");
        assert!(options.contains(&"nodev") || ["/dev/null", "/dev/pts"].contains(&at), "{line}");
        assert!(at != "/proc/sys" || options.contains(&"ro"), "{line}");
        places.push(at);
    }
    assert!(places.contains(&"/proc/sys"), "{text}");
}

/// V15: a node that leads to a device of the host leads nowhere, whoever may open it.
fn a_device_in_a_grant_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let node = path.join("zero");
    let made = mknodat(CWD, &node, FileType::CharacterDevice, Mode::RUSR, makedev(1, 5));
    if made == Err(Errno::PERM) {
        println!("skipped: a_device_in_a_grant_cannot_be_opened: no device can be made here");
        return;
    }
    made.unwrap();
    std::fs::set_permissions(&node, Permissions::from_mode(0o666)).unwrap();
    assert!(std::fs::File::open(&node).unwrap().read(&mut [1]).is_ok_and(|count| count == 1));
    let mut prepared = shell(&format!("head -c 1 {} | wc -c", node.display()));
    prepared.grant(&path, Access::ReadWrite);
    let text = said(&prepared).unwrap();
    assert!(text.contains("Permission denied") && text.ends_with("0\n"), "{text}");
}

/// T15: what the kernel shows of the host is covered where the Plan says so.
fn files_of_the_kernel_are_covered() {
    let mut prepared = shell("cat /proc/version; wc -c < /proc/version");
    prepared.plan.walls.mounts.push(MountOp::MaskIfPresent { at: guest("/proc/version") });
    assert_eq!(said(&prepared).unwrap(), "0\n");
}

/// T2: what a user's path leads to when it is looked up again must be what was resolved.
fn a_path_that_was_swapped_is_refused() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: a_path_that_was_swapped_is_refused: root looks no path up again");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut prepared = shell("true");
    prepared.grant(&directory.path().canonicalize().unwrap(), Access::ReadOnly);
    prepared.plan.walls.sources.last_mut().unwrap().inode += 1;
    let failure = said(&prepared).unwrap_err();
    assert_eq!(failure.step, jail::Step::Mount, "{failure}");
}

/// V17: the host's own mount table is no cage's.
fn a_table_that_differs_is_refused() {
    let (child, _reader) = start_child(&shell("true"), Stream::Null);
    let table = OwnedFd::from(std::fs::File::open("/proc/self/mountinfo").unwrap());
    let refused = child.verify(&[table]);
    assert!(matches!(refused, Err(StartError::Setup(_))), "{refused:?}");
    assert_eq!(child.open_gate(), Err(Errno::BUSY));
}

/// V17: a supervisor that has not looked at the mount table starts nothing.
fn the_gate_stays_shut_until_the_cage_is_verified() {
    let (child, _reader) = start_child(&shell("true"), Stream::Null);
    assert_eq!(child.open_gate(), Err(Errno::BUSY));
    child.verify_when_built().unwrap();
    child.open_gate().unwrap();
}

fn main() {
    support::run_single_threaded(&[
        (
            "abstract_sockets_of_the_host_are_out_of_reach",
            abstract_sockets_of_the_host_are_out_of_reach,
        ),
        ("a_plan_with_roots_id_is_refused", a_plan_with_roots_id_is_refused),
        ("groups_of_the_caller_are_left_behind", groups_of_the_caller_are_left_behind),
        ("mounts_have_their_restrictions", mounts_have_their_restrictions),
        ("a_device_in_a_grant_cannot_be_opened", a_device_in_a_grant_cannot_be_opened),
        ("files_of_the_kernel_are_covered", files_of_the_kernel_are_covered),
        ("a_path_that_was_swapped_is_refused", a_path_that_was_swapped_is_refused),
        ("a_table_that_differs_is_refused", a_table_that_differs_is_refused),
        (
            "the_gate_stays_shut_until_the_cage_is_verified",
            the_gate_stays_shut_until_the_cage_is_verified,
        ),
    ]);
}
