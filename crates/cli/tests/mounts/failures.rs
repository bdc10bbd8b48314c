//! Mounts that cannot be had, or are lost: a clear error before anything runs, an error number after.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use crate::support::{Place, slowly};
use crate::{behaviour, can_mount, configured, drive_server, private, server, shell, with_drive};

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
    // The last is for a question that was under way.
    let words = ["not connected", "I/O error", "connection abort"];
    assert!(words.iter().any(|one| said.contains(one)), "{said}");
    let lost = place.records().into_iter().find(|one| one["event"] == "sandbox.mount_lost");
    assert_eq!(lost.unwrap()["at"], "/mnt/s");
}

/// A13, A14: a bucket or a folder that is not there is an error that names it, before the program runs; it is no empty
/// directory.
#[test]
fn a_place_that_is_not_there_is_an_error_before_the_start() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let nothing = server::serve(|_| server::Outcome::Reply(server::Reply::new(404, "<Error/>")));
    let mut command = place.stockade();
    command.env("AWS_ENDPOINT_URL", &nothing).env("AWS_ACCESS_KEY_ID", "key-id");
    command.env("AWS_SECRET_ACCESS_KEY", behaviour::SECRET);
    let flags = ["--ro", ".", "--mount", "/mnt/a=s3://bucket/some/where,rw"];
    let ended = shell(&mut command, &flags, "echo ran");
    ended.expect_code(122).says("there is no bucket `bucket`");
    let (drive, _) = drive_server::start();
    let flags = ["--ro", ".", "--mount", "/mnt/a=gdrive:id-of-nobody"];
    let ended = shell(&mut with_drive(&place, &drive), &flags, "echo ran");
    ended.expect_code(122).says("there is no folder `id-of-nobody`");
    assert!(!ended.stdout.contains("ran"));
}

/// A17: a command that gives no credential is told at once: nothing was written that has to arrive somewhere.
#[test]
fn a_credential_that_is_not_had_is_an_error_at_once() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    configured(
        &place,
        "[s3]\nendpoint = \"http://127.0.0.1:1\"\nkey_id = \"command:echo id\"\nkey = \"command:false\"\n",
    );
    let began = Instant::now();
    let ended = place.shell(&["--ro", ".", "--mount", "/mnt/a=s3://bucket"], "echo ran");
    ended.expect_code(122).says("the command `false` gave no credential");
    assert!(began.elapsed() < slowly(Duration::from_secs(10)), "{:?}", began.elapsed());
    assert!(!ended.stdout.contains("ran"));
    // Ctrl-C, which is for all of a terminal's programs, ends the wait for a command.
    let mark = place.project.join("asked");
    place.write("ask", format!("#!/bin/sh\necho > {}\nexec sleep 100\n", mark.display()));
    let ask = place.project.join("ask");
    std::fs::set_permissions(&ask, std::fs::Permissions::from_mode(0o700)).unwrap();
    configured(
        &place,
        &format!("[s3]\nkey_id = \"command:echo id\"\nkey = \"command:{}\"\n", ask.display()),
    );
    let mut command = place.stockade();
    command
        .args(["run", "--ro", ".", "--mount", "/mnt/a=s3://bucket", "--", "true"])
        .process_group(0);
    let mut child = command.spawn().unwrap();
    while !mark.exists() {
        assert!(began.elapsed() < slowly(Duration::from_secs(30)));
        std::thread::sleep(Duration::from_millis(10));
    }
    let (began, group) = (Instant::now(), rustix::process::Pid::from_child(&child));
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(began.elapsed() < slowly(Duration::from_secs(10)), "{:?}", began.elapsed());
}

/// A17: credentials are had by reference from the user's configuration, which no cage reads.
#[test]
fn credentials_come_from_the_configuration() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let (drive, _) = drive_server::start();
    let key = place.home.join(".config/stockade/key");
    private(&key, behaviour::SECRET);
    private(&place.home.join(".secret"), behaviour::SECRET);
    let text = |token: &str| {
        format!(
            "[gdrive]\nendpoint = \"{drive}\"\ntoken_endpoint = \"{drive}/token\"\nclient_id = \"command:echo c\"\n\
             client_secret = \"env:CLIENT_SECRET\"\nrefresh_token = \"{token}\"\n"
        )
    };
    let flags = ["--ro", "~", "--mount", "/mnt/d=gdrive:root,rw"];
    let run =
        |line: &str| shell(place.stockade().env("CLIENT_SECRET", "client-secret"), &flags, line);
    // One that the cage could read is refused.
    configured(&place, &text(&format!("file:{}", place.home.join(".secret").display())));
    run("echo ran").expect_code(122).says("the cage could read its credential");
    configured(&place, &text(&format!("file:{}", key.display())));
    let line = "echo x > /mnt/d/f; cat /mnt/d/f; ls ~/.config/stockade; env";
    let ended = run(line);
    ended.expect_code(0).prints("x\n");
    assert!(!ended.stdout.contains("mounts.toml"), "{}", ended.stdout);
    assert!(!ended.stdout.contains(behaviour::SECRET));
    configured(&place, &text("file:/nowhere/key"));
    run("echo ran").expect_code(122).says("`/nowhere/key` cannot be read");
    configured(&place, &text("command:false"));
    run("echo ran").expect_code(122).says("the command `false` gave no credential");
    configured(&place, &text(behaviour::SECRET));
    let ended = run("echo ran");
    ended.expect_code(122).says("`gdrive.refresh_token` in `mounts.toml` names no credential");
    assert!(!ended.stderr.contains(behaviour::SECRET), "{}", ended.stderr);
    configured(&place, "[gdrive]\ntokn = \"x\"\n");
    run("echo ran").expect_code(122).says("mounts.toml").says("tokn");
}

/// A13: what a program wrote and did not close is refused after its end: that is told, and on record.
#[test]
fn a_late_write_that_fails_is_told_at_the_end() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    // A bucket that lists nothing, has nothing and takes nothing.
    let listing = "<?xml version=\"1.0\"?><ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>";
    let full = server::serve(move |request| {
        server::Outcome::Reply(match request.method.as_str() {
            "GET" if request.path.contains("list-type=2") => server::Reply::new(200, listing),
            // The first, empty one is made; what is in it is not taken.
            "PUT" if request.body.is_empty() => {
                let mut reply = server::Reply::new(200, "");
                reply.headers.push(("etag".into(), "\"1\"".into()));
                reply
            }
            "PUT" => server::Reply::new(507, ""),
            _ => server::Reply::new(404, ""),
        })
    });
    let mut command = place.stockade();
    command.env("AWS_ENDPOINT_URL", &full).env("AWS_ACCESS_KEY_ID", "key-id");
    command.env("AWS_SECRET_ACCESS_KEY", behaviour::SECRET);
    let flags = ["--ro", ".", "--mount", "/mnt/a=s3://bucket,rw"];
    // The program is killed: nobody is there whom `close` could tell.
    let ended = shell(&mut command, &flags, "exec 3> /mnt/a/f; echo text >&3; kill -9 $$");
    assert_eq!(ended.code, 137, "{}", ended.stderr);
    ended.says("the mount on `/mnt/a`: what was written is not there: `f`").says("no room");
    let lost =
        place.records().into_iter().find(|one| one["event"] == "sandbox.mount_lost").unwrap();
    assert_eq!(lost["at"], "/mnt/a");
    assert!(lost["reason"].as_str().unwrap().contains("`f`"), "{lost}");
}
