//! Real projects in profile `code`, with the tool chains, registries and settings of whoever runs the test:
//! built, tested, committed, changed in every way, while the host's tree stays as it is. What this machine
//! has stands nowhere in the project; without a way to the registries a test is skipped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::support::{Ended, Place, skip, stockade_binary};

/// K273: crates are fetched and built by the tool chain that comes first outside too.
#[test]
fn a_rust_project_is_worked_on_in_profile_code() {
    let Some(work) = Work::new(&["cargo", "git"]) else { return };
    work.write(
        "Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"1\"\n",
    );
    work.write(
        "src/main.rs",
        "fn main() { println!(\"{}\", itoa::Buffer::new().format(42u8)); }\n\
         #[test]\nfn works() { assert_eq!(itoa::Buffer::new().format(1u8), \"1\"); }\n",
    );
    work.write(".gitignore", "target\n");
    work.shell("cargo build -q && cargo run -q && cargo test -q", &["42", "test result: ok"]);
    work.shell("cargo add -q cfg-if && cargo build -q && grep cfg-if Cargo.toml", &["cfg-if"]);
    work.through_git(".envrc");
    work.ends();
}

/// K273
#[test]
fn a_node_project_is_worked_on_in_profile_code() {
    let Some(work) = Work::new(&["npm", "node", "git"]) else { return };
    work.write(
        "package.json",
        "{\"name\": \"a\", \"version\": \"1.0.0\", \"dependencies\": {\"ms\": \"^2\"}, \
         \"scripts\": {\"test\": \"node test.js\"}}",
    );
    work.write("test.js", "console.log('took', require('ms')('2 days'));\n");
    work.write(".gitignore", "node_modules\n");
    work.shell("npm install --no-audit --no-fund && npm test", &["took 172800000"]);
    work.shell("npm install --no-audit --no-fund left-pad && ls node_modules", &["left-pad"]);
    work.through_git(".npmrc");
    work.ends();
}

/// K273: in an environment of its own, and without one.
#[test]
fn a_python_project_is_worked_on_in_profile_code() {
    let Some(work) = Work::new(&["python3", "pip", "git"]) else { return };
    let version =
        work.outside("python3", &["-c", "import sys; print(sys.executable, sys.version)"]);
    work.write("requirements.txt", "six\n");
    work.write("test_a.py", "import six\nassert six.PY3\nprint('tested')\n");
    work.write(".gitignore", "venv\n");
    let line = "python3 -c 'import sys; print(sys.executable, sys.version)'";
    work.shell(line, &[version.trim()]);
    let line = "python3 -m venv venv && venv/bin/pip install -q -r requirements.txt && venv/bin/python test_a.py";
    work.shell(line, &["tested"]);
    // One that is active when the cage starts lies in the project, and is shown as a part of it.
    work.shell(
        "venv/bin/pip install -q iniconfig && venv/bin/python -c 'import iniconfig; print(1)'",
        &["1"],
    );
    if !work.is_managed_by_the_system() {
        work.shell("pip install -q iniconfig && python3 -c 'import iniconfig; print(2)'", &["2"]);
    }
    work.through_git(".envrc");
    work.ends();
}

/// K273: a compiler of the system's.
#[test]
fn java_is_compiled_in_profile_code() {
    let Some(work) = Work::new(&["javac", "java"]) else { return };
    work.write(
        "A.java",
        "class A { public static void main(String[] a) { System.out.println(6 * 7); } }",
    );
    work.shell("javac A.java && java A", &["42"]);
    work.ends();
}

/// K273: modules of the project and of the standard library; no proxy is asked.
#[test]
fn go_builds_in_profile_code() {
    let Some(work) = Work::new(&["go"]) else { return };
    work.write("go.mod", "module example.com/a\n\ngo 1.19\n");
    work.write("main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(6 * 7) }\n");
    work.shell("go vet ./... && go run .", &["42"]);
    work.ends();
}

/// A project of somebody who has real tool chains, and one session in it.
struct Work {
    place: Place,
    project: PathBuf,
    before: std::cell::RefCell<Option<Tree>>,
}

/// Every path of a tree with its kind, permissions, time and contents.
type Tree = BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>;

impl Work {
    /// None where a program is missing for this user, or nothing leads to a registry.
    fn new(programs: &[&str]) -> Option<Self> {
        for program in programs {
            let mut found = Command::new("sh");
            found.args(["-c", &format!("{program} --version || {program} version")]);
            if !quiet(&mut found).status().is_ok_and(|status| status.success()) {
                if !["go", "javac", "java"].contains(program) {
                    assert!(
                        !testing::requires_everything() || !testing::is_root(),
                        "no `{program}`"
                    );
                }
                skip(format!("this user has no `{program}`"));
                return None;
            }
        }
        if std::env::var_os("HOME").is_none_or(|home| !Path::new(&home).is_dir()) {
            skip("this user has no home");
            return None;
        }
        let place = Place::new();
        let project = place.outside().join("project");
        std::fs::create_dir(&project).unwrap();
        let work = Self { place, project, before: None.into() };
        let asked = programs.iter().any(|program| ["cargo", "npm", "pip"].contains(program));
        if asked && !work.reaches_a_registry() {
            assert!(!testing::requires_everything(), "no way to a registry");
            skip("there is no way to a registry from here");
            return None;
        }
        Some(work)
    }

    fn reaches_a_registry(&self) -> bool {
        let shown = self.stockade(&["profile", "show", "code"]);
        let hosts = shown.stdout.lines().filter_map(|line| line.trim().strip_suffix(":443\","));
        let mut addresses = hosts.map(|host| format!("https://{}/", host.trim_start_matches('"')));
        addresses.any(|address| {
            let mut command = Command::new("curl");
            let command = command.args(["-sS", "-o", "/dev/null", "-m", "20", &address]);
            quiet(command).status().is_ok_and(|status| status.success())
        })
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self.before.replace(None);
    }

    /// `stockade` with everything that this user has, but with a state of its own.
    fn stockade(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(stockade_binary());
        sys::signal::restore_all_defaults_in(&mut command);
        command.current_dir(&self.project).env("XDG_STATE_HOME", self.place.state());
        command.env("XDG_CONFIG_HOME", self.place.home.join("config"));
        command.env("GIT_AUTHOR_NAME", "A").env("GIT_AUTHOR_EMAIL", "a@example.com");
        command.env("GIT_COMMITTER_NAME", "A").env("GIT_COMMITTER_EMAIL", "a@example.com");
        Ended::of(command.args(words).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs a line in the cage, with no flag but the session, and looks at the host afterwards.
    fn shell(&self, line: &str, printed: &[&str]) {
        let before = self.before.take().unwrap_or_else(|| tree(&self.project));
        let ended =
            self.stockade(&["run", "-p", "code", "--session", "work", "--", "sh", "-ec", line]);
        ended.expect_code(0);
        for text in printed {
            ended.prints(text);
        }
        assert_same(&before, &tree(&self.project));
        self.before.replace(Some(before));
    }

    /// What people do with a repository and its files; `protected` is a name that a read-write grant protects.
    fn through_git(&self, protected: &str) {
        let lines = [
            "git init -q -b main . && git add -A && git commit -qm first && git log --oneline".to_owned(),
            format!("git switch -qc other && echo x > {protected} && mkdir -p .vscode && echo '{{}}' > .vscode/settings.json \
                     && git add -f {protected} .vscode && git add -A && git commit -qm second && git switch -q main && test ! -e .vscode \
                     && git switch -q other && test -e .vscode/settings.json && git switch -q main"),
            "git merge -q other && test -e .vscode && git reset -q --hard HEAD~1 && git status --short".to_owned(),
            "git worktree add -q tree other && cd tree && test -e .vscode && echo y > y && git add y \
             && git commit -qm third && cd .. && git worktree remove tree".to_owned(),
            "mkdir many && for i in $(seq 200); do echo $i > many/$i; done && git add many \
             && git commit -qm many && for i in $(seq 200); do echo more >> many/$i; done \
             && test $(git status --short | wc -l) -eq 200 && git commit -qam edited".to_owned(),
            "git mv many moved && rm -r moved/1* && mkdir -p a/b/c && mv moved a/b/c/ && git add -A \
             && git commit -qm moved && mv a d && rm -r d && git add -A && git commit -qm gone".to_owned(),
            "git clone -q . copy && git -C copy log --oneline && git -C copy remote -v && rm -r copy".to_owned(),
        ];
        for line in lines {
            self.shell(&line, &[]);
        }
        self.shell("git log --oneline | wc -l", &["5"]);
    }

    /// What a program outside says.
    fn outside(&self, program: &str, words: &[&str]) -> String {
        let output = Command::new(program).args(words).current_dir(&self.project).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether pip refuses to install without an environment here, as distributions want it.
    fn is_managed_by_the_system(&self) -> bool {
        let words = "import os, sysconfig; print(os.path.exists(sysconfig.get_path('stdlib') + '/EXTERNALLY-MANAGED'))";
        self.outside("python3", &["-c", words]).trim() == "True"
    }

    /// Brings everything to the host, which then is what the program saw; and takes it back.
    fn ends(&self) {
        let seen = self.listing(|script| {
            let words = ["run", "-p", "code", "--session", "work", "--", "sh", "-ec", script];
            self.stockade(&words).stdout
        });
        let before = tree(&self.project);
        let applied = self.stockade(&["apply", "--session", "work", "--json"]);
        let held = held(&applied.stdout);
        if !held.is_empty() {
            let names = held.iter().map(String::as_str);
            let words: Vec<&str> =
                ["apply", "--session", "work", "--"].into_iter().chain(names).collect();
            self.stockade(&words).expect_code(0);
        }
        let found = self.listing(|script| self.outside("sh", &["-ec", script]));
        let different: Vec<_> = seen.symmetric_difference(&found).collect();
        assert!(!seen.is_empty() && different.is_empty(), "{different:?}");
        assert_ne!(before.len(), tree(&self.project).len());
        self.stockade(&["session", "end", "work"]).expect_code(0);
    }

    /// Every path with its kind, permissions, link and contents, as somebody sees it.
    fn listing(&self, run: impl Fn(&str) -> String) -> std::collections::BTreeSet<String> {
        let script = "find . -printf '%p %y %m %l\\n'; find . -type f -exec sha256sum {} +";
        run(script).lines().map(str::to_owned).collect()
    }
}

/// The names that run code and were left, of an apply's answer.
fn held(answer: &str) -> Vec<String> {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
    let held = answer["workspaces"][0]["held"].as_array().unwrap().iter();
    held.map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let status = std::fs::symlink_metadata(&path).unwrap();
        let contents = if status.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if status.is_symlink() {
            OsString::from(std::fs::read_link(&path).unwrap()).into_encoded_bytes()
        } else {
            std::fs::read(&path).unwrap()
        };
        found.insert(path, (status.mode(), status.mtime(), status.mtime_nsec(), contents));
    }
    found
}

#[track_caller]
fn assert_same(before: &Tree, after: &Tree) {
    let changed = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let all = before.keys().chain(after.keys());
    let different: Vec<_> = all.filter(changed).collect();
    assert!(different.is_empty(), "the host's files changed: {different:?}");
}
