//! `git`: the everyday questions and steps of a repository, by the cage's own Git. A few commands with a few words, so that
//! nothing of what a model writes is an option.

use crate::error::{ErrorKind, ToolError};
use crate::exec::run_line;
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};

pub(crate) struct Git;

impl Tool for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn doc(&self) -> &'static str {
        "Looks at or changes the Git repository around the working directory, by `command`: `status`; `diff` of what is not \
         committed, or of `revision`; `log` of the last `count` commits; `commit` of all changes, new files too, with `message`, or of those at \
         `paths`; `branch` shows branches, and begins one of `name`. Everything else is for `exec`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required(
                    "command",
                    Kind::Text(16),
                    "`status`, `diff`, `log`, `commit` or `branch`.",
                ),
                optional(
                    "revision",
                    Kind::Text(200),
                    "Of `diff` and `log`: a commit, a branch or `a..b`.",
                ),
                optional("count", Kind::Number(1, 500), "Of `log`; 20 if it is left out."),
                optional("message", Kind::Text(16 << 10), "Of `commit`."),
                optional("name", Kind::Text(200), "Of `branch`."),
                optional("paths", Kind::Items(100, &["path"]), "Of `diff`, `log` and `commit`."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Run
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        run_line(&line(&given)?, SECONDS, call)
    }
}

/// The line for the shell, in which every word of the model's is quoted.
fn line(given: &Given<'_>) -> Result<String, ToolError> {
    let wrong = |text: &str| ToolError::new(ErrorKind::Arguments, text);
    // A word that begins with a dash would be an option.
    let name = |word: &str| match given.maybe_text(word) {
        Some(text) if text.is_empty() || text.starts_with('-') || text.contains('\0') => {
            Err(wrong(&format!("`{word}` is no name of a revision or branch")))
        }
        text => Ok(text.map(quoted)),
    };
    let items = given.items("paths", &["path"]);
    let paths: Vec<String> = items.iter().flatten().map(|path| quoted(path)).collect();
    let paths = if paths.is_empty() { String::new() } else { format!(" -- {}", paths.join(" ")) };
    if paths.contains('\0') {
        return Err(wrong("a path has no zero byte"));
    }
    let revision = name("revision")?.map(|revision| format!(" {revision}")).unwrap_or_default();
    Ok(match given.text("command") {
        "status" => format!("{GIT} status --short --branch"),
        "diff" => format!("{GIT} diff --no-ext-diff{revision}{paths}"),
        "log" => {
            let count = given.number("count").unwrap_or(20);
            format!("{GIT} log -n {count} --date=short --format='%h %ad %an  %s'{revision}{paths}")
        }
        "commit" => {
            let message = given.text("message");
            if message.trim().is_empty() || message.contains('\0') {
                return Err(wrong("a commit has a `message`"));
            }
            // `commit` alone leaves out files that Git does not know yet.
            let all = if paths.is_empty() { " --all" } else { paths.as_str() };
            format!("{GIT} add{all} && {GIT} commit --message={}{paths}", quoted(message))
        }
        "branch" => match name("name")? {
            None => format!("{GIT} branch --all --verbose"),
            Some(name) => format!("{GIT} switch --create {name}"),
        },
        _ => return Err(wrong("`command` is `status`, `diff`, `log`, `commit` or `branch`")),
    })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Colours and pagers are for people; hooks of the project run as every other program of the cage.
const GIT: &str = "git --no-pager -c color.ui=false -c core.quotepath=false";
const SECONDS: u64 = 120;

#[cfg(test)]
mod tests;
