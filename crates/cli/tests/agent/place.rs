//! A project with a mistake in it, a home with a key, and the built `stockade` to start there.

use std::fs;
use std::os::unix::fs::FileExt as _;
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
        place.write("test_sum.py", "from sum import add\nif add(2, 3) != 5: raise SystemExit('2 and 3 are not 5')\nprint('tested')\n");
        place
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.project.join(path).parent().unwrap()).unwrap();
        fs::write(self.project.join(path), content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap()
    }

    /// Where the user's configuration is.
    pub(crate) fn configuration(&self) -> PathBuf {
        let directory = self.home.join(".config/stockade");
        fs::create_dir_all(&directory).unwrap();
        directory
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

/// Whether the key is in some bytes.
pub(crate) fn has_key(bytes: &[u8]) -> bool {
    bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes())
}

/// Every process that a process has started, and those that they have.
pub(crate) fn below(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let processes: Vec<(i32, i32)> = entries
        .filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            Some((number, stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(number, _)| *number));
        at += 1;
    }
    found.split_off(1)
}

/// All that a process can write to.
pub(crate) fn each_piece_of_memory(pid: i32, visit: &mut dyn FnMut(&[u8])) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let Ok(memory) = fs::File::open(format!("/proc/{pid}/mem")) else { return };
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let range = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [range.0, range.1].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut piece = vec![0; usize::try_from((end - start).min(64 << 20)).unwrap()];
        if let Ok(count) = memory.read_at(&mut piece, start) {
            visit(&piece[..count]);
        }
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
