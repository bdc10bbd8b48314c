//! A cage from start to end, through the launcher alone: streams, exit status, identity, signals,
//! and what is left afterwards.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use jail::{Child, End, LimitsHolder, ProgramStreams, Report, StartError, Stream};
use plan::Access;
use rustix::event::{PollFd, PollFlags, Timespec};
use support::Prepared;

/// What became of a program.
#[derive(Debug)]
struct Outcome {
    end: End,
    output: String,
    denials: Vec<jail::Denial>,
}

fn streams() -> (ProgramStreams, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let both = writer.try_clone().unwrap();
    let streams = ProgramStreams {
        stdin: Stream::Null,
        stdout: Stream::Descriptor(OwnedFd::from(writer)),
        stderr: Stream::Descriptor(OwnedFd::from(both)),
    };
    (streams, reader)
}

fn until_end(child: &Child) -> Result<(End, Vec<jail::Denial>), jail::SetupFailure> {
    loop {
        match child.next_report().unwrap().expect("pid 1 says how it ends").0 {
            Report::Ended { end, denials, .. } => return Ok((end, denials)),
            Report::Failed(failure) => return Err(failure),
            _ => {}
        }
    }
}

fn run(prepared: &Prepared) -> Result<Outcome, jail::SetupFailure> {
    run_in(None, prepared)
}

/// Runs the program in a cage that starts in these namespaces, or in new ones.
fn run_in(
    premade: Option<jail::Premade>,
    prepared: &Prepared,
) -> Result<Outcome, jail::SetupFailure> {
    let (streams, mut reader) = streams();
    let (plan, sources, limits) = (&prepared.plan, &prepared.sources, LimitsHolder::Nobody);
    let child = match premade {
        Some(premade) => premade.start(plan, sources, streams, limits).unwrap(),
        None => jail::start(plan, sources, streams, limits).unwrap(),
    };
    match child.verify_when_built() {
        Err(StartError::Setup(failure)) => return Err(failure),
        verified => verified.unwrap(),
    }
    // A pid 1 that has already failed cannot hear it; what it reported tells why.
    let _heard = child.open_gate();
    let (end, denials) = until_end(&child)?;
    child.wait_until_gone().unwrap();
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    Ok(Outcome { end, output, denials })
}

fn shell(script: &str) -> Prepared {
    Prepared::new(&["sh", "-c", script])
}

/// K45, K84, K229, K230
fn the_program_has_no_power() {
    let outcome = run(&shell("id -u; id -g; cat /proc/self/status")).unwrap();
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.output);
    assert!(outcome.output.starts_with("1000\n1000\n"), "{}", outcome.output);
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(outcome.output.contains(line), "{line} not in {}", outcome.output);
    }
}

/// K186
fn the_exit_status_is_the_programs() {
    assert_eq!(run(&shell("exit 7")).unwrap().end, End::Exited(7));
    assert_eq!(run(&shell("kill -9 $$")).unwrap().end, End::Signalled(9));
}

/// K183
fn a_program_that_is_not_there_is_named() {
    let failure = run(&Prepared::new(&["no-such-program"])).unwrap_err();
    assert_eq!(failure.step, jail::Step::Execute);
    assert_eq!(failure.subject, "no-such-program");
    assert_eq!(failure.errno(), Some(rustix::io::Errno::NOENT));
}

/// K187, K119
fn a_refused_call_is_named() {
    let outcome = run(&shell("unshare -U true; true")).unwrap();
    let number = plan::seccomp::syscall_number(plan::seccomp::Arch::NATIVE, "unshare").unwrap();
    assert!(
        outcome.denials.iter().any(|denial| denial.number == number && !denial.killed),
        "{:?} {}",
        outcome.denials,
        outcome.output
    );
}

/// K226, V10
fn the_root_is_read_only() {
    let outcome = run(&shell("touch /x; touch /dev/x; touch /tmp/x && echo wrote")).unwrap();
    assert!(outcome.output.contains("wrote"), "{}", outcome.output);
    assert_eq!(outcome.output.matches("Read-only file system").count(), 2, "{}", outcome.output);
}

/// K34, K45, T64
fn a_writable_grant_keeps_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut prepared = shell(&format!("id -u > {0}/made; stat -c %u {0}", path.display()));
    prepared.grant(&path, Access::ReadWrite);
    let outcome = run(&prepared).unwrap();
    assert_eq!(outcome.output, "1000\n");
    assert_eq!(std::fs::read_to_string(path.join("made")).unwrap(), "1000\n");
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(path.join("made")).unwrap());
    assert_eq!(owner, rustix::process::getuid().as_raw());
}

/// V6
fn a_read_only_grant_cannot_be_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    std::fs::write(path.join("file"), "before").unwrap();
    let script = format!(
        "cd {}; echo x > file; chmod 777 file; rm file; mv file f2; touch new; ln file l; cat file",
        path.display()
    );
    let mut prepared = shell(&script);
    prepared.grant(&path, Access::ReadOnly);
    let outcome = run(&prepared).unwrap();
    assert!(outcome.output.ends_with("before"), "{}", outcome.output);
    assert_eq!(std::fs::read_to_string(path.join("file")).unwrap(), "before");
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
}

/// T28, T62
fn nothing_outlives_the_program() {
    let marker = format!("{}", std::process::id() + 7_000_000);
    let script = format!("(setsid sleep {marker} &) ; sleep 0.05; exit 3");
    assert_eq!(run(&shell(&script)).unwrap().end, End::Exited(3));
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.windows(marker.len()).any(|part| part == marker.as_bytes()))
    });
    assert!(!left, "a process of the cage is still alive");
}

/// V17
fn a_view_that_differs_does_not_start() {
    let mut prepared = shell("echo ran");
    prepared.plan.walls.must_not_exist.push(support::guest("/usr/bin"));
    // Many times: pid 1 ends without having read that the gate is open, and still says why.
    for _ in 0..50 {
        let failure = run(&prepared).expect_err("verify refuses");
        assert_eq!(failure.step, jail::Step::Verify);
        assert_eq!(failure.subject, "/usr/bin");
    }
}

/// K185, T54: namespaces that were made for a cage that never came are given back.
fn premade_namespaces_without_a_cage_leave_nothing() {
    let children = || std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let before = children();
    for _ in 0..20 {
        drop(jail::Premade::begin().unwrap());
    }
    let refused = jail::Premade::begin().unwrap();
    let mut prepared = shell("true");
    prepared.plan.version = 0;
    let error = refused.start(
        &prepared.plan,
        &prepared.sources,
        ProgramStreams::null(),
        LimitsHolder::Nobody,
    );
    assert!(matches!(error, Err(jail::StartError::Unsupported(_))), "{error:?}");
    assert_eq!(children(), before);
}

/// V17, K41: a cage is the same in namespaces that were made before it, and nothing of those stays with
/// its supervisor.
fn a_cage_in_premade_namespaces_is_like_any_other() {
    let look = "id -u; cat /proc/self/uid_map; ls /sys/class/net; grep CapBnd /proc/self/status; cut -d ' ' -f 4- /proc/self/mountinfo; stat -c '%n %a %u %g' / /dev /dev/shm /tmp; echo x > /tmp/x; cat /tmp/x";
    let plain = run(&shell(look)).unwrap();
    let prepared = shell(look);
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let outcome = run_in(Some(jail::Premade::begin().unwrap()), &prepared).unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(sorted(&outcome.output), sorted(&plain.output));
    assert_eq!(descriptors(), before);
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

/// K146: a cage starts in its control group, also where its namespaces were made before.
fn a_cage_in_premade_namespaces_starts_in_its_group() {
    let Some(group) = own_group() else {
        return testing::skip("no control group of version 2 can be made here");
    };
    let prepared = shell("true");
    let premade = jail::Premade::begin().unwrap();
    let opened = std::fs::File::open(&group).unwrap();
    let limits = LimitsHolder::Caller { cgroup: Some(opened.as_fd()) };
    let child = premade.start(&prepared.plan, &prepared.sources, ProgramStreams::null(), limits);
    let place = child.as_ref().map(|child| {
        std::fs::read_to_string(format!("/proc/{}/cgroup", child.pid().as_raw_nonzero())).unwrap()
    });
    let place = place.map_err(ToString::to_string);
    drop(child);
    std::fs::remove_dir(&group).unwrap();
    let place = place.unwrap();
    assert!(place.contains(group.file_name().unwrap().to_str().unwrap()), "{place}");
}

/// A new control group of version 2, if this process can make one.
fn own_group() -> Option<std::path::PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let group = format!("stockade-test-{}", std::process::id());
    let group = std::path::Path::new(mount.split(' ').nth(4)?).join(group);
    std::fs::create_dir(&group).ok()?;
    Some(group)
}

/// K41, K47: what is made ahead is new as well.
fn every_namespace_is_new() {
    let names = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
    let script = names.map(|name| format!("readlink /proc/self/ns/{name}")).join(";");
    let outcome = run(&shell(&script)).unwrap();
    let inside: Vec<&str> = outcome.output.lines().collect();
    assert_eq!(inside.len(), names.len(), "{}", outcome.output);
    for (name, inside) in names.iter().zip(inside) {
        let outside = std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
        assert_ne!(inside, outside.to_str().unwrap(), "{name} is the host's");
    }
}

/// K188: counters that go with the last process of a cage are read before that goes.
fn the_first_process_stays_until_it_is_dismissed() {
    let is_gone = |child: &Child, milliseconds: i64| {
        let time = Timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
        let mut process = [PollFd::from_borrowed_fd(child.gone(), PollFlags::IN)];
        rustix::event::poll(&mut process, Some(&time)).unwrap() == 1
    };
    let begin = |script: &str| {
        let prepared = shell(script);
        let (plan, sources) = (&prepared.plan, &prepared.sources);
        let mut child = jail::start(plan, sources, streams().0, LimitsHolder::Nobody).unwrap();
        child.stay_until_dismissed();
        child.verify_when_built().unwrap();
        child.open_gate().unwrap();
        child
    };
    let child = begin("exit 3");
    assert_eq!(until_end(&child).unwrap().0, End::Exited(3));
    assert!(!is_gone(&child, 300));
    // Orders that are too late do not make it go, and no order makes it stay.
    child.signal(libc::SIGTERM).unwrap();
    assert!(!is_gone(&child, 100));
    child.dismiss();
    child.wait_until_gone().unwrap();
    // Nobody has to wait for one that is not dismissed.
    let child = begin("true");
    until_end(&child).unwrap();
    let asked = std::time::Instant::now();
    child.wait_until_gone().unwrap();
    assert!(asked.elapsed() > std::time::Duration::from_millis(500));
    let child = begin("true");
    until_end(&child).unwrap();
    child.kill();
    child.wait_until_gone().unwrap();
}

/// K174: whoever signals a program that has just ended learns that, whatever pid 1 has left unread.
fn a_signal_after_the_end_finds_nobody() {
    for unread in [0, 1, 3] {
        let prepared = shell("sleep 1000");
        let (plan, sources) = (&prepared.plan, &prepared.sources);
        let child = jail::start(plan, sources, streams().0, LimitsHolder::Nobody).unwrap();
        child.verify_when_built().unwrap();
        child.open_gate().unwrap();
        assert!(matches!(child.next_report().unwrap().unwrap().0, Report::Started(_)));
        sys::signal::send(child.pid(), libc::SIGSTOP).unwrap();
        for _ in 0..unread {
            child.signal(libc::SIGUSR1).unwrap();
        }
        child.kill();
        let mut process = [PollFd::from_borrowed_fd(child.gone(), PollFlags::IN)];
        rustix::event::poll(&mut process, None).unwrap();
        for late in 0..3 {
            let sent = child.signal(libc::SIGTERM);
            assert_eq!(sent, Err(rustix::io::Errno::SRCH), "{late} after {unread} unread");
        }
        assert_eq!(child.resume(), Err(rustix::io::Errno::SRCH));
    }
}

/// K132, K216
fn a_killing_call_kills_and_is_named() {
    if !cfg!(target_arch = "x86_64") {
        return testing::skip("the number of the call is that of x86-64");
    }
    if !testing::has("perl") {
        return;
    }
    let script = "perl -e 'syscall(227, 0, 0); print \"alive\"'; echo status $?";
    let outcome = run(&shell(script)).unwrap();
    assert!(outcome.output.contains("status 159"), "{}", outcome.output);
    assert!(outcome.denials.iter().any(|denial| denial.number == 227 && denial.killed));
}

/// K185: whoever takes a cage's mounts down lets go of every granted file system, whether the cage
/// ended by itself or was killed. Comes last: it moves this process into mounts of its own, because
/// other tests compare the host's.
fn a_granted_file_system_is_let_go_of() {
    use rustix::fs::inotify;
    use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
    if !testing::is_root() {
        return testing::skip("only root can mount what a cage is granted");
    }
    sys::clone::enter_new(sys::clone::Namespaces::MOUNT).unwrap();
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).unwrap();
    for is_killed in [false, true] {
        let medium = tempfile::tempdir().unwrap();
        rustix::mount::mount("medium", medium.path(), "tmpfs", MountFlags::empty(), None).unwrap();
        // Tells of the end of the file system, and does not keep it mounted.
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&watch, medium.path(), inotify::WatchFlags::DELETE_SELF).unwrap();
        let mut prepared = shell("sleep 0.1");
        prepared.grant(medium.path(), Access::ReadOnly);
        let child =
            jail::start(&prepared.plan, &prepared.sources, streams().0, LimitsHolder::Nobody)
                .unwrap();
        child.verify_when_built().unwrap();
        child.open_gate().unwrap();
        assert!(matches!(child.next_report().unwrap().unwrap().0, Report::Started(_)));
        if is_killed {
            child.kill();
        }
        child.wait_until_gone().unwrap();
        drop((child, prepared));
        rustix::mount::unmount(medium.path(), UnmountFlags::empty()).unwrap();
        let mut told = [PollFd::new(&watch, PollFlags::IN)];
        let patience = testing::slowly(std::time::Duration::from_secs(10));
        let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: 0 };
        let polled = rustix::event::poll(&mut told, Some(&patience));
        assert_eq!(polled, Ok(1), "it is still mounted, and the cage was killed: {is_killed}");
    }
}

fn main() {
    let tests: &[(&str, fn())] = &[
        ("the_program_has_no_power", the_program_has_no_power),
        ("the_exit_status_is_the_programs", the_exit_status_is_the_programs),
        ("a_program_that_is_not_there_is_named", a_program_that_is_not_there_is_named),
        ("a_refused_call_is_named", a_refused_call_is_named),
        ("the_root_is_read_only", the_root_is_read_only),
        ("a_writable_grant_keeps_its_owner", a_writable_grant_keeps_its_owner),
        ("a_read_only_grant_cannot_be_changed", a_read_only_grant_cannot_be_changed),
        ("nothing_outlives_the_program", nothing_outlives_the_program),
        ("a_view_that_differs_does_not_start", a_view_that_differs_does_not_start),
        (
            "premade_namespaces_without_a_cage_leave_nothing",
            premade_namespaces_without_a_cage_leave_nothing,
        ),
        (
            "a_cage_in_premade_namespaces_is_like_any_other",
            a_cage_in_premade_namespaces_is_like_any_other,
        ),
        (
            "a_cage_in_premade_namespaces_starts_in_its_group",
            a_cage_in_premade_namespaces_starts_in_its_group,
        ),
        ("every_namespace_is_new", every_namespace_is_new),
        (
            "the_first_process_stays_until_it_is_dismissed",
            the_first_process_stays_until_it_is_dismissed,
        ),
        ("a_signal_after_the_end_finds_nobody", a_signal_after_the_end_finds_nobody),
        ("a_killing_call_kills_and_is_named", a_killing_call_kills_and_is_named),
        ("a_granted_file_system_is_let_go_of", a_granted_file_system_is_let_go_of),
    ];
    support::run_single_threaded(tests);
}
