//! `edit`: an exact replacement in a file. Never guesses: what is not there, or there more than once, is an error.

use crate::error::{ErrorKind, ToolError};
use crate::files::{MOST_FILE, PATH};
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};

pub(crate) struct Edit;

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn doc(&self) -> &'static str {
        "Replaces a text in a file by another one. `old` has to be there exactly as given, with its spaces and line \
         ends, and once: give more of what is around it, or `all` to replace every one."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("path", PATH, "The file."),
                required(
                    "old",
                    Kind::Text(1 << 20),
                    "The text that is there, without line numbers.",
                ),
                required("new", Kind::Text(1 << 20), "The text that takes its place."),
                optional("all", Kind::Flag, "Whether every place is replaced."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Write
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let (path, old, new) = (given.text("path"), given.text("old"), given.text("new"));
        let refused = |kind, text: String| Err(ToolError::new(kind, text));
        if old.is_empty() {
            return refused(
                ErrorKind::Arguments,
                "`old` is empty; to write a whole file use `write`".to_owned(),
            );
        }
        if old == new {
            return refused(ErrorKind::Arguments, "`old` and `new` are the same".to_owned());
        }
        let mut opened = call.world.root.change(path)?;
        let content = opened.content(MOST_FILE)?;
        let places: Vec<usize> =
            content.match_indices(old).map(|(at, _)| line_at(&content, at)).collect();
        let changed = match (places.as_slice(), given.flag("all")) {
            ([], _) => return refused(ErrorKind::Missing, missing(path, &content, old)),
            ([_], _) | (_, true) => content.replace(old, new),
            (several, false) => {
                let lines: Vec<String> = several.iter().take(10).map(ToString::to_string).collect();
                let (count, lines) = (several.len(), lines.join(", "));
                let text = format!(
                    "`old` is in `{path}` {count} times, in lines {lines}: give more of what is around it, or `all`"
                );
                return refused(ErrorKind::Ambiguous, text);
            }
        };
        if changed.len() > MOST_FILE {
            return refused(
                ErrorKind::TooLarge,
                format!("`{path}` would have more than {} MiB", MOST_FILE >> 20),
            );
        }
        opened.replace(changed.as_bytes())?;
        let lines: Vec<String> = places.iter().take(10).map(ToString::to_string).collect();
        Ok(format!("changed `{path}` in line {}", lines.join(", ")))
    }
}

fn line_at(content: &str, at: usize) -> usize {
    content.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Says why a text may not have been found.
fn missing(path: &str, content: &str, old: &str) -> String {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = old.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let near = content.lines().position(|line| squeezed(line) == squeezed(first));
    let advice = match near {
        Some(line) if squeezed(content).contains(&squeezed(old)) => {
            format!("it differs in spaces or line ends alone; see line {}", line + 1)
        }
        Some(line) => format!("its first line is like line {}, what follows is not", line + 1),
        None => "`read` the file again and copy the text exactly".to_owned(),
    };
    format!("`old` is not in `{path}`: {advice}")
}
