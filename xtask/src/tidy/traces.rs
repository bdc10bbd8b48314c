//! Nothing in the project tells on which machine it was written or where its packages came from: no
//! path of the checkout or of a toolchain, no name of a registry's host.

use super::Finding;
use super::tree::Tree;

/// Hosts of package registries. Put together here so that this file does not hold them.
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("deb.debian", ".org"),
    concat!("files.python", "hosted.org"),
];
/// Where toolchains keep what they downloaded.
const TOOLCHAINS: &[&str] = &[
    concat!("/.cargo", "/registry"),
    concat!("/.rustup", "/toolchains"),
    concat!("/tmp", "/target-"),
];
/// What a profile allows where nothing else is configured is a fact of the product.
const DEFAULTS: &str = "crates/profiles/src/registries.rs";
/// Cargo writes the registry's name into its lock file and lets nobody leave it out.
const LOCK: &str = "Cargo.lock";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let root = tree.root().to_string_lossy();
    // A checkout right below the root directory has a name that any path may contain.
    let checkout = Some(root.as_ref()).filter(|path| path.matches('/').count() > 1);
    let mut findings = Vec::new();
    for (path, text) in tree.all().filter(|(path, _)| !path.ends_with(LOCK)) {
        for (index, line) in text.lines().enumerate() {
            let registry = REGISTRIES.iter().find(|host| line.contains(**host));
            if let Some(host) = registry.filter(|_| path != DEFAULTS) {
                let message = format!("names the registry host `{host}`");
                findings.push(Finding::at(path, index + 1, message));
            }
            let toolchain = TOOLCHAINS.iter().copied().find(|part| line.contains(part));
            let here = checkout.filter(|checkout| mentions(line, checkout));
            if let Some(machine) = toolchain.or(here) {
                let message = format!("`{machine}` is a path of one machine");
                findings.push(Finding::at(path, index + 1, message));
            }
        }
    }
    findings
}

/// Whether `path` stands in the line as a whole path, or with more below it.
fn mentions(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let (before, rest) = line.split_at(start);
        let after = rest.get(path.len()..).unwrap_or_default();
        let joins = |letter: Option<char>| {
            letter.is_some_and(|letter| letter.is_alphanumeric() || "-_.".contains(letter))
        };
        !joins(before.chars().next_back()) && !joins(after.chars().next())
    })
}
