//! A project with a mistake in it, a home with a key, and the built `stockade` to start there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testing::model_server::ModelServer;

/// The key that nothing in a cage may find.
pub(crate) const KEY: &str = "sk-test-of-the-key";

pub(crate) struct Place {
    _root: tempfile::TempDir,
    home: PathBuf,
    pub(crate) project: PathBuf,
}

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(root.path()).unwrap().join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).unwrap();
        let place = Self { _root: root, home, project };
        place.write("sum.py", "def add(a, b):\n    return a - b\n");
        place.write("test_sum.py", "from sum import add\nassert add(2, 3) == 5\nprint('tested')\n");
        place
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::write(self.project.join(path), content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state")
    }

    fn stockade(&self) -> Command {
        let mut command =
            Command::new(testing::program("STOCKADE_BIN", env!("CARGO_BIN_EXE_stockade")));
        sys::signal::restore_all_defaults_in(&mut command);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_STATE_HOME", self.state())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    /// `stockade` with these words, and a key in its environment.
    pub(crate) fn stockade_with(&self, words: &[&str]) -> Command {
        let mut command = self.stockade();
        command.env("STOCKADE_TEST_KEY", KEY).args(words);
        command
    }

    /// `stockade agent` with a model, and a key in its environment.
    pub(crate) fn command(&self, server: &ModelServer, words: &[&str]) -> Command {
        self.command_of(server, "agent", words)
    }

    pub(crate) fn command_of(&self, server: &ModelServer, name: &str, words: &[&str]) -> Command {
        let mut command = self.stockade();
        command.env("STOCKADE_TEST_KEY", KEY);
        command.args([
            name,
            "--model",
            "m",
            "--url",
            &server.url(),
            "--key",
            "env:STOCKADE_TEST_KEY",
        ]);
        if !words.contains(&"--protocol") {
            command.args(["--protocol", "anthropic"]);
        }
        command.args(words);
        command
    }

    pub(crate) fn agent(&self, server: &ModelServer, words: &[&str]) -> Ended {
        Ended::of(self.command(server, words).output().unwrap())
    }

    pub(crate) fn ask(&self, words: &[&str]) -> Ended {
        Ended::of(self.stockade().args(words).output().unwrap())
    }

    /// What was recorded.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut lines = Vec::new();
        self.each_file_of_state(&mut |path, bytes| {
            if path.to_string_lossy().contains("/audit/")
                && path.extension().is_some_and(|end| end == "jsonl")
            {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            }
        });
        lines
    }

    /// Every file that is kept.
    pub(crate) fn each_file_of_state(&self, visit: &mut dyn FnMut(&Path, Vec<u8>)) {
        each_file(&self.state(), visit);
    }
}

fn each_file(directory: &Path, visit: &mut dyn FnMut(&Path, Vec<u8>)) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap() {
            metadata if metadata.is_dir() => each_file(&path, visit),
            metadata if metadata.is_file() => visit(&path, fs::read(&path).unwrap_or_default()),
            _ => {}
        }
    }
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
