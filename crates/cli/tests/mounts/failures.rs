//! Mounts that cannot be had, or are lost: a clear error before anything runs, an error number after.

use std::time::{Duration, Instant};

use crate::support::{Place, slowly};
use crate::{behaviour, can_mount, drive_server, shell, with_drive};

/// A7, A8: places and sources that no mount has.
#[test]
fn impossible_mounts_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("docs/a", "text");
    for (mount, code, says) in [
        ("/etc=memory:", 2, "mount below `/mnt`"),
        ("/proc/x=memory:", 2, "mount below `/mnt`"),
        ("/=memory:", 2, "mount below `/mnt`"),
        ("mnt=memory:", 2, "not absolute"),
        ("/mnt/a", 2, "expected `AT=FROM`"),
        ("/mnt/a=az://container/x", 122, "set `AZURE_STORAGE_ACCOUNT`"),
        ("/mnt/a=ftp://host", 2, "expected `memory:`"),
        ("/mnt/a=s3://NO/x", 2, "the name of a bucket"),
        ("/mnt/a=s3://bucket/x", 122, "set `AWS_ACCESS_KEY_ID`"),
    ] {
        let ended = place.shell(&["--ro", ".", "--mount", mount], "true");
        assert!(ended.code == code || !can_mount(), "{mount}: {} {}", ended.code, ended.stderr);
        assert!(ended.stderr.contains(says) || !can_mount(), "{mount}: {}", ended.stderr);
    }
    let on_a_grant = format!("{}/docs=memory:", place.project.display());
    let ended = place.shell(&["--ro", ".", "--mount", &on_a_grant], "true");
    assert_ne!(ended.code, 0);
    ended.says("nothing can be mounted on");
}

/// A7, K240: a project's own file gets no store far away that nobody approved, and a store of its own.
#[test]
fn a_project_needs_approval_for_what_is_elsewhere() {
    let place = Place::new();
    place.default_cage(
        "fs = [{ ro = \".\" }]\nmounts = [{ at = \"/mnt/a\", from = \"s3://bucket/x\" }]",
    );
    let ended = place.shell(&[], "true");
    assert_ne!(ended.code, 0);
    ended.says("`s3://bucket/x` mounted read-only");
    place.default_cage("fs = [{ ro = \".\" }]\nmounts = [{ at = \"/mnt/a\", from = \"memory:\" }]");
    place.shell(&[], "echo x > /mnt/a/b").expect_code(0);
}

/// A13, A17: a store that is not there, and one that refuses, are errors before the program runs.
#[test]
fn a_store_that_cannot_be_had_is_an_error() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--ro", ".", "--mount", "/mnt/a=gdrive:root"];
    let ended = shell(&mut with_drive(&place, "http://127.0.0.1:1"), &flags, "echo ran");
    ended.expect_code(122).says("the mount on `/mnt/a` is not served").says("no connection");
    assert!(!ended.stderr.contains(behaviour::SECRET));
    let (drive, _) = drive_server::start();
    let mut command = with_drive(&place, &drive);
    command.env("GDRIVE_REFRESH_TOKEN", "another");
    let ended = shell(&mut command, &flags, "echo ran");
    assert!(ended.code == 122 && !ended.stdout.contains("ran"), "{} {}", ended.code, ended.stderr);
    let ended = shell(&mut with_drive(&place, "http://drive.example"), &flags, "echo ran");
    ended.expect_code(122).says("is not encrypted");
}

/// A store whose server is killed answers with an error, which is on record; the program goes on.
#[test]
fn a_server_that_dies_is_an_error_and_on_record() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let line = "echo x > /mnt/s/a; echo ready > ready; while test ! -e go; do sleep 0.05; done; cat /mnt/s/a";
    let flags = ["run", "--rw", ".", "--mount", "/mnt/s=store:data.db,rw", "--", "sh", "-c", line];
    let mut command = place.stockade();
    let child = command.args(flags).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + slowly(Duration::from_secs(20));
    while !place.project.join("ready").exists() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    let server = crate::jails::servers(child.id()).pop().unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    place.write("go", "");
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not connected") || said.contains("I/O error"), "{said}");
    let lost = place.records().into_iter().find(|one| one["event"] == "sandbox.mount_lost");
    assert_eq!(lost.unwrap()["at"], "/mnt/s");
}
