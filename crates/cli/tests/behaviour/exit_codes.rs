//! How `stockade run` ends, and what it says as JSON.

use std::fs;

use super::support::{Ended, Place, stockade_binary};

/// K186
#[test]
fn the_programs_own_status() {
    let place = Place::new();
    for code in [0, 1, 2, 77, 122, 255] {
        place.shell(&[], &format!("exit {code}")).expect_code(code);
    }
}

/// K186
#[test]
fn a_signal_is_told_as_shells_do() {
    let place = Place::new();
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139)] {
        place.shell(&[], &format!("kill -{signal} $$")).expect_code(code);
    }
}

/// K183
#[test]
fn a_program_that_cannot_be_started() {
    let place = Place::new();
    place.ask(["run", "--", "no-such-program"]).expect_code(127).says("is not in the cage");
    place.ask(["run", "--", "./absent"]).expect_code(127).says("on the host either");
    place.ask(["run", "--", "ls -la"]).expect_code(127).says("is one word");
    place.ask(["run", "--", &"x".repeat(100_000)]).expect_code(126).says("File name too long");
    place.write("plain", "text");
    place.ask(["run", "--", "./plain"]).expect_code(126).says("chmod +x");
    place
        .ask(["run", "--", "/usr"])
        .expect_code(126)
        .says("cannot start `/usr`: it is a directory");
    std::fs::create_dir(place.project.join("src")).unwrap();
    place.ask(["run", "--", "./src"]).expect_code(126).says("it is a directory");
    place.ask(["run"]).expect_code(2).says("stockade run -- PROGRAM");
    place.ask(["run", "--", ""]).expect_code(2);
}

/// `.` is no name for a home, whatever flag it stands in.
#[test]
fn a_home_is_granted_by_its_name_alone() {
    let place = Place::new();
    let in_home = |words: &[&str]| {
        let mut command = place.stockade();
        command.current_dir(&place.home).args([&["run"], words, &["--", "true"]].concat());
        Ended::of(command.output().unwrap())
    };
    let home = place.home.display().to_string();
    in_home(&[]).expect_code(125).says("is a home");
    for flag in ["--rw", "--ro"] {
        let named = format!("`{flag} {home}` grants the whole directory all the same");
        in_home(&[flag, "."]).expect_code(125).says("is a home").says(&named);
        in_home(&[flag, "./"]).expect_code(125);
        in_home(&[flag, &home]).expect_code(0);
        in_home(&[flag, "project"]).expect_code(0);
    }
    place.ask(["run", "--rw", "..", "--", "true"]).expect_code(125).says("`--rw ..`");
}

/// K183: the program is there and the cage does not show it.
#[test]
fn a_program_outside_of_the_cage_is_found_for_the_user() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let bin = place.home.join("my tools/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("my-agent");
    std::fs::write(&program, "#!/bin/sh\necho agent\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = place.stockade();
    let path = format!("/usr/bin:{}", bin.display());
    command.env("PATH", &path).args(["run", "--", "my-agent"]);
    let ended = super::support::Ended::of(command.output().unwrap());
    ended.expect_code(127).says(&format!("`--ro '{}'`", bin.display())).says("--env PATH");
    let mut command = place.stockade();
    command.env("PATH", &path).args(["run", "--env", "PATH", "--ro"]).arg(&bin);
    command.args(["--", "my-agent"]);
    super::support::Ended::of(command.output().unwrap()).expect_code(0).prints("agent");
}

/// K183
#[test]
fn a_script_whose_interpreter_is_not_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let script = place.write("script", "#!/opt/no/such/interpreter\n");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.ask(["run", "--", "./script"]).expect_code(127).says("/opt/no/such/interpreter");
}

fn last_line(text: &str) -> serde_json::Value {
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// K187, K241
#[test]
fn the_result_as_json() {
    let place = Place::new();
    let ended = place.shell(&["--json", "--quiet"], "unshare -U true; exit 3");
    ended.expect_code(3);
    let result = last_line(&ended.stderr);
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["reason"], "exited");
    assert_eq!(result["cage"], "default");
    assert_eq!(result["denials"][0]["syscall"], "unshare");
    assert_eq!(result["invocation"].as_str().unwrap().len(), 26);
    assert_eq!(result["plan_hash"].as_str().unwrap().len(), 64);
    let again = last_line(&place.shell(&["--json", "--quiet"], "unshare -U true; exit 3").stderr);
    assert_eq!(result["plan_hash"], again["plan_hash"]);
    assert_ne!(result["invocation"], again["invocation"]);

    let ended = place.shell(&["--json"], "kill -9 $$");
    assert_eq!(last_line(&ended.stderr)["signal"], 9);

    let file = place.outside().join("result.json");
    let flag = format!("--json={}", file.display());
    place.ask(["run", &flag, "--", "no-such-program"]).expect_code(127);
    let result = last_line(&std::fs::read_to_string(file).unwrap());
    assert_eq!(result["reason"], "program_not_found");
    assert!(result["error"]["message"].as_str().unwrap().contains("no-such-program"));

    // It is the last line also where nothing ran, and standard output stays the program's.
    place.default_cage("sf = []");
    let ended = place.ask(["run", "--json", "--", "true"]);
    let result = last_line(&ended.expect_code(123).says("cannot be used").stderr);
    assert_eq!(result["error"]["code"], "policy_syntax");
    assert_eq!(result["error"]["diagnostics"]["errors"][0]["code"], "unknown-word");
    assert_eq!(ended.stdout, "");
}

/// The result goes to a descriptor of the caller's, where no program can be: it has none but its streams.
#[test]
fn the_result_goes_to_a_descriptor() {
    let place = Place::new();
    let file = place.outside().join("result.json");
    let write = |words: &str| {
        let line = format!("exec \"$0\" run --json=/dev/fd/3 {words} 3> \"$1\"");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line]).arg(stockade_binary()).arg(&file);
        command.current_dir(&place.project).env("HOME", &place.home);
        let ended = Ended::of(command.output().unwrap());
        (ended, last_line(&fs::read_to_string(&file).unwrap_or_default()))
    };
    let (ended, result) = write("-- sh -c 'echo x >&3; exit 122'");
    assert_eq!(result["exit_code"], 122);
    assert_eq!(result["reason"], "exited");
    ended.expect_code(122).says("3: Bad file descriptor");
    let (ended, result) = write("--no-such-flag");
    assert_eq!(result["reason"], "usage");
    ended.expect_code(2);
    let place = Place::new();
    for number in ["0", "1", "2", "77", "", "x"] {
        let flag = format!("--json=/dev/fd/{number}");
        place.ask(["run", &flag, "--", "true"]).expect_code(2).says("cannot be written to");
    }
}

/// K119, K187: refused calls are named, once, and not to somebody who wants quiet.
#[test]
fn refused_system_calls_are_named() {
    let place = Place::new();
    let line = "unshare -U true; unshare -U true; exit 0";
    place.shell(&[], line).expect_code(0).says("refused unshare ×2 (seccomp default profile)");
    let ended = place.shell(&["--quiet"], line);
    assert!(!ended.stderr.contains("stockade:"), "{}", ended.stderr);
    let ended = place.shell(&["--seccomp", "relaxed"], "true");
    ended.expect_code(0).says("reduced isolation");
}

/// Messages are coloured where that was asked for, and nowhere else.
#[test]
fn colours_are_a_matter_of_choice() {
    let place = Place::new();
    let coloured = |words: &[&str]| {
        let mut command = place.stockade();
        command.env("TERM", "xterm").args(words).args(["run", "--", "no-such-program"]);
        super::support::Ended::of(command.output().unwrap()).stderr.contains("\u{1b}[")
    };
    assert!(coloured(&["--color", "always"]));
    assert!(!coloured(&["--color", "never"]));
    assert!(!coloured(&[]));
}

/// What makes no sense is told with code 2; help and version are not errors.
#[test]
fn the_command_line_itself() {
    let place = Place::new();
    for words in [vec![], vec!["nonsense"], vec!["run", "--nonsense"], vec!["why"]] {
        place.ask(&words).expect_code(2);
    }
    place.ask(["--version"]).expect_code(0).prints("stockade ");
    place.ask(["--help"]).expect_code(0).prints("Exit codes:");
    place.ask(["run", "--help"]).expect_code(0).prints("--hide");
}

/// T1, T54: the result goes to the file that was there before the program ran.
#[test]
fn the_result_is_not_led_elsewhere() {
    let place = Place::new();
    let victim = place.outside().join("victim");
    std::fs::write(&victim, "canary").unwrap();
    let line = format!("rm -f out.json; ln -s {} out.json", victim.display());
    place.shell(&["--rw", ".", "--json=out.json"], &line).expect_code(0);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "canary");
    // A directory in the place of another gets nothing either.
    std::fs::create_dir(place.project.join("results")).unwrap();
    let line = format!("mv results moved; ln -s {} results", place.outside().display());
    let ended = place.shell(&["--rw", ".", "--json=results/victim"], &line);
    ended.says("its directory was replaced");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "canary");
    // A link that is there already is refused, and nothing runs.
    std::fs::remove_file(place.project.join("out.json")).unwrap();
    std::os::unix::fs::symlink(&victim, place.project.join("out.json")).unwrap();
    place.shell(&["--rw", ".", "--json=out.json"], "touch ran").expect_code(2);
    assert!(!place.project.join("ran").exists());
    place.shell(&["--json=/nonexistent/x"], "true").expect_code(2);
}

/// A result that is asked for is written even where the command line cannot be read, and an old one
/// does not stay; what may be the program's own words is left alone.
#[test]
fn a_line_that_cannot_be_read_has_a_result_too() {
    let place = Place::new();
    let file = place.write("result.json", "{\"exit_code\":0}");
    let json = format!("--json={}", file.display());
    let wrong = place.ask(["run", json.as_str(), "--no-such-flag", "--", "true"]);
    wrong.expect_code(2).says("stockade: error:");
    let result: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&result["exit_code"], &result["reason"]), (&2.into(), &"usage".into()));
    std::fs::write(&file, "kept").unwrap();
    place.ask(["run", "--no-such-flag", "--", "true", json.as_str()]).expect_code(2);
    place.ask(["run", "true", "--", json.as_str()]).expect_code(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}

/// Help is an answer and no message, also where a command is missing.
#[test]
fn help_for_a_missing_command_is_not_told_as_an_error() {
    let place = Place::new();
    let bare = place.ask([] as [&str; 0]);
    bare.expect_code(2).says("Usage: stockade");
    assert!(!bare.stderr.contains("stockade: "), "{}", bare.stderr);
}

/// T51: whoever reads the result reads ours, also where the program may write to the same directory.
#[test]
fn a_result_that_the_program_wrote_is_not_the_result() {
    let place = Place::new();
    let forged = r#"echo '{"exit_code":0,"reason":"exited"}'"#;
    let ways = [
        format!("{forged} > out.json"),
        format!("seq 100000 > out.json; {forged} >> out.json"),
        format!("rm out.json; {forged} > out.json"),
        format!("{forged} > new; mv new out.json"),
        "rm out.json; ln -s elsewhere out.json".to_owned(),
        "rm out.json".to_owned(),
    ];
    for way in ways {
        place.shell(&["--rw", ".", "--json=out.json"], &format!("{way}; exit 3")).expect_code(3);
        let text = fs::read_to_string(place.project.join("out.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&text).expect(&way);
        assert_eq!(result["exit_code"], 3, "{way}");
        assert!(!place.project.join("elsewhere").exists(), "{way}");
    }
    let ended =
        place.shell(&["--rw", ".", "--json=out.json"], "rm out.json; mkdir out.json; exit 3");
    ended.says("the result cannot be written");
    let left = fs::read_dir(&place.project).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".out.json")));
}
