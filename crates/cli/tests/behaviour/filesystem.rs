//! `stockade fs`: file systems that are mounted for a program or until somebody says stop, or served over 9P.

use std::fs::{self, OpenOptions};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::support::{Place, slowly};

/// Whether whoever runs the test may speak FUSE.
fn can_mount() -> bool {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    if opened.is_err() {
        testing::skip("`/dev/fuse` cannot be opened");
    }
    opened.is_ok()
}

fn is_mounted(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap();
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    table.contains(&format!(" {} fuse.stockade ", path.display()))
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn stop(mut child: Child) -> i32 {
    let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::INT).unwrap();
    child.wait().unwrap().code().unwrap()
}

/// A24: a program works in memory; the mount ends with it, and its status is ours. A user needs nothing for it.
#[test]
fn a_mount_lasts_as_long_as_its_program() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let below = place.write("view/below", "hidden");
    let line = "cd view && echo text > f && mkdir d && mv f d && cat d/f && ls; exit 7";
    place
        .ask(["fs", "mount", "memory:", "view", "--", "sh", "-c", line])
        .expect_code(7)
        .prints("text\nd\n");
    assert!(below.exists());
    assert!(!is_mounted(below.parent().unwrap()));
}

/// A4, A19: what is changed in a view of layers is in the upper one, and the lower one stays.
#[test]
fn layers_are_mounted() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let project = place.write("lower/f", "below");
    let project = project.ancestors().nth(2).unwrap();
    place.write("lower/g", "removed");
    place.write("upper/keep", "");
    place.write("view/keep", "");
    let line = "echo above > view/f; rm view/g; ls view";
    for expected in ["f\n", "f\n"] {
        let words = ["fs", "mount", "overlay:lower:upper", "view", "--", "sh", "-c", line];
        place.ask(words).prints(expected);
    }
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap();
    assert_eq!((read("lower/f"), read("lower/g")), ("below".into(), "removed".into()));
    assert_eq!(read("upper/tree/files/f"), "above\n");
}

/// A7: a directory is mounted for reading, and a mount without a program ends when it is interrupted.
#[test]
fn a_mount_ends_when_it_is_interrupted() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let source = place.write("src/f", "text");
    let view = place.write("view/keep", "").parent().unwrap().to_owned();
    let mut command = place.stockade();
    command.args(["fs", "mount", "dir:src", "view", "--read-only"]).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until("it is mounted", || is_mounted(&view));
    assert_eq!(fs::read_to_string(view.join("f")).unwrap(), "text");
    let refused = fs::write(view.join("f"), "other").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::ROFS.raw_os_error()));
    fs::write(source.with_file_name("g"), "new").unwrap();
    assert_eq!(fs::read_to_string(view.join("g")).unwrap(), "new");
    assert_eq!(stop(child), 0);
    assert!(!is_mounted(&view));
}

/// V29: a tree is on a socket until the command is interrupted; the socket goes with it.
#[test]
fn a_tree_is_served_over_9p() {
    let place = Place::new();
    let source = place.write("src/f", "text");
    let socket = source.ancestors().nth(2).unwrap().join("tree.sock");
    let mut command = place.stockade();
    command.args(["fs", "serve", "--9p", "./tree.sock", "dir:src"]).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_until("it listens", || UnixStream::connect(&socket).is_ok());
    assert_eq!(stop(child), 0);
    assert!(!socket.exists());
}

/// V29: what makes no sense is told.
#[test]
fn nonsense_is_refused() {
    let place = Place::new();
    place.write("view/keep", "");
    place.ask(["fs", "mount", "none:", "view"]).expect_code(2).says("is no file system");
    place.ask(["fs", "mount", "dir:none", "view"]).expect_code(122).says("cannot open `none`");
    place.ask(["fs", "mount", "memory:", "none"]).expect_code(122).says("cannot mount on `none`");
    let open = ["fs", "serve", "--9p", "0.0.0.0:0", "memory:"];
    place.ask(open).expect_code(125).says("can be reached from other machines");
}
