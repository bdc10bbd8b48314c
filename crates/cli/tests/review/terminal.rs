//! Reviews at a terminal: the pager, colours, and questions about names that run code.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::fixture::Reviewed;
use crate::support::{Ended, has, stockade_binary};

/// Runs a line of shell on a terminal and types something; returns all that the terminal got.
pub(crate) fn typed(reviewed: &Reviewed, line: &str, keys: &str) -> String {
    let ended = on_terminal(reviewed, line, keys, &[]);
    ended.stdout
}

fn on_terminal(reviewed: &Reviewed, line: &str, keys: &str, more: &[(&str, &str)]) -> Ended {
    let place = &reviewed.place;
    let mut command = Command::new("script");
    command.args(["-qefc", line, "/dev/null"]).current_dir(&place.project).env_clear();
    command.env("HOME", &place.home).env("XDG_STATE_HOME", place.state());
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    command.env("PAGER", "cat").envs(more.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let keys = keys.to_owned();
    // Each line after the question, which forgets what was typed before it.
    let typist = std::thread::spawn(move || {
        for key in keys.split_inclusive('\n') {
            std::thread::sleep(std::time::Duration::from_millis(700));
            let _ = stdin.write_all(key.as_bytes());
        }
        std::thread::sleep(std::time::Duration::from_millis(700));
    });
    let ended = Ended::of(child.wait_with_output().unwrap());
    typist.join().unwrap();
    ended
}

fn stockade(rest: &str) -> String {
    format!("'{}' {rest}", stockade_binary().display())
}

#[test]
fn a_diff_has_colours_and_goes_through_the_pager() {
    if !has("unshare") || !has("script") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("echo new > a");
    let shown = on_terminal(&reviewed, &stockade("diff"), "", &[]);
    assert!(shown.stdout.contains("\x1b[32m+new\x1b[m"), "{:?}", shown.stdout);
    let plain = on_terminal(&reviewed, &stockade("diff"), "", &[("NO_COLOR", "1")]);
    assert!(
        plain.stdout.contains("+new") && !plain.stdout.contains("\x1b[3"),
        "{plain:?}",
        plain = plain.stdout
    );
    let pager = [("STOCKADE_PAGER", "sed s/new/paged/"), ("PAGER", "false")];
    let paged = on_terminal(&reviewed, &stockade("diff"), "", &pager);
    assert!(paged.stdout.contains("paged"), "{:?}", paged.stdout);
    let unpaged = on_terminal(&reviewed, &stockade("diff --no-pager"), "", &pager);
    assert!(unpaged.stdout.contains("new"), "{:?}", unpaged.stdout);
    // A pager that reads nothing is no failure.
    let unread = on_terminal(&reviewed, &stockade("diff"), "", &[("PAGER", "true")]);
    assert_eq!(unread.code, 0, "{:?}", unread.stdout);
}

/// K282, K286, T53: what runs code is asked about by name, and no answer is no.
#[test]
fn names_that_run_code_are_asked_about() {
    if !has("unshare") || !has("script") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("mkdir .vscode; echo one > .vscode/tasks.json; echo two > .vscode/launch.json; echo new > a");
    let shown = typed(&reviewed, &stockade("apply"), "y\nv\nn\n");
    assert!(shown.contains("`.vscode/launch.json` runs code on the host"), "{shown}");
    assert!(shown.contains("+one"), "{shown}");
    assert!(reviewed.has(".vscode/launch.json") && !reviewed.has(".vscode/tasks.json"), "{shown}");
    assert_eq!(reviewed.read("a"), "new\n");
    typed(&reviewed, &stockade("apply"), "\x04");
    assert!(!reviewed.has(".vscode/tasks.json"));
}

/// K286
#[test]
fn everything_is_thrown_away_by_a_yes_alone() {
    if !has("unshare") || !has("script") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("echo new > a");
    let shown = typed(&reviewed, &stockade("discard"), "\n");
    assert!(
        shown.contains("Throw away 1 changed path") && shown.contains("nothing was"),
        "{shown}"
    );
    reviewed.ask(&["diff"]).expect_code(0).prints("+new");
    typed(&reviewed, &stockade("discard"), "y\n");
    reviewed.ask(&["diff"]).expect_code(0).says("changed nothing");
}
