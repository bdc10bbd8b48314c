//! `stockade init`: a policy for what is found in a project.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::support::{Ended, Place};

/// K275: what it writes can be used as it is, and nothing is overwritten.
#[test]
fn it_writes_a_policy_once() {
    let place = Place::new();
    place.write("Makefile", "");
    place.write(".env", "PASSWORD=hunter2");
    place.ask(["init", "--print"]).expect_code(0).prints("{ hide = \".env\" }");
    assert!(!place.project.join("stockade.toml").exists());
    place.ask(["init"]).expect_code(0).prints("stockade.toml");
    let text = fs::read_to_string(place.project.join("stockade.toml")).unwrap();
    place.ask(["check"]).expect_code(0).prints(".env");
    let ended = place.shell(&[], "cat .env; touch made");
    ended.expect_code(0);
    assert!(!ended.stdout.contains("hunter2"), "{}", ended.stdout);
    place.ask(["init"]).expect_code(1).says("there is a policy already");
    assert_eq!(fs::read_to_string(place.project.join("stockade.toml")).unwrap(), text);
    // A link that leads nowhere is something too.
    fs::remove_file(place.project.join("stockade.toml")).unwrap();
    let target = place.outside().join("planted");
    std::os::unix::fs::symlink(&target, place.project.join("stockade.toml")).unwrap();
    place.ask(["init"]).expect_code(1).says("there is a policy already");
    assert!(!target.exists());
}

/// K275: hosts are asked for, and the user is told how to agree.
#[test]
fn what_needs_approval_is_said() {
    let place = Place::new();
    place.write("Cargo.toml", "");
    let written = place.ask(["init"]);
    written.expect_code(0).says("stockade allow").says("more than a project gets");
    place.ask(["check"]).expect_code(125).says("stockade allow");
    place.ask(["allow", "--yes"]).expect_code(0);
    place.ask(["check"]).expect_code(0).prints(":443");
}

/// K275
#[test]
fn a_home_is_no_project_to_begin() {
    let place = Place::new();
    let mut command = place.stockade();
    command.current_dir(&place.home).arg("init");
    Ended::of(command.output().unwrap()).expect_code(125).says("is a home");
    assert!(!place.home.join("stockade.toml").exists());
    // Nor is a directory that cannot be written to.
    if !super::support::is_root() {
        fs::set_permissions(&place.project, fs::Permissions::from_mode(0o555)).unwrap();
        place.ask(["init"]).expect_code(1).says("cannot write");
        fs::set_permissions(&place.project, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
