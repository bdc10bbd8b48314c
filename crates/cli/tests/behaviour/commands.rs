//! Which programs of the system a cage has.

use super::support::Place;

/// V11
#[test]
fn a_list_is_the_shell_and_those_programs() {
    let place = Place::new();
    place.write("file", "contents");
    let flags = ["--command", "cat", "--command", "ls"];
    place.shell(&flags, "cat file && ls").expect_code(0).prints("contents");
    let ended = place.shell(&flags, "ls /usr/bin /bin; grep x file; id");
    assert!(ended.stderr.contains("grep") && ended.stderr.contains("id"), "{}", ended.stderr);
    let listed = place.shell(&flags, "ls /usr/bin");
    let programs: Vec<&str> = listed.stdout.split_whitespace().collect();
    assert!(programs.contains(&"cat") && programs.len() <= 6, "{programs:?}");
    place.default_cage("fs = [{ ro = \".\" }]\ncommands = [\"cat\"]");
    place.shell(&[], "cat file").expect_code(0);
    place.shell(&[], "ls").expect_code(127);
}

/// V11
#[test]
fn none_is_no_program_at_all() {
    let place = Place::new();
    place.ask(["run", "--commands", "none", "--", "sh", "-c", "true"]).expect_code(127);
    place.ask(["run", "--commands", "none", "--", "/usr/bin/env"]).expect_code(127);
    // But one that a grant shows: this one is static and needs no library.
    let binary = super::support::stockade_binary();
    let binary = std::fs::canonicalize(binary).unwrap();
    let binary = binary.to_str().unwrap();
    let ended = place.ask(["run", "--commands", "none", "--ro", binary, "--", binary, "--version"]);
    ended.expect_code(0).prints("stockade ");
}

/// V11
#[test]
fn a_command_that_does_not_exist() {
    let place = Place::new();
    place.shell(&["--command", "no-such-program"], "true").expect_code(123).says("no-such-program");
    place.shell(&["--command", "a/b"], "true").expect_code(2);
    place.shell(&["--command", "none"], "true").expect_code(2).says("--commands none");
    place.default_cage("commands = [\"gerp\"]");
    place.shell(&[], "true").expect_code(123).says("did you mean `grep`?");
}

/// K221
#[test]
fn base_is_all_of_usr() {
    let place = Place::new();
    place
        .shell(
            &["--commands", "base"],
            "grep -c . /etc/passwd; ls /usr/bin | wc -l; /bin/ls /usr/lib >/dev/null",
        )
        .expect_code(0)
        .prints("2\n");
}

/// K183, V11: what `commands` leave out is told by the word that brings it in.
#[test]
fn a_program_that_is_left_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let script = place.write("script", "#!/usr/bin/env sh\n");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (words, program, flag) in [
        (["--commands", "none"], "ls", "`--command ls`"),
        (["--command", "cat"], "ls", "`--command ls`"),
        (["--command", "cat"], "/usr/bin/ls", "`--command ls`"),
        (["--command", "cat"], "./script", "`--command env`"),
    ] {
        let ended = place.ask([&["run"][..], &words, &["--", program]].concat());
        ended.expect_code(127).says(flag).says("`--commands base`").says("`commands = [");
        assert!(!ended.stderr.contains("--ro"), "{}", ended.stderr);
    }
    place.ask(["run", "--command", "ls", "--", "ls"]).expect_code(0);
}
