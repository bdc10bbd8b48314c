//! Unsafe code stands in `crates/sys` alone, and each use of it says which obligation it has and
//! why that is met. Reads comments; whether the reason is true is for reviewers.

use super::Finding;
use super::source::{self, Line};
use super::tree::Tree;

/// The one place for unsafe code.
const HOME: &str = "crates/sys/";
/// A reason shorter than this names no obligation.
const FEWEST_CHARACTERS: usize = 40;
/// Phrases that sound like a reason and are none.
const EMPTY_REASONS: &[&str] =
    &["parameters are valid", "arguments are valid", "this is safe", "trust me"];
/// How many lines of one statement may stand between the reason and the word itself.
const MOST_LINES_BETWEEN: usize = 4;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = roots_without_forbid(tree);
    for (path, text) in tree.ending(".rs") {
        let lines = source::lines(text);
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.has_word("unsafe")) {
            let number = index + 1;
            if !path.starts_with(HOME) {
                let message =
                    format!("unsafe code stands in `{HOME}` alone: add a safe call there");
                findings.push(Finding::at(path, number, message));
            } else if let Err(message) = judge_reason(&lines, index, line) {
                findings.push(Finding::at(path, number, message));
            }
        }
    }
    findings
}

/// Crate roots outside `sys` that do not forbid unsafe code.
fn roots_without_forbid(tree: &Tree) -> Vec<Finding> {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let forbids = |text: &str| {
        source::lines(text).iter().any(|line| line.code.trim() == "#![forbid(unsafe_code)]")
    };
    tree.ending(".rs")
        .filter(|(path, _)| is_root(path) && !path.starts_with(HOME) && !path.starts_with("fuzz/"))
        .filter(|(_, text)| !forbids(text))
        .map(|(path, _)| Finding::of_file(path, "the crate's root says `#![forbid(unsafe_code)]`"))
        .collect()
}

fn judge_reason(lines: &[Line], index: usize, line: &Line) -> Result<(), String> {
    let comment = comment_above(lines, index);
    let Some((_, reason)) = split_reason(&comment) else {
        return Err(match line.code.contains("unsafe fn") {
            true => "a `# Safety` section says what the caller must make sure of".to_owned(),
            false => "a `SAFETY:` comment right above says why the call is sound".to_owned(),
        });
    };
    let reason = reason.trim();
    let length = reason.chars().count();
    if let Some(empty) =
        EMPTY_REASONS.iter().find(|phrase| reason.to_lowercase().contains(**phrase))
    {
        return Err(format!("`{empty}` is no reason: name the obligation and what meets it"));
    }
    if length <= FEWEST_CHARACTERS {
        return Err(format!(
            "the reason has {length} characters: name the obligation and what meets it"
        ));
    }
    Ok(())
}

fn split_reason(comment: &str) -> Option<(&str, &str)> {
    comment.split_once("SAFETY:").or_else(|| comment.split_once("# Safety"))
}

/// The comment block that belongs to the statement on this line: right above it, with attributes
/// and the statement's own earlier lines between.
fn comment_above(lines: &[Line], index: usize) -> String {
    let above: Vec<&Line> = lines.iter().take(index).rev().collect();
    let same_statement = |line: &&&Line| {
        let code = line.code.trim_end();
        !line.is_comment()
            && !code.is_empty()
            && !code.ends_with([';', '}'])
            && !code.ends_with('{')
    };
    let between = above
        .iter()
        .take(MOST_LINES_BETWEEN)
        .take_while(|line| same_statement(line) || line.is_attribute());
    let skipped = between.count();
    let block = above.iter().skip(skipped).take_while(|line| line.is_comment());
    let mut texts: Vec<&str> = block.map(|line| line.comment.trim()).collect();
    texts.reverse();
    texts.join(" ")
}
