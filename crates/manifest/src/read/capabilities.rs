//! `[[capabilities]]`: names that exist, hints of the right shape, conditions.

use crate::autonomy::{Effect, Registered, registered, table};

use super::tree::{Node, Shape};
use super::{Reader, choices};
use crate::hints::{ReadPath, read_path};
use crate::hosts;
use crate::model::{Capability, Hint, Test, When};

pub(super) fn read(reader: &mut Reader, node: &Node, at: &str) -> Vec<Capability> {
    let items = reader.list(node, at).unwrap_or_default();
    let one = |(index, item): (usize, &Node)| read_one(reader, item, &format!("{at}[{index}]"));
    items.iter().enumerate().filter_map(one).collect()
}

/// `"fs:read"` alone, or a table.
fn read_one(reader: &mut Reader, node: &Node, at: &str) -> Option<Capability> {
    if let Shape::Text(_) = &node.shape {
        let registered = read_name(reader, node, at)?;
        return Some(Capability { registered, hints: Vec::new(), ignored: Vec::new(), when: None });
    }
    let entries = reader.entries(node, at, KEYS);
    let named = entries.iter().find(|entry| entry.key == "name");
    let Some(named) = named else {
        if matches!(node.shape, Shape::Table(_)) {
            reader.report(node.line, at, "`name` is missing", "such as `name = \"fs:read\"`");
        }
        return None;
    };
    let registered = read_name(reader, named.node, &named.at)?;
    let mut capability =
        Capability { registered, hints: Vec::new(), ignored: Vec::new(), when: None };
    let mut hints_at: Option<&str> = None;
    for entry in &entries {
        match entry.key {
            "hint" | "hints" => {
                if hints_at.replace(entry.key).is_some() {
                    let help = "keep one of them";
                    reader.report(entry.node.line, at, "`hint` and `hints` are the same", help);
                }
                read_hints(reader, &mut capability, entry.node, &entry.at);
            }
            "when" => capability.when = read_when(reader, entry.node, &entry.at),
            _ => {}
        }
    }
    check_bounds(reader, &capability, node, at);
    Some(capability)
}

fn read_name(reader: &mut Reader, node: &Node, at: &str) -> Option<&'static Registered> {
    let written = reader.text(node, at)?;
    let found = registered(written);
    if found.is_none() {
        let names: Vec<String> = table().iter().map(ToString::to_string).collect();
        let help = choices(written, names.iter().map(String::as_str));
        reader.report(node.line, at, format!("there is no capability `{written}`"), &help);
    }
    found
}

/// One text or a list of them. What is no text says nothing, and is reported as such.
fn read_hints(reader: &mut Reader, capability: &mut Capability, node: &Node, at: &str) {
    let one = std::slice::from_ref(node);
    let items = match &node.shape {
        Shape::List(_) => reader.list(node, at).unwrap_or_default(),
        Shape::Table(_) => return reader.wrong::<()>(node, at, "a text or a list").unwrap_or(()),
        _ => one,
    };
    for item in items {
        let Shape::Text(written) = &item.shape else {
            let what = item.shape.name();
            capability.ignored.push(format!("`{capability}`: {what} is no hint and says nothing"));
            continue;
        };
        match read_hint(capability.registered, written) {
            Ok(hint) if capability.hints.contains(&hint) => {}
            Ok(hint) => capability.hints.push(hint),
            Err(HintProblem::Ignored(why)) => {
                let shown = policy::shown::shortened(written);
                let note = format!("`{capability}`: the hint `{shown}` {why} and says nothing");
                capability.ignored.push(note);
            }
            Err(HintProblem::Wrong(message, help)) => {
                reader.report(item.line, at, format!("the hint `{written}` {message}"), &help);
            }
        }
    }
}

enum HintProblem {
    Ignored(&'static str),
    Wrong(String, String),
}

fn read_hint(registered: &Registered, written: &str) -> Result<Hint, HintProblem> {
    if let Some(argument) = written.strip_prefix("arg:") {
        return match (argument, registered.effect) {
            ("", _) => Err(HintProblem::Wrong("names no argument".to_owned(), String::new())),
            (_, Effect::Nothing) => Err(says_nothing(registered)),
            (name, _) => Ok(Hint::Argument(name.to_owned())),
        };
    }
    match registered.effect {
        Effect::Read | Effect::Write => match read_path(written) {
            ReadPath::Hint(hint) => Ok(Hint::Path(hint)),
            ReadPath::Ignored(why) => Err(HintProblem::Ignored(why)),
            ReadPath::Refused(why) => Err(HintProblem::Wrong(why.to_owned(), String::new())),
        },
        Effect::Network if written.is_empty() => Err(HintProblem::Ignored("is empty")),
        Effect::Network => match hosts::read(registered.mode, written) {
            Ok(destinations) => Ok(Hint::Hosts { written: written.to_owned(), destinations }),
            Err(error) => Err(HintProblem::Wrong(format!("cannot be used: {error}"), error.help())),
        },
        Effect::Nothing => {
            Err(HintProblem::Ignored("is for a capability that the cage knows nothing of"))
        }
    }
}

fn says_nothing(registered: &Registered) -> HintProblem {
    HintProblem::Wrong(format!("bounds nothing: `{registered}` has no hints"), String::new())
}

/// `arg:` narrows what stands beside it; alone it would be bounded by nothing.
fn check_bounds(reader: &mut Reader, capability: &Capability, node: &Node, at: &str) {
    let is_argument = |hint: &Hint| matches!(hint, Hint::Argument(_));
    if !capability.hints.is_empty() && capability.hints.iter().all(is_argument) {
        let help = "put the root or the host beside it that the argument must stay within";
        reader.report(node.line, at, "`arg:` stands alone, so nothing bounds the argument", help);
    }
}

fn read_when(reader: &mut Reader, node: &Node, at: &str) -> Option<When> {
    let (mut argument, mut tests) = (None, Vec::new());
    for entry in reader.entries(node, at, WHEN_KEYS) {
        let (node, at) = (entry.node, entry.at.as_str());
        match entry.key {
            "arg" => argument = reader.line(node, at),
            "in" => {
                let list = reader.list(node, at).unwrap_or_default();
                let values: Option<Vec<_>> = list.iter().map(Node::to_value).collect();
                tests.extend(values.filter(|values| !values.is_empty()).map(Test::In));
            }
            "non_empty" => match reader.boolean(node, at) {
                Some(true) => tests.push(Test::NonEmpty),
                Some(false) => reader.report(node.line, at, "can only be `true`", ""),
                None => {}
            },
            _ => tests.extend(reader.line(node, at).map(|key| Test::AnyHas(key.to_owned()))),
        }
    }
    match (argument, tests.len(), tests.pop()) {
        (Some(argument), 1, Some(test)) => Some(When { argument: argument.to_owned(), test }),
        _ => {
            let help = "such as `{ arg = \"mode\", in = [\"read\"] }`, `{ arg = \"x\", non_empty = true }` \
                        or `{ arg = \"items\", any_has = \"url\" }`";
            reader.report(node.line, at, "needs `arg` and one condition", help);
            None
        }
    }
}

/// Every key of a capability.
pub(crate) const KEYS: &[&str] = &["name", "hint", "hints", "when"];

/// Every key of a condition.
pub(crate) const WHEN_KEYS: &[&str] = &["arg", "in", "non_empty", "any_has"];
