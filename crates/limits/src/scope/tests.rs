//! What systemd is asked for, and what is believed of its answers: a peer plays its part, once as it
//! should and otherwise as it should not.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command};
use std::thread::JoinHandle;

use super::*;
use crate::dbus::{Message, decode};

/// What the peer does with a request for a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// Makes the group, moves the process there and says so.
    Makes,
    /// Says so and does nothing.
    Lies,
    /// Says that it failed.
    Fails,
    /// Answers with an error.
    Refuses,
}

/// A peer at a socket that serves one connection.
struct Peer {
    directory: tempfile::TempDir,
    life: JoinHandle<Vec<String>>,
}

impl Peer {
    fn start(manners: Manners, group: PathBuf) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("private")).unwrap();
        let life = std::thread::spawn(move || serve(listener.accept().unwrap().0, manners, &group));
        Self { directory, life }
    }

    fn manager(&self) -> Manager {
        let door = Door::Direct(self.directory.path().join("private"));
        let (held, obstacles) = (Limit::ALL.to_vec(), Vec::new());
        Manager { door, mount_point: mount_point(), held, obstacles }
    }
}

/// The methods that were called, until the caller hangs up.
fn serve(mut stream: UnixStream, manners: Manners, group: &Path) -> Vec<String> {
    let mut arrived = Vec::new();
    let mut called = Vec::new();
    let mut chunk = [0; 4096];
    let mut is_message = false;
    loop {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return called,
            Ok(read) => arrived.extend_from_slice(&chunk[..read]),
        }
        if !is_message {
            if arrived.ends_with(b"\r\n") && arrived.starts_with(b"\0AUTH") {
                arrived.clear();
                stream.write_all(b"OK 0123456789abcdef0123456789abcdef\r\n").unwrap();
            }
            let begin = b"BEGIN\r\n";
            if arrived.starts_with(begin) {
                arrived.drain(..begin.len());
                is_message = true;
            }
        }
        while let Some((message, length)) = is_message.then(|| decode(&arrived).unwrap()).flatten()
        {
            let member = message.member.clone().unwrap();
            called.push(member.clone());
            let serial = u32::from_le_bytes(arrived[8..12].try_into().unwrap());
            arrived.drain(..length);
            answer(&mut stream, &member, &message, serial, (manners, group));
        }
    }
}

fn answer(
    stream: &mut UnixStream,
    member: &str,
    message: &Message,
    serial: u32,
    (manners, group): (Manners, &Path),
) {
    let mut body = Writer::new();
    match (member, manners) {
        ("Subscribe", _) => stream.write_all(&sent(2, serial, "", "", &[])).unwrap(),
        ("StartTransientUnit", Manners::Refuses) => {
            body.text("Unit exists.");
            let bytes = body.into_bytes();
            stream.write_all(&sent(3, serial, "org.example.Exists", "s", &bytes)).unwrap();
        }
        ("StartTransientUnit", _) => {
            if manners == Manners::Makes {
                make(group, message.reader().text().unwrap(), message);
            }
            body.text("/job/7");
            stream.write_all(&sent(2, serial, "", "o", &body.into_bytes())).unwrap();
            for (job, result) in [("/job/6", "failed"), ("/job/7", result(manners))] {
                let mut body = Writer::new();
                body.number(7);
                [job, "a.scope", result].into_iter().for_each(|text| body.text(text));
                let bytes = sent(4, 0, "JobRemoved", "uoss", &body.into_bytes());
                stream.write_all(&bytes).unwrap();
            }
        }
        (other, _) => panic!("{other} was called"),
    }
}

fn result(manners: Manners) -> &'static str {
    if manners == Manners::Fails { "failed" } else { "done" }
}

/// Does what systemd does: the group of the unit's name, and the process in it.
fn make(group: &Path, unit: &str, message: &Message) {
    let mut reader = message.reader();
    let (_unit, _mode) = (reader.text().unwrap(), reader.text().unwrap());
    let mut pid = 0;
    reader
        .array(8, |reader| {
            reader.structure()?;
            if reader.text()? != "PIDs" {
                let signature = reader.signature()?;
                return reader.skip(signature);
            }
            assert_eq!(reader.signature()?, "au");
            reader.array(4, |reader| {
                pid = reader.number()?;
                Ok(())
            })
        })
        .unwrap();
    std::fs::create_dir(group.join(unit)).unwrap();
    std::fs::write(group.join(unit).join("cgroup.procs"), pid.to_string()).unwrap();
}

/// A message as a peer sends it; a name is that of an error or of a signal.
fn sent(kind: u8, reply: u32, name: &str, signature: &str, body: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    [b'l', kind, 0, 1].into_iter().for_each(|byte| writer.byte(byte));
    writer.number(u32::try_from(body.len()).unwrap());
    writer.number(1);
    writer.array(8, |writer| {
        writer.structure(|writer| {
            writer.byte(5);
            writer.signature("u");
            writer.number(reply);
        });
        writer.structure(|writer| {
            writer.byte(if kind == 3 { 4 } else { 3 });
            writer.signature("s");
            writer.text(name);
        });
        writer.structure(|writer| {
            writer.byte(8);
            writer.signature("g");
            writer.signature(signature);
        });
    });
    let mut bytes = writer.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    [bytes, body.to_vec()].concat()
}

fn mount_point() -> PathBuf {
    own_place().map_or_else(|| PathBuf::from("/sys/fs/cgroup"), |place| place.mount_point)
}

fn own_place() -> Option<Place> {
    let read = |path: &str| std::fs::read(path).unwrap();
    let texts = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
    Hierarchies::parse(&texts.0, &texts.1).version_two().ok()
}

fn sleeper() -> (Child, Pid) {
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    (child, pid)
}

/// Asks a peer for a scope for a process.
fn ask(manners: Manners, invocation: &str) -> (Result<(), LimitsError>, Scope, Vec<String>) {
    let group = own_place().map(|place| place.path()).unwrap_or_default();
    let peer = Peer::start(manners, group);
    let name = GroupName::of_this_process(invocation).unwrap();
    let mut scope = peer.manager().prepare(&Numbers::default(), &name).unwrap();
    let (mut child, pid) = sleeper();
    let adopted = scope.adopt(pid);
    let _left = scope.kill(Instant::now() + LONGEST_CALL);
    child.kill().unwrap();
    child.wait().unwrap();
    (adopted, scope, peer.life.join().unwrap())
}

/// K142, K143, K146
#[test]
fn a_scope_is_asked_for_and_found() {
    let place = own_place().filter(|place| {
        Directory::open(place, Version::Two).is_ok_and(|own| own.may_make().is_ok())
    });
    let Some(place) = place else {
        return testing::skip("only for callers with a control group of version 2");
    };
    let (adopted, mut scope, called) = ask(Manners::Makes, "scopemade");
    let group = place.path().join("stockade-scopemade.scope");
    let usage = scope.usage();
    let removed = scope.remove(Instant::now() + LONGEST_CALL);
    while std::fs::remove_dir(&group).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    adopted.unwrap();
    removed.unwrap();
    assert_eq!(called, ["Subscribe", "StartTransientUnit"]);
    // The counters stay known after the group is gone.
    assert!(usage.cpu.is_some());
    assert_eq!(scope.usage(), usage);
}

/// K142: what systemd says is not enough.
#[test]
fn a_scope_that_is_not_there_is_none() {
    let (adopted, scope, _) = ask(Manners::Lies, "scopelie");
    let error = adopted.unwrap_err().to_string();
    let expected = "systemd has not made `stockade-scopelie.scope`: the process is not in it";
    assert_eq!(error, expected);
    assert!(scope.watch().is_none());
}

/// K182
#[test]
fn a_failure_is_told() {
    let (adopted, ..) = ask(Manners::Fails, "scopefail");
    let error = adopted.unwrap_err().to_string();
    assert_eq!(error, "systemd has not made `stockade-scopefail.scope`: failed");
    let (adopted, ..) = ask(Manners::Refuses, "scoperefuse");
    let error = adopted.unwrap_err().to_string();
    let expected = "systemd cannot be asked to hold limits: org.example.Exists: Unit exists.";
    assert_eq!(error, expected);
}

/// K148: the error says what, why and what to do.
#[test]
fn nobody_at_the_door() {
    let door = Door::Bus("/nonexistent/bus".into());
    let manager =
        Manager { door, mount_point: mount_point(), held: Vec::new(), obstacles: Vec::new() };
    let numbers = Numbers { pids: Some(3), ..Numbers::default() };
    let name = GroupName::of_this_process("x").unwrap();
    let error = manager.prepare(&numbers, &name).unwrap_err().to_string();
    assert!(
        error.starts_with("pids cannot be limited here: systemd cannot be asked for a scope"),
        "{error}"
    );
    assert!(error.contains("systemctl"), "{error}");
    assert!(manager.trouble().is_some());
    assert!(manager.sweep().is_empty());
}

/// K142: every limit is asked for under systemd's name for it.
#[test]
fn limits_have_systemds_names() {
    let numbers =
        Numbers { memory: Some(64 << 20), pids: Some(11), weight: Some(50), quota: Some(150_000) };
    let name = GroupName::of_this_process("x").unwrap();
    let bytes = start_arguments(&name, &numbers, Pid::INIT);
    let text = String::from_utf8_lossy(&bytes);
    for property in [
        "MemoryMax",
        "MemorySwapMax",
        "TasksMax",
        "CPUWeight",
        "CPUQuotaPerSecUSec",
        "stockade.slice",
        "stockade-x.scope",
    ] {
        assert!(text.contains(property), "{property}");
    }
    assert!(bytes.windows(8).any(|part| part == 1_500_000_u64.to_le_bytes()));
}

/// T66: a limit that the group does not have is not held.
#[test]
fn limits_are_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let own = Directory::of_test(directory.path());
    let write = |file: &str, text: &str| std::fs::write(directory.path().join(file), text).unwrap();
    let numbers =
        Numbers { memory: Some(4096), pids: Some(11), weight: Some(50), quota: Some(150_000) };
    let good = [
        ("memory.max", "4096\n", "max\n"),
        ("memory.swap.max", "0\n", "4096\n"),
        ("pids.max", "11\n", "12\n"),
        ("cpu.weight", "50\n", "100\n"),
        ("cpu.max", "150000 100000\n", "max 100000\n"),
    ];
    for (file, fine, _) in good {
        write(file, fine);
    }
    read_back(&own, &numbers).unwrap();
    for (file, fine, wrong) in good {
        write(file, wrong);
        let error = read_back(&own, &numbers).unwrap_err().to_string();
        assert!(error.contains(file), "{error}");
        if file != "memory.swap.max" {
            std::fs::remove_file(directory.path().join(file)).unwrap();
            assert!(read_back(&own, &numbers).is_err(), "{file}");
        }
        write(file, fine);
    }
    // A kernel without swap.
    std::fs::remove_file(directory.path().join("memory.swap.max")).unwrap();
    read_back(&own, &numbers).unwrap();
}

#[test]
fn quotas_of_any_period() {
    assert_eq!(per_second("150000 100000\n"), Some(1_500_000));
    assert_eq!(per_second("max 100000\n"), None);
    assert_eq!(per_second("5 0"), None);
    assert_eq!(per_second(""), None);
}

/// Whoever tells an error tells its sources as well.
#[test]
fn what_the_bus_says_is_said_once() {
    let error = LimitsError::from(BusError::TimedOut);
    let text = "systemd cannot be asked to hold limits: the message bus did not answer in time";
    assert_eq!(error.to_string(), text);
    assert!(std::error::Error::source(&error).is_none());
}
