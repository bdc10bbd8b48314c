//! `plan`, `policy` and `manifest` never touch the world: no file, process, socket, environment or clock. Looks
//! at their manifests and their code; build scripts and tests may do as they like.

use toml::Table;

use super::tree::{Tree, is_test_file};
use super::{Finding, source};

/// Crates that compute and do nothing else.
const PURE: &[&str] = &["plan", "policy", "manifest"];

/// Libraries through which the world could be touched.
const WORLDLY_LIBRARIES: &[&str] =
    &["landlock", "libc", "nix", "reqwest", "rustix", "tempfile", "tokio"];

/// Parts of the standard library that touch the world.
const WORLDLY_PATHS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net::Tcp",
    "std::net::Udp",
    "std::os::unix::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    ".canonicalize(",
    ".exists()",
    ".metadata()",
    ".read_dir(",
    ".read_link(",
    ".symlink_metadata(",
    ".try_exists(",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in PURE {
        let manifest = format!("crates/{name}/Cargo.toml");
        let table = tree.text(&manifest).and_then(|text| text.parse::<Table>().ok());
        let used = table.as_ref().and_then(|table| table.get("dependencies")?.as_table());
        for library in used.into_iter().flat_map(Table::keys) {
            if WORLDLY_LIBRARIES.contains(&library.as_str()) {
                let message = format!("`{name}` does no I/O, so it has no use for `{library}`");
                findings.push(Finding::of_file(&manifest, message));
            }
        }
        let sources = format!("crates/{name}/src/");
        for (path, text) in tree.under(&sources).filter(|(path, _)| !is_test_file(path)) {
            for (index, line) in source::lines(text).iter().enumerate() {
                for worldly in WORLDLY_PATHS.iter().filter(|part| line.code.contains(**part)) {
                    let message = format!("`{name}` does no I/O: `{worldly}`");
                    findings.push(Finding::at(path, index + 1, message));
                }
            }
        }
    }
    findings
}
