//! Cages for callers with many threads: one launcher, many at once, each with its own view.
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
use std::os::fd::OwnedFd;
use std::sync::Barrier;

use jail::launcher::Launcher;
use jail::{End, LimitsHolder, ProgramStreams, Report, Stream};
use plan::{Access, MountOp};
use rustix::process::{Resource, Rlimit, WaitOptions};
use support::Prepared;
use sys::clone::{Forked, Namespaces, fork_into};

fn run(launcher: &Launcher, prepared: &Prepared) -> (End, String) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let streams = ProgramStreams {
        stdin: Stream::Null,
        stdout: Stream::Descriptor(OwnedFd::from(writer)),
        stderr: Stream::Null,
    };
    let child = launcher
        .start_cage(&prepared.plan, &prepared.sources, streams, LimitsHolder::Nobody)
        .unwrap();
    child.verify_when_built().unwrap();
    child.open_gate().unwrap();
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    loop {
        match child.next_report().unwrap().expect("pid 1 reports").0 {
            Report::Ended { end, .. } => return (end, output),
            Report::Failed(failure) => panic!("{failure}"),
            _ => {}
        }
    }
}

/// V8, K237
fn cages_started_at_once_see_only_their_own() {
    let launcher = Launcher::start(None).unwrap();
    start_at_once(&[&launcher; 16]);
}

/// V8: ten threads at once, each with a launcher of its own.
fn cages_of_ten_launchers_see_only_their_own() {
    let launchers: Vec<Launcher> = (0..10).map(|_| Launcher::start(None).unwrap()).collect();
    start_at_once(&launchers.iter().collect::<Vec<_>>());
}

/// Starts a cage in a thread for each of the launchers, fifty times.
fn start_at_once(launchers: &[&Launcher]) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let barrier = Barrier::new(launchers.len());
    for _ in 0..50 {
        std::thread::scope(|scope| {
            for (number, launcher) in launchers.iter().enumerate() {
                let own = root.join(format!("cage-{number}"));
                let (barrier, root) = (&barrier, &root);
                scope.spawn(move || {
                    std::fs::create_dir_all(&own).unwrap();
                    let script = format!("ls {}; pwd; ls /proc | grep -c '^[0-9]'", root.display());
                    let mut prepared = Prepared::new(&["sh", "-c", &script]);
                    prepared.grant(&own, Access::ReadOnly);
                    barrier.wait();
                    let (end, output) = run(launcher, &prepared);
                    assert_eq!(end, End::Exited(0));
                    let first = output.lines().next();
                    assert_eq!(first, Some(format!("cage-{number}").as_str()), "{output}");
                    assert_eq!(output.lines().count(), 3, "{output}");
                });
            }
        });
    }
}

/// K185
fn a_launcher_survives_what_it_cannot_do() {
    let launcher = Launcher::start(None).unwrap();
    let mut broken = Prepared::new(&["true"]);
    broken.plan.version = 99;
    assert!(
        launcher
            .start_cage(&broken.plan, &broken.sources, ProgramStreams::null(), LimitsHolder::Nobody)
            .is_err()
    );
    let mut fewer = Prepared::new(&["true"]);
    fewer.sources.pop();
    assert!(
        launcher
            .start_cage(&fewer.plan, &fewer.sources, ProgramStreams::null(), LimitsHolder::Nobody)
            .is_err()
    );
    assert_eq!(run(&launcher, &Prepared::new(&["sh", "-c", "exit 4"])).0, End::Exited(4));
}

/// K43, K156: the cage ends with the process that asked for it, and with its launcher.
fn a_cage_ends_with_its_launcher() {
    let launcher = Launcher::start(None).unwrap();
    let prepared = Prepared::new(&["sleep", "1000"]);
    let child = launcher
        .start_cage(&prepared.plan, &prepared.sources, ProgramStreams::null(), LimitsHolder::Nobody)
        .unwrap();
    child.verify_when_built().unwrap();
    child.open_gate().unwrap();
    while !matches!(child.next_report().unwrap(), Some((Report::Started(_), _))) {}
    drop(launcher);
    child.wait_until_gone().unwrap();
}

/// K185, T54: a launcher keeps nothing of the cages that it gave away.
fn a_launcher_keeps_no_descriptor_of_a_cage() {
    let launcher = Launcher::start(None).unwrap();
    let open = || {
        let descriptors = format!("/proc/{}/fd", launcher.pid().as_raw_nonzero());
        std::fs::read_dir(descriptors).unwrap().count()
    };
    let prepared = Prepared::new(&["true"]);
    for _ in 0..20 {
        run(&launcher, &prepared);
    }
    // Its socket and three streams, and root's has the mounts that cages begin with. It lets go of the last cage when it has answered, which a program
    // can outrun.
    let deadline = std::time::Instant::now() + testing::slowly(std::time::Duration::from_secs(10));
    let kept = if rustix::process::geteuid().is_root() { 6 } else { 4 };
    while open() != kept {
        assert!(std::time::Instant::now() < deadline, "{} descriptors are open", open());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// K185: nothing that a launcher opens can be where a program's standard streams go, however few
/// descriptors a request brings.
fn a_launcher_has_its_standard_streams_taken() {
    let launcher = Launcher::start(None).unwrap();
    run(&launcher, &Prepared::new(&["true"]));
    for number in 0..3 {
        let path = format!("/proc/{}/fd/{number}", launcher.pid().as_raw_nonzero());
        assert_eq!(std::fs::read_link(path).unwrap().to_str(), Some("/dev/null"));
    }
}

/// T51, K237: more sources than fit in one packet arrive in order, and more than the caller may have
/// descriptors for; the program gets the caller's limit.
fn many_grants_arrive_in_order() {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let limit = Rlimit { current: Some(1000), ..before };
    rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
    let launcher = Launcher::start(None).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let mut prepared = Prepared::new(&[
        "sh",
        "-c",
        &format!("cat {}/*/name | sort -n | uniq | wc -l; ulimit -Sn", root.display()),
    ]);
    for number in 0..600 {
        let own = root.join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("name"), format!("{number}\n")).unwrap();
        prepared.grant(&own, Access::ReadOnly);
    }
    assert_eq!(run(&launcher, &prepared), (End::Exited(0), "600\n1000\n".to_owned()));
    rustix::process::setrlimit(Resource::Nofile, before).unwrap();
}

/// K185: a cage cannot be told from those that its launcher started before.
fn cages_of_one_kind_are_alike() {
    let launcher = Launcher::start(None).unwrap();
    let show = "cut -d' ' -f5,6 /proc/self/mountinfo | sort; ls -RF /dev /tmp; ls -F /; ls /proc/kcore -l;
                echo own >/tmp/own; touch /new /dev/new /usr/new 2>&1; rm /bin 2>&1; cat /tmp/own /proc/kcore";
    let prepared = Prepared::new(&["sh", "-c", show]);
    let first = run(&launcher, &prepared);
    assert!(first.1.contains("Read-only file system") && first.1.ends_with("own\n"), "{}", first.1);
    for turn in 0..12 {
        assert_eq!(run(&launcher, &prepared), first, "turn {turn}");
    }
}

/// V8: what covers the paths of one cage is no file of another.
fn masks_are_a_cages_own() {
    let launcher = Launcher::start(None).unwrap();
    let hold = "exec 9</proc/keys; flock -n 9 && echo locked; read _";
    let mut first = Prepared::new(&["sh", "-c", hold]);
    first.plan.walls.mounts.push(MountOp::MaskIfPresent { at: support::guest("/proc/keys") });
    let (mut output, inside) = std::io::pipe().unwrap();
    let (input, mut end) = std::io::pipe().unwrap();
    let streams = ProgramStreams {
        stdin: Stream::Descriptor(input.into()),
        stdout: Stream::Descriptor(inside.into()),
        stderr: Stream::Null,
    };
    let (plan, sources) = (&first.plan, &first.sources);
    let child = launcher.start_cage(plan, sources, streams, LimitsHolder::Nobody).unwrap();
    child.verify_when_built().unwrap();
    child.open_gate().unwrap();
    let mut said = [0; 7];
    output.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"locked\n");
    for _ in 0..4 {
        let mut other = Prepared::new(&["sh", "-c", "flock -n /proc/keys echo free"]);
        other.plan.walls.mounts.push(MountOp::MaskIfPresent { at: support::guest("/proc/keys") });
        assert_eq!(run(&launcher, &other).1, "free\n");
    }
    std::io::Write::write_all(&mut end, b"\n").unwrap();
}

/// K185: a launcher does not leave a root that its caller was put into. In one the kernel gives nobody a user
/// namespace, so it starts no cages.
fn a_launcher_in_a_root_of_its_own_stays_there() {
    if !testing::is_root() {
        return testing::skip("only root can enter another root");
    }
    let directory = tempfile::tempdir().unwrap();
    let Forked::Parent { pid, .. } = fork_into(Namespaces::NONE, None).unwrap() else {
        live_in(directory.path());
        sys::exec::exit_now(0)
    };
    let (_, status) = rustix::process::waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.exit_status(), Some(0));
}

fn live_in(root: &std::path::Path) {
    use rustix::mount::{MountPropagationFlags, mount_bind_recursive, mount_change};
    sys::clone::enter_new(Namespaces::MOUNT).unwrap();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    mount_bind_recursive("/", root).unwrap();
    std::os::unix::fs::chroot(root).unwrap();
    std::env::set_current_dir("/").unwrap();
    let launcher = Launcher::start(None).unwrap();
    let Prepared { plan, sources } = Prepared::new(&["true"]);
    let streams = ProgramStreams::null();
    let refused = launcher.start_cage(&plan, &sources, streams, LimitsHolder::Nobody).unwrap_err();
    assert!(refused.to_string().contains("not permitted"), "{refused}");
}

/// What the caller's own shell has it ignore, a program in a cage can be interrupted with.
fn cages_ignore_nothing_that_their_caller_does() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        sys::signal::ignore(signal).unwrap();
    }
    let launcher = Launcher::start(None).unwrap();
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        sys::signal::restore_default(signal).unwrap();
    }
    let (end, output) = run(&launcher, &Prepared::new(&["grep", "SigIgn", "/proc/self/status"]));
    assert_eq!(end, End::Exited(0));
    assert_eq!(output.split_whitespace().last(), Some("0000000000000000"));
}

fn main() {
    support::run_single_threaded(&[
        ("cages_started_at_once_see_only_their_own", cages_started_at_once_see_only_their_own),
        ("cages_of_ten_launchers_see_only_their_own", cages_of_ten_launchers_see_only_their_own),
        ("a_launcher_survives_what_it_cannot_do", a_launcher_survives_what_it_cannot_do),
        ("a_cage_ends_with_its_launcher", a_cage_ends_with_its_launcher),
        ("a_launcher_keeps_no_descriptor_of_a_cage", a_launcher_keeps_no_descriptor_of_a_cage),
        ("a_launcher_has_its_standard_streams_taken", a_launcher_has_its_standard_streams_taken),
        ("many_grants_arrive_in_order", many_grants_arrive_in_order),
        ("cages_of_one_kind_are_alike", cages_of_one_kind_are_alike),
        ("masks_are_a_cages_own", masks_are_a_cages_own),
        (
            "a_launcher_in_a_root_of_its_own_stays_there",
            a_launcher_in_a_root_of_its_own_stays_there,
        ),
        (
            "cages_ignore_nothing_that_their_caller_does",
            cages_ignore_nothing_that_their_caller_does,
        ),
    ]);
}
