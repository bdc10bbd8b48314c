//! Messages as clients send them, to a session without a socket.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{Caller, FileSystem, Limits, Memory};

use super::wire::kind;
use super::*;

/// A client that writes messages by hand.
struct Client {
    session: Session,
    dialect: Dialect,
}

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn u8(mut self, number: u8) -> Self {
        self.0.push(number);
        self
    }
    fn u16(mut self, number: u16) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }
    fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }
    fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }
    fn text(self, text: &str) -> Self {
        let mut new = self.u16(u16::try_from(text.len()).unwrap());
        new.0.extend(text.bytes());
        new
    }
}

fn message() -> Message {
    Message::default()
}

fn files() -> FileSystem {
    let engine = Memory::new(&Caller::root(), 0o755, Limits::default());
    FileSystem::new(Arc::new(engine), &Limits::default())
}

impl Client {
    fn new(files: &FileSystem, dialect: Dialect, uid: u32, identity: Identity) -> Self {
        let mut client = Self { session: Session::new(files.clone(), identity, uid), dialect };
        let version = if dialect == Dialect::Linux { "9P2000.L" } else { "9P2000" };
        client.ask(kind::VERSION, message().u32(8192).text(version)).unwrap();
        let attach = message().u32(0).u32(u32::MAX).text(&uid.to_string()).text("");
        let attach = if dialect == Dialect::Linux { attach.u32(uid) } else { attach };
        client.ask(kind::ATTACH, attach).unwrap();
        client
    }

    fn linux(files: &FileSystem, uid: u32) -> Self {
        Self::new(files, Dialect::Linux, uid, Identity::Asked)
    }

    /// What comes after the head of an answer, or its error.
    fn ask(&mut self, kind: u8, body: Message) -> Result<Vec<u8>, i32> {
        let length = u32::try_from(body.0.len() + 7).unwrap();
        let bytes = [&length.to_le_bytes()[..], &[kind, 7, 0], &body.0].concat();
        let answer = self.session.answer(&bytes).unwrap();
        assert_eq!(u32::from_le_bytes(answer[..4].try_into().unwrap()) as usize, answer.len());
        assert_eq!(answer[5..7], [7, 0], "the tag");
        match answer[4] {
            kind::LINUX_ERROR => Err(i32::from_le_bytes(answer[7..11].try_into().unwrap())),
            kind::ERROR => Err(-1),
            other => {
                assert_eq!(other, kind + 1);
                Ok(answer[7..].to_vec())
            }
        }
    }

    fn walk(&mut self, fid: u32, new: u32, path: &str) -> Result<usize, i32> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let body = message().u32(fid).u32(new).u16(u16::try_from(names.len()).unwrap());
        let body = names.iter().fold(body, |body, name| body.text(name));
        let answer = self.ask(kind::WALK, body)?;
        Ok(usize::from(u16::from_le_bytes(answer[..2].try_into().unwrap())))
    }

    fn put(&mut self, name: &str, text: &str, mode: u32) -> Result<(), i32> {
        self.walk(0, 90, "")?;
        let create = message().u32(90).text(name).u32(0o101).u32(mode).u32(0);
        let created = self.ask(kind::LINUX_CREATE, create).and_then(|_| {
            let length = u32::try_from(text.len()).unwrap();
            let mut write = message().u32(90).u64(0).u32(length);
            write.0.extend(text.bytes());
            self.ask(kind::WRITE, write)
        });
        self.ask(kind::CLUNK, message().u32(90))?;
        created.map(drop)
    }

    fn get(&mut self, path: &str) -> Result<String, i32> {
        let steps = path.split('/').filter(|name| !name.is_empty()).count();
        if self.walk(0, 91, path)? < steps {
            return Err(Errno::NOENT.raw_os_error());
        }
        let open = match self.dialect {
            Dialect::Linux => self.ask(kind::LINUX_OPEN, message().u32(91).u32(0)),
            Dialect::Plan9 => self.ask(kind::OPEN, message().u32(91).u8(0)),
        };
        let read = open.and_then(|_| self.ask(kind::READ, message().u32(91).u64(0).u32(4000)));
        self.ask(kind::CLUNK, message().u32(91))?;
        Ok(String::from_utf8_lossy(&read?[4..]).into_owned())
    }
}

const NOENT: i32 = 2;
const ACCES: i32 = 13;

/// V29: files are made, read, listed, renamed and removed.
#[test]
fn linux_clients_are_served() {
    let files = files();
    let mut client = Client::linux(&files, 0);
    client.ask(kind::MAKE_DIRECTORY, message().u32(0).text("d").u32(0o755).u32(0)).unwrap();
    client.put("f", "hello", 0o644).unwrap();
    assert_eq!(client.get("/f"), Ok("hello".into()));
    assert_eq!(client.get("/d/../f"), Ok("hello".into()));
    assert_eq!(client.get("/../../f"), Ok("hello".into()));
    assert_eq!(client.get("/none"), Err(NOENT));
    assert_eq!(client.walk(0, 1, "d/none/x"), Ok(1), "as far as it goes");
    client.walk(0, 1, "d").unwrap();
    let rename = message().u32(0).text("f").u32(1).text("g");
    client.ask(kind::RENAME_AT, rename).unwrap();
    assert_eq!(client.get("/d/g"), Ok("hello".into()));
    client.ask(kind::MAKE_LINK, message().u32(0).text("l").text("d/g").u32(0)).unwrap();
    client.walk(0, 2, "l").unwrap();
    let link = client.ask(kind::READ_LINK, message().u32(2)).unwrap();
    assert_eq!(&link[2..], b"d/g");
    client.walk(0, 3, "d/g").unwrap();
    client.ask(kind::LINK, message().u32(0).u32(3).text("h")).unwrap();
    let attributes = client.ask(kind::ATTRIBUTES, message().u32(3).u64(u64::MAX)).unwrap();
    assert_eq!(u32::from_le_bytes(attributes[21..25].try_into().unwrap()), 0o100_644);
    assert_eq!(u64::from_le_bytes(attributes[33..41].try_into().unwrap()), 2, "names");
    let size = message().u32(3).u32(8).u32(0).u32(0).u32(0).u64(2).u64(0).u64(0).u64(0).u64(0);
    client.ask(kind::CHANGE, size).unwrap();
    assert_eq!(client.get("/h"), Ok("he".into()));
    client.walk(0, 4, "").unwrap();
    client.ask(kind::LINUX_OPEN, message().u32(4).u32(0o200_000)).unwrap();
    let list = client.ask(kind::LIST, message().u32(4).u64(0).u32(4000)).unwrap();
    let text = String::from_utf8_lossy(&list).into_owned();
    assert!(["d", "h", "l"].iter().all(|name| text.contains(name)), "{text:?}");
    client.ask(kind::UNLINK_AT, message().u32(0).text("h").u32(0)).unwrap();
    let refused = client.ask(kind::UNLINK_AT, message().u32(0).text("d").u32(0x200));
    assert_eq!(refused, Err(Errno::NOTEMPTY.raw_os_error()));
    client.ask(kind::REMOVE, message().u32(3)).unwrap();
    client.ask(kind::UNLINK_AT, message().u32(0).text("d").u32(0x200)).unwrap();
    assert_eq!(client.get("/d"), Err(NOENT));
    client.ask(kind::SPACE, message().u32(0)).unwrap();
}

/// V29: extended attributes are read and written as files are.
#[test]
fn linux_clients_have_xattrs() {
    let mut client = Client::linux(&files(), 0);
    client.put("f", "", 0o644).unwrap();
    client.walk(0, 1, "f").unwrap();
    client.ask(kind::XATTR_CREATE, message().u32(1).text("user.a").u64(3).u32(1)).unwrap();
    let mut write = message().u32(1).u64(0).u32(3);
    write.0.extend(b"one");
    client.ask(kind::WRITE, write).unwrap();
    client.ask(kind::CLUNK, message().u32(1)).unwrap();
    client.walk(0, 1, "f").unwrap();
    let size = client.ask(kind::XATTR_WALK, message().u32(1).u32(2).text("user.a")).unwrap();
    assert_eq!(size, 3_u64.to_le_bytes());
    let value = client.ask(kind::READ, message().u32(2).u64(0).u32(99)).unwrap();
    assert_eq!(&value[4..], b"one");
    client.ask(kind::XATTR_WALK, message().u32(1).u32(3).text("")).unwrap();
    let names = client.ask(kind::READ, message().u32(3).u64(0).u32(99)).unwrap();
    assert_eq!(&names[4..], b"user.a\0");
    let none = client.ask(kind::XATTR_WALK, message().u32(1).u32(4).text("user.b"));
    assert_eq!(none, Err(Errno::NODATA.raw_os_error()));
}

/// V29: what a program of Plan 9 asks for.
#[test]
fn plan9_clients_are_served() {
    let files = files();
    let mut client = Client::new(&files, Dialect::Plan9, 0, Identity::Asked);
    client.walk(0, 1, "").unwrap();
    let create = message().u32(1).text("d").u32(0x8000_0000 | 0o755).u8(0);
    client.ask(kind::CREATE, create).unwrap();
    for name in ["f", "g"] {
        client.walk(0, 2, "d").unwrap();
        client.ask(kind::CREATE, message().u32(2).text(name).u32(0o644).u8(1)).unwrap();
        let mut write = message().u32(2).u64(0).u32(4);
        write.0.extend(b"text");
        client.ask(kind::WRITE, write).unwrap();
        client.ask(kind::CLUNK, message().u32(2)).unwrap();
    }
    assert_eq!(client.get("d/f"), Ok("text".into()));
    client.walk(0, 3, "d/g").unwrap();
    let stat = client.ask(kind::STAT, message().u32(3)).unwrap();
    assert!(stat.windows(2).any(|two| two == b"\x01g"[..2].to_vec() || two == [0, b'g']));
    // Renamed to `h`, everything else as it is.
    let stays = message().u16(u16::MAX).u32(u32::MAX);
    let stays = (0..13).fold(stays, |message, _| message.u8(u8::MAX));
    let stays = stays.u32(u32::MAX).u32(u32::MAX).u32(u32::MAX).u64(u64::MAX);
    let stat = stays.text("h").text("").text("").text("").0;
    let length = u16::try_from(stat.len()).unwrap();
    let mut change = message().u32(3).u16(length + 2).u16(length);
    change.0.extend(stat);
    client.ask(kind::CHANGE_STAT, change).unwrap();
    client.walk(0, 4, "d").unwrap();
    client.ask(kind::OPEN, message().u32(4).u8(0)).unwrap();
    let list = client.ask(kind::READ, message().u32(4).u64(0).u32(4000)).unwrap();
    let text = String::from_utf8_lossy(&list).into_owned();
    assert!(text.contains('f') && text.contains('h'), "{text:?}");
    let end = message().u32(4).u64(list.len() as u64 - 4).u32(4000);
    assert_eq!(client.ask(kind::READ, end).unwrap(), [0; 4]);
    assert_eq!(client.ask(kind::READ, message().u32(4).u64(1).u32(4000)), Err(-1));
    assert_eq!(client.ask(kind::SPACE, message().u32(4)), Err(-1), "of the other dialect");
}

/// V29: nobody is judged but the one who asks; a client that may be only itself stays that.
#[test]
fn clients_are_who_they_are() {
    let files = files();
    let mut root = Client::linux(&files, 0);
    root.put("secret", "x", 0o600).unwrap();
    root.put("public", "y", 0o644).unwrap();
    let mut user = Client::linux(&files, 1000);
    assert_eq!(user.get("/public"), Ok("y".into()));
    assert_eq!(user.get("/secret"), Err(ACCES));
    assert_eq!(user.put("new", "", 0o644), Err(ACCES));
    let fixed = Identity::Fixed(Caller::of(1000, 1000));
    let mut liar = Client::new(&files, Dialect::Linux, 0, fixed);
    assert_eq!(liar.get("/secret"), Err(ACCES));
}

/// V29: locks hold between clients.
#[test]
fn clients_lock_each_other_out() {
    let files = files();
    let (mut one, mut other) = (Client::linux(&files, 0), Client::linux(&files, 0));
    other.session.number = 9;
    one.put("f", "", 0o666).unwrap();
    for client in [&mut one, &mut other] {
        client.walk(0, 1, "f").unwrap();
        client.ask(kind::LINUX_OPEN, message().u32(1).u32(2)).unwrap();
    }
    let lock = |kind: u8| message().u32(1).u8(kind).u32(0).u64(0).u64(10).u32(5).text("c");
    assert_eq!(one.ask(kind::LOCK, lock(1)).unwrap(), [0]);
    assert_eq!(other.ask(kind::LOCK, lock(1)).unwrap(), [1], "blocked");
    one.ask(kind::LOCK, lock(2)).unwrap();
    assert_eq!(other.ask(kind::LOCK, lock(1)).unwrap(), [0]);
}

/// V29: what makes no sense is refused, and leaves the session as it was.
#[test]
fn nonsense_is_refused() {
    let mut client = Client::linux(&files(), 0);
    client.put("f", "x", 0o644).unwrap();
    let invalid = Errno::INVAL.raw_os_error();
    let bad = Errno::BADF.raw_os_error();
    assert_eq!(client.walk(9, 1, "f"), Err(bad), "no such file");
    for name in ["a/b", "a\0b"] {
        let body = message().u32(0).u32(1).u16(1).text(name);
        assert_eq!(client.ask(kind::WALK, body), Err(invalid));
        let body = message().u32(0).text(name).u32(0o755).u32(0);
        assert_eq!(client.ask(kind::MAKE_DIRECTORY, body), Err(invalid));
    }
    client.walk(0, 1, "f").unwrap();
    assert_eq!(client.walk(0, 1, "f"), Err(bad), "the number is taken");
    assert_eq!(client.ask(kind::READ, message().u32(1).u64(0).u32(9)), Err(bad), "not open");
    let short = client.ask(kind::READ, message().u32(1));
    assert_eq!(short, Err(Errno::PROTO.raw_os_error()));
    let long = client.ask(kind::CLUNK, message().u32(1).u32(1));
    assert_eq!(long, Err(Errno::PROTO.raw_os_error()));
    assert_eq!(client.ask(200, message()), Err(Errno::OPNOTSUPP.raw_os_error()));
    for bytes in [&b""[..], &[7, 0, 0, 0], &[8, 0, 0, 0, 100, 0, 0], &[6, 0, 0, 0, 1, 1]] {
        assert_eq!(client.session.answer(bytes), Err(Malformed));
    }
    let mut fresh = Session::new(files(), Identity::Asked, 1);
    let early = fresh.answer(&[11, 0, 0, 0, kind::CLUNK, 1, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(early[4], kind::LINUX_ERROR);
    // What a client may hold has an end.
    let refused = (100..40_000).find_map(|fid| client.walk(0, fid, "").err());
    assert_eq!(refused, Some(Errno::MFILE.raw_os_error()));
    assert_eq!(client.get("/f"), Err(Errno::MFILE.raw_os_error()));
}

/// V29: whatever is sent, each message is answered by one whole message.
#[test]
fn random_messages_are_answered() {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for dialect in [Dialect::Linux, Dialect::Plan9] {
        let mut client = Client::new(&files(), dialect, 0, Identity::Asked);
        for _ in 0..20_000 {
            let kind = u8::try_from(2 * random(64)).unwrap();
            // A new version would forget everything.
            if kind == kind::VERSION {
                continue;
            }
            let mut body = message();
            for _ in 0..random(8) {
                body = match random(5) {
                    0 => body.u8(u8::try_from(random(256)).unwrap()),
                    1 => body.u16(u16::try_from(random(4)).unwrap()),
                    2 => body.u32(u32::try_from(random(5)).unwrap()),
                    3 => body.u64(random(9000)),
                    _ => body.text(["a", "b", "..", "", "a/b", "user.x"][random(6) as usize]),
                };
            }
            // An error is an answer too.
            let _answered = client.ask(kind, body);
        }
    }
}
