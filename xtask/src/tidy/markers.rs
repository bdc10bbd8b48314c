//! No unfinished work: what is not done is not started, or stands in the changelog as not done.

use super::tree::Tree;
use super::{Finding, source};

/// Words that mark unfinished work. Put together here so that this file does not hold them.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Macros that do.
const MACROS: &[&str] = &[concat!("to", "do!"), concat!("unimple", "mented!")];
/// What is written by people.
const WRITTEN: &[&str] = &[".rs", ".md", ".toml", ".sh", ".py", ".yml", ".ci/run"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.all().filter(|(path, _)| WRITTEN.iter().any(|end| path.ends_with(end)))
    {
        for (index, line) in text.lines().enumerate() {
            let marker = MARKERS.iter().find(|marker| source::has_word(line, marker));
            let mac = MACROS.iter().find(|mac| path.ends_with(".rs") && line.contains(**mac));
            if let Some(word) = marker.or(mac) {
                let message = format!("`{word}`: finish it, or leave it out");
                findings.push(Finding::at(path, index + 1, message));
            }
        }
    }
    findings
}
