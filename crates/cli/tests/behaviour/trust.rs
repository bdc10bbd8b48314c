//! The user's ceiling and approvals.

use std::fs;

use super::support::{Ended, Place};

const GREEDY: &str = "version = 1\n[cage.default]\nfs = [{ ro = \".\" }]\nenv = [\"SECRET\"]\nseccomp = \"relaxed\"\n";

/// T50, V19
#[test]
fn a_file_that_asks_for_more_is_refused_until_it_is_approved() {
    let place = Place::new();
    place.policy(GREEDY);
    let ended = place.shell(&[], "true");
    ended.expect_code(125).says("`SECRET`").says("relaxed").says("stockade allow");
    place.ask(["allow"]).expect_code(2).prints("SECRET").says("--yes");
    place.shell(&[], "true").expect_code(125);
    place.ask(["allow", "--yes"]).expect_code(0);
    place.shell(&[], "true").expect_code(0);
    // The approval is of this very text.
    place.policy(&format!("{GREEDY}# changed\n"));
    place.shell(&[], "true").expect_code(125);
    place.policy(GREEDY);
    place.shell(&[], "true").expect_code(0);
    place.ask(["deny"]).expect_code(0).says("no longer approved");
    place.shell(&[], "true").expect_code(125);
    place.ask(["deny"]).expect_code(0).says("was not approved");
}

/// T50
#[test]
fn a_file_within_the_ceiling_needs_no_approval() {
    let place = Place::new();
    fs::create_dir(place.project.join("build")).unwrap();
    place.default_cage("fs = [{ ro = \".\" }, { rw = \"build\" }]\nenv = [\"LANG\", \"TERM\"]");
    place.shell(&[], "touch build/x").expect_code(0);
    place.ask(["allow"]).expect_code(0).says("needs no approval");
}

/// T50: a repository of settings cannot show the user's credentials that lie in it.
#[test]
fn a_project_around_secrets_names_none_without_approval() {
    let place = Place::new();
    let settings = place.home.join(".config");
    let secret = settings.join("gh/hosts.yml");
    fs::create_dir_all(secret.parent().unwrap()).unwrap();
    fs::write(&secret, "a token").unwrap();
    std::os::unix::fs::symlink("gh", settings.join("link")).unwrap();
    let run = |rules: &str| {
        let text = format!("version = 1\n[cage.default]\nfs = [{rules}]\n");
        fs::write(settings.join("stockade.toml"), text).unwrap();
        let mut command = place.stockade();
        command.current_dir(&settings).args(["run", "--", "cat", "gh/hosts.yml"]);
        Ended::of(command.output().unwrap())
    };
    run("{ ro = \".\" }").expect_code(1);
    let named = run("{ ro = \".\" }, { ro = \"gh\" }");
    named.expect_code(125).says("GitHub command line credentials").says("stockade allow");
    run("{ ro = \".\" }, { ro = \"link\" }").expect_code(125).says("GitHub command line");
    let mut command = place.stockade();
    command.current_dir(&settings).args(["allow", "--yes"]);
    run("{ ro = \".\" }, { ro = \"gh\" }");
    Ended::of(command.output().unwrap()).expect_code(0);
    run("{ ro = \".\" }, { ro = \"gh\" }").expect_code(0).prints("a token");
}

/// T50
#[test]
fn an_approval_is_of_one_path() {
    let place = Place::new();
    let other = Place::new();
    for each in [&place, &other] {
        each.policy(GREEDY);
    }
    place.ask(["allow", "--yes"]).expect_code(0);
    let mut command = place.stockade();
    command.current_dir(&other.project).args(["run", "--", "true"]);
    Ended::of(command.output().unwrap()).expect_code(125);
    // By name, from anywhere.
    let file = place.project.join("stockade.toml");
    let mut command = place.stockade();
    command.current_dir("/").arg("deny").arg(&file);
    Ended::of(command.output().unwrap()).expect_code(0).says("no longer approved");
    place.ask(["allow", "nowhere"]).expect_code(2);
    fs::remove_file(&file).unwrap();
    place.ask(["allow"]).expect_code(123);
}

/// T53: a person at a terminal is asked, and only a clear yes counts.
#[test]
fn a_person_is_asked() {
    use std::io::Write as _;
    use std::process::Stdio;
    if !super::support::has("script") {
        return;
    }
    let place = Place::new();
    place.policy(GREEDY);
    for (answer, code, afterwards) in [("\n", 1, 125), ("maybe\n", 1, 125), ("y\n", 0, 0)] {
        let line = format!("'{}' allow", super::support::stockade_binary().display());
        let mut command = super::terminal::on_terminal(&place, &line);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut keys = child.stdin.take().unwrap();
        keys.write_all(answer.as_bytes()).unwrap();
        let ended = Ended::of(child.wait_with_output().unwrap());
        drop(keys);
        ended.expect_code(code).prints("SECRET").prints("[y/N]");
        place.shell(&[], "true").expect_code(afterwards);
    }
}

/// T53: what a file says is shown without anything that a terminal would act on.
#[test]
fn the_list_of_what_is_asked_cannot_mislead() {
    let place = Place::new();
    place
        .policy("version = 1\n[cage.default]\nfs = [{ rw = \"a\\u202Eb\" }]\nenv = [\"SECRET\"]\n");
    let ended = place.shell(&[], "true");
    assert!(!ended.stderr.contains('\u{202e}'), "{:?}", ended.stderr);
    let ended = place.ask(["allow", "--yes"]);
    assert!(!ended.stdout.contains('\u{202e}'), "{:?}", ended.stdout);
}

/// T50: the user's own configuration raises the ceiling and defines cages.
#[test]
fn the_users_configuration_has_the_last_word() {
    let place = Place::new();
    let configuration = place.home.join(".config/stockade");
    fs::create_dir_all(&configuration).unwrap();
    let write = |text: &str| fs::write(configuration.join("config.toml"), text).unwrap();
    place.policy(GREEDY);
    write(
        "version = 1\n[ceiling]\nfs = [{ rw = \".\" }]\nenv = [\"SECRET\"]\nseccomp = \"relaxed\"\n",
    );
    place.shell(&[], "true").expect_code(0);
    // A ceiling lower than the built-in one.
    place.default_cage("fs = [{ rw = \".\" }]");
    write("version = 1\n[ceiling]\nfs = [{ ro = \".\" }]\n");
    place.shell(&[], "true").expect_code(125).says("`rw`");
    // A cage of the user's own, with paths that a project cannot name.
    let outside = place.outside();
    fs::write(outside.join("file"), "mine").unwrap();
    write(&format!("version = 1\n[cage.mine]\nfs = [{{ ro = \"{}\" }}]\n", outside.display()));
    let line = format!("cat {}/file", outside.display());
    place.shell(&["--cage", "mine"], &line).expect_code(0).prints("mine");
    // A project that defines one of the same name does not take its place.
    place.policy("version = 1\n[cage.mine]\nfs = [{ ro = \".\" }]\n");
    place.shell(&["--cage", "mine"], "true").expect_code(123).says("rename one of them");
    write("version = 2\n");
    place.shell(&[], "true").expect_code(123);
}

/// An agent of the policy brings its cage and its command.
#[test]
fn agents_have_a_cage_and_a_command() {
    let place = Place::new();
    place.policy(
        "version = 1\n[cage.default]\nfs = [{ ro = \".\" }]\n[cage.small]\ncommands = [\"echo\"]\n\
         [agent.helper]\ncage = \"small\"\ncommand = [\"sh\", \"-c\", \"echo $STOCKADE_CAGE $1\"]\n",
    );
    place.ask(["run", "--agent", "helper"]).expect_code(0).prints("small");
    place
        .ask(["run", "--agent", "helper", "--", "other", "more"])
        .expect_code(0)
        .prints("small more");
    place.ask(["run", "--agent", "helpre"]).expect_code(123).says("did you mean `--agent helper`?");
    place
        .ask(["run", "--cage", "nothing", "--", "true"])
        .expect_code(123)
        .says("`default`, `small`");
}

/// T50, V19: a link in the project does not lead around the user's ceiling.
#[test]
fn a_link_cannot_lead_past_the_ceiling() {
    let place = Place::new();
    fs::create_dir_all(place.project.join("public")).unwrap();
    fs::create_dir_all(place.project.join("private")).unwrap();
    fs::write(place.project.join("private/key"), "canary").unwrap();
    let configuration = place.home.join(".config/stockade");
    fs::create_dir_all(&configuration).unwrap();
    let ceiling = "version = 1\n[ceiling]\nfs = [{ ro = \".\" }, { hide = \"private\" }]\n";
    fs::write(configuration.join("config.toml"), ceiling).unwrap();
    std::os::unix::fs::symlink("../private", place.project.join("public/data")).unwrap();
    place.default_cage("fs = [{ ro = \"public/data\" }]");
    place.shell(&[], "cat private/key").expect_code(125).says("through links").says("ceiling");
}

/// What the help says can be copied into a shell.
#[test]
fn the_help_names_a_file_as_a_shell_takes_it() {
    let place = Place::new();
    place.write("my project/stockade.toml", "version = 1\n[cage]\ndefault = \"disabled\"\n");
    let directory = place.project.join("my project");
    let mut command = place.stockade();
    command.current_dir(&directory).args(["run", "--", "true"]);
    let ended = super::support::Ended::of(command.output().unwrap());
    let file = directory.join("stockade.toml");
    ended.expect_code(125).says(&format!("`stockade allow '{}'`", file.display()));
}

/// T50, T51: a program cannot write the configuration of the next run, also where there is none yet.
#[test]
fn a_program_cannot_make_the_users_configuration() {
    let place = Place::new();
    let configuration = place.home.join(".config/stockade");
    assert!(!configuration.exists());
    let home = place.home.display().to_string();
    let text = "version = 1\\n[cage]\\ndefault = \\\"disabled\\\"\\n";
    let plant = format!(
        "mkdir -p {home}/.config/stockade
         printf \"{text}\" > {home}/.config/stockade/config.toml
         mv {home}/.config {home}/moved
         ln -s /tmp {home}/.local/state/stockade"
    );
    let ended = place.shell(&["--rw", &home], &plant);
    assert_ne!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(fs::read_dir(&configuration).unwrap().count(), 0);
    place.shell(&[], "test ! -e /etc/shadow").expect_code(0);
}

/// T50, T51: a link that leads to the configuration is as good as the configuration.
#[test]
fn a_program_cannot_lead_the_users_configuration_elsewhere() {
    let place = Place::new();
    let home = place.home.display().to_string();
    fs::create_dir_all(place.home.join("dotfiles/config/stockade")).unwrap();
    std::os::unix::fs::symlink("dotfiles/config", place.home.join(".config")).unwrap();
    let ended = place.shell(&["--rw", &home], "true");
    ended.expect_code(123).says(".config").says("could lead it elsewhere");
    // Where only what the link leads to is granted, that is hidden.
    let dotfiles = place.home.join("dotfiles").display().to_string();
    let plant = format!("touch {dotfiles}/config/stockade/config.toml || mv {dotfiles}/config x");
    assert_ne!(place.shell(&["--rw", &dotfiles], &plant).code, 0);
    assert_eq!(fs::read_dir(place.home.join(".config/stockade")).unwrap().count(), 0);
}

/// T50: neither can it take the project's policy away, which would have the next run go without.
#[test]
fn a_policy_that_is_a_link_in_a_writable_project_is_refused() {
    let place = Place::new();
    place.write("real/key", "TOPSECRET");
    let words = |access: &str| {
        format!(
            "version = 1\n[cage.default]\nfs = [{{ {access} = \".\" }}, {{ hide = \"real\" }}]\n"
        )
    };
    place.write("conf/stockade.toml", words("rw"));
    std::os::unix::fs::symlink("conf/stockade.toml", place.project.join("stockade.toml")).unwrap();
    let ended = place.shell(&[], "rm stockade.toml");
    ended.expect_code(123).says("the policy file").says("conf/stockade.toml` itself");
    place.write("conf/stockade.toml", words("ro"));
    place.shell(&[], "! rm stockade.toml && ! cat real/key").expect_code(0);
}
