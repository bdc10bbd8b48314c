//! Upper layers that no overlayfs wrote: each trick alone. None reaches the host, and each is named.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::{FileType, Mode, OFlags, XattrFlags};

use super::support::{Fixture, assert_same, open, paths, summary};
use crate::{Marking, Refusal, Selection, TreePath, Workspace, WorkspaceError};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.host(&[("file", "host"), ("dir/inner", "host"), ("dir/other", "host")]).start();
    fixture
}

fn mark(fixture: &Fixture, name: &str, attribute: &str, value: &str) {
    let path = fixture.area.join("upper").join(name);
    rustix::fs::lsetxattr(&path, attribute, value.as_bytes(), XattrFlags::empty()).unwrap();
}

fn refused(fixture: &Fixture) -> Vec<(String, Refusal)> {
    let refused = fixture.changes().refused;
    refused.into_iter().map(|refused| (refused.path.to_string(), refused.reason)).collect()
}

/// T12: what is no file, directory or link stays out, and what is beside it does not.
#[test]
fn special_files_are_refused() {
    let fixture = fixture();
    let upper = open(&fixture.area.join("upper"));
    fixture.upper(&[("good", "g")]);
    let make = |name: &str, kind: FileType| {
        rustix::fs::mknodat(&upper, name, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    make("fifo", FileType::Fifo);
    make("socket", FileType::Socket);
    make("file", FileType::Fifo);
    let mut expected = vec![
        ("fifo".to_owned(), Refusal::Fifo),
        ("file".to_owned(), Refusal::Fifo),
        ("socket".to_owned(), Refusal::Socket),
    ];
    if testing::is_root() {
        let null = rustix::fs::makedev(1, 3);
        rustix::fs::mknodat(&upper, "null", FileType::CharacterDevice, Mode::RUSR, null).unwrap();
        expected.insert(2, ("null".to_owned(), Refusal::Device));
    }
    assert_eq!(refused(&fixture), expected);
    fixture.apply_all();
    assert_eq!(
        fixture.host_tree().keys().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>(),
        ["dir", "dir/inner", "dir/other", "file", "good"]
    );
    assert_eq!(fs::read_to_string(fixture.host.join("file")).unwrap(), "host");
    // They stay until they are thrown away.
    assert_eq!(refused(&fixture), expected);
    fixture.workspace().discard(&paths(&["fifo", "file"])).unwrap();
    fixture.workspace().discard_all().unwrap();
    assert!(fixture.changes().is_empty());
}

/// T12: a layer that says its content is elsewhere.
#[test]
fn marks_that_lead_elsewhere_are_refused() {
    let fixture = fixture();
    fixture.upper(&[("file", ""), ("moved/x", "x"), ("dir/inner", "")]);
    mark(&fixture, "file", "user.overlay.metacopy", "");
    mark(&fixture, "moved", "user.overlay.redirect", "/etc");
    mark(&fixture, "dir/inner", "user.overlay.redirect", "/../../etc/passwd");
    let expected = [
        ("dir/inner", Refusal::Redirect),
        ("file", Refusal::Metacopy),
        ("moved", Refusal::Redirect),
    ];
    assert_eq!(refused(&fixture), expected.map(|(path, reason)| (path.to_owned(), reason)));
    assert_eq!(summary(&fixture.changes()), Vec::<String>::new());
    let before = fixture.host_tree();
    fixture.apply_all();
    assert_same(&fixture.host_tree(), &before);
}

/// T12: marks of the kind that the mount does not use are the program's own, and mean nothing.
#[test]
fn forged_marks_mean_nothing() {
    let fixture = fixture();
    fixture.upper(&[("dir/new", "n"), ("file", "")]);
    mark(&fixture, "dir", "user.overlay.opaque", "y");
    mark(&fixture, "file", "user.overlay.whiteout", "");
    let summary_by = |marking| {
        let workspace = Workspace::new(open(&fixture.host), open(&fixture.area), marking);
        summary(&workspace.changes().unwrap())
    };
    assert_eq!(summary_by(Marking::User), ["D dir/inner", "A dir/new", "D dir/other", "D file"]);
    assert_eq!(summary_by(Marking::Trusted), ["A dir/new", "M file"]);
}

/// T1: links are brought as links, never through one, and those that lead out are flagged.
#[test]
fn links_are_links() {
    let fixture = fixture();
    let outside = fixture.place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("inner"), "mine").unwrap();
    let upper = fixture.area.join("upper");
    symlink(&outside, upper.join("dir")).unwrap();
    symlink("/etc/passwd", upper.join("file")).unwrap();
    symlink("dir/inner", upper.join("inside")).unwrap();
    let changes = fixture.changes();
    assert_eq!(summary(&changes), ["T dir", "D dir/inner", "D dir/other", "T file", "A inside"]);
    let flagged: Vec<_> = changes.list.iter().filter(|change| change.leads_out).collect();
    assert_eq!(
        flagged.iter().map(|change| change.path.to_string()).collect::<Vec<_>>(),
        ["dir", "file"]
    );
    fixture.apply_all();
    assert_eq!(fs::read_link(fixture.host.join("file")).unwrap().to_str(), Some("/etc/passwd"));
    assert_eq!(fs::read_link(fixture.host.join("dir")).unwrap(), outside);
    assert_eq!(fs::read_to_string(outside.join("inner")).unwrap(), "mine");
    // A later change below the link's name is not written through it.
    fs::remove_file(upper.join("dir")).ok();
    fixture.upper(&[("dir/inner", "evil")]);
    let changes = fixture.changes();
    assert_eq!(summary(&changes)[0], "T dir");
    fixture.apply_all();
    assert_eq!(fs::read_to_string(outside.join("inner")).unwrap(), "mine");
}

/// T12: no set-id bit, no foreign owner; permissions, dates and the user's attributes come along.
#[test]
fn files_arrive_as_the_callers_own() {
    use std::os::unix::fs::MetadataExt as _;
    let fixture = fixture();
    fixture.upper(&[("tool", "x"), ("shared/y", "y")]);
    let upper = fixture.area.join("upper");
    fs::set_permissions(upper.join("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
    fs::set_permissions(upper.join("shared"), fs::Permissions::from_mode(0o3775)).unwrap();
    if testing::is_root() {
        std::os::unix::fs::chown(upper.join("tool"), Some(12345), Some(12345)).unwrap();
        fs::set_permissions(upper.join("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
    }
    let dated = fs::metadata(upper.join("tool")).unwrap();
    let dated = (dated.mtime(), dated.mtime_nsec());
    mark(&fixture, "tool", "user.note", "kept");
    mark(&fixture, "tool", "user.overlay.origin", "");
    mark(&fixture, "shared", "user.note", "kept too");
    let workspace = fixture.workspace();
    let changes = workspace.changes().unwrap();
    let force = vec![TreePath::root()];
    workspace
        .apply(&changes, &crate::Request { force, ..crate::Request::of(Selection::All) })
        .unwrap();
    let status = fs::metadata(fixture.host.join("tool")).unwrap();
    assert_eq!(status.mode() & 0o7777, 0o755);
    assert_eq!(status.uid(), fs::metadata(&fixture.host).unwrap().uid());
    assert_eq!((status.mtime(), status.mtime_nsec()), dated);
    assert_eq!(fs::metadata(fixture.host.join("shared")).unwrap().mode() & 0o7777, 0o775);
    let attribute = |name: &str, attribute: &str| {
        let mut value = [0; 64];
        let length = rustix::fs::getxattr(fixture.host.join(name), attribute, &mut value[..]);
        length.map(|length| String::from_utf8_lossy(&value[..length]).into_owned())
    };
    assert_eq!(attribute("tool", "user.note").as_deref(), Ok("kept"));
    assert_eq!(attribute("shared", "user.note").as_deref(), Ok("kept too"));
    assert!(attribute("tool", "user.overlay.origin").is_err());
    assert!(fixture.changes().is_empty());
    // An attribute alone is a change, too.
    fixture.upper(&[("file", "host")]);
    mark(&fixture, "file", "user.note", "new");
    assert_eq!(summary(&fixture.changes()), ["P file"]);
    fixture.apply_all();
    assert_eq!(attribute("file", "user.note").as_deref(), Ok("new"));
}

/// T7: names that are not text, and such that look like something else.
#[test]
fn odd_names_arrive_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = fixture();
    let names: [&[u8]; 7] =
        [b"\xff\xfe", b"new\nline", b"-rf", b"back\\slash", b"[a]*?", b" ", b"..."];
    for name in names {
        fs::write(fixture.area.join("upper").join(std::ffi::OsStr::from_bytes(name)), name)
            .unwrap();
    }
    fixture.apply_all();
    for name in names {
        let read = fs::read(fixture.host.join(std::ffi::OsStr::from_bytes(name))).unwrap();
        assert_eq!(read, name);
    }
    assert!(fixture.changes().is_empty());
    fixture.workspace().undo(&[]).unwrap();
    assert_eq!(fixture.changes().list.len(), names.len());
}

/// Deeper than any path: refused where it gets too deep, and removed all the same.
#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let fixture = fixture();
    let mut directory = open(&fixture.area.join("upper"));
    let name = "d".repeat(200);
    for _ in 0..40 {
        rustix::fs::mkdirat(&directory, &name, Mode::RWXU).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        directory = rustix::fs::openat(&directory, &name, flags, Mode::empty()).unwrap();
    }
    let found = refused(&fixture);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, Refusal::TooDeep);
    fixture.workspace().discard_all().unwrap();
    assert!(fixture.changes().is_empty());
}

/// More names than are looked at: an error that says so, and a way out.
#[test]
fn too_many_names_are_refused_as_a_whole() {
    let fixture = fixture();
    for number in 0..300 {
        fixture.upper(&[(&format!("many/{number}"), "")]);
    }
    let error = fixture.workspace().with_most_names(200).changes().unwrap_err();
    assert!(matches!(error, WorkspaceError::TooLarge { most: 200 }), "{error}");
    assert_eq!(fixture.changes().list.len(), 301);
    fixture.workspace().with_most_names(200).discard_all().unwrap();
    assert!(fixture.changes().is_empty());
}

/// Directories and files that their owner shut: seen as such by a user; root can read them.
#[test]
fn shut_directories_are_refused_and_nothing_is_hidden_in_them() {
    let fixture = fixture();
    fixture.upper(&[("shut/evil", "e"), ("secret", "s"), ("open", "o")]);
    let upper = fixture.area.join("upper");
    for name in ["shut", "secret"] {
        fs::set_permissions(upper.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    if testing::is_root() {
        assert_eq!(summary(&fixture.changes()), ["A open", "A secret", "A shut", "A shut/evil"]);
        fixture.apply_all();
        return assert!(fixture.changes().is_empty());
    }
    let expected = ["secret", "shut"].map(|name| (name.to_owned(), Refusal::Unreadable));
    assert_eq!(refused(&fixture), expected);
    assert_eq!(summary(&fixture.changes()), ["A open"]);
    fixture.apply_all();
    assert_eq!(refused(&fixture), expected);
    fixture.workspace().discard_all().unwrap();
    assert!(fixture.changes().is_empty());
}

/// The root of the view can be shut, too, and be opened again.
#[test]
fn a_shut_root_shuts_nobody_out() {
    let fixture = fixture();
    let seen = fixture.cage("echo x > new; rm file; chmod 0 .; cd /");
    assert_eq!(summary(&fixture.changes()), ["D file", "A new"]);
    fixture.apply_all();
    assert_eq!(fixture.host_tree().keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>());
    fixture.cage("rm new; chmod 0 .; cd /");
    fixture.workspace().discard_all().unwrap();
    assert!(fixture.changes().is_empty());
}

/// A file that says it is huge takes no room.
#[test]
fn holes_stay_holes() {
    use std::os::unix::fs::MetadataExt as _;
    let fixture = fixture();
    let path = fixture.area.join("upper/huge");
    fs::write(&path, "begin").unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
    fixture.apply_all();
    let status = fs::metadata(fixture.host.join("huge")).unwrap();
    assert_eq!(status.len(), 1 << 43);
    assert!(status.blocks() < 1024, "{}", status.blocks());
    // Nor does it take the time to read it.
    assert!(fixture.changes().is_empty());
    fixture.upper(&[("huge", "other")]);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
    assert_eq!(summary(&fixture.changes()), ["M huge"]);
}

/// T4, K227: names that run code are flagged one by one, also in a repository under another name.
#[test]
fn names_that_run_code_are_flagged() {
    let fixture = fixture();
    fixture.host(&[("bare/HEAD", "ref: x\n"), ("bare/objects/", ""), ("bare/refs/", "")]).start();
    fixture.upper(&[
        (".git/hooks/pre-commit", "evil"),
        (".envrc", "evil"),
        ("bare/config", "evil"),
        ("bare/hooks/update", "evil"),
        ("plain/config", "fine"),
        ("src/main.rs", "fine"),
    ]);
    let changes = fixture.changes();
    let flagged = changes.list.iter().filter(|change| change.protected.is_some());
    assert_eq!(
        flagged.map(|change| change.path.to_string()).collect::<Vec<_>>(),
        [
            ".envrc",
            ".git/hooks",
            ".git/hooks/pre-commit",
            "bare/config",
            "bare/hooks",
            "bare/hooks/update"
        ]
    );
}

/// The session's own files are read as data: nonsense is an error.
#[test]
fn malformed_files_of_the_session_are_errors() {
    for name in ["journal/begun", "known"] {
        let fixture = fixture();
        fixture.upper(&[("file", "x")]);
        let path = fixture.area.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{\"id\":\"../..\"").unwrap();
        let error = fixture.workspace().changes().unwrap_err();
        assert!(matches!(error, WorkspaceError::Malformed { .. }), "{name}: {error}");
    }
}
