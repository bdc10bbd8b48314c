//! Walls that stand behind others, each tried with the one before it open: a cage in which only the
//! second one is left must hold as well.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use jail::{Child, LandlockState, LimitsHolder, ProgramStreams, Report, Stream};
use landlock::{AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use plan::seccomp::{Arch, Instruction, Program, syscall_number};
use plan::{Access, LandlockRule};
use rustix::process::{Pid, Resource, Signal};
use support::Prepared;
use sys::clone::{Forked, Namespaces, fork_into};

/// Runs the program with this standard input; returns what it printed and which layers it was told.
fn run(prepared: &Prepared, stdin: Stream) -> (String, jail::Layers) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let both = writer.try_clone().unwrap();
    let streams = ProgramStreams {
        stdin,
        stdout: Stream::Descriptor(OwnedFd::from(writer)),
        stderr: Stream::Descriptor(OwnedFd::from(both)),
    };
    let (plan, sources) = (&prepared.plan, &prepared.sources);
    let child = jail::start(plan, sources, streams, LimitsHolder::Nobody).unwrap();
    let layers = started(&child);
    child.wait_until_gone().unwrap();
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    (output, layers)
}

/// Lets the program start.
fn started(child: &Child) -> jail::Layers {
    child.verify_when_built().unwrap();
    child.open_gate().unwrap();
    match child.next_report().unwrap().expect("pid 1 says that it started").0 {
        Report::Started(layers) => layers,
        other => panic!("{other:?}"),
    }
}

fn output(prepared: &Prepared) -> String {
    run(prepared, Stream::Null).0
}

fn shell(script: &str) -> Prepared {
    Prepared::new(&["sh", "-c", script])
}

/// The same with a filter that lets every call through.
fn shell_without_filter(script: &str) -> Prepared {
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    let mut prepared = shell(script);
    let open = Program::new(vec![Instruction::new(RETURN, 0, 0, ALLOW)]).unwrap();
    prepared.plan.walls.seccomp.with_notify = open.clone();
    prepared.plan.walls.seccomp.without_notify = open;
    prepared
}

/// Whether the kernel has landlock at all; then a cage must have it too.
fn kernel_has_landlock() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::WriteFile)
        .and_then(Ruleset::create);
    if ruleset.is_err() {
        println!("skipped: walls: this kernel has no landlock");
    }
    ruleset.is_ok()
}

/// T72: the limit is the one that also keeps memory from the host's helper, and the program cannot change it.
fn core_dumps_are_refused_for_good() {
    if rustix::process::getrlimit(Resource::Core).maximum == Some(0) {
        println!("skipped: walls: the hard limit on core dumps is 0");
        return;
    }
    let limits = |prepared: &Prepared| {
        let text = output(prepared);
        let line = text.lines().find_map(|line| line.strip_prefix("Max core file size"));
        let words = line.expect(&text).split_whitespace().take(2).map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    let look = "cat /proc/self/limits";
    assert_eq!(limits(&shell(look)), ["1", "1"]);
    let undo = "ulimit -c 0 || exit; ulimit -c unlimited || exit; cat /proc/self/limits";
    assert_eq!(limits(&shell(undo)), ["1", "1"]);
    let undo = format!("prlimit --core=0:0 --pid $$; {look}");
    assert_eq!(limits(&shell(&undo)), ["1", "1"]);
    // It is the filter that holds it.
    assert_eq!(limits(&shell_without_filter(&format!("ulimit -c 0; {look}"))), ["0", "0"]);
}

/// T77: a file that was opened for reading alone is no way to write it. Everybody may write this one, and it
/// lies on no mount of the cage, so that only landlock is left.
fn a_stream_for_reading_stays_one() {
    if !kernel_has_landlock() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("input");
    let write = "echo changed > /proc/self/fd/0; echo changed 1<>/proc/self/fd/0; cat";
    let lay_out = || {
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        File::open(&path).unwrap()
    };
    let uncaged = Command::new("sh").args(["-c", write]).stdin(lay_out()).output().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "changed\n", "{uncaged:?}");
    let (printed, layers) = run(&shell(write), Stream::Descriptor(lay_out().into()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before", "{printed}");
    assert_eq!(printed.matches("Permission denied").count(), 2, "{printed}");
    assert!(printed.ends_with("before"), "{printed}");
    assert_ne!(layers.landlock, LandlockState::Absent);
}

/// T26, T60: what a mount leaves open landlock holds, and the other way round.
fn files_have_two_walls() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let script = format!("echo x > {0}/file; cat {0}/file", path.display());
    let attempt = |mount: Access, rule: Access| {
        std::fs::write(path.join("file"), "before\n").unwrap();
        let mut prepared = shell(&script);
        prepared.grant(&path, mount);
        // That of the cage's own `/tmp` would hold for what is below it as well.
        prepared.plan.walls.landlock.rules.retain(|one| one.access == Access::ReadOnly);
        let at = support::guest(path.to_str().unwrap());
        prepared.plan.walls.landlock.rules.push(LandlockRule { at, access: rule });
        output(&prepared)
    };
    assert_eq!(attempt(Access::ReadWrite, Access::ReadWrite), "x\n");
    let held = attempt(Access::ReadOnly, Access::ReadWrite);
    assert!(held.contains("Read-only file system") && held.ends_with("before\n"), "{held}");
    if kernel_has_landlock() {
        let held = attempt(Access::ReadWrite, Access::ReadOnly);
        assert!(held.contains("Permission denied") && held.ends_with("before\n"), "{held}");
    }
}

/// T23: no namespace can be made where the filter lets the call through.
fn no_namespace_without_the_filter() {
    let script = "cat /proc/sys/user/max_user_namespaces; unshare -U true && echo made";
    let told = output(&shell_without_filter(script));
    assert!(told.starts_with("0\n") && told.contains("No space left on device"), "{told}");
    assert!(!told.contains("made"), "{told}");
}

/// T11, T24: nor has the program any power there, as root of namespaces of its own has.
fn no_power_without_the_filter() {
    let tries = [
        "mount -t tmpfs none /tmp",
        "umount /tmp",
        "chroot / true",
        "hostname other",
        "unshare -m true",
        "unshare -n true",
    ];
    let lines = tries.map(|line| format!("{line} 2>/dev/null && echo '{line}';")).concat();
    // Users of Debian do not have administrators' programs in their `PATH`.
    let script = format!("PATH=/usr/sbin:/usr/bin:/sbin:/bin; {lines}");
    let powerful = Command::new("unshare").args(["-rmu", "sh", "-c", &script]).output().unwrap();
    let all = tries.map(|line| format!("{line}\n")).concat();
    assert_eq!(String::from_utf8_lossy(&powerful.stdout), all, "{powerful:?}");
    assert_eq!(output(&shell_without_filter(&script)), "");
}

/// T18: pid 1 is not to be traced or read, even by who may trace others.
fn pid_one_is_out_of_reach_without_the_filter() {
    let seize = syscall_number(Arch::NATIVE, "ptrace").unwrap();
    let script = format!(
        "perl -e 'my $child = fork() // die; if (!$child) {{ sleep 100; exit }} \
         for my $pid ($child, 1) {{ print syscall({seize}, 0x4206, $pid, 0, 0), \" \" }} kill 9, $child'; \
         head -c 1 /proc/1/maps || echo; head -c 1 /proc/1/environ"
    );
    let told = output(&shell_without_filter(&script));
    assert!(told.starts_with("0 -1 "), "{told}");
    assert_eq!(told.matches("Permission denied").count(), 2, "{told}");
}

/// T54, T62: pid 1 is killed with its supervisor also where it cannot see that its channel was closed.
fn a_stopped_pid_one_dies_with_its_supervisor() {
    let (mut says, mut told) = std::io::pipe().unwrap();
    let supervisor = match fork_into(Namespaces::NONE, None).unwrap() {
        Forked::Child => {
            let prepared = shell("sleep 1000");
            let (plan, sources) = (&prepared.plan, &prepared.sources);
            let streams = ProgramStreams::null();
            let child = jail::start(plan, sources, streams, LimitsHolder::Nobody).unwrap();
            started(&child);
            write!(told, "{}", child.pid().as_raw_nonzero()).unwrap();
            drop(told);
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Forked::Parent { pid, .. } => pid,
    };
    drop(told);
    let mut number = String::new();
    says.read_to_string(&mut number).unwrap();
    let first = Pid::from_raw(number.parse().expect("the cage started")).unwrap();
    rustix::process::kill_process(first, Signal::STOP).unwrap();
    rustix::process::kill_process(supervisor, Signal::KILL).unwrap();
    rustix::process::waitpid(Some(supervisor), rustix::process::WaitOptions::empty()).unwrap();
    let is_alive = || {
        let status = std::fs::read_to_string(format!("/proc/{number}/status"));
        status.is_ok_and(|text| !text.contains("State:\tZ") && !text.contains("State:\tX"))
    };
    let until = Instant::now() + support::slowly(Duration::from_secs(10));
    while is_alive() {
        if Instant::now() > until {
            let _ended = rustix::process::kill_process(first, Signal::KILL);
            panic!("pid 1 outlives its supervisor");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn main() {
    support::run_single_threaded(&[
        ("core_dumps_are_refused_for_good", core_dumps_are_refused_for_good),
        ("a_stream_for_reading_stays_one", a_stream_for_reading_stays_one),
        ("files_have_two_walls", files_have_two_walls),
        ("no_namespace_without_the_filter", no_namespace_without_the_filter),
        ("no_power_without_the_filter", no_power_without_the_filter),
        ("pid_one_is_out_of_reach_without_the_filter", pid_one_is_out_of_reach_without_the_filter),
        ("a_stopped_pid_one_dies_with_its_supervisor", a_stopped_pid_one_dies_with_its_supervisor),
    ]);
}
