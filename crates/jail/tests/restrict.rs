//! Narrowing a directory in a mount namespace of one's own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod support;

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::Duration;

use jail::restrict::{Missing, RestrictError, Writing, restrict_dir};
use rustix::event::{PollFd, PollFlags};
use rustix::mount::MountFlags;
use sys::clone::{Forked, Namespaces, fork_into};

/// Runs `body` in a child with its own user and mount namespaces, as an unprivileged process may.
fn in_own_namespace(body: impl FnOnce()) {
    let uid = rustix::process::getuid().as_raw();
    let gid = rustix::process::getgid().as_raw();
    match fork_into(Namespaces::USER.and(Namespaces::MOUNT), None).unwrap() {
        Forked::Child => {
            fs::write("/proc/self/setgroups", "deny").unwrap();
            fs::write("/proc/self/uid_map", format!("0 {uid} 1")).unwrap();
            fs::write("/proc/self/gid_map", format!("0 {gid} 1")).unwrap();
            body();
            sys::exec::exit_now(0);
        }
        Forked::Parent { pid, pidfd, .. } => {
            let mut ended = [PollFd::new(&pidfd, PollFlags::IN)];
            let longest = testing::slowly(Duration::from_secs(20)).try_into().unwrap();
            if rustix::event::poll(&mut ended, Some(&longest)) != Ok(1) {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                panic!("the child hangs");
            }
            let id = rustix::process::WaitId::PidFd(std::os::fd::AsFd::as_fd(&pidfd));
            let options = rustix::process::WaitIdOptions::EXITED;
            let status = rustix::process::waitid(id, options).unwrap().unwrap();
            assert_eq!(status.exit_status(), Some(0), "the child's assertions failed");
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn fixture() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in ["kept", "other"] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("inside"), name).unwrap();
    }
    fs::write(root.join("file"), "contents").unwrap();
    fs::write(root.join("secret"), "hidden").unwrap();
    std::os::unix::fs::symlink("file", root.join("link")).unwrap();
    (directory, root)
}

fn allow<'a>(names: &'a [&'a str]) -> Vec<&'a OsStr> {
    names.iter().map(|name| OsStr::new(*name)).collect()
}

/// V1, V2, V4
fn only_the_allowed_entries_are_there() {
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        let allowed = allow(&["kept", "file", "link"]);
        let skipped = restrict_dir(&root, &allowed, Writing::Refused, Missing::Refuse).unwrap();
        assert!(skipped.is_empty());
        assert_eq!(names(&root), ["file", "kept", "link"]);
        assert_eq!(fs::read_to_string(root.join("kept/inside")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(root.join("link")).unwrap(), "contents");
        assert!(!root.join("secret").exists());
        assert!(!root.join("kept/../secret").exists());
    });
    assert_eq!(names(&root).len(), 5, "nothing on the host has changed");
}

/// V6, T63
fn a_narrowed_directory_is_truly_read_only() {
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        let allowed = allow(&["kept", "file"]);
        restrict_dir(&root, &allowed, Writing::Refused, Missing::Refuse).unwrap();
        assert!(fs::write(root.join("file"), "x").is_err());
        assert!(fs::OpenOptions::new().write(true).truncate(true).open(root.join("file")).is_err());
        assert!(fs::remove_file(root.join("file")).is_err());
        assert!(fs::write(root.join("new"), "x").is_err());
        assert!(fs::write(root.join("kept/new"), "x").is_err());
        assert!(fs::rename(root.join("kept"), root.join("moved")).is_err());
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        assert!(fs::set_permissions(root.join("file"), permissions).is_err());
    });
    assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "contents");
}

/// V3, V4
fn again_narrows_further_and_never_widens() {
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        let first = allow(&["kept", "file"]);
        restrict_dir(&root, &first, Writing::Refused, Missing::Refuse).unwrap();
        restrict_dir(&root, &first, Writing::Refused, Missing::Refuse).unwrap();
        assert_eq!(names(&root), ["file", "kept"]);
        let more = allow(&["kept", "secret"]);
        let refused = restrict_dir(&root, &more, Writing::Refused, Missing::Refuse).unwrap_err();
        assert!(matches!(refused, RestrictError::Missing(_)), "{refused}");
        assert_eq!(names(&root), ["file", "kept"], "a refused call changes nothing");
        let skipped = restrict_dir(&root, &more, Writing::Allowed, Missing::Skip).unwrap();
        assert_eq!(skipped, ["secret"]);
        assert_eq!(names(&root), ["kept"]);
        assert!(fs::write(root.join("kept/inside"), "x").is_err(), "read-only stays read-only");
    });
}

/// V1, V2, V10
fn a_writable_one_takes_new_files_in_memory() {
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        restrict_dir(&root, &allow(&["kept"]), Writing::Allowed, Missing::Refuse).unwrap();
        fs::write(root.join("new"), "x").unwrap();
        assert_eq!(names(&root), ["kept", "new"]);
    });
    assert!(!root.join("new").exists());
}

/// V16
fn an_entry_is_one_plain_name() {
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        for name in ["..", ".", "", "kept/inside", "/etc"] {
            let refused = restrict_dir(&root, &allow(&[name]), Writing::Refused, Missing::Skip);
            assert!(matches!(refused, Err(RestrictError::Name(_))), "{name}");
        }
    });
}

/// V5: an entry that this very process serves is not asked about, or it would wait for itself for ever.
fn an_entry_of_ones_own_is_not_asked_about() {
    if fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
        return testing::skip("only root can serve a file system here");
    }
    let (_directory, root) = fixture();
    in_own_namespace(|| {
        let served = root.join("kept");
        // Nobody ever reads its requests, as nobody does while the server itself is here.
        let server = fs::File::options().read(true).write(true).open("/dev/fuse").unwrap();
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", server.as_raw_fd());
        let options = CString::new(options).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount("own", &served, "fuse", flags, options.as_c_str()).unwrap();
        let allowed = allow(&["kept", "file"]);
        restrict_dir(&root, &allowed, Writing::Refused, Missing::Refuse).unwrap();
        assert_eq!(names(&root), ["file", "kept"]);
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let shown = served.to_str().unwrap();
        let is_there = mounts.lines().filter(|line| line.contains(shown) && line.contains("fuse"));
        // Beneath the shadow, and in it.
        assert_eq!(is_there.count(), 2, "{mounts}");
    });
}

fn main() {
    support::run_single_threaded(&[
        ("only_the_allowed_entries_are_there", only_the_allowed_entries_are_there),
        ("a_narrowed_directory_is_truly_read_only", a_narrowed_directory_is_truly_read_only),
        ("again_narrows_further_and_never_widens", again_narrows_further_and_never_widens),
        ("a_writable_one_takes_new_files_in_memory", a_writable_one_takes_new_files_in_memory),
        ("an_entry_is_one_plain_name", an_entry_is_one_plain_name),
        ("an_entry_of_ones_own_is_not_asked_about", an_entry_of_ones_own_is_not_asked_about),
    ]);
}
