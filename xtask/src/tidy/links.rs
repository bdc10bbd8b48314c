//! Links between documents lead somewhere: to a file of the project and, where they name one, to a
//! heading in it. Links out of the project are not followed.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (line, target) in targets(text) {
            if let Err(message) = follow(tree, path, &target) {
                findings.push(Finding::at(path, line, format!("link to `{target}`: {message}")));
            }
        }
    }
    findings
}

fn follow(tree: &Tree, from: &str, target: &str) -> Result<(), String> {
    let outside = target.contains("://") || target.starts_with("mailto:");
    if outside {
        return Ok(());
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_owned(),
        relative => join(from, relative).ok_or("leads out of the project")?,
    };
    if !tree.has(&path) {
        return Err("there is no such file".to_owned());
    }
    let headed = heading.is_empty()
        || tree.text(&path).is_some_and(|text| headings(text).any(|slug| slug == heading));
    if headed { Ok(()) } else { Err(format!("there is no heading `{heading}`")) }
}

/// The path that `relative` means in the file `from`; none if it leaves the project.
fn join(from: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in relative.trim_end_matches('/').split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Every link target with its line; none from code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece between backticks is code.
        for piece in line.split('`').step_by(2) {
            for after in piece.split("](").skip(1) {
                if let Some((target, _)) = after.split_once(')') {
                    let target = target.split_whitespace().next().unwrap_or_default();
                    found.push((number, target.to_owned()));
                }
            }
        }
    }
    found
}

/// Headings as the fragments that link to them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let title = |line: &str| {
        Some(line.trim_start_matches('#').trim()).filter(|_| line.starts_with('#')).map(slug)
    };
    prose(text).into_iter().filter_map(move |(_, line)| title(line))
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.flat_map(char::to_lowercase)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Lines outside fenced code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}
