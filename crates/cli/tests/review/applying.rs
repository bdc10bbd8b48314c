//! `stockade apply`, `discard` and `undo`: what reaches the host, what does not, and the way back.

use std::fs;
use std::os::fd::AsFd as _;
use std::process::Command;

use serde_json::Value;

use crate::fixture::{Reviewed, assert_same, begin};
use crate::support::has;

/// K280, K284, T13: what was applied is what the program saw; an undo gives back both. Each is on record before it happens.
#[test]
fn everything_is_applied_and_taken_back() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("gone", "g\n"), ("dir/x", "x\n")]);
    let before = reviewed.host();
    reviewed.cage("echo new > a; rm gone; rm -r dir; mkdir -p b/c; echo y > b/c/y; chmod 750 b");
    let dry = reviewed.ask(&["apply", "--dry-run"]);
    dry.expect_code(0).prints("would be applied: 7 paths");
    assert_same(&reviewed.host(), &before);
    let applied = reviewed.ask(&["apply"]);
    applied.expect_code(0).prints("applied: 7 paths").says("`stockade undo work`");
    assert_eq!((reviewed.read("a"), reviewed.read("b/c/y")), ("new\n".into(), "y\n".into()));
    assert!(!reviewed.has("gone") && !reviewed.has("dir"));
    reviewed.ask(&["diff"]).expect_code(0).says("has changed nothing");
    reviewed.ask(&["apply"]).expect_code(1).says("nothing to apply");
    let undone = reviewed.ask(&["undo", "--json"]);
    let undone: Value = serde_json::from_str(&undone.expect_code(0).stdout).unwrap();
    assert!(!undone["workspaces"][0]["undone"].as_array().unwrap().is_empty());
    assert_same(&reviewed.host(), &before);
    reviewed.ask(&["undo"]).expect_code(1).says("nothing to undo");
    reviewed.ask(&["diff", "--stat"]).expect_code(0).prints("7 paths changed");
    let recorded = reviewed.recorded();
    let shown: Vec<_> = recorded
        .iter()
        .map(|(event, action, outcome)| format!("{event} {action} {outcome}"))
        .collect();
    assert_eq!(
        shown,
        [
            "workspace.intent apply ",
            "workspace.outcome apply done",
            "workspace.intent undo ",
            "workspace.outcome undo done"
        ]
    );
}

#[test]
fn some_paths_are_applied_and_others_thrown_away() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("b", "b\n"), ("c/d", "d\n")]);
    reviewed.cage("for f in a b c/d; do echo new > $f; done; echo e > c/e");
    reviewed.ask(&["apply", "a", "c/e"]).expect_code(0).prints("applied: 2 paths");
    assert_eq!((reviewed.read("a"), reviewed.read("b")), ("new\n".into(), "b\n".into()));
    reviewed.ask(&["discard", "c"]).expect_code(0).prints("thrown away: `c`");
    reviewed.ask(&["diff", "--name-only"]).expect_code(0);
    assert_eq!(reviewed.ask(&["diff", "--name-only"]).stdout, "b\n");
    assert_eq!((reviewed.read("c/d"), reviewed.read("c/e")), ("d\n".into(), "e\n".into()));
    reviewed.ask(&["apply", "c"]).expect_code(1).says("`c` was not changed");
    // Everything is thrown away only by somebody who was asked.
    reviewed.ask(&["discard"]).expect_code(2).says("nobody is there").says("--yes");
    let json = reviewed.ask(&["discard", "--yes", "--json"]);
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(json["workspaces"][0]["all"], true);
    reviewed.ask(&["discard"]).expect_code(1).says("nothing to throw away");
    assert_eq!(reviewed.read("b"), "b\n");
}

/// K281, T13: what the host changed since is shown and left, unless somebody insists for that very path.
#[test]
fn conflicts_are_left_and_explained() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n"), ("d", "d\n")]);
    reviewed.cage("for f in a b c d; do echo cage > $f; done; echo cage > made");
    reviewed.change("a", "host\n").change("made", "host\n").change("c", "host\n");
    let ended = reviewed.ask(&["apply"]);
    ended.expect_code(1).prints("applied: 2 paths").says("changed there: 3 paths");
    ended.says("a: changed on the host").says("made: made on the host");
    ended.says("`stockade apply work --overwrite a`").says("`stockade discard work -- a`");
    assert_eq!((reviewed.read("a"), reviewed.read("made")), ("host\n".into(), "host\n".into()));
    assert_eq!((reviewed.read("b"), reviewed.read("d")), ("cage\n".into(), "cage\n".into()));
    let json = reviewed.ask(&["apply", "--json", "--dry-run"]);
    let json: Value = serde_json::from_str(&json.expect_code(1).stdout).unwrap();
    let conflicts = json["workspaces"][0]["conflicts"].as_array().unwrap();
    let words: Vec<_> = conflicts.iter().map(|one| one["conflict"].as_str().unwrap()).collect();
    assert_eq!(words, ["changed", "changed", "made"]);
    reviewed.ask(&["apply", "a", "--overwrite", "a"]).expect_code(0);
    assert_eq!(reviewed.read("a"), "cage\n");
    reviewed.ask(&["discard", "made"]).expect_code(0);
    assert_eq!(reviewed.ask(&["diff", "--name-only"]).stdout, "c\n");
    // An undo does not take away what the host changed since.
    reviewed.change("a", "later\n");
    reviewed
        .ask(&["undo"])
        .expect_code(1)
        .says("changed since on the host: `a`")
        .says("--overwrite");
    assert_eq!(reviewed.read("a"), "later\n");
    // Unless somebody gives that up by name.
    reviewed.ask(&["undo", "--overwrite", "b"]).expect_code(1);
    reviewed.ask(&["undo", "--overwrite", "a"]).expect_code(0).prints("1 path");
    assert_eq!(reviewed.read("a"), "host\n");
}

/// K281: a text that both sides changed is merged if that is asked for and certain.
#[test]
fn texts_are_merged_when_asked_for() {
    if !has("unshare") || !has("git") {
        return;
    }
    let text: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let reviewed = Reviewed::new(&[("src/text", &text), ("clash", &text)]);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).current_dir(&reviewed.place.project).env("HOME", &reviewed.place.home);
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]);
    let open = |path: &std::path::Path| fs::File::open(path).unwrap();
    let (area, host) = (open(&reviewed.area), open(&reviewed.place.project));
    workspace::note_commit(area.as_fd(), host.as_fd()).unwrap();
    reviewed.cage("sed -i s/^3$/cage/ src/text clash");
    let host = |line: &str| text.replace(&format!("\n{line}\n"), "\nhost\n");
    reviewed.change("src/text", &host("17")).change("clash", &host("3"));
    let ended = reviewed.ask(&["apply"]);
    ended.expect_code(1).says("src/text: changed on the host").says("can be merged");
    ended.says("`stockade apply work --merge`");
    assert_eq!(reviewed.read("src/text"), host("17"));
    let merged = reviewed.ask(&["apply", "--merge"]);
    merged
        .expect_code(1)
        .prints("both sides merged in `src/text`")
        .says("clash: changed on the host");
    assert_eq!(reviewed.read("src/text"), host("17").replace("\n3\n", "\ncage\n"));
    assert_eq!(reviewed.read("clash"), host("3"));
    // Nothing of the directory is left in the layer, and the session goes on.
    reviewed.ask(&["diff", "--name-only"]).expect_code(0).prints("clash");
}

/// K282, T12, T13: a name that runs code on the host is applied only by somebody who names it.
#[test]
fn names_that_run_code_are_applied_one_by_one() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), (".git/HEAD", "ref: refs/heads/x\n")]);
    reviewed.cage(
        "mkdir -p .git/hooks .vscode; echo 'touch /tmp/x' > .git/hooks/post-commit
         echo '{}' > .vscode/tasks.json; echo new > a; mkdir -p .claude/skills
         echo '{}' > .claude/settings.json; echo x > .claude/skills/x",
    );
    reviewed.ask(&["diff", "--stat"]).expect_code(0).says("runs code: .git/hooks/post-commit");
    let ended = reviewed.ask(&["apply"]);
    ended.expect_code(1).says(".git/hooks/post-commit").says(".vscode/tasks.json");
    ended.says("name those that you want");
    assert_eq!(reviewed.read("a"), "new\n");
    assert!(!reviewed.has(".git/hooks/post-commit") && !reviewed.has(".vscode/tasks.json"));
    // A directory above is not the name.
    reviewed.ask(&["apply", ".git"]).expect_code(1);
    assert!(!reviewed.has(".git/hooks/post-commit"));
    reviewed.ask(&["apply", ".vscode/tasks.json"]).expect_code(0);
    assert!(reviewed.has(".vscode/tasks.json") && !reviewed.has(".git/hooks/post-commit"));
    let json: Value = serde_json::from_str(&reviewed.ask(&["apply", "--json"]).stdout).unwrap();
    let held = json["workspaces"][0]["held"].as_array().unwrap();
    assert!(held.iter().any(|one| one["path"] == ".git/hooks/post-commit"), "{held:?}");
    // One that is made of such names alone is.
    reviewed.ask(&["apply", ".claude"]).expect_code(0);
    assert!(reviewed.has(".claude/settings.json") && reviewed.has(".claude/skills/x"));
    assert!(!reviewed.has(".git/hooks/post-commit"));
    reviewed.ask(&["apply", ".git/hooks"]).expect_code(0);
    assert!(reviewed.has(".git/hooks/post-commit"));
}

/// Hunk by hunk; what is left is still a change.
#[test]
fn hunks_are_chosen_one_by_one() {
    if !has("unshare") {
        return;
    }
    let text: String = (1..=40).map(|line| format!("{line}\n")).collect();
    let reviewed = Reviewed::new(&[("text", &text), ("gone", "g\n")]);
    reviewed
        .cage("sed -i 's/^3$/three/; s/^20$/twenty/; s/^38$/last/' text; rm gone; echo n > new");
    let answer = |answers: &str| {
        let mut command = reviewed.place.stockade();
        command.args(["apply", "-p"]).stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), answers.as_bytes()).unwrap();
        crate::support::Ended::of(child.wait_with_output().unwrap())
    };
    // Nothing is chosen by an end of input.
    answer("").expect_code(1);
    assert_eq!(reviewed.read("text"), text);
    // Files in their order: gone, new, text with three hunks.
    let ended = answer("n\ny\n?\ny\nn\nq\n");
    ended.expect_code(0).says("file 1/3: gone").says("delete it?").says("(3/3) apply this hunk?");
    ended.says("leave it and all later ones").prints("+three\n").prints("applied: 2 paths");
    assert!(reviewed.has("gone") && reviewed.has("new"));
    assert_eq!(reviewed.read("text"), text.replace("\n3\n", "\nthree\n"));
    answer("y\na\n").expect_code(0);
    assert!(!reviewed.has("gone"));
    let all = [("3", "three"), ("20", "twenty"), ("38", "last")];
    let all = all
        .iter()
        .fold(text, |text, (from, to)| text.replace(&format!("\n{from}\n"), &format!("\n{to}\n")));
    assert_eq!(reviewed.read("text"), all);
    reviewed.ask(&["diff"]).says("has changed nothing");
}

/// K281: an index that the host has written anew is left, and what that means for the next commit is said.
#[test]
fn a_stale_index_is_told() {
    if !has("unshare") || !has("git") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "1\n")]);
    let commit = "git -c user.name=n -c user.email=e commit -qam m";
    let host = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&reviewed.place.project);
        shell.env("HOME", &reviewed.place.home).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    host(&format!("git init -q; git add .; {commit}"));
    workspace::mark_run(fs::File::open(&reviewed.area).unwrap().as_fd()).unwrap();
    reviewed.cage(&format!("echo 2 > a; {commit}"));
    host("touch new; git add new");
    let applied = reviewed.ask(&["apply"]);
    applied.expect_code(1).says("index is still of before them").says("`git reset`");
    host("git reset -q");
    assert_eq!(host("git status --porcelain"), "?? new\n");
}

/// T67: a checkout of the person's own puts what commits hold into its place, so commits that come with an apply are
/// searched for what runs code.
#[test]
fn commits_that_hold_what_runs_code_are_told_when_they_are_applied() {
    if !has("unshare") || !has("git") {
        return;
    }
    let reviewed = Reviewed::new(&[]);
    let git = "git -c user.name=n -c user.email=e";
    let script = format!(
        "git init -q .; echo a > a; git add a; {git} commit -qm first; git branch -q quiet
         mkdir .vscode; echo '{{}}' > .vscode/tasks.json; git add .; {git} commit -qm second"
    );
    reviewed.cage(&script);
    let applied = reviewed.ask(&["apply", ".git", "a"]);
    applied.says("commits that were applied hold what runs code on the host: 1 file");
    let reviewed = Reviewed::new(&[]);
    let mut command = Command::new("sh");
    let first = format!("git init -q .; echo a > a; git add a; {git} commit -qm first");
    command.args(["-c", &first]).current_dir(&reviewed.place.project);
    assert!(command.env("HOME", &reviewed.place.home).status().unwrap().success());
    begin(&reviewed.place, "work", &reviewed.place.project);
    reviewed.cage(&format!(
        "mkdir .vscode; echo '{{}}' > .vscode/tasks.json; git add .; {git} commit -qm second"
    ));
    let applied = reviewed.ask(&["apply"]);
    applied.says("commits that were applied hold what runs code on the host: 1 file");
    applied.says(".vscode/tasks.json in ");
    assert!(!reviewed.has(".vscode/tasks.json"));
    reviewed.cage(&format!("echo b > b; git add b; {git} commit -qm third"));
    let quiet = reviewed.ask(&["apply"]);
    assert!(!quiet.stderr.contains("commits that were applied"), "{}", quiet.stderr);
}
