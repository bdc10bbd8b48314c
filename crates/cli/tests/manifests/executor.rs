//! An executor in a directory of its own, and a home for whoever calls it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::{Ended, Place, slowly};

/// An executor with its home.
pub(crate) struct Tool {
    pub(crate) place: Place,
    pub(crate) manifest: PathBuf,
}

/// What a call came to.
pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) answer: Value,
    pub(crate) stderr: String,
}

impl Tool {
    /// An executor whose program is this Python, with these lines in its manifest.
    pub(crate) fn new(lines: &str, program: &str) -> Self {
        let place = Place::new();
        place.write("tool.py", format!("{PRELUDE}\n{program}\n"));
        let text = format!("name = \"tool\"\nversion = \"1\"\ncode = \"tool.py\"\n{lines}\n");
        let manifest = place.write("manifest.toml", text);
        Self { place, manifest }
    }

    /// A directory or file below the home.
    pub(crate) fn home(&self, below: &str) -> PathBuf {
        self.place.home.join(below)
    }

    /// Makes a directory below the home, for everybody: without a mapping of ids root's cages see
    /// files as strangers do.
    pub(crate) fn directory(&self, below: &str) -> PathBuf {
        let path = self.home(below);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes a file below the home.
    pub(crate) fn file(&self, below: &str, text: &str) -> PathBuf {
        let path = self.home(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// `stockade` with these words, the manifest among them as `@`.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.stockade();
        for word in words {
            match *word {
                "@" => command.arg(&self.manifest),
                word => command.arg(word),
            };
        }
        command
    }

    pub(crate) fn ask(&self, words: &[&str]) -> Ended {
        Ended::of(self.command(words).output().unwrap())
    }

    /// Calls it with these arguments, and flags before them.
    #[track_caller]
    pub(crate) fn call_with(&self, flags: &[&str], arguments: &str) -> Called {
        let words = [&["invoke", "@"], flags, &["--args", arguments]].concat();
        Called::of(self.command(&words).stdin(Stdio::null()))
    }

    #[track_caller]
    pub(crate) fn call(&self, arguments: &str) -> Called {
        self.call_with(&[], arguments)
    }
}

impl Called {
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let Ended { code, stdout, stderr } = Ended::of(command.output().unwrap());
        let answer = serde_json::from_str(&stdout);
        let answer = answer.unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"));
        Self { code, answer, stderr }
    }

    /// The answer of a call that has one.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        assert_eq!(self.answer["ok"], true, "{:#}\n{}", self.answer, self.stderr);
        assert_eq!(self.answer["sandbox"]["level"], "native", "{:#}", self.answer);
        &self.answer["result"]
    }

    /// A call without an answer, of this kind and with this exit code.
    #[track_caller]
    pub(crate) fn fails(&self, kind: &str, code: i32) -> &Self {
        let told = (self.answer["ok"].as_bool(), self.answer["error"]["kind"].as_str(), self.code);
        assert_eq!(told, (Some(false), Some(kind), code), "{:#}\n{}", self.answer, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, part: &str) -> &Self {
        let message = self.answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "no {part:?} in {message}");
        self
    }
}

/// Waits until nothing with this word in its command line runs any more.
#[track_caller]
pub(crate) fn assert_gone(marker: &str) {
    let deadline = Instant::now() + slowly(Duration::from_secs(10));
    loop {
        let left = running(marker);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still running: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Command lines with this word.
pub(crate) fn running(marker: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let command_line = |path: &Path| {
        let bytes = fs::read(path.join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        text.contains(marker).then_some(text)
    };
    entries.filter_map(|entry| command_line(&entry.path())).collect()
}

/// What most programs of the tests begin with.
const PRELUDE: &str = r#"
import json, os, socket, subprocess, sys, time
args = json.load(sys.stdin)
home = os.path.expanduser("~")
def attempt(work):
    try:
        return work()
    except OSError as error:
        return "errno " + str(error.errno) if error.errno else str(error)
def answer(**fields):
    print(json.dumps(fields))
"#;
