//! `read`: lines of a text file, numbered.

use crate::error::ToolError;
use crate::files::{MOST_FILE, PATH};
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Reader, Tool};

pub(crate) struct Read;

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn doc(&self) -> &'static str {
        "Shows the lines of a text file, each with its number. Shows the first 2000 unless `offset` (the first line, \
         from 1) and `limit` say otherwise."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("path", PATH, "The file."),
                optional("offset", Kind::Number(1, 1 << 40), "The first line to show, from 1."),
                optional("limit", Kind::Number(1, 100_000), "How many lines to show at most."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let path = given.text("path");
        let mut opened = call.world.root.read(path)?;
        let content = opened.content(MOST_FILE)?;
        let (offset, limit) =
            (given.number("offset").unwrap_or(1), given.number("limit").unwrap_or(2000));
        let skipped = usize::try_from(offset - 1).unwrap_or(usize::MAX);
        let count = usize::try_from(limit).unwrap_or(usize::MAX);
        let all = content.lines().count();
        if content.is_empty() {
            return Ok(format!("`{path}` is empty"));
        }
        if skipped >= all {
            return Ok(format!("`{path}` has {all} lines: nothing is at line {offset}"));
        }
        let mut shown = String::new();
        for (number, line) in content.lines().enumerate().skip(skipped).take(count) {
            let line = cut(line);
            shown.push_str(&format!("{:>6}\t{line}\n", number + 1));
        }
        if call.reader == Reader::Conversation
            && call.world.is_known(opened.identity, offset, limit, &shown)
        {
            return Ok(format!("`{path}` has not changed since you read these lines"));
        }
        let end = skipped.saturating_add(count);
        if end < all {
            shown.push_str(&format!(
                "[{} more lines: go on with `offset` {}]\n",
                all - end,
                end + 1
            ));
        }
        Ok(shown)
    }
}

/// A line that would drown all others is cut.
fn cut(line: &str) -> String {
    match line.char_indices().nth(MOST_LETTERS) {
        Some((at, _)) => format!(
            "{} [… cut: {} bytes in this line]",
            line.get(..at).unwrap_or_default(),
            line.len()
        ),
        None => line.to_owned(),
    }
}

const MOST_LETTERS: usize = 2000;
