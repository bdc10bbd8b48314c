//! Prompts: files, built in or the user's own, by type of agent. What is added to each is the true view: which tools,
//! files and hosts there are; and reminders that hold for all.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Where prompts come from.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    /// The user's own directory: `NAME.md` there stands before what is built in.
    pub own: Option<PathBuf>,
}

/// Why there is no prompt.
#[derive(Debug, Error)]
pub enum PromptError {
    /// No such type.
    #[error("there is no type of agent `{name}`; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The file cannot be used.
    #[error("the prompt `{}` cannot be used: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// What an agent can see and do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Where it works.
    pub working_directory: String,
    /// What it may call.
    pub tools: Vec<String>,
    /// Paths that it sees, each with what it may do there.
    pub paths: Vec<String>,
    /// Hosts that it reaches.
    pub hosts: Vec<String>,
    /// Whether what it changes is kept aside until somebody brings it to the host.
    pub is_reviewed: bool,
}

impl Prompts {
    /// The text of a type.
    ///
    /// # Errors
    /// If there is none.
    pub fn text(&self, name: &str) -> Result<String, PromptError> {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let own = self
            .own
            .as_ref()
            .filter(|_| is_name)
            .map(|directory| directory.join(format!("{name}.md")));
        if let Some(path) = own.filter(|path| path.exists()) {
            return of_file(&path);
        }
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        built_in.map(|(_, text)| (*text).to_owned()).ok_or_else(|| PromptError::Unknown {
            name: name.chars().take(60).collect(),
            known: self.names().join(", "),
        })
    }

    /// The types that there are.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        let own = self.own.as_ref().and_then(|directory| std::fs::read_dir(directory).ok());
        let files = own.into_iter().flatten().filter_map(Result::ok);
        names.extend(
            files.filter_map(|file| {
                Some(file.file_name().to_str()?.strip_suffix(".md")?.to_owned())
            }),
        );
        names.sort();
        names.dedup();
        names
    }

    /// The tools that a type is granted where nobody names some.
    pub fn tools(name: &str) -> Vec<String> {
        let is_reader = ["explore", "plan"].contains(&name);
        let changes = ["edit", "write", "exec", "git"];
        let all = tools::NAMES.iter().filter(|tool| !(is_reader && changes.contains(tool)));
        all.map(|tool| (*tool).to_owned()).collect()
    }
}

impl View {
    /// A prompt with what is true for this agent.
    pub fn added_to(&self, text: &str) -> String {
        let list = |name: &str, items: &[String], none: &str| match items {
            [] => format!("- {name}: {none}\n"),
            items => format!("- {name}: {}\n", items.join(", ")),
        };
        let mut prompt = format!("{}\n\n# What there is\n\n", text.trim_end());
        prompt.push_str(&format!("- working directory: {}\n", self.working_directory));
        prompt.push_str(&list("tools", &self.tools, "none"));
        prompt.push_str(&list(
            "granted paths",
            &self.paths,
            "none; the system's programs can be read",
        ));
        prompt.push_str(&list(
            "hosts that can be reached",
            &self.hosts,
            "none; there is no network",
        ));
        prompt.push_str("\nNothing else exists here. What is missing cannot be had by another way: say what you would need.\n");
        if self.is_reviewed {
            prompt.push_str("What you change in the working directory is reviewed by the person before it takes effect elsewhere.\n");
        }
        prompt.push('\n');
        prompt.push_str(REMINDERS);
        prompt
    }
}

fn of_file(path: &Path) -> Result<String, PromptError> {
    let failed = |why: String| PromptError::File { path: path.to_owned(), why };
    let metadata = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Err(failed(format!("it is no file, or has more than {MOST_BYTES} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

const BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../prompts/default.md")),
    ("explore", include_str!("../prompts/explore.md")),
    ("plan", include_str!("../prompts/plan.md")),
    ("task", include_str!("../prompts/task.md")),
];
const REMINDERS: &str = include_str!("../prompts/reminders.md");
const MOST_BYTES: u64 = 256 << 10;

#[cfg(test)]
mod tests;
