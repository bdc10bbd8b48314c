//! Profiles as the command chooses them: built in, of the user's configuration, and beside a project's file.

use std::fs;

use super::support::Place;

/// The user's configuration.
fn configure(place: &Place, text: &str) {
    let configuration = place.home.join(".config/stockade");
    fs::create_dir_all(&configuration).unwrap();
    fs::write(configuration.join("config.toml"), text).unwrap();
}

/// K271: a profile is text that a policy can be made of.
#[test]
fn every_built_in_profile_builds_a_cage() {
    let place = Place::new();
    place.write("file", "of the project");
    let listed = place.ask(["profile", "list"]);
    listed.expect_code(0);
    let names: Vec<&str> =
        listed.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["code", "code-strict", "offline", "research"]);
    for name in names {
        let shown = place.ask(["profile", "show", name]);
        shown.expect_code(0).prints(&format!("[profile.{name}]"));
        place.ask(["check", "-p", name]).expect_code(0).prints(&format!("cage {name}"));
        // The text itself, copied, is a profile of the user's own.
        configure(&place, &shown.stdout);
        place.ask(["check", "-p", name]).expect_code(0);
        configure(&place, "version = 1\n");
    }
    place.shell(&["-p", "offline"], "cat file").expect_code(0).prints("of the project");
}

/// K271
#[test]
fn an_unknown_profile_says_which_there_are() {
    let place = Place::new();
    let ended = place.shell(&["-p", "cod"], "true");
    ended.expect_code(123).says("--profile code").says("`offline`").says("`research`");
    place.ask(["profile", "show", "cod"]).expect_code(123).says("`code`");
    place.shell(&["-p", "code", "--cage", "x"], "true").expect_code(2);
    configure(&place, "version = 1\n[profile.a]\nfrom = \"b\"\n[profile.b]\nfrom = \"a\"\n");
    place.shell(&["-p", "a"], "true").expect_code(123).says("adds to itself");
}

/// K271: the user's configuration adds to a profile, replaces it, or has one of its own.
#[test]
fn a_profile_of_the_users_adds_to_a_built_in_one() {
    let place = Place::new();
    let outside = place.outside();
    fs::write(outside.join("file"), "beside the home").unwrap();
    let grant = format!("fs = [{{ ro = \"{}\" }}]", outside.display());
    let line = format!("cat {}/file; ls", outside.display());
    place.write("of-project", "");
    configure(&place, &format!("version = 1\n[profile.offline]\nfrom = \"offline\"\n{grant}\n"));
    let ended = place.shell(&["-p", "offline"], &line);
    ended.expect_code(0).prints("beside the home").prints("of-project");
    configure(&place, &format!("version = 1\n[profile.mine]\nfrom = \"offline\"\n{grant}\n"));
    place.shell(&["-p", "mine"], &line).expect_code(0).prints("of-project");
    configure(&place, &format!("version = 1\n[profile.offline]\n{grant}\n"));
    let replaced = place.shell(&["-p", "offline"], &line);
    assert!(!replaced.stdout.contains("of-project"), "{}", replaced.stdout);
    // What all cages of the configuration have, a profile has too.
    configure(&place, "version = 1\n[defaults]\nfs = [{ hide = \"~/project/of-project\" }]\n");
    place.write("of-project", "hidden now");
    let hidden = place.shell(&["-p", "offline"], "cat of-project");
    assert!(!hidden.stdout.contains("hidden now"), "{}", hidden.stdout);
}

/// K274: what a project hides stays hidden, and what it grants it does not get.
#[test]
fn a_project_takes_from_a_profile_and_gives_it_nothing() {
    let place = Place::new();
    place.write(".env", "a password");
    place.default_cage(
        "fs = [{ rw = \".\" }, { hide = \".env\" }]\nenv = { MODE = \"of the project\" }",
    );
    let ended = place.shell(&["-p", "offline"], "cat .env; echo \"[$MODE]\"");
    ended.expect_code(0).prints("[]");
    assert!(!ended.stdout.contains("a password"), "{}", ended.stdout);
    // The user's own word still comes last.
    place.shell(&["-p", "offline", "--ro", ".env"], "cat .env").expect_code(0).prints("a password");
    // A profile of a project's own does not exist.
    place.policy("version = 1\n[profile.code]\nfs = [{ ro = \".\" }]\n");
    place.shell(&["-p", "code"], "true").expect_code(123).says("profile");
}

/// K270: a home is no project.
#[test]
fn a_profile_is_refused_where_the_project_is_a_home() {
    let place = Place::new();
    let mut command = place.stockade();
    command.current_dir(&place.home).args(["run", "-p", "code", "--", "true"]);
    super::support::Ended::of(command.output().unwrap()).expect_code(125).says("is a home");
}

/// K270: below the top of a working tree the whole of it is the project; somebody's home never is.
#[test]
fn the_project_of_a_profile_is_the_whole_working_tree() {
    let place = Place::new();
    fs::create_dir_all(place.project.join("crates/one")).unwrap();
    fs::create_dir(place.project.join(".git")).unwrap();
    fs::create_dir(place.home.join(".git")).unwrap();
    place.write("at-the-top", "whole");
    let run = |directory: &std::path::Path| {
        let mut command = place.stockade();
        command.current_dir(directory);
        command.args(["run", "-p", "offline", "--", "sh", "-c", "pwd; cat ../../at-the-top"]);
        super::support::Ended::of(command.output().unwrap())
    };
    run(&place.project.join("crates/one")).expect_code(0).prints("crates/one\nwhole");
    fs::remove_dir(place.project.join(".git")).unwrap();
    run(&place.project.join("crates/one")).expect_code(1);
}
