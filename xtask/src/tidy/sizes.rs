//! Files that a reader can hold in the head: 500 lines of source, 800 lines of anything. Counts
//! every line, comments too, because all of them are read.

use super::tree::{Tree, is_test_file};
use super::{Finding, source};

/// The most lines of a file without tests.
const MOST_SOURCE: usize = 500;
/// The most lines of any file.
const MOST: usize = 800;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let lines = text.lines().count();
        let most = if is_test_file(path) { MOST } else { MOST_SOURCE };
        if lines > most {
            let message = format!("{lines} lines, {most} at most: split it by what it does");
            findings.push(Finding::of_file(path, message));
        }
        if let Some(line) = inline_tests(text) {
            let message = "tests stand in a sibling `tests.rs`: `#[cfg(test)] mod tests;`";
            findings.push(Finding::at(path, line, message));
        }
    }
    findings
}

/// The line on which a test module opens inside the file.
fn inline_tests(text: &str) -> Option<usize> {
    let opens = |line: &source::Line| {
        let code = line.code.trim();
        code.starts_with("mod tests") && code.ends_with('{')
    };
    source::lines(text).iter().position(opens).map(|index| index + 1)
}
