//! A home with a project in it, and the built `stockade` to start there.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) use testing::{has, has_all, is_root, skip, slowly};

/// A fresh home directory with a project below it; removed when dropped.
pub(crate) struct Place {
    root: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

/// What a command came to.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        // Where a test runs inside a link, rules and messages still name the real path.
        let real = fs::canonicalize(root.path()).unwrap();
        let home = real.join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        Self { root, home, project }
    }

    /// A directory beside the home.
    pub(crate) fn outside(&self) -> PathBuf {
        let outside = fs::canonicalize(self.root.path()).unwrap().join("outside");
        fs::create_dir_all(&outside).unwrap();
        outside
    }

    /// Where state is kept: named to the program, because root's is the system's otherwise.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state")
    }

    /// Writes a file below the project, with the directories above it.
    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    /// Writes the project's policy.
    pub(crate) fn policy(&self, text: &str) {
        self.write("stockade.toml", text);
    }

    /// Writes a policy with these words in its default cage.
    pub(crate) fn default_cage(&self, words: &str) {
        self.policy(&format!("version = 1\n[cage.default]\n{words}\n"));
    }

    /// `stockade`, started in the project by a user with this home and nothing else, and with no signal ignored,
    /// whatever this test's own caller has it ignore.
    pub(crate) fn stockade(&self) -> Command {
        let mut command = Command::new(stockade_binary());
        sys::signal::restore_all_defaults_in(&mut command);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_CACHE_HOME", self.home.join(".cache"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(walls::handed_on())
            .stdin(Stdio::null());
        command
    }

    /// What was recorded, oldest first, without the log's own records.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        let directory = self.state().join("stockade/audit");
        let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
        let lines: Vec<serde_json::Value> = texts
            .flat_map(|text| {
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
            })
            .collect();
        let of_log = |one: &serde_json::Value| one["event"].as_str().unwrap().starts_with("log.");
        lines.into_iter().filter(|record| !of_log(record)).collect()
    }

    /// Runs `stockade` with these arguments to its end.
    pub(crate) fn ask<Word: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = Word>) -> Ended {
        Ended::of(self.stockade().args(words).output().unwrap())
    }

    /// Runs a line of shell in the cage, after these flags.
    pub(crate) fn shell(&self, flags: &[&str], line: &str) -> Ended {
        self.ask([&["run"], flags, &["--", "sh", "-c", line]].concat())
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let killed = output.status.signal().map(|signal| 1000 + signal);
        Self {
            code: output.status.code().or(killed).unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Panics with everything that is known unless the exit code is this.
    #[track_caller]
    pub(crate) fn expect_code(&self, code: i32) -> &Self {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(self.code, code, "\nstdout: {stdout}\nstderr: {stderr}");
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "no {text:?} in stderr: {}", self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        let Self { stdout, stderr, .. } = self;
        assert!(stdout.contains(text), "no {text:?} in stdout: {stdout}\nstderr: {stderr}");
        self
    }
}

/// The program under test.
pub(crate) fn stockade_binary() -> PathBuf {
    testing::program("STOCKADE_BIN", env!("CARGO_BIN_EXE_stockade"))
}
