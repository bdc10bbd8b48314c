//! Policies that cannot be used: each has its own message and exit code, and nothing runs.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::Place;

/// Runs a program that would leave a trace, and makes sure that there is none.
#[track_caller]
fn refused(place: &Place, code: i32, messages: &[&str]) {
    let witness = place.project.join("witness");
    fs::create_dir_all(&witness).unwrap();
    let ended = place.shell(&["--rw", witness.to_str().unwrap()], "touch witness/ran");
    ended.expect_code(code);
    for message in messages {
        ended.says(message);
    }
    assert!(!witness.join("ran").exists(), "the program ran");
}

/// K11
#[test]
fn a_wrong_word() {
    let place = Place::new();
    place.policy("version = 1\n[cage.default]\nsf = [{ ro = \".\" }]\ncomands = \"base\"\n");
    let expected = ["unknown word `sf`", "did you mean `fs`?", "stockade.toml:3:1", "`comands`"];
    refused(&place, 123, &expected);
}

/// K184
#[test]
fn a_missing_path() {
    let place = Place::new();
    fs::create_dir(place.project.join("build")).unwrap();
    place.default_cage("fs = [{ rw = \"buidl\" }, { ro = \"nowhere\" }]");
    refused(
        &place,
        123,
        &[
            "buidl`: it does not exist; did you mean",
            "build`?",
            "nowhere`: it does not exist",
            "stockade.toml:3",
        ],
    );
    fs::remove_file(place.project.join("stockade.toml")).unwrap();
    let ended = place.shell(&["--rw", "buidl"], "true");
    ended.expect_code(123).says("build`?").says("help: a path must exist").says("`mkdir`");
}

/// K32, K59
#[test]
fn a_link_out_of_the_project() {
    let place = Place::new();
    symlink(place.outside(), place.project.join("link")).unwrap();
    place.default_cage("fs = [{ ro = \"link\" }]");
    refused(&place, 123, &["link`: it leads out of the project"]);
    place.default_cage("fs = [{ ro = \"link/deeper\" }]");
    refused(&place, 123, &["it leads out of the project"]);
}

/// K59, V16
#[test]
fn paths_that_a_projects_file_cannot_name() {
    let place = Place::new();
    for (path, message) in [
        ("../x", "`..`"),
        ("/etc", "absolute path"),
        ("~/x", "home directory"),
        ("a\\u0000b", "a NUL in it"),
        ("a\\u001bb", "control character"),
        ("a*", "not patterns"),
        ("", "the path is empty"),
    ] {
        place.default_cage(&format!("fs = [{{ ro = \"{path}\" }}]"));
        refused(&place, 123, &[message]);
    }
}

/// K11
#[test]
fn an_empty_list_of_rules() {
    let place = Place::new();
    place.default_cage("fs = []");
    refused(&place, 123, &["`fs` is empty"]);
}

/// K11, T52
#[test]
fn a_megabyte_of_policy() {
    let place = Place::new();
    place.policy(&"#".repeat(1 << 20));
    refused(&place, 123, &["bytes, and at most"]);
}

/// K11
#[test]
fn a_policy_that_is_a_directory() {
    let place = Place::new();
    fs::create_dir(place.project.join("stockade.toml")).unwrap();
    refused(&place, 123, &["it is a directory"]);
}

/// K11, T50
#[test]
fn a_policy_that_is_a_link_out_of_the_project() {
    let place = Place::new();
    let outside = place.outside().join("policy");
    fs::write(&outside, "version = 1\n").unwrap();
    symlink(&outside, place.project.join("stockade.toml")).unwrap();
    refused(&place, 123, &["symlink that leads out"]);
}

/// T50
#[test]
fn a_policy_that_everybody_may_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]");
    let file = place.project.join("stockade.toml");
    fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
    refused(&place, 123, &["every user may write to it"]);
}

/// K11
#[test]
fn a_policy_that_is_not_text() {
    let place = Place::new();
    place.write("stockade.toml", b"version = 1\n\xff\xfe\n");
    refused(&place, 123, &["not UTF-8"]);
    place.policy("version = [1");
    refused(&place, 123, &["stockade.toml:1"]);
}

/// K62, K63, K64
#[test]
fn numbers_out_of_range() {
    let place = Place::new();
    place.default_cage("limits = { memory_mb = 8, pids = 0, walltime_sec = 0 }");
    refused(
        &place,
        123,
        &["`memory_mb` is at least 16", "`pids` is at least 1", "`walltime_sec` is at least 1"],
    );
}

/// V16, T57
#[test]
fn paths_that_nobody_can_grant() {
    let place = Place::new();
    for path in ["/", "/proc", "/run", "/sys", "/dev", "/run/user", "/tmp"] {
        let ended = place.shell(&["--ro", path], "true");
        ended.expect_code(123).says("cannot be granted").says("help:");
    }
    // By a link as well; one of the project's own does not even lead out of it.
    let link = place.outside().join("link");
    symlink("/run", &link).unwrap();
    let ended = place.shell(&["--ro", link.to_str().unwrap()], "true");
    ended.expect_code(123).says("cannot be granted");
    symlink("/run", place.project.join("link")).unwrap();
    place.shell(&["--ro", "link"], "true").expect_code(123).says("leads out of the project");
}

/// T31, T57
#[test]
fn sockets_and_pipes_are_not_granted() {
    let place = Place::new();
    let socket = place.project.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let ended = place.shell(&["--ro", socket.to_str().unwrap()], "true");
    ended.expect_code(123).says("a socket");
}

/// K25, K49
#[test]
fn flags_that_make_no_sense_are_refused() {
    let place = Place::new();
    for flag in ["--net=example.com", "--host-port=5432", "--publish=8080"] {
        place.shell(&[flag, "--no-net"], "true").expect_code(2);
    }
    place.shell(&["--no-net"], "true").expect_code(0);
    for flag in
        [["--memory", "5"], ["--pids", "0"], ["--cpus", "x"], ["--time", "-1"], ["--net", "*"]]
    {
        place.shell(&flag, "true").expect_code(2);
    }
}

/// K60, K61, K234: what is no host and no port is refused with what to write instead.
#[test]
fn wrong_hosts_and_ports_say_what_to_write() {
    let place = Place::new();
    for (flag, help) in [
        ("--net=https://example.com", "write the host alone"),
        ("--net=localhost:5432", "--host-port"),
        ("--net=openai:gpt-4", "name the host of the provider"),
        ("--net=example.com,*", "name the hosts"),
        ("--net=10.0.0.1/8", "10.0.0.0/8"),
        ("--host-port=0", "1 to 65535"),
        ("--publish=3128", "without `53`, `1080`"),
    ] {
        place.ask(["check", flag]).expect_code(2).says(help);
    }
    place.ask(["check", "--publish=80", "--host-port=80"]).expect_code(2).says("contradict");
}

/// T50: a project's file gets no network that nobody approved, and cannot say how it is reached.
#[test]
fn a_project_asks_for_network_up_to_the_ceiling() {
    let place = Place::new();
    for (words, told) in [
        ("net.allow = [\"example.com\"]", "the destination `example.com`"),
        ("net.host_ports = [5432]", "port `5432` of the host's loopback"),
        ("net.publish = [8080]", "port `8080` offered on the host's loopback"),
    ] {
        place.default_cage(words);
        place.ask(["check"]).expect_code(125).says(told).says("stockade allow");
    }
    place.policy("version = 1\n[network]\nresolvers = [\"10.0.0.2\"]\n");
    place.ask(["check"]).expect_code(123).says("unknown word `network`");
}

/// A shell can stand in a directory that is gone.
#[test]
fn a_working_directory_that_was_removed() {
    let place = Place::new();
    let gone = place.project.join("gone");
    let project = place.project.to_str().unwrap();
    let ask = |words: &str| {
        fs::create_dir(&gone).unwrap();
        let binary = super::support::stockade_binary();
        let line = format!("rmdir ../gone && exec '{}' {words}", binary.display());
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &line])
            .current_dir(&gone)
            .env("HOME", &place.home)
            .env("XDG_STATE_HOME", place.state());
        super::support::Ended::of(command.output().unwrap())
    };
    for words in ["run -- true", &format!("run --project {project} -- true"), "check", "allow"] {
        ask(words).expect_code(122).says("does not exist any more").says("help: go to one");
    }
    // The machine is no worse for it.
    ask("doctor").expect_code(0);
}

/// A home, what lies above one, and the system are not granted without being named.
#[test]
fn broad_directories_are_not_granted_by_themselves() {
    let place = Place::new();
    for directory in [place.home.as_path(), std::path::Path::new("/"), std::path::Path::new("/etc")]
    {
        let mut command = place.stockade();
        command.current_dir(directory).args(["run", "--", "true"]);
        let ended = super::support::Ended::of(command.output().unwrap());
        ended.expect_code(125).says("--ro");
    }
    let mut command = place.stockade();
    command.current_dir(&place.home).args(["run", "--ro", "project", "--", "ls", "project"]);
    super::support::Ended::of(command.output().unwrap()).expect_code(0);
}
