//! The whole way with real cages: a program works on a copy, the person looks, applies and takes back.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::overlay::{assert_same, tree};
use crate::support::{Ended, Place, has, slowly, stockade_binary};

/// Whether a cage can have a copy-on-write view here.
fn can_cow(place: &Place) -> bool {
    let tried = place.shell(&["--cow", "."], "true");
    if tried.code != 0 {
        crate::support::skip(format!(
            "no cage can have a copy-on-write view here: {}",
            tried.stderr
        ));
    }
    tried.code == 0
}

/// K280, K286: nothing reaches the host before the apply, and everything after it; a run without a terminal says what
/// there is in one line.
#[test]
fn what_a_cage_changed_is_reviewed_and_applied() {
    let place = Place::new();
    place.write("a", "a\n");
    place.write("gone", "g\n");
    if !can_cow(&place) {
        return;
    }
    let before = tree(&place.project);
    let ran = place.shell(&["--cow", "."], "echo new > a; rm gone; mkdir d; echo x > d/x; cat a");
    ran.expect_code(0).prints("new\n").says("stockade diff ").says("stockade apply ");
    assert_same(&tree(&place.project), &before);
    place.ask(["diff"]).expect_code(0).prints("-a\n+new\n").prints("+++ b/d/x");
    place.ask(["apply"]).expect_code(0).prints("applied: 4 paths");
    assert_eq!(std::fs::read_to_string(place.project.join("a")).unwrap(), "new\n");
    assert!(!place.project.join("gone").exists());
    place.ask(["undo"]).expect_code(0);
    assert_same(&tree(&place.project), &before);
    // The next run of the same kind has a session of its own; a named one goes on.
    place.shell(&["--cow", ".", "--session", "named"], "echo one > one").expect_code(0);
    place.shell(&["--cow", ".", "--session", "named"], "cat one; echo two > two").prints("one\n");
    assert_eq!(place.ask(["diff", "named", "--name-only"]).stdout, "one\ntwo\n");
    place.ask(["apply", "named"]).expect_code(0);
    place.ask(["discard", "--yes"]).expect_code(0);
    let quiet = place.shell(&["--cow", ".", "-q"], "echo three > three");
    assert!(!quiet.stderr.contains("stockade diff"), "{}", quiet.stderr);
}

/// K281: what the host changed during the run is a conflict, merged if that is asked for and certain.
#[test]
fn a_host_that_changed_during_the_run_is_left() {
    let place = Place::new();
    if !can_cow(&place) || !has("git") {
        return;
    }
    let text: String = (1..=20).map(|line| format!("{line}\n")).collect();
    place.write("text", &text);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).current_dir(&place.project).env("HOME", &place.home);
        assert!(command.env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]);
    let run = place.shell(&["--cow", "."], "sed -i s/^3$/cage/ text");
    run.expect_code(0);
    place.write("text", text.replace("\n17\n", "\nhost\n"));
    place.ask(["apply"]).expect_code(1).says("can be merged");
    place.ask(["apply", "--merge"]).expect_code(0).prints("both sides merged");
    let merged = std::fs::read_to_string(place.project.join("text")).unwrap();
    assert_eq!(merged, text.replace("\n17\n", "\nhost\n").replace("\n3\n", "\ncage\n"));
}

/// K285: a cage that runs keeps others from changing its session.
#[test]
fn a_running_cage_is_looked_at_and_not_disturbed() {
    let place = Place::new();
    place.write("a", "a\n");
    if !can_cow(&place) {
        return;
    }
    let mut command = place.stockade();
    command.args(["run", "--cow", ".", "--session", "work", "--", "sh", "-c"]);
    command.arg("echo new > a; echo ready; read line");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    place.ask(["diff", "work"]).expect_code(0).prints("+new\n").says("is in use");
    place.ask(["apply", "work"]).expect_code(125).says("is in use by process");
    place.ask(["session", "list"]).expect_code(0).prints("in use by one process");
    drop(child.stdin.take());
    Ended::of(child.wait_with_output().unwrap());
    place.ask(["apply", "work"]).expect_code(0);
}

/// T13: where an apply has to make its files in the project, because the state is on another file system, a cage that
/// may write there would reach them: the one waits for the other.
#[test]
fn an_apply_in_the_project_waits_for_a_cage_that_may_write_there() {
    let place = Place::new();
    place.write("a", "a\n");
    let memory = Path::new("/dev/shm");
    if !can_cow(&place) || !memory.is_dir() {
        return;
    }
    let state = tempfile::tempdir_in(memory).unwrap();
    let stockade = |words: &[&str]| {
        let mut command = place.stockade();
        command.env("XDG_STATE_HOME", state.path()).args(words);
        command
    };
    let ask = |words: &[&str]| Ended::of(stockade(words).output().unwrap());
    let change = ["--", "sh", "-c", "echo new > a"];
    ask(&[&["run", "--cow", ".", "--session", "work"][..], &change].concat()).expect_code(0);
    let mut writing = stockade(&["run", "--rw", ".", "--", "sh", "-c", "echo ready; read line"]);
    writing.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut writing = writing.spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(writing.stdout.as_mut().unwrap(), &mut ready).unwrap();
    ask(&["apply", "work"]).expect_code(125).says("may write here (`rw`)");
    assert_eq!(std::fs::read_to_string(place.project.join("a")).unwrap(), "a\n");
    drop(writing.stdin.take());
    Ended::of(writing.wait_with_output().unwrap()).expect_code(1);
    ask(&["apply", "work"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(place.project.join("a")).unwrap(), "new\n");
}

/// K286: at a terminal the person is asked; each answer does what it says, and none keeps.
#[test]
fn at_a_terminal_the_person_is_asked_what_becomes_of_changes() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    place.write("a", "a\n");
    if !can_cow(&place) {
        return;
    }
    let line =
        format!("'{}' run --cow . -- sh -c 'echo new > a; exit 3'", stockade_binary().display());
    let typed = |keys: &'static [&'static str]| {
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(&place.project).env_clear();
        command.env("HOME", &place.home).env("XDG_STATE_HOME", place.state());
        command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.env("PAGER", "cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let typist = std::thread::spawn(move || {
            for key in keys {
                std::thread::sleep(slowly(Duration::from_millis(2500)));
                let _ = stdin.write_all(key.as_bytes());
            }
            std::thread::sleep(slowly(Duration::from_millis(1500)));
        });
        let ended = Ended::of(child.wait_with_output().unwrap());
        typist.join().unwrap();
        // Whatever is answered, the run ends as its program did.
        ended.expect_code(3).prints("review, apply, keep or discard?");
        ended
    };
    let read = || std::fs::read_to_string(place.project.join("a")).unwrap();
    typed(&["\u{3}"]).prints("kept as session");
    typed(&["\n"]).prints("kept as session");
    typed(&["what\n", "r\n", "d\n", "n\n", "k\n"]).prints("+new").prints("Throw away");
    assert_eq!(read(), "a\n");
    typed(&["discard\n", "y\n"]).prints("thrown away");
    assert_eq!(read(), "a\n");
    typed(&["a\n"]).prints("applied: 1 path");
    assert_eq!(read(), "new\n");
}
