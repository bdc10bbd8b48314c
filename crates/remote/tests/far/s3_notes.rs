//! A13, A18: what is noted in a bucket is there for the next who looks; what somebody else forged there is not, and what
//! others noted of their own objects stays.

use std::sync::Arc;
use std::time::Duration;

use remote::{Owners, Remote, Settings};
use rustix::io::Errno;
use vfs::{At, Attributes, Caller, Existing, FileSystem, Follow, Kind, Limits, New, OpenFlags};
use vfs::{Removal, Replace, SetXattr};

use crate::s3::{backend, is_with_credentials};
use crate::s3_server::{Server, make_bucket, start};
use crate::server::{self, Reply, Request};

/// A look at the bucket that remembers nothing of earlier ones.
fn opened(server: &Server, writable: bool) -> FileSystem {
    let (owners, believed) = (Owners::AsNoted, Duration::ZERO);
    let settings = Settings { writable, believed, owners, uid: 5, ..Settings::default() };
    let backend = backend(&format!("http://{}", server.address));
    let engine: Arc<dyn vfs::Engine> = Arc::new(Remote::new(backend, settings, Limits::default()));
    FileSystem::new(engine, &Limits::default())
}

fn stat(files: &FileSystem, path: &str) -> Attributes {
    files.stat(&Caller::root(), At::Root, path.as_bytes(), Follow::No).unwrap()
}

fn text(files: &FileSystem, path: &str) -> Vec<u8> {
    files.read_file(&Caller::root(), path.as_bytes(), 1 << 20).unwrap()
}

/// Asks the server without us.
fn ask(server: &Server, method: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut all = vec![("host".into(), "localhost".into())];
    // The server wants a signature, and does not look at it.
    all.push(("authorization".into(), SIGNED.into()));
    all.push(("content-length".into(), body.len().to_string()));
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let path = format!("/bucket/some/where/{key}");
    let request = Request { method: method.into(), path, headers: all, body: body.to_vec() };
    let reply = server::forward(&server.address, &request).unwrap();
    assert_eq!(reply.status, 200, "{method} {key}");
    reply
}

const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=key-id/20261118/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

fn header(reply: &Reply, name: &str) -> Option<String> {
    reply.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

#[test]
fn what_is_noted_is_there_for_the_next() {
    if !is_with_credentials("s3_notes::what_is_noted_is_there_for_the_next") {
        return;
    }
    let Some(server) = start() else { return };
    make_bucket(&server);
    let (root, user, at) = (Caller::root(), Caller::of(7, 8), At::Root);
    let files = opened(&server, true);
    files.make(&root, at, b"/d", New::Directory, 0o777).unwrap();
    files.set_mode(&root, at, b"/d", 0o1777).unwrap();
    files.make(&user, at, b"/d/link", New::Link(b"../d/file"), 0).unwrap();
    files.make(&user, at, b"/d/pipe", New::Fifo, 0o640).unwrap();
    files.write_file(&user, b"/d/file", b"contents").unwrap();
    let one = (at, &b"/d/file"[..], Follow::No);
    files.set_xattr(&user, one, (b"user.a", &[b'v'; 1000]), SetXattr::Any).unwrap();
    let too_much = files.set_xattr(&user, one, (b"user.b", &[b'v'; 1000]), SetXattr::Any);
    assert_eq!(too_much.unwrap_err().errno, Errno::NOSPC);
    files.set_size(&user, at, b"/d/file", 1 << 40).unwrap();
    files.set_mode(&user, at, b"/d/file", 0o4750).unwrap();
    let files = opened(&server, false);
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
#[test]
fn names_of_one_file() {
    if !is_with_credentials("s3_notes::names_of_one_file") {
        return;
    }
    let Some(server) = start() else { return };
    make_bucket(&server);
    let (root, at) = (Caller::root(), At::Root);
    let fresh = || opened(&server, true);
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

#[test]
fn what_others_wrote_stays_theirs() {
    if !is_with_credentials("s3_notes::what_others_wrote_stays_theirs") {
        return;
    }
    let Some(server) = start() else { return };
    make_bucket(&server);
    let root = Caller::root();
    let theirs = [("x-amz-meta-color", "red"), ("content-type", "text/x-thing")];
    ask(&server, "PUT", "d/theirs", &theirs, b"theirs");
    let files = opened(&server, true);
    let found = stat(&files, "/d/theirs");
    assert_eq!((found.mode, found.uid, found.links), (0o644, 5, 1));
    files.set_mode(&root, At::Root, b"/d/theirs", 0o600).unwrap();
    files.set_mode(&root, At::Root, b"/d", 0o700).unwrap();
    let files = opened(&server, false);
    assert_eq!((stat(&files, "/d/theirs").mode, stat(&files, "/d").mode), (0o600, 0o700));
    assert_eq!(stat(&files, "/d/theirs").modified, found.modified);
    let reply = ask(&server, "HEAD", "d/theirs", &[], b"");
    assert_eq!(header(&reply, "x-amz-meta-color").as_deref(), Some("red"));
    assert_eq!(header(&reply, "content-type").as_deref(), Some("text/x-thing"));
    // What is written anew has none of it.
    ask(&server, "PUT", "d/theirs", &[], b"anew");
    assert_eq!(stat(&opened(&server, false), "/d/theirs").mode, 0o644);
    // A7: a mount that is only read changes nothing.
    let changed = files.set_mode(&root, At::Root, b"/d/theirs", 0o777);
    assert_eq!(changed.unwrap_err().errno, Errno::ROFS);
}

#[test]
fn what_is_forged_is_nothing() {
    if !is_with_credentials("s3_notes::what_is_forged_is_nothing") {
        return;
    }
    let Some(server) = start() else { return };
    make_bucket(&server);
    let notes = |text: &'static str| [("x-amz-meta-stockade", text)];
    ask(&server, "PUT", "device", &notes("1;kdevice"), b"");
    ask(&server, "PUT", "order", &notes("1;u0;m4755"), b"");
    ask(&server, "PUT", "full-pipe", &notes("1;kfifo"), b"contents");
    ask(&server, "PUT", "victim", &[], b"secret");
    // "c29tZS93aGVyZS92aWN0aW0=" is the key of `victim`, and "b3V0c2lkZQ==" one outside of the mount.
    for (name, names) in [
        ("to-victim", "of;id;c29tZS93aGVyZS92aWN0aW0="),
        ("outside", "of;id;b3V0c2lkZQ=="),
        ("copied", "names;id;c29tZS93aGVyZS92aWN0aW0=;b3V0c2lkZQ=="),
    ] {
        let both = [("x-amz-meta-stockade", "1"), ("x-amz-meta-stockade-names", names)];
        ask(&server, "PUT", name, &both, b"");
    }
    let files = opened(&server, true);
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
