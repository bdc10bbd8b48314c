//! What the project asks of its own text and no compiler checks. Every rule is a pure function from
//! a [`Tree`] to findings, one file per rule; nothing here changes a file.

mod documents;
mod edges;
mod links;
mod markers;
mod modules;
mod names;
mod openings;
mod purity;
mod sizes;
mod source;
mod specification;
mod standing;
mod totality;
mod traces;
mod tree;
mod unsafety;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use tree::Tree;

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the project's root.
    path: String,
    /// Counted from 1; 0 where the whole file is meant.
    line: usize,
    /// What is wrong and what to do about it.
    message: String,
}

impl Finding {
    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// One rule: its name, and what it finds.
type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

/// Every rule, in the order in which findings are told.
const RULES: &[Rule] = &[
    ("sizes", sizes::check),
    ("openings", openings::check),
    ("names", names::check),
    ("modules", modules::check),
    ("edges", edges::check),
    ("purity", purity::check),
    ("standing", standing::check),
    ("totality", totality::check),
    ("unsafety", unsafety::check),
    ("markers", markers::check),
    ("documents", documents::check),
    ("links", links::check),
    ("specification", specification::check),
    ("traces", traces::check),
];

/// Reads the project and prints what breaks a rule; returns how many places do.
pub(crate) fn run(root: &Path) -> std::io::Result<usize> {
    let tree = Tree::read(root)?;
    let mut total = 0;
    for (rule, check) in RULES {
        for finding in check(&tree) {
            total += 1;
            eprintln!("tidy({rule}): {finding}");
        }
    }
    match total {
        0 => println!("tidy: {} files, {} rules, nothing to mend", tree.len(), RULES.len()),
        some => eprintln!("tidy: {some} to mend in {} files", tree.len()),
    }
    Ok(total)
}
