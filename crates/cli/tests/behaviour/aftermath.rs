//! What the host's next command would run after a cage has ended: repositories below directories of
//! packages and builds, what an index of Git names, the program `stockade` itself.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::support::{Ended, Place, has, slowly, stockade_binary};

/// Git as a user would start it in the project.
fn git(place: &Place, words: &[&str]) -> Ended {
    let mut git = Command::new("git");
    git.args(words).current_dir(&place.project).env_clear().env("HOME", &place.home);
    git.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
    Ended::of(git.output().unwrap())
}

/// A project that is a repository with one commit.
fn repository() -> Option<Place> {
    if !has("git") {
        return None;
    }
    let place = Place::new();
    fs::write(place.home.join(".gitconfig"), "[user]\nname = n\nemail = n@example.com\n").unwrap();
    place.write("file", "text");
    for words in [&["init", "--quiet"][..], &["add", "file"], &["commit", "--quiet", "-m", "one"]] {
        git(&place, words).expect_code(0);
    }
    Some(place)
}

/// Makes a repository in `$1` that runs something for whoever asks for its state, and tells the one
/// around it that it belongs to it.
const PLANT: &str = "set -e; export GIT_CONFIG_GLOBAL=/dev/null; \
     mkdir -p \"$1\"; git init -q \"$1\"; cd \"$1\"; \
     git -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m x; \
     printf '[core]\\n\\tfsmonitor = \"touch %s #\"\\n' \"$2\" >> .git/config; \
     link=$(git rev-parse HEAD); cd - > /dev/null; \
     git update-index --add --cacheinfo \"160000,$link,$1\"";

fn plant(place: &Place, flags: &[&str], directory: &str, mark: &Path) -> Ended {
    let program = ["--", "sh", "-c", PLANT, "sh", directory, mark.to_str().unwrap()];
    place.ask([&["run", "--rw", "."], flags, &program].concat())
}

/// T67: the user's next `git status` at the project's root must not run what the cage has planted.
#[test]
fn a_repository_among_packages_is_set_aside_and_its_link_told() {
    for directory in
        ["node_modules/x", "target/x", "a/__pycache__/x", "node_modules/@a/b/node_modules/c/d/e/f"]
    {
        let Some(place) = repository() else { return };
        let mark = place.outside().join("ran");
        let ended = plant(&place, &[], directory, &mark);
        ended.expect_code(0).says(".git/config` appeared during the run");
        ended.says(&format!("{directory}` as a repository of its own"));
        git(&place, &["status"]).expect_code(0);
        assert!(!mark.exists(), "{directory}: {}", ended.stderr);
    }
}

/// T67: the repository may have been prepared by an earlier run, where nothing finds it, and be moved.
#[test]
fn a_repository_that_is_moved_among_packages_is_set_aside() {
    let Some(place) = repository() else { return };
    let mark = place.outside().join("ran");
    let prepare = format!(
        "mkdir -p node_modules/x/y && cd node_modules/x/y && git init -q . && \
         git -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m x && \
         printf '[core]\\n\\tfsmonitor = \"touch {} #\"\\n' >> .git/config && \
         mv .git/config .git/innocent && mv .git/hooks .git/others && mv .git ../../store",
        mark.display()
    );
    place.shell(&["--rw", "."], &prepare).expect_code(0);
    // A tick, for kernels that date files no finer than that.
    std::thread::sleep(std::time::Duration::from_millis(40));
    let line = "mv node_modules/store/innocent node_modules/store/config; \
                mv node_modules/store node_modules/x/y/.git; \
                git update-index --add --cacheinfo \
                160000,$(git -C node_modules/x/y rev-parse HEAD),node_modules/x/y";
    let ended = place.shell(&["--rw", "."], line);
    ended.expect_code(0).says("as a repository of its own");
    git(&place, &["status"]).expect_code(0);
    assert!(!mark.exists(), "{}", ended.stderr);
}

/// T67: one that was there cannot be made to run something either, however deep it lies.
#[test]
fn a_repository_that_an_index_names_cannot_be_changed() {
    let Some(place) = repository() else { return };
    let mark = place.outside().join("ran");
    let directory = "node_modules/a/b/c/d/e";
    let own = "mkdir -p $0 && git init -q $0 && git -C $0 -c user.name=n -c user.email=n@x commit -q \
               --allow-empty -m x && git add $0";
    let mut made = Command::new("sh");
    made.args(["-c", own, directory]).current_dir(&place.project).env("HOME", &place.home);
    assert!(made.stderr(Stdio::null()).status().unwrap().success());
    let line = format!(
        "printf '[core]\\n\\tfsmonitor = \"touch {} #\"\\n' >> {directory}/.git/config",
        mark.display()
    );
    let ended = place.shell(&["--rw", "."], &line);
    assert_ne!(ended.code, 0, "{}", ended.stderr);
    git(&place, &["status"]).expect_code(0);
    assert!(!mark.exists());
}

/// T68
#[test]
fn names_that_run_code_are_set_aside_among_packages() {
    let place = Place::new();
    place.write("node_modules/old/.vscode/settings.json", "of a package");
    let planted = [
        "node_modules/x/.envrc",
        "node_modules/.vscode/tasks.json",
        "target/debug/.claude/settings.json",
        "a/b/__pycache__/.envrc",
        "node_modules/@scope/x/node_modules/y/deep/er/.envrc",
    ];
    let lines = planted.map(|file| format!("mkdir -p $(dirname {file}) && echo x > {file}"));
    let ended = place.shell(&["--rw", "."], &lines.join(" && "));
    ended.expect_code(0).says("node_modules/x/.envrc` appeared");
    for file in planted {
        assert!(!place.project.join(file).exists(), "{file}: {}", ended.stderr);
    }
    assert!(place.project.join("node_modules/old/.vscode/settings.json").exists());
    let findings: Vec<_> = place.records();
    let findings = findings.iter().filter(|one| one["event"] == "quarantine.finding");
    let moved = findings.map(|one| one["moved_to"].as_str().unwrap());
    assert!(moved.clone().count() >= 3 && moved.clone().all(|path| path.contains("quarantine")));
}

/// T68: package managers remove and replace what they have installed.
#[test]
fn packages_can_be_replaced() {
    let place = Place::new();
    for file in ["x/.npmrc", "x/.vscode/settings.json", "x/index.js", "y/.envrc"] {
        place.write(&format!("node_modules/{file}"), "of a package");
    }
    let ended = place.shell(&["--rw", "."], "rm -r node_modules && mkdir node_modules");
    ended.expect_code(0);
    assert_eq!(ended.stderr, "");
}

/// T78: a protected name that is tracked comes back with the next checkout.
#[test]
fn protected_names_in_an_index_are_told() {
    let Some(place) = repository() else { return };
    place.write(".vscode/settings.json", "{}");
    git(&place, &["add", ".vscode"]).expect_code(0);
    let ended = place.shell(&["--rw", "."], "git status > /dev/null; echo x > new; git add new");
    assert_eq!(ended.expect_code(0).stderr, "");
    let ended = place.shell(&["--rw", "."], "echo x > .envrc; git add .envrc; rm .envrc");
    ended.expect_code(0).says("and now holds `").says("/.envrc`, which can run code");
    let ended = place.shell(&["--rw", "."], "echo y > new; git add new");
    assert_eq!(ended.expect_code(0).stderr, "");
}

/// T74: the next start would be the program's own.
#[test]
fn stockade_itself_cannot_be_replaced() {
    let place = Place::new();
    let own = place.project.join("bin/stockade");
    fs::create_dir(place.project.join("bin")).unwrap();
    fs::copy(stockade_binary(), &own).unwrap();
    let length = fs::metadata(&own).unwrap().len();
    let run = |line: &str| {
        let mut command = Command::new(&own);
        command.current_dir(&place.project).env_clear().env("HOME", &place.home);
        command.env("XDG_STATE_HOME", place.state()).env("PATH", "/usr/bin:/bin");
        command.args(["run", "--rw", ".", "--", "sh", "-c", line]).stdin(Stdio::null());
        Ended::of(command.output().unwrap())
    };
    for line in [
        "echo x > bin/stockade",
        "rm bin/stockade",
        "echo x > new && mv new bin/stockade",
        "mv bin aside",
        "chmod 777 bin/stockade",
    ] {
        assert_ne!(run(line).code, 0, "{line}");
        assert_eq!(fs::metadata(&own).unwrap().len(), length, "{line}");
    }
    run("echo x > bin/other").expect_code(0);
    // Built by Cargo it has a second name.
    fs::hard_link(&own, place.project.join("bin/second")).unwrap();
    assert_ne!(run("echo x > bin/second").code, 0);
    assert_eq!(fs::metadata(&own).unwrap().len(), length);
}

/// T73: the error names the other name, and not the file itself once more.
#[test]
fn the_second_name_of_a_single_file_is_told() {
    let place = Place::new();
    let inner = place.write("target/debug/deps/app-x", "x");
    fs::hard_link(&inner, place.project.join("target/debug/app")).unwrap();
    let ended = place.shell(&["--rw", ".", "--ro", "target/debug/app"], "true");
    assert_ne!(ended.code, 0);
    ended.says("has another name (hard link), `").says("/target/debug/deps/app-x`");
    // With both covered there is no way around either.
    let both = ["--rw", ".", "--ro", "target/debug/app", "--ro", "target/debug/deps/app-x"];
    place.shell(&both, "true").expect_code(0);
}

/// T76: a cage that makes and removes protected names all the time does not keep others from starting, and
/// is not taken for a fault of the machine.
#[test]
fn names_that_come_and_go_do_not_stop_a_start() {
    let place = Place::new();
    let churn = "while [ ! -e stop ]; do echo x > .envrc; rm .envrc; mkdir -p d/.git/hooks; \
                 echo x > d/.git/config; rm -r d; echo x > n; mv n .npmrc; mv .npmrc m; done";
    let mut command = place.stockade();
    command.args(["run", "--quiet", "--rw", ".", "--", "sh", "-c", churn]).process_group(0);
    let mut other = Ending(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let began = std::time::Instant::now();
    while !place.project.join("m").exists() {
        assert!(began.elapsed() < slowly(std::time::Duration::from_secs(30)));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut failed = Vec::new();
    for _ in 0..STARTS {
        let ended = place.shell(&["--rw", "."], "true");
        assert!(!ended.stderr.contains("doctor"), "{}", ended.stderr);
        if ended.code != 0 {
            assert!(ended.stderr.contains("changes all the time"), "{}", ended.stderr);
            failed.push(ended.stderr);
        }
    }
    place.write("stop", "");
    other.0.wait().unwrap();
    assert!(failed.len() < STARTS / 4, "{failed:#?}");
}

/// A run that goes on until it is told to end, and not beyond a test that fails.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // One that has ended is what was wanted.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

const STARTS: usize = 24;
