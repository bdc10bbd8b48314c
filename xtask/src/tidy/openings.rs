//! Every Rust and Python file says first what it is. Looks at the first line alone; whether the sentence
//! is a good one is for reviewers.

use super::Finding;
use super::tree::Tree;

/// Shorter than this says nothing.
const FEWEST_CHARACTERS: usize = 15;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.code() {
        let opening = if path.ends_with(".rs") { "//!" } else { "\"\"\"" };
        let first = text.lines().next().unwrap_or_default();
        match first.strip_prefix(opening) {
            None => {
                let message = format!("opens with `{opening}` and what the file is and never does");
                findings.push(Finding::at(path, 1, message));
            }
            Some(sentence) if sentence.trim().chars().count() < FEWEST_CHARACTERS => {
                let message =
                    format!("the opening `{opening}` is too short to say what the file is");
                findings.push(Finding::at(path, 1, message));
            }
            Some(_) => {}
        }
    }
    findings
}
