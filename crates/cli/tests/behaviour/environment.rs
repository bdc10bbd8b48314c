//! The program's environment: new, and nothing of the caller's that was not asked for.

use super::support::{Ended, Place};

/// K167, V12, T50
#[test]
fn the_callers_variables_do_not_get_in() {
    let place = Place::new();
    let mut command = place.stockade();
    let dangerous = [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "ENV",
        "GIT_DIR",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "SSH_AUTH_SOCK",
        "AWS_SECRET_ACCESS_KEY",
    ];
    for name in dangerous {
        command.env(name, "/nonexistent");
    }
    command.args(["run", "--", "env"]);
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(0);
    let names: Vec<&str> =
        ended.stdout.lines().map(|line| line.split('=').next().unwrap()).collect();
    let expected =
        ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "STOCKADE_CAGE", "TMPDIR", "USER"];
    assert_eq!(names, expected, "{}", ended.stdout);
}

/// K167
#[test]
fn flags_and_policy_pass_variables_on() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]\nenv = { LANG = true, MODE = \"test\" }");
    let mut command = place.stockade();
    command.env("LANG", "de_DE.UTF-8").env("TOKEN", "t").env("OTHER", "o");
    command.args(["run", "--env", "TOKEN", "--env", "SET=a=b", "--env", "ABSENT", "--", "env"]);
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(0).prints("LANG=de_DE.UTF-8\n").prints("MODE=test\n");
    ended.prints("TOKEN=t\n").prints("SET=a=b\n");
    assert!(!ended.stdout.contains("OTHER") && !ended.stdout.contains("ABSENT"));
}

/// K167: names with commas between them; a comma in a value belongs to the value.
#[test]
fn several_variables_in_one_flag() {
    let place = Place::new();
    let mut command = place.stockade();
    command.env("ONE", "1").env("TWO", "2").env("THREE", "3");
    command.args(["run", "--env", "ONE,TWO", "--env", "LIST=a,b=c,d", "--", "env"]);
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(0).prints("ONE=1\n").prints("TWO=2\n").prints("LIST=a,b=c,d\n");
    assert!(!ended.stdout.contains("THREE"));
    place
        .shell(&["--env", "ONE,TWO=x"], "true")
        .expect_code(2)
        .says("`--env ONE,TWO=…`: several variables cannot be given one value");
    place.shell(&["--env", "ONE,,TWO"], "true").expect_code(2).says("--env ONE,,TWO");
}

/// K167
#[test]
fn names_that_the_cage_keeps_for_itself() {
    let place = Place::new();
    for name in ["HOME=/x", "USER=root", "1X", "A B", "="] {
        place.shell(&["--env", name], "true").expect_code(2).says("--env");
    }
}
