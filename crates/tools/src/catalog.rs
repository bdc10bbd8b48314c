//! All tools there are. A tool that is not in this table does not exist.

use crate::error::{ErrorKind, ToolError};
use crate::exec::Exec;
use crate::files::{
    diff::Diff, edit::Edit, find::Find, grep::Grep, grep::Search, list::List, read::Read,
    write::Write,
};
use crate::git::Git;
use crate::json::Json;
use crate::notes::{Memory, Plan, Todo};
use crate::tool::Tool;
use crate::web::{Http, WebFetch};

/// Every tool, in the order in which a model sees them.
pub fn all() -> &'static [&'static dyn Tool] {
    &[
        &Read, &List, &Find, &Grep, &Search, &Edit, &Write, &Diff, &Json, &Exec, &Git, &Http,
        &WebFetch, &Todo, &Plan, &Memory,
    ]
}

/// Their names.
pub const NAMES: &[&str] = &[
    "read", "list", "find", "grep", "search", "edit", "write", "diff", "json", "exec", "git",
    "http", "webfetch", "todo", "plan", "memory",
];

/// Tools by their names.
///
/// # Errors
/// If one of them does not exist.
pub fn granted(names: &[String]) -> Result<Vec<&'static dyn Tool>, ToolError> {
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| !NAMES.contains(&name.as_str()))
        .map(|name| format!("`{name}`"))
        .collect();
    if !unknown.is_empty() {
        let text =
            format!("there is no tool {}; there are {}", unknown.join(", "), NAMES.join(", "));
        return Err(ToolError::new(ErrorKind::Arguments, text));
    }
    Ok(all().iter().copied().filter(|tool| names.iter().any(|name| name == tool.name())).collect())
}
