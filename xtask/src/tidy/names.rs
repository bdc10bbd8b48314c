//! Names under which nothing can be found. A module is called after what it does.

use super::Finding;
use super::tree::Tree;

/// Names that fit everything, and so say nothing.
const EMPTY_NAMES: &[&str] = &[
    "util",
    "utils",
    "utility",
    "utilities",
    "common",
    "helper",
    "helpers",
    "manager",
    "managers",
    "misc",
    "runtime",
    "core",
    "shared",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.code() {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        for part in stem.split('/') {
            if EMPTY_NAMES.contains(&part) {
                let message = format!("`{part}` names no idea: call it after what it does");
                findings.push(Finding::of_file(path, message));
            }
        }
    }
    findings
}
