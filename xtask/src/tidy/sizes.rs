//! Files that a reader can hold in the head: 500 lines of source, 800 lines of anything; and crates
//! that say what they are: 9,000 lines of source. Counts every line, comments too, because all of
//! them are read.

use std::collections::BTreeMap;

use super::tree::{Tree, is_test_file};
use super::{Finding, source};

/// The most lines of a file without tests.
const MOST_SOURCE: usize = 500;
/// The most lines of any file.
const MOST: usize = 800;
/// The most lines of a crate without its tests.
const MOST_OF_CRATE: usize = 9000;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = crates(tree);
    for (path, text) in tree.code() {
        let lines = text.lines().count();
        let most = if is_test_file(path) { MOST } else { MOST_SOURCE };
        if lines > most {
            let message = format!("{lines} lines, {most} at most: split it by what it does");
            findings.push(Finding::of_file(path, message));
        }
        if let Some(line) = inline_tests(text).filter(|_| path.ends_with(".rs")) {
            let message = "tests stand in a sibling `tests.rs`: `#[cfg(test)] mod tests;`";
            findings.push(Finding::at(path, line, message));
        }
    }
    findings
}

/// Crates that hold more than one idea.
fn crates(tree: &Tree) -> Vec<Finding> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = tree.under("crates/").filter(|(path, _)| path.ends_with(".rs"));
    for (path, text) in sources.filter(|(path, _)| !is_test_file(path)) {
        let name = path.split('/').nth(1).unwrap_or_default();
        *lines.entry(name).or_default() += text.lines().count();
    }
    let too_large = lines.into_iter().filter(|(_, lines)| *lines > MOST_OF_CRATE);
    let finding = |(name, lines): (&str, usize)| {
        let message = format!(
            "{lines} lines without tests, {MOST_OF_CRATE} at most: split it by what its folders are"
        );
        Finding::of_file(&format!("crates/{name}"), message)
    };
    too_large.map(finding).collect()
}

/// The line on which a test module opens inside the file.
fn inline_tests(text: &str) -> Option<usize> {
    let opens = |line: &source::Line| {
        let code = line.code.trim();
        code.starts_with("mod tests") && code.ends_with('{')
    };
    source::lines(text).iter().position(opens).map(|index| index + 1)
}
