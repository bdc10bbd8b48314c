//! What texts mean and what is wrong with them: meanings as tables, messages as snapshots.

mod errors;
mod flags;
mod meaning;
mod network;
mod syntax;

use plan::HostPath;

use super::{Diagnostics, Document, Style, parse_project, parse_user};
use crate::{Cage, Place, Policy};

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

fn place() -> Place {
    Place {
        project: path("/home/u/project"),
        home: Some(path("/home/u")),
        own_state: vec![path("/home/u/.config/stockade")],
    }
}

fn project(text: &str) -> Result<Document, Diagnostics> {
    parse_project("stockade.toml", text.as_bytes(), &place())
}

fn user(text: &str) -> Result<Document, Diagnostics> {
    parse_user("config.toml", text.as_bytes(), &place())
}

/// The errors of a project's file, drawn.
fn drawn(text: &str) -> String {
    project(text).unwrap_err().render(Style::Plain)
}

/// The errors' codes, in the order of the text.
fn codes(result: Result<Document, Diagnostics>) -> Vec<&'static str> {
    result.err().map_or_else(Vec::new, |found| {
        found.errors.iter().map(|error| error.code.as_str()).collect()
    })
}

fn policy(document: &Document, name: &str) -> Policy {
    match &document.cages[name] {
        Cage::Enabled(policy) => policy.clone(),
        Cage::Disabled { .. } => panic!("`{name}` is disabled"),
    }
}

fn rules(policy: &Policy) -> Vec<String> {
    let rule = |rule: &crate::FsRule| format!("{} {}", rule.access.word(), rule.path);
    policy.fs.iter().map(rule).collect()
}
