//! `stockade fs ls|cat|put|get|rm|mkdir|stat|tree`: the host's way into what a session has, beside what its cages see.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::{Ended, Place, is_root};

fn fs_of(place: &Place, words: &str) -> Ended {
    place.ask(["fs"].into_iter().chain(words.split(' ')))
}

/// A9: what a cage left is listed, read and copied out, and what is put there the next cage finds.
#[test]
fn files_of_a_session_go_in_and_out() {
    let place = Place::new();
    place.write("one", "one\n");
    place.write("gone", "gone\n");
    place.write("local/tool", "#!/bin/sh\necho put\n");
    fs::set_permissions(
        place.project.join("local/tool"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let flags = ["--cow", ".", "--session", "work"];
    place
        .shell(
            &flags,
            "rm gone; echo changed > one; mkdir d; echo s > /scratch/s; ln -s /etc d/out",
        )
        .expect_code(0);
    let listed = fs_of(&place, "ls work:");
    listed.expect_code(0).prints("-rw-r--r--").prints(" one\n").prints(" d/\n");
    assert!(!listed.stdout.contains("gone"), "{}", listed.stdout);
    fs_of(&place, "cat work:one").expect_code(0).prints("changed\n");
    fs_of(&place, "cat work:/scratch/s").expect_code(0).prints("s\n");
    fs_of(&place, "cat work:d/out/passwd").expect_code(1).says("session `work` has no");
    fs_of(&place, "cat work:/etc/passwd").expect_code(1).says("its files are in");
    fs_of(&place, "stat work:d/out").expect_code(0).prints("leads to  /etc");
    fs_of(&place, "tree work:").expect_code(0).prints("├── d/\n│   └── out -> /etc\n");
    fs_of(&place, "put local work:d").expect_code(1).says("is a directory").says("`-r`");
    fs_of(&place, "put -r local work:d").expect_code(0);
    fs_of(&place, "put -r local work:d").expect_code(1).says("already").says("`--overwrite`");
    fs_of(&place, "put local/tool work:/scratch/t").expect_code(0);
    fs_of(&place, "mkdir work:p/q").expect_code(1).says("has no");
    fs_of(&place, "mkdir -p work:p/q").expect_code(0);
    fs_of(&place, "rm work:one").expect_code(0);
    let expected = "put\nput\np/q\ngone here";
    let line = "d/local/tool; /scratch/t; ls -d p/q; test ! -e one && echo gone here";
    place.shell(&flags, line).expect_code(0).prints(expected);
    // The host's own stay, and a review knows of what was put.
    assert_eq!(fs::read_to_string(place.project.join("one")).unwrap(), "one\n");
    let diff = place.ask(["diff", "work", "--name-only"]);
    assert!(diff.stdout.contains("d/local/tool") && diff.stdout.contains("one"), "{}", diff.stdout);
    fs_of(&place, "get work:d out").expect_code(1).says("is a directory");
    fs_of(&place, "get -r work:d out").expect_code(125).says("is a link to `/etc`");
    assert!(!place.project.join("out").exists());
    fs_of(&place, "get -r --no-links work:d out").expect_code(0).says("left out of session");
    assert!(place.project.join("out/local/tool").exists());
    assert!(!place.project.join("out/out").exists());
    fs_of(&place, "get work:d/local/tool one").expect_code(1).says("already");
    let json =
        fs_of(&place, "get --json --overwrite work:d/local/tool one").expect_code(0).stdout.clone();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["files"], &json["bytes"]), (&1.into(), &19.into()));
    for around in ["/", "/tmp", "/scratch/../tmp/.", &format!("{}/..", place.project.display())] {
        fs_of(&place, &format!("rm -r work:{around}")).expect_code(2).says("lies around that");
    }
    fs_of(&place, "cat work:d/local/tool").expect_code(0);
    fs_of(&place, "rm work:d").expect_code(1).says("is a directory");
    fs_of(&place, "rm -r work:d").expect_code(0);
    let json = fs_of(&place, "ls --json work:").expect_code(0).stdout.clone();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> = json["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"p") && !names.contains(&"d"), "{names:?}");
    fs_of(&place, "ls none:").expect_code(1).says("there is no session `none`");
    fs_of(&place, "ls work").expect_code(2).says("SESSION:PATH");
}

/// A9: while a cage has a view it is read, and not written; its scratch is both.
#[test]
fn a_view_in_use_is_only_read() {
    let place = Place::new();
    place.write("one", "one\n");
    let mut command = place.stockade();
    let line = "echo changed > one; echo ready; read go; cat /scratch/new; cat one";
    command.args(["run", "--cow", ".", "--session", "work", "--", "sh", "-c", line]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    fs_of(&place, "cat work:one").expect_code(0).prints("changed\n").says("is in use");
    fs_of(&place, "put one work:two").expect_code(125).says("is in use by process");
    fs_of(&place, "rm work:one").expect_code(125).says("`/scratch`");
    fs_of(&place, "put one work:/scratch/new").expect_code(0);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "one\nchanged\n");
    fs_of(&place, "put one work:two").expect_code(0);
}

/// A9: the home that a project keeps is at its place, and sources are worked with in the same way.
#[test]
fn homes_and_sources_are_worked_with() {
    let place = Place::new();
    place.default_cage("fs = [{ cow = \".\" }]\nhome = \"kept\"");
    place.shell(&["--session", "work"], "echo mine > ~/.kept; echo x > a").expect_code(0);
    let home = place.home.display();
    fs_of(&place, &format!("cat work:{home}/.kept")).expect_code(0).prints("mine\n");
    fs_of(&place, &format!("cat work:{home}/project/a")).expect_code(0).prints("x\n");
    let mut put = place.stockade();
    put.args(["fs", "put", "-"]).arg(format!("work:{home}/.new")).stdin(Stdio::piped());
    let mut child = put.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"put\n").unwrap();
    assert!(child.wait().unwrap().success());
    place.shell(&["--session", "work"], "cat ~/.new").expect_code(0).prints("put\n");
    assert!(!place.home.join(".new").exists());
    // A directory of the host is one too.
    place.write("docs/a", "text\n");
    fs_of(&place, "cat dir:docs:a").expect_code(0).prints("text\n");
    fs_of(&place, "put docs/a dir:docs:b").expect_code(0);
    assert_eq!(fs::read_to_string(place.project.join("docs/b")).unwrap(), "text\n");
    // A home that a session never saw does not cover what it changed.
    place.default_cage("fs = [{ cow = \"docs\" }]");
    place.shell(&["--session", "second"], "echo other > docs/a").expect_code(0);
    fs_of(&place, &format!("cat second:{home}/project/docs/a")).expect_code(0).prints("other\n");
    fs_of(&place, &format!("get second:{home}/project/docs/a -")).prints("other\n");
    fs_of(&place, "ls memory:").expect_code(2).says("nothing of it is kept");
    fs_of(&place, "ls store:none.db").expect_code(122).says("no store");
    if is_root() {
        // What root puts there is the cage's own.
        place.shell(&["--session", "work"], "echo more >> ~/.new").expect_code(0);
    }
}
