//! Paths, in a tree in memory.

use std::sync::Arc;

use rustix::io::Errno;

use crate::{At, Caller, FileSystem, Follow, Limits, Memory, New, OpenFlags, Setting};

fn files() -> FileSystem {
    let limits = Limits { max_depth: 100, ..Limits::default() };
    let files = FileSystem::new(Arc::new(Memory::new(&Caller::root(), 0o755, limits)), &limits);
    let root = Caller::root();
    for directory in ["/a", "/a/b", "/a/b/c", "/private", "/private/x"] {
        files.make(&root, At::Root, directory.as_bytes(), New::Directory, 0o755).unwrap();
    }
    for (file, text) in
        [("/top", "top"), ("/a/file", "a"), ("/a/b/file", "b"), ("/a/b/c/file", "c")]
    {
        files.write_file(&root, file.as_bytes(), text.as_bytes()).unwrap();
    }
    for (link, target) in [
        ("/a/up", ".."),
        ("/a/absolute", "/a/b"),
        ("/a/b/c/back", "../../file"),
        ("/a/b/slashed", "c/"),
        ("/a/to_root", "///"),
        ("/a/far", "../../../../../../top"),
        ("/a/nowhere", "missing"),
        ("/loop", "loop"),
        ("/a/self", "."),
    ] {
        files.make(&root, At::Root, link.as_bytes(), New::Link(target.as_bytes()), 0).unwrap();
    }
    files.set_mode(&root, At::Root, b"/private", 0o600).unwrap();
    files
}

#[track_caller]
fn check(files: &FileSystem, path: &str, expected: Result<&str, Errno>) {
    let found = files.read_file(&Caller::root(), path.as_bytes(), 100).map_err(|error| error.errno);
    assert_eq!(found, expected.map(|text| text.as_bytes().to_vec()), "{path}");
}

/// A5: links are followed before `..`, an absolute one begins at the guest's root, and above that is nothing.
#[test]
fn paths_lead_where_they_say() {
    let files = files();
    for (path, expected) in [
        ("/a/file", Ok("a")),
        ("a/file", Ok("a")),
        ("//a///./b//file", Ok("b")),
        ("/../../../a/file", Ok("a")),
        ("/a/b/../file", Ok("a")),
        ("/a/absolute/file", Ok("b")),
        // Of where the link leads, not of where it lies: `/a/b/..`.
        ("/a/absolute/../file", Ok("a")),
        ("/a/up/top", Ok("top")),
        ("/a/up/../../top", Ok("top")),
        ("/a/b/c/back", Ok("a")),
        ("/a/b/slashed/file", Ok("c")),
        ("/a/to_root/top", Ok("top")),
        ("/a/far", Ok("top")),
        ("/a/nowhere", Err(Errno::NOENT)),
        ("/a/file/", Err(Errno::NOTDIR)),
        ("/a/file/..", Err(Errno::NOTDIR)),
        ("/a/missing/..", Err(Errno::NOENT)),
        ("/a/far/", Err(Errno::NOTDIR)),
        ("/loop", Err(Errno::LOOP)),
        ("", Err(Errno::NOENT)),
        ("/a/b", Err(Errno::ISDIR)),
        ("/", Err(Errno::ISDIR)),
    ] {
        check(&files, path, expected);
    }
}

/// A5: bounds of names and paths, NUL, and forty links.
#[test]
fn paths_are_bounded() {
    let files = files();
    let root = Caller::root();
    let stat = |path: &[u8]| {
        files.stat(&root, At::Root, path, Follow::Yes).map(|_| ()).map_err(|error| error.errno)
    };
    assert_eq!(stat(b"/a\0b"), Err(Errno::INVAL));
    assert_eq!(stat(&[b'n'; 255]), Err(Errno::NOENT));
    assert_eq!(stat(&[b'n'; 256]), Err(Errno::NAMETOOLONG));
    let mut path = vec![b'/'; 4095];
    path[4094] = b'a';
    assert_eq!(stat(&path), Ok(()));
    path.push(b'a');
    assert_eq!(stat(&path), Err(Errno::NAMETOOLONG));
    let deep = "a/../".repeat(51);
    let refused = files.stat(&root, At::Root, deep.as_bytes(), Follow::Yes).unwrap_err();
    assert_eq!((refused.errno, refused.setting), (Errno::NAMETOOLONG, Some(Setting::Depth)));
    // Forty links one after the other, and one more.
    files.write_file(&root, b"/end", b"end").unwrap();
    for number in 0..41 {
        let target = if number == 0 { "/end".to_owned() } else { format!("/link{}", number - 1) };
        let path = format!("/link{number}");
        files.make(&root, At::Root, path.as_bytes(), New::Link(target.as_bytes()), 0).unwrap();
    }
    assert_eq!(stat(b"/link39"), Ok(()));
    assert_eq!(stat(b"/link40"), Err(Errno::LOOP));
    // Twenty twice in one path count together.
    assert_eq!(stat(b"/a/self/"), Ok(()));
    assert_eq!(stat([&b"/a"[..], &b"/self".repeat(40)].concat().as_slice()), Ok(()));
    assert_eq!(stat([&b"/a"[..], &b"/self".repeat(41)].concat().as_slice()), Err(Errno::LOOP));
}

/// A5: a path begins where an open directory is, also after that was moved, and nobody goes through what they may not.
#[test]
fn walks_begin_at_open_directories() {
    let files = files();
    let root = Caller::root();
    let flags = OpenFlags { directory: true, ..OpenFlags::READ };
    let directory = files.open(&root, At::Root, b"/a/b", flags, 0).unwrap();
    let at = At::Directory(&directory);
    let stat = |path: &[u8]| files.stat(&root, at, path, Follow::Yes).map_err(|error| error.errno);
    assert_eq!(stat(b"file").unwrap().size, 1);
    assert_eq!(stat(b"../../top").unwrap().size, 3);
    files.rename(&root, (At::Root, b"/a/b"), (At::Root, b"/moved"), crate::Replace::Yes).unwrap();
    assert_eq!(stat(b"c/file").unwrap().size, 1);
    assert_eq!(stat(b"../top").unwrap().size, 3);
    assert_eq!(stat(b"../../top").unwrap().size, 3);
    let user = Caller::of(1000, 1000);
    let refused = files.stat(&user, At::Root, b"/private/x", Follow::Yes).unwrap_err();
    assert_eq!(refused.errno, Errno::ACCESS);
    let refused = files.stat(&user, At::Root, b"/private/..", Follow::Yes).unwrap_err();
    assert_eq!(refused.errno, Errno::ACCESS);
    files.stat(&user, At::Root, b"/private", Follow::Yes).unwrap();
}

/// A1, A5: a path beneath a directory never leaves it; beneath the root, links that begin with a slash stay inside anyhow.
#[test]
fn what_is_beneath_a_directory_stays_there() {
    let (files, root) = (files(), Caller::root());
    let flags = OpenFlags { directory: true, ..OpenFlags::READ };
    let open = |path: &str| files.open(&root, At::Root, path.as_bytes(), flags, 0).unwrap();
    let (whole, part) = (open("/"), open("/a"));
    let found = |at: At<'_>, path: &str| {
        let found = files.stat(&root, at, path.as_bytes(), Follow::Yes);
        found.map(drop).map_err(|error| error.errno)
    };
    for (path, from_whole, from_part) in [
        ("file", Err(Errno::NOENT), Ok(())),
        ("b/../file", Err(Errno::NOENT), Ok(())),
        ("a/b/../file", Ok(()), Err(Errno::NOENT)),
        ("/a/file", Err(Errno::XDEV), Err(Errno::XDEV)),
        ("..", Err(Errno::XDEV), Err(Errno::XDEV)),
        ("b/../..", Err(Errno::NOENT), Err(Errno::XDEV)),
        ("a/../..", Err(Errno::XDEV), Err(Errno::NOENT)),
        ("a/absolute/file", Ok(()), Err(Errno::NOENT)),
        ("absolute/file", Err(Errno::NOENT), Err(Errno::XDEV)),
        ("up/top", Err(Errno::NOENT), Err(Errno::XDEV)),
        ("a/up/top", Ok(()), Err(Errno::NOENT)),
        ("b/c/back", Err(Errno::NOENT), Ok(())),
    ] {
        assert_eq!(found(At::Beneath(&whole), path), from_whole, "/ {path}");
        assert_eq!(found(At::Beneath(&part), path), from_part, "/a {path}");
    }
}
