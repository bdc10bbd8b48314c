//! A13, A18: what is noted in a store of objects is there for the next who looks; what somebody else forged there is not,
//! and what others noted of their own objects stays.

use std::sync::Arc;
use std::time::Duration;

use remote::{Backend, Owners, Remote, Settings};
use rustix::io::Errno;
use vfs::{At, Attributes, Caller, Existing, FileSystem, Follow, Kind, Limits, New, OpenFlags};
use vfs::{Removal, Replace, SetXattr};

use crate::server::Reply;

/// A store, and how somebody else asks it.
pub(crate) trait Store {
    /// What the headers begin with that are anybody's.
    const METADATA: &'static str;
    /// The one that has the names of a file.
    const NAMES: &'static str;
    /// The length of an extended attribute of which there is room for one and not for two.
    const XATTR: usize;

    fn backend(&self) -> Box<dyn Backend>;

    /// Asks about an object of the mount without us.
    fn ask(&self, method: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply;
}

/// A look at the store that remembers nothing of earlier ones.
pub(crate) fn opened(store: &impl Store, writable: bool) -> FileSystem {
    looking(store, writable, Duration::ZERO)
}

/// The same, which believes what it saw for so long.
pub(crate) fn looking(store: &impl Store, writable: bool, believed: Duration) -> FileSystem {
    of(store.backend(), writable, believed)
}

pub(crate) fn of(backend: Box<dyn Backend>, writable: bool, believed: Duration) -> FileSystem {
    let owners = Owners::AsNoted;
    let settings = Settings { writable, believed, owners, uid: 5, ..Settings::default() };
    let engine: Arc<dyn vfs::Engine> = Arc::new(Remote::new(backend, settings, Limits::default()));
    FileSystem::new(engine, &Limits::default())
}

pub(crate) fn stat(files: &FileSystem, path: &str) -> Attributes {
    files.stat(&Caller::root(), At::Root, path.as_bytes(), Follow::No).unwrap()
}

pub(crate) fn text(files: &FileSystem, path: &str) -> Vec<u8> {
    files.read_file(&Caller::root(), path.as_bytes(), 1 << 20).unwrap()
}

pub(crate) fn header(reply: &Reply, name: &str) -> Option<String> {
    reply.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

pub(crate) fn what_is_noted_is_there_for_the_next<Of: Store>(store: &Of) {
    let (root, user, at) = (Caller::root(), Caller::of(7, 8), At::Root);
    let files = opened(store, true);
    files.make(&root, at, b"/d", New::Directory, 0o777).unwrap();
    files.set_mode(&root, at, b"/d", 0o1777).unwrap();
    files.make(&user, at, b"/d/link", New::Link(b"../d/file"), 0).unwrap();
    files.make(&user, at, b"/d/pipe", New::Fifo, 0o640).unwrap();
    files.write_file(&user, b"/d/file", b"contents").unwrap();
    let one = (at, &b"/d/file"[..], Follow::No);
    files.set_xattr(&user, one, (b"user.a", &vec![b'v'; Of::XATTR]), SetXattr::Any).unwrap();
    let too_much = files.set_xattr(&user, one, (b"user.b", &vec![b'v'; Of::XATTR]), SetXattr::Any);
    assert_eq!(too_much.unwrap_err().errno, Errno::NOSPC);
    files.set_size(&user, at, b"/d/file", 1 << 40).unwrap();
    files.set_mode(&user, at, b"/d/file", 0o4750).unwrap();
    let files = opened(store, false);
    let found = stat(&files, "/d/file");
    assert_eq!((found.mode, found.uid, found.gid, found.size), (0o4750, 7, 8, 1 << 40));
    assert_eq!(stat(&files, "/d").mode, 0o1777);
    assert_eq!(files.read_link(&root, at, b"/d/link").unwrap(), b"../d/file");
    let mut kinds: Vec<_> = files.list(&root, b"/d").unwrap();
    kinds.sort_by(|one, other| one.name.cmp(&other.name));
    let kinds: Vec<Kind> = kinds.into_iter().map(|listed| listed.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Link, Kind::Fifo]);
}

/// A file stays until its last name goes, wherever its names move.
pub(crate) fn names_of_one_file<Of: Store>(store: &Of) {
    let (root, at) = (Caller::root(), At::Root);
    let fresh = || opened(store, true);
    let rename = |from: &str, to: &str| {
        let (from, to) = ((at, from.as_bytes()), (at, to.as_bytes()));
        fresh().rename(&root, from, to, Replace::Yes).unwrap();
    };
    let all = |names: &[&str], contents: &[u8]| {
        let files = fresh();
        for name in names {
            assert_eq!(stat(&files, name).links as usize, names.len(), "{name}");
            assert_eq!(text(&files, name), contents, "{name}");
        }
    };
    let files = fresh();
    for path in [&b"/d"[..], b"/e"] {
        files.make(&root, at, path, New::Directory, 0o755).unwrap();
    }
    files.write_file(&root, b"/d/first", b"one file").unwrap();
    for name in [&b"/d/second"[..], b"/e/third", b"/fourth"] {
        files.link(&root, Existing::Path(b"/d/first", Follow::No), at, name).unwrap();
    }
    all(&["/d/first", "/d/second", "/e/third", "/fourth"], b"one file");
    // The first moves with its directory, and so does another one.
    rename("/d", "/f");
    all(&["/f/first", "/f/second", "/e/third", "/fourth"], b"one file");
    rename("/e", "/g");
    all(&["/f/first", "/f/second", "/g/third", "/fourth"], b"one file");
    rename("/f/first", "/first");
    all(&["/first", "/f/second", "/g/third", "/fourth"], b"one file");
    let through = OpenFlags { truncate: true, ..OpenFlags::WRITE };
    let file = fresh().open(&root, at, b"/g/third", through, 0).unwrap();
    file.write(&root, b"written").unwrap();
    file.close(&root).unwrap();
    all(&["/first", "/f/second", "/g/third", "/fourth"], b"written");
    fresh().remove(&root, at, b"/first", Removal::File).unwrap();
    all(&["/f/second", "/g/third", "/fourth"], b"written");
    fresh().write_file(&root, b"/other", b"other").unwrap();
    rename("/other", "/f/second");
    all(&["/g/third", "/fourth"], b"written");
    rename("/f/second", "/fourth");
    all(&["/g/third"], b"written");
    all(&["/fourth"], b"other");
    // What is open stays, whichever of its names goes.
    fresh().remove(&root, at, b"/g/third", Removal::File).unwrap();
    let gone = fresh().stat(&root, at, b"/g/third", Follow::No);
    assert_eq!(gone.unwrap_err().errno, Errno::NOENT);
}

pub(crate) fn what_others_wrote_stays_theirs<Of: Store>(store: &Of) {
    let root = Caller::root();
    let others = format!("{}color", Of::METADATA);
    let theirs = [(&*others, "red"), ("content-type", "text/x-thing")];
    store.ask("PUT", "d/theirs", &theirs, b"theirs");
    let files = opened(store, true);
    let found = stat(&files, "/d/theirs");
    assert_eq!((found.mode, found.uid, found.links), (0o644, 5, 1));
    files.set_mode(&root, At::Root, b"/d/theirs", 0o600).unwrap();
    files.set_mode(&root, At::Root, b"/d", 0o700).unwrap();
    let files = opened(store, false);
    assert_eq!((stat(&files, "/d/theirs").mode, stat(&files, "/d").mode), (0o600, 0o700));
    assert_eq!(stat(&files, "/d/theirs").modified, found.modified);
    let reply = store.ask("HEAD", "d/theirs", &[], b"");
    assert_eq!(header(&reply, &others).as_deref(), Some("red"));
    assert_eq!(header(&reply, "content-type").as_deref(), Some("text/x-thing"));
    // What is written anew has none of it.
    store.ask("PUT", "d/theirs", &[], b"anew");
    assert_eq!(stat(&opened(store, false), "/d/theirs").mode, 0o644);
    // A7: a mount that is only read changes nothing.
    let changed = files.set_mode(&root, At::Root, b"/d/theirs", 0o777);
    assert_eq!(changed.unwrap_err().errno, Errno::ROFS);
}

pub(crate) fn what_is_forged_is_nothing<Of: Store>(store: &Of) {
    let noted = format!("{}stockade", Of::METADATA);
    let notes = |text: &'static str| [(&*noted, text)];
    store.ask("PUT", "device", &notes("1;kdevice"), b"");
    store.ask("PUT", "order", &notes("1;u0;m4755"), b"");
    store.ask("PUT", "full-pipe", &notes("1;kfifo"), b"contents");
    store.ask("PUT", "victim", &[], b"secret");
    // "c29tZS93aGVyZS92aWN0aW0=" is the key of `victim`, and "b3V0c2lkZQ==" one outside of the mount.
    for (name, names) in [
        ("to-victim", "of;id;c29tZS93aGVyZS92aWN0aW0="),
        ("outside", "of;id;b3V0c2lkZQ=="),
        ("copied", "names;id;c29tZS93aGVyZS92aWN0aW0=;b3V0c2lkZQ=="),
    ] {
        let both = [(&*noted, "1"), (Of::NAMES, names)];
        store.ask("PUT", name, &both, b"");
    }
    let files = opened(store, true);
    for name in ["/device", "/order", "/full-pipe", "/to-victim", "/outside", "/copied"] {
        let found = stat(&files, name);
        assert_eq!((found.kind, found.mode, found.uid, found.links), (Kind::File, 0o644, 5, 1));
    }
    assert_eq!(text(&files, "/to-victim"), b"");
    assert_eq!(text(&files, "/full-pipe"), b"contents");
    for name in ["/to-victim", "/outside", "/copied"] {
        files.remove(&Caller::root(), At::Root, name.as_bytes(), Removal::File).unwrap();
    }
    assert_eq!(text(&files, "/victim"), b"secret");
}
