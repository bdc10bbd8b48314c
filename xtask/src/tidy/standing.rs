//! The list of walls is the code's: each wall is asked about in exactly one place, where it is built, and
//! nothing but the list's own crate can tell a build in which walls may be left out from another.

use ::walls::{BUILD, Wall};

use super::tree::{Tree, is_test_file};
use super::{Finding, source};

/// Where the list is.
const LIST: &str = "crates/walls/";
/// Where the compiler is told that such a build exists.
const DECLARED_IN: &str = "Cargo.toml";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.all().filter(|(path, _)| !path.starts_with(LIST)) {
        for (index, _) in text.lines().enumerate().filter(|(_, line)| line.contains(BUILD)) {
            if path != DECLARED_IN {
                let message =
                    "asks for the build of `cargo xtask walls`: `walls::stands` does that";
                findings.push(Finding::at(path, index + 1, message));
            }
        }
    }
    if !tree.has(LIST.trim_end_matches('/')) {
        return findings;
    }
    let asked = questions(tree);
    for wall in Wall::ALL {
        let name = wall.name();
        let places = asked.iter().filter(|(.., code)| asks(code, name));
        let places: Vec<&(&str, usize, String)> = places.collect();
        match places.as_slice() {
            [] => {
                let message = format!("nothing asks whether `{name}` stands");
                findings.push(Finding::of_file(LIST, message));
            }
            [_] => {}
            [_, more @ ..] => findings.extend(more.iter().map(|(path, line, _)| {
                let message = format!("another place asks whether `{name}` stands");
                Finding::at(path, *line, message)
            })),
        }
    }
    findings
}

/// Lines of what is shipped that ask about a wall.
fn questions(tree: &Tree) -> Vec<(&str, usize, String)> {
    let shipped =
        |path: &str| path.ends_with(".rs") && !path.starts_with(LIST) && !is_test_file(path);
    let mut questions = Vec::new();
    for (path, text) in tree.under("crates/").filter(|(path, _)| shipped(path)) {
        for (index, line) in source::lines(text).into_iter().enumerate() {
            if line.code.contains(QUESTION) {
                questions.push((path, index + 1, line.code));
            }
        }
    }
    questions
}

fn asks(code: &str, wall: &str) -> bool {
    code.contains(&format!("{QUESTION}Wall::{wall})"))
}

const QUESTION: &str = "walls::stands(";
