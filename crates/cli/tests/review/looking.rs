//! `stockade diff`: what it shows and which session it takes.

use std::fs;

use serde_json::Value;

use crate::fixture::{Reviewed, begin, cage};
use crate::support::{Place, has};

/// Text as Git shows it, a summary, names, and data.
#[test]
fn changes_are_shown_as_text_summary_names_and_data() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "1\n2\n3\n"), ("gone", "x\n"), ("sub/deep", "d\n")]);
    reviewed.cage("sed -i s/2/two/ a; rm gone; mv sub/deep sub/named; printf '\\0' > bin");
    let text = reviewed.ask(&["diff"]);
    text.expect_code(0).prints("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n");
    text.prints("deleted file mode").prints("rename from sub/deep\nrename to sub/named\n");
    text.prints("Binary files /dev/null and b/bin differ");
    assert!(!text.stdout.contains('\x1b'), "{:?}", text.stdout);
    reviewed.ask(&["diff", "--stat"]).expect_code(0).prints("4 paths changed");
    let names = reviewed.ask(&["diff", "--name-only"]);
    assert_eq!(names.stdout, "a\nbin\ngone\nsub/named\n");
    let coloured = reviewed.ask(&["--color", "always", "diff", "work", "a"]);
    coloured.expect_code(0).prints("\x1b[31m-2\x1b[m\n");
    let json = reviewed.ask(&["diff", "--json"]);
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(json["session"], "work");
    let workspace = &json["workspaces"][0];
    assert_eq!(workspace["path"], reviewed.place.project.to_str().unwrap());
    let changes: Vec<_> = workspace["changes"].as_array().unwrap().iter().collect();
    let words: Vec<_> = changes.iter().map(|change| change["change"].as_str().unwrap()).collect();
    assert_eq!(words, ["modified", "added", "deleted", "renamed"]);
    assert_eq!((&changes[0]["insertions"], &changes[3]["from"]), (&1.into(), &"sub/deep".into()));
    // A look changes nothing and is not on record.
    assert!(reviewed.recorded().is_empty());
}

/// Paths are relative to the working directory, wherever in the project that is.
#[test]
fn paths_choose_what_is_shown() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n"), ("sub/b", "b\n"), ("work", "w\n")]);
    reviewed.cage("echo x >> a; echo x >> sub/b; echo x >> work");
    let names = |words: &[&str]| {
        let ended = reviewed.ask(&[&["diff", "--name-only"], words].concat());
        ended.expect_code(0).stdout.clone()
    };
    assert_eq!(names(&["sub"]), "sub/b\n");
    assert_eq!(names(&["work", "a", "sub/b"]), "a\nsub/b\n");
    // A word that is a session's name is that session, and a path behind `--`.
    assert_eq!(names(&["work"]), "a\nsub/b\nwork\n");
    assert_eq!(names(&["--", "work"]), "work\n");
    assert_eq!(names(&["--session", "work", "work"]), "work\n");
    assert_eq!(names(&[reviewed.place.project.join("a").to_str().unwrap()]), "a\n");
    let mut command = reviewed.place.stockade();
    command.current_dir(reviewed.place.project.join("sub"));
    let from_below = command.args(["diff", "--name-only", "b", "../a"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&from_below.stdout), "a\nsub/b\n");
    // From elsewhere, with the session named.
    let mut command = reviewed.place.stockade();
    command.current_dir(reviewed.place.outside());
    let elsewhere = command.args(["diff", "work", "--name-only", "sub/b"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&elsewhere.stdout), "sub/b\n");
    reviewed.ask(&["diff", "/etc"]).expect_code(2).says("lies in no workspace");
    reviewed.ask(&["diff", "nonsense"]).expect_code(1).says("is no session, and nothing of that");
    // What is there and was not changed is no mistake.
    reviewed.change("quiet", "q");
    reviewed.ask(&["diff", "quiet"]).expect_code(0).says("changed nothing there");
}

#[test]
fn without_a_name_the_newest_session_for_the_directory_is_taken() {
    if !has("unshare") {
        return;
    }
    let place = Place::new();
    place.ask(["diff"]).expect_code(1).says("no session has a workspace for").says("--cow .");
    place.ask(["diff", "--session", "none"]).expect_code(1).says("there is no session `none`");
    place.write("a", "a\n");
    let first = begin(&place, "first", &place.project);
    cage(&place, &place.project, &first, "echo first > a");
    let second = begin(&place, "second", &place.project);
    cage(&place, &place.project, &second, "echo second > a");
    let ended = place.ask(["diff"]);
    ended.expect_code(0).prints("+second\n").says("session `second`, the newest").says("`first`");
    // One in which nothing is left to review is not taken before another.
    place.ask(["discard", "second", "--yes"]).expect_code(0);
    place.ask(["diff"]).expect_code(0).prints("+first\n");
    let mut command = place.stockade();
    command.current_dir(place.outside());
    let elsewhere = crate::support::Ended::of(command.arg("diff").output().unwrap());
    elsewhere.expect_code(1).says("no session has a workspace for").says("session `");
    // A directory that is gone is said to be.
    fs::rename(&place.project, place.home.join("moved")).unwrap();
    let mut command = place.stockade();
    command.current_dir(&place.home);
    let gone = crate::support::Ended::of(command.args(["diff", "first"]).output().unwrap());
    gone.expect_code(1).says("cannot be opened").says("stockade session end first");
}

/// K285: whoever uses a workspace is not disturbed by a look, and nobody else changes it meanwhile.
#[test]
fn a_session_in_use_can_be_looked_at_and_not_changed() {
    if !has("unshare") {
        return;
    }
    let reviewed = Reviewed::new(&[("a", "a\n")]);
    reviewed.cage("echo new > a");
    let area = fs::File::open(&reviewed.area).unwrap();
    rustix::fs::flock(&area, rustix::fs::FlockOperation::LockExclusive).unwrap();
    reviewed.ask(&["diff"]).expect_code(0).prints("+new\n").says("is in use");
    for words in [&["apply"][..], &["discard", "--yes"], &["discard", "a"], &["undo"]] {
        let ended = reviewed.ask(words);
        if words == ["undo"] {
            ended.expect_code(1).says("nothing to undo");
        } else {
            ended.expect_code(125).says("is in use").says("`stockade diff work`");
        }
    }
    assert_eq!(reviewed.read("a"), "a\n");
    let json: Value = serde_json::from_str(&reviewed.ask(&["apply", "--json"]).stdout).unwrap();
    assert_eq!((&json["exit_code"], &json["error"]["code"]), (&125.into(), &"refused".into()));
    drop(area);
    reviewed.ask(&["apply"]).expect_code(0);
    assert_eq!(reviewed.read("a"), "new\n");
}
