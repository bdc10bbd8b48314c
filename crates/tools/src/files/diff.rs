//! `diff`: how two text files differ.

use similar::{Algorithm, DiffOp};

use crate::error::ToolError;
use crate::files::{MOST_FILE, PATH};
use crate::parameters::{Given, Parameter, required};
use crate::tool::{Call, Needs, Tool};

pub(crate) struct Diff;

impl Tool for Diff {
    fn name(&self) -> &'static str {
        "diff"
    }

    fn doc(&self) -> &'static str {
        "Shows how two text files differ, as a unified diff."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("old", PATH, "The file before."),
                required("new", PATH, "The file afterwards."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Read
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let (old_path, new_path) = (given.text("old"), given.text("new"));
        let old = call.world.root.read(old_path)?.content(MOST_FILE)?;
        let new = call.world.root.read(new_path)?.content(MOST_FILE)?;
        if old == new {
            return Ok(format!("`{old_path}` and `{new_path}` are the same"));
        }
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        // A diff that takes too long is one that replaces more than it has to.
        let changes =
            similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(call.until));
        let mut text = format!("--- {old_path}\n+++ {new_path}\n");
        for group in similar::group_diff_ops(changes, 3) {
            hunk(&group, &old, &new, &mut text);
        }
        Ok(text)
    }
}

fn hunk(group: &[DiffOp], old: &[&str], new: &[&str], text: &mut String) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let range = |from: usize, to: usize| match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        count => format!("{},{count}", from + 1),
    };
    let of_old = range(first.old_range().start, last.old_range().end);
    let of_new = range(first.new_range().start, last.new_range().end);
    text.push_str(&format!("@@ -{of_old} +{of_new} @@\n"));
    let mut lines = |sign: char, lines: Option<&[&str]>| {
        for line in lines.unwrap_or_default() {
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    for change in group {
        if matches!(change, DiffOp::Equal { .. }) {
            lines(' ', old.get(change.old_range()));
        } else {
            lines('-', old.get(change.old_range()));
            lines('+', new.get(change.new_range()));
        }
    }
}
