//! The documents that a stranger looks for exist, and the map of the crates is complete.

use super::Finding;
use super::tree::Tree;

/// What must be there.
const REQUIRED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/policy.md",
];
/// The map.
const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let missing = |path: &&&str| tree.text(path).is_none_or(|text| text.trim().is_empty());
    let mut findings: Vec<Finding> = REQUIRED
        .iter()
        .filter(missing)
        .map(|path| Finding::of_file(path, "the document does not exist or is empty"))
        .collect();
    let map = tree.text(MAP).unwrap_or_default();
    for (path, _) in tree.manifests() {
        let directory = path.strip_suffix("/Cargo.toml").unwrap_or(path);
        if !map.contains(&format!("`{directory}`")) {
            let message = format!("does not say what `{directory}` is");
            findings.push(Finding::of_file(MAP, message));
        }
    }
    findings
}
