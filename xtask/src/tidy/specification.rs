//! SPECIFICATION.md and the code agree. Every id in a comment, a document or an attack is a line
//! there; every line without a mark is named by a test or an attack; a line that is said to be
//! unbuilt or untestable is named by neither. Whether a test really shows its line is for reviewers.

use std::collections::BTreeMap;

use super::Finding;
use super::source;
use super::tree::{Tree, is_test_file};

/// The one list of ids.
const LIST: &str = "SPECIFICATION.md";
/// Where attacks live. Each has its line as a string.
const ATTACKS: [&str; 2] = ["crates/attacks/src/", "crates/prove/src/"];
/// What an id begins with.
const LETTERS: &str = "KMVAT";
/// What stands between two ids that are meant as a range.
const RANGES: &[&str] = &[" to ", "–", "-", " - ", " through "];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let (lines, mut findings) = read_list(tree.text(LIST).unwrap_or_default());
    let uses = uses(tree, &mut findings);
    let mut named: BTreeMap<&str, &Use> = BTreeMap::new();
    for found in &uses {
        if !lines.contains_key(&found.id) {
            let message = format!("`{}` is not a line of {LIST}", found.id);
            findings.push(Finding::at(&found.path, found.line, message));
        }
        if found.is_proof {
            named.entry(&found.id).or_insert(found);
        }
    }
    for (id, line) in &lines {
        let message = match (line.mark, named.get(id.as_str())) {
            (Mark::Holds, None) => format!(
                "no test and no attack names `{id}`: name it where it is shown, or mark the line"
            ),
            (Mark::NotBuilt | Mark::NoTest, Some(proof)) => {
                format!("`{id}` has a mark, and {}:{} names it", proof.path, proof.line)
            }
            _ => continue,
        };
        findings.push(Finding::at(LIST, line.number, message));
    }
    findings.sort();
    findings
}

/// What a line of the list says about itself.
#[derive(Clone, Copy)]
enum Mark {
    /// Nothing: it holds.
    Holds,
    PartlyBuilt,
    NotBuilt,
    NoTest,
}

struct Line {
    number: usize,
    mark: Mark,
}

/// The lines by their ids, and what is wrong with them.
fn read_list(text: &str) -> (BTreeMap<String, Line>, Vec<Finding>) {
    let mut lines = BTreeMap::new();
    let mut findings = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let Some(rest) = text.strip_prefix("- **") else { continue };
        let number = index + 1;
        let mut complain = |message: String| findings.push(Finding::at(LIST, number, message));
        let Some((id, sentence)) = rest.split_once("** ").filter(|(id, _)| is_id(id)) else {
            // Bold words at the beginning of the document are no lines of the list.
            if rest.starts_with(|letter| LETTERS.contains(letter)) && rest.contains("** ") {
                complain("a line begins with `- **ID** `, such as `- **K37** `".to_owned());
            }
            continue;
        };
        let mark = mark(sentence).unwrap_or_else(|| {
            complain(format!("`{id}`: the marks are in the table at the top of {LIST}"));
            Mark::PartlyBuilt
        });
        if lines.insert(id.to_owned(), Line { number, mark }).is_some() {
            complain(format!("`{id}` is defined twice"));
        }
    }
    (lines, findings)
}

/// The mark at the end of a sentence; none if there is one that nobody knows.
fn mark(sentence: &str) -> Option<Mark> {
    let Some((_, mark)) = sentence.split_once("*(") else { return Some(Mark::Holds) };
    let has_reason = |reason: &str| !reason.trim().is_empty();
    match mark.strip_suffix(")*")?.split_once(": ") {
        None if mark == "not built yet)*" => Some(Mark::NotBuilt),
        Some(("partly built", reason)) if has_reason(reason) => Some(Mark::PartlyBuilt),
        Some(("no test", reason)) if has_reason(reason) => Some(Mark::NoTest),
        _ => None,
    }
}

/// A place that names an id.
struct Use {
    id: String,
    path: String,
    line: usize,
    /// Whether a test or an attack says it.
    is_proof: bool,
}

fn uses(tree: &Tree, findings: &mut Vec<Finding>) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut add = |text: &str, path: &str, line: usize, is_proof: bool| {
        let found = ids(text).map(|id| Use { id, path: path.to_owned(), line, is_proof });
        uses.extend(found);
    };
    for (path, text) in tree.ending(".rs") {
        for (index, line) in source::lines(text).iter().enumerate() {
            // What a file says of itself is proof of nothing.
            let is_proof = is_test_file(path) && !line.comment.starts_with('!');
            add(&line.comment, path, index + 1, is_proof);
            if let Some(range) = range(&line.comment) {
                let message = format!("`{range}` hides the ids in between: name each");
                findings.push(Finding::at(path, index + 1, message));
            }
        }
    }
    for (path, text) in tree.ending(".py").filter(|(path, _)| is_test_file(path)) {
        // Their documentation is text like any other; the first line says what the file is.
        for (index, line) in text.lines().enumerate().skip(1) {
            add(line, path, index + 1, true);
        }
    }
    let attacks = ATTACKS.iter().flat_map(|folder| tree.under(folder));
    for (path, text) in attacks.filter(|(path, _)| !is_test_file(path)) {
        for (index, line) in text.lines().enumerate() {
            // Every second piece between quotes is a string.
            for string in line.split('"').skip(1).step_by(2).filter(|string| is_id(string)) {
                add(string, path, index + 1, true);
            }
        }
    }
    for (path, text) in tree.ending(".md") {
        for (index, line) in text.lines().enumerate() {
            add(line, path, index + 1, false);
        }
    }
    uses
}

/// The words of a text that are ids.
fn ids(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !joins(letter)).filter(|word| is_id(word)).map(str::to_owned)
}

/// Two ids that stand for all between them.
fn range(text: &str) -> Option<String> {
    RANGES.iter().find_map(|between| {
        text.match_indices(between).find_map(|(start, _)| {
            let (before, after) = (text.get(..start)?, text.get(start + between.len()..)?);
            let first = before.rsplit(|letter: char| !joins(letter)).next()?;
            let last = after.split(|letter: char| !joins(letter)).next()?;
            (is_id(first) && is_id(last)).then(|| format!("{first}{between}{last}"))
        })
    })
}

fn joins(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A letter and a number, such as `K37`.
fn is_id(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|letter| LETTERS.contains(letter))
        && letters.as_str().starts_with(|digit: char| matches!(digit, '1'..='9'))
        && letters.all(|digit| digit.is_ascii_digit())
}
