//! `fs`: rules on paths. Two rules on one path must agree; an empty list is an error, because it
//! reads like a grant and is none.

use std::collections::HashMap;

use plan::HostPath;

use super::decode::{Decoder, Value};
use super::diagnostic::{Code, Diagnostic, Span};
use super::path::{self, WrittenPath};
use super::{MAX_RULES, words};
use crate::shown::Shown;
use crate::{FsAccess, FsRule};

/// The rules of one list. All lists of a file together are capped where cages are completed.
pub(super) fn decode<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<Vec<FsRule>> {
    let list = decoder.list(value, "a list of rules such as `[{ ro = \".\" }]`")?;
    if list.is_empty() {
        decoder.report(
            Diagnostic::new(Code::FsEmpty, value.span(), "`fs` is empty")
                .label("names no path")
                .help("write a path, such as `fs = [{ ro = \".\" }]`")
                .help("leave the word out for a cage that sees no file of the project"),
        );
        return None;
    }
    if list.len() > MAX_RULES {
        let message = format!("`fs` has {} rules, and {MAX_RULES} is the most", list.len());
        let help = "grant a directory instead of every file in it";
        decoder.report(Diagnostic::new(Code::TooManyRules, value.span(), message).help(help));
        return None;
    }
    let mut rules = Rules {
        in_order: Vec::with_capacity(list.len()),
        by_path: HashMap::with_capacity(list.len()),
    };
    for value in list {
        if let Some((access, found, span)) = decode_rule(decoder, value) {
            rules.add(decoder, access, found, span);
        }
    }
    Some(rules.in_order)
}

struct Rules {
    in_order: Vec<FsRule>,
    by_path: HashMap<HostPath, (FsAccess, Span)>,
}

impl Rules {
    fn add(&mut self, decoder: &mut Decoder<'_>, access: FsAccess, found: WrittenPath, span: Span) {
        match self.by_path.get(&found.path) {
            None => {
                self.by_path.insert(found.path.clone(), (access, span.clone()));
                let origin = decoder.origin(&span);
                let WrittenPath { path, reach } = found;
                self.in_order.push(FsRule { access, path, reach, origin });
            }
            Some((earlier, _)) if *earlier == access => {}
            Some((earlier, earlier_span)) => {
                let message =
                    format!("two rules on one path: `{}`", Shown(&found.path.to_string()));
                decoder.report(
                    Diagnostic::new(Code::ConflictingRules, span, message)
                        .label(format!("here it is `{}`", access.word()))
                        .also_at(earlier_span.clone(), format!("here it is `{}`", earlier.word()))
                        .help("keep one of them"),
                );
            }
        }
    }
}

fn decode_rule<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<(FsAccess, WrittenPath, Span)> {
    let table = decoder.table(value, "a rule such as `{ ro = \".\" }`")?;
    let entries = decoder.entries(table, words::RULE, "in a rule");
    let [entry] = entries.as_slice() else {
        // An unknown word has been reported already.
        if entries.len() > 1 || table.is_empty() {
            let message = "a rule has exactly one of `ro`, `rw`, `cow`, `cache` and `hide`";
            let help = "write one rule for each, such as `{ ro = \"a\" }, { rw = \"b\" }`";
            let code = if table.is_empty() { Code::MissingWord } else { Code::ConflictingRules };
            decoder.report(Diagnostic::new(code, value.span(), message).help(help));
        }
        return None;
    };
    let access = match entry.word {
        "ro" => FsAccess::ReadOnly,
        "rw" => FsAccess::ReadWrite,
        "cow" => FsAccess::Cow,
        "cache" => FsAccess::Cache,
        _ => FsAccess::Hide,
    };
    let span = entry.value.span();
    let written = decoder.string(entry.value, "a path")?;
    match path::read(written, access, decoder.author, decoder.place) {
        Ok(found) => Some((access, found, span)),
        Err(problem) => {
            let diagnostic = Diagnostic::new(problem.code, span, problem.message);
            decoder.report(diagnostic.label(problem.label).help(problem.help));
            None
        }
    }
}
