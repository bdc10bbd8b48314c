//! A project with a session that has a workspace for it, and a shell in a real overlay of both, as a cage has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::overlay;
pub(crate) use crate::overlay::{Tree, assert_same, tree};
use crate::support::{Ended, Place};

/// A project that programs have worked on.
pub(crate) struct Reviewed {
    pub(crate) place: Place,
    pub(crate) area: PathBuf,
}

impl Reviewed {
    /// A project with these files, on which a run of the session `work` has begun.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        for (name, content) in files {
            place.write(name, content);
        }
        let area = begin(&place, "work", &place.project);
        Self { place, area }
    }

    /// Runs a shell on the view of the session.
    pub(crate) fn cage(&self, script: &str) -> &Self {
        cage(&self.place, &self.place.project, &self.area, script);
        self
    }

    /// Runs `stockade` in the project.
    pub(crate) fn ask(&self, words: &[&str]) -> Ended {
        self.place.ask(words)
    }

    pub(crate) fn host(&self) -> Tree {
        tree(&self.place.project)
    }

    /// A file of the project.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.place.project.join(name)).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.place.project.join(name).symlink_metadata().is_ok()
    }

    /// Changes a file of the project, as its user does while the program works.
    pub(crate) fn change(&self, name: &str, content: &str) -> &Self {
        self.place.write(name, content);
        self
    }

    /// What is on record about reviews, each as its event, action and outcome.
    pub(crate) fn recorded(&self) -> Vec<(String, String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let records = self.place.records().into_iter();
        let of_reviews = records.filter(|record| {
            record["event"].as_str().is_some_and(|event| event.starts_with("workspace."))
        });
        of_reviews
            .map(|one| (text(&one["event"]), text(&one["action"]), text(&one["outcome"])))
            .collect()
    }
}

impl Drop for Reviewed {
    /// A program can have closed directories, which cannot be removed then.
    fn drop(&mut self) {
        for path in [&self.place.project, &self.area] {
            let mut command = Command::new("chmod");
            command.args(["-R", "u+rwX"]).arg(path).stderr(std::process::Stdio::null());
            let _ = command.status();
        }
    }
}

/// Begins a run of a session on a directory; returns the area for it.
pub(crate) fn begin(place: &Place, name: &str, directory: &Path) -> PathBuf {
    overlay::begin(&place.state().join("stockade"), name, directory)
}

/// Runs a shell in an overlay of a directory.
pub(crate) fn cage(place: &Place, host: &Path, area: &Path, script: &str) {
    overlay::cage(&place.outside(), host, area, script);
}
