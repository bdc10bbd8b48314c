//! `grep` and `search`: lines of files that fit an expression, or have a text in them.

use std::fs::File;
use std::io::Read as _;

use regex_lite::{Regex, RegexBuilder};
use rustix::fs::{FileType, Mode, OFlags, openat};

use crate::error::{ErrorKind, ToolError};
use crate::files::PATH;
use crate::glob::Glob;
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};
use crate::traverse::{Go, MOST_DEPTH, Walk, walk};

pub(crate) struct Grep;
pub(crate) struct Search;

const PARAMETERS: &[Parameter] = &[
    required("pattern", Kind::Text(2000), "What to look for."),
    optional("path", PATH, "A file or directory; the working directory if it is left out."),
    optional("glob", Kind::Text(1000), "Only files whose names fit, such as `*.py`."),
    optional("ignore_case", Kind::Flag, "Whether capital letters are the same as small ones."),
    optional("files_only", Kind::Flag, "Whether only the names of files are shown."),
    optional(
        "everything",
        Kind::Flag,
        "Whether to look into `.git`, `node_modules`, `target` and the like.",
    ),
];

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn doc(&self) -> &'static str {
        "Shows lines of text files that fit a regular expression, as `path:line: text`. For a plain text use `search`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        look(given, given.text("pattern"), call)
    }
}

impl Tool for Search {
    fn name(&self) -> &'static str {
        "search"
    }

    fn doc(&self) -> &'static str {
        "Shows lines of text files that have a text in them, as `path:line: text`. Nothing in the text has a meaning \
         of its own; for expressions use `grep`."
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        look(given, &regex_lite::escape(given.text("pattern")), call)
    }
}

/// What is looked for, and what was found.
struct Look {
    expression: Regex,
    files_only: bool,
    found: String,
    lines: usize,
}

fn look(given: Given<'_>, expression: &str, call: &Call<'_>) -> Result<String, ToolError> {
    let invalid = |text: String| ToolError::new(ErrorKind::Arguments, text);
    let expression = RegexBuilder::new(expression)
        .case_insensitive(given.flag("ignore_case"))
        .size_limit(MOST_EXPRESSION)
        .build()
        .map_err(|error| {
            invalid(format!(
                "the pattern is no regular expression: {error}; for a plain text use `search`"
            ))
        })?;
    let glob = given.maybe_text("glob").map(Glob::read).transpose();
    let glob = glob.map_err(|why| invalid(format!("`glob` is no pattern: {why}")))?;
    let mut look =
        Look { expression, files_only: given.flag("files_only"), found: String::new(), lines: 0 };
    let path = given.maybe_text("path").unwrap_or(".");
    let directory = match call.world.root.directory(path) {
        Ok(directory) => directory,
        Err(error) if error.kind == ErrorKind::Type => {
            let opened = call.world.root.read(path)?;
            look.file(path, opened.file);
            return Ok(look.end(path));
        }
        Err(error) => return Err(error),
    };
    let how = Walk { depth: MOST_DEPTH, skips: !given.flag("everything") };
    walk(directory, path, how, call, &mut |path, entry, within| {
        if entry.kind != FileType::RegularFile || glob.as_ref().is_some_and(|glob| !glob.fits(path))
        {
            return Ok(Go::On);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(opened) = openat(within, entry.name.as_str(), flags, Mode::empty()) {
            look.file(path, File::from(opened));
        }
        Ok(if look.lines > MOST_LINES { Go::Stop } else { Go::On })
    })?;
    Ok(look.end(path))
}

impl Look {
    fn file(&mut self, path: &str, file: File) {
        let mut bytes = Vec::new();
        if file.take(MOST_FILE).read_to_end(&mut bytes).is_err()
            || bytes.iter().take(8192).any(|byte| *byte == 0)
        {
            return;
        }
        for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if !self.expression.is_match(line) {
                continue;
            }
            self.lines += 1;
            if self.lines > MOST_LINES {
                return;
            }
            if self.files_only {
                self.found.push_str(&format!("{path}\n"));
                return;
            }
            let line: String = line.chars().take(MOST_LETTERS).collect();
            self.found.push_str(&format!("{path}:{}: {line}\n", number + 1));
        }
    }

    fn end(mut self, path: &str) -> String {
        if self.lines > MOST_LINES {
            self.found.push_str(&format!(
                "[more than {MOST_LINES}: make the pattern narrower, or give `glob`]\n"
            ));
        }
        if self.found.is_empty() { format!("nothing in `{path}` fits") } else { self.found }
    }
}

const MOST_LINES: usize = 1000;
const MOST_LETTERS: usize = 400;
const MOST_FILE: u64 = 16 << 20;
const MOST_EXPRESSION: usize = 1 << 20;
