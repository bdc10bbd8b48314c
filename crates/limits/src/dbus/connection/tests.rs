//! Conversations with peers that behave, that do not, and with the reference bus.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use super::*;
use crate::dbus::Writer;

/// When to give up whoever may still answer.
fn late() -> Instant {
    Instant::now() + testing::slowly(Duration::from_secs(10))
}

/// A connection to a peer that lives its own life.
fn with_peer(
    peer: impl FnOnce(UnixStream) + Send + 'static,
) -> (Result<Connection, BusError>, JoinHandle<()>) {
    with_peer_until(late(), peer)
}

/// The same, given up at a moment.
fn with_peer_until(
    deadline: Instant,
    peer: impl FnOnce(UnixStream) + Send + 'static,
) -> (Result<Connection, BusError>, JoinHandle<()>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let peer = std::thread::spawn(move || peer(theirs));
    (Connection::over(ours, deadline), peer)
}

/// Reads until the peer has heard a word.
fn hear(stream: &mut UnixStream, word: &[u8]) {
    let mut heard = Vec::new();
    while !heard.windows(word.len()).any(|part| part == word) {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        heard.push(byte[0]);
    }
}

fn accept(stream: &mut UnixStream) {
    hear(stream, b"AUTH EXTERNAL ");
    hear(stream, b"\r\n");
    stream.write_all(b"OK 0123456789abcdef0123456789abcdef\r\n").unwrap();
    hear(stream, b"BEGIN\r\n");
}

/// A message without values, as a peer sends it: its kind, and a number or text in its header.
fn message(kind: u8, fields: &[(u8, &str)], reply: u32) -> Vec<u8> {
    let mut writer = Writer::new();
    [b'l', kind, 0, 1].into_iter().for_each(|byte| writer.byte(byte));
    writer.number(0);
    writer.number(99);
    writer.array(8, |writer| {
        writer.structure(|writer| {
            writer.byte(5);
            writer.signature("u");
            writer.number(reply);
        });
        for (code, value) in fields {
            writer.structure(|writer| {
                writer.byte(*code);
                writer.signature("s");
                writer.text(value);
            });
        }
    });
    let mut bytes = writer.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// K142
#[test]
fn an_answer_is_found_among_others() {
    let (connection, peer) = with_peer(|mut stream| {
        accept(&mut stream);
        hear(&mut stream, b"Hello");
        stream.write_all(&message(4, &[(3, "Early")], 0)).unwrap();
        stream.write_all(&message(2, &[], 5)).unwrap();
        stream.write_all(&message(9, &[], 1)).unwrap();
        stream.write_all(&message(2, &[], 1)).unwrap();
        stream.write_all(&message(4, &[(3, "Late")], 0)).unwrap();
    });
    let mut connection = connection.unwrap();
    connection.hello().unwrap();
    let mut seen = Vec::new();
    let member = |message: &Message| message.member.clone().unwrap_or_default();
    connection
        .wait_for_signal(|message| {
            seen.push(member(message));
            (member(message) == "Late").then_some(())
        })
        .unwrap();
    assert_eq!(seen, ["Early", "Late"]);
    peer.join().unwrap();
}

#[test]
fn a_refusal_is_told_without_control_characters() {
    let (connection, peer) = with_peer(|mut stream| {
        accept(&mut stream);
        hear(&mut stream, b"Hello");
        stream.write_all(&message(3, &[(4, "org.example.\u{1b}[31mNo")], 1)).unwrap();
    });
    let error = connection.unwrap().hello().unwrap_err().to_string();
    assert_eq!(error, "org.example.[31mNo: ");
    peer.join().unwrap();
}

#[test]
fn whoever_is_not_accepted_is_told() {
    let (connection, peer) = with_peer(|mut stream| {
        stream.write_all(b"REJECTED EXTERNAL\r\n").unwrap();
        hear(&mut stream, b"never");
    });
    assert!(matches!(connection, Err(BusError::Rejected)), "{connection:?}");
    drop(connection);
    peer.join().unwrap();
}

/// T52: a peer that says nothing, little by little, too much, or nonsense.
#[test]
fn no_peer_can_hold_us_up() {
    let began = Instant::now();
    let soon = || Instant::now() + Duration::from_millis(300);
    let (silent, peer) = with_peer_until(soon(), |mut stream| hear(&mut stream, b"never"));
    assert!(matches!(silent, Err(BusError::TimedOut)), "{silent:?}");
    drop(silent);
    peer.join().unwrap();
    let (slow, peer) = with_peer_until(soon(), |mut stream| {
        while stream.write_all(b"O").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(matches!(slow, Err(BusError::TimedOut)), "{slow:?}");
    drop(slow);
    peer.join().unwrap();
    let (endless, peer) = with_peer(|mut stream| while stream.write_all(&[b'O'; 4096]).is_ok() {});
    assert!(matches!(endless, Err(BusError::Malformed)), "{endless:?}");
    drop(endless);
    peer.join().unwrap();
    let (gone, peer) = with_peer(drop);
    assert!(matches!(gone, Err(BusError::Closed | BusError::Broken(_))), "{gone:?}");
    peer.join().unwrap();
    assert!(began.elapsed() < testing::slowly(Duration::from_secs(5)));
}

#[test]
fn nonsense_ends_the_conversation() {
    let (connection, peer) = with_peer(|mut stream| {
        accept(&mut stream);
        stream.write_all(&[0xff; 64]).unwrap();
        hear(&mut stream, b"never");
    });
    assert!(matches!(connection.unwrap().hello(), Err(BusError::Malformed)));
    peer.join().unwrap();
}

#[test]
fn nobody_at_all() {
    let error = Connection::open(Path::new("/nonexistent/bus"), late()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot reach `/nonexistent/bus`: No such file or directory (os error 2)"
    );
}

/// The reference implementation of a bus, in a directory of its own.
struct Bus {
    daemon: Child,
    directory: tempfile::TempDir,
}

impl Bus {
    fn start() -> Option<Self> {
        if !testing::has("dbus-daemon") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let address = format!("--address=unix:path={}", directory.path().join("bus").display());
        let mut daemon = Command::new("/usr/bin/dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address", &address])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let bus = Self { daemon, directory };
        if line.is_empty() && !testing::is_root() {
            testing::skip("only for users whom the system knows by name: others get no bus");
            return None;
        }
        Some(bus)
    }

    fn connect(&self) -> Connection {
        let deadline = late();
        Connection::open(&self.directory.path().join("bus"), deadline).unwrap()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.daemon.kill();
        self.daemon.wait().unwrap();
    }
}

/// K142: calls, answers, errors and signals through the reference implementation.
#[test]
fn the_reference_bus_understands_us() {
    let Some(bus) = Bus::start() else { return };
    let mut connection = bus.connect();
    connection.hello().unwrap();
    connection
        .add_match("type='signal',member='NameOwnerChanged',arg0='org.example.Stockade'")
        .unwrap();
    let mut body = Writer::new();
    body.text("org.example.Stockade");
    body.number(0);
    let body = body.into_bytes();
    let call = Call { member: "RequestName", signature: "su", body: &body, ..BUS_CALL };
    let reply = connection.call(&call).unwrap();
    assert_eq!((reply.signature.as_str(), reply.reader().number().unwrap()), ("u", 1));
    let owner = connection
        .wait_for_signal(|message| {
            let mut reader = message.reader();
            let changed = message.member.as_deref() == Some("NameOwnerChanged");
            let name = reader.text().ok().filter(|_| changed)?;
            let (_old, new) = (reader.text().ok()?, reader.text().ok()?);
            (name == "org.example.Stockade").then(|| new.to_owned())
        })
        .unwrap();
    assert!(owner.starts_with(':'), "{owner}");
    let listed = connection.call(&Call { member: "ListNames", ..BUS_CALL }).unwrap();
    let mut names = Vec::new();
    listed
        .reader()
        .array(4, |reader| {
            names.push(reader.text()?.to_owned());
            Ok(())
        })
        .unwrap();
    assert!(names.contains(&"org.example.Stockade".to_owned()), "{names:?}");
    let error = connection.call(&Call { member: "NoSuchMethod", ..BUS_CALL }).unwrap_err();
    assert!(error.to_string().contains("org.freedesktop.DBus.Error.UnknownMethod"), "{error}");
}
