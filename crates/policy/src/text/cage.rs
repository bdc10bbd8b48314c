//! One cage as it is written: each word on its own, present or not. What is not written is
//! decided later, from `[defaults]` or from the cage that it extends.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::decode::{Decoder, Entry, Value, in_order, listed_quoted};
use super::diagnostic::{Code, Diagnostic, Span};
use super::rules::Rules;
use super::words::{self, Word, meant};
use super::{files, limits, mounts, net, variables};
use crate::shown::Shown;
use crate::{Commands, Home, Seccomp, State};

/// The words of one cage, of `[defaults]` or of `[ceiling]`.
#[derive(Default)]
pub(super) struct Written {
    pub(super) extends: Option<(String, Span)>,
    /// The profile that a profile adds to.
    pub(super) from: Option<String>,
    pub(super) rules: Rules,
    /// Where each word stands, for errors that concern it as a whole.
    pub(super) spans: BTreeMap<&'static str, Span>,
}

/// Where a table of cage words stands, which decides what some of them may say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cage,
    Defaults,
    Ceiling,
    Profile,
}

impl Kind {
    fn words(self) -> &'static [Word] {
        match self {
            Self::Cage => words::CAGE,
            Self::Defaults => words::DEFAULTS,
            Self::Ceiling => words::CEILING,
            Self::Profile => words::PROFILE,
        }
    }
}

pub(super) fn decode<'text>(
    decoder: &mut Decoder<'text>,
    table: &DeTable<'text>,
    kind: Kind,
    inside: &str,
) -> Written {
    let mut written = Written::default();
    for entry in decoder.entries(table, kind.words(), inside) {
        written.spans.insert(entry.word, entry.at.clone());
        decode_word(decoder, &entry, kind, &mut written);
    }
    written
}

fn decode_word<'text>(
    decoder: &mut Decoder<'text>,
    entry: &Entry<'_, 'text>,
    kind: Kind,
    written: &mut Written,
) {
    let value = entry.value;
    let rules = &mut written.rules;
    match entry.word {
        "extends" => {
            let name = decoder.string(value, "the name of a cage");
            written.extends = name.map(|name| (name.to_owned(), value.span()));
        }
        "from" => {
            written.from = decoder.string(value, "the name of a profile").map(str::to_owned);
        }
        "fs" => rules.fs = files::decode(decoder, value),
        "mounts" => rules.mounts = mounts::decode(decoder, value),
        "commands" => rules.commands = decode_commands(decoder, value),
        "env" => rules.env = variables::decode(decoder, value, kind),
        "net" => rules.net = net::decode(decoder, value, &mut written.spans),
        "state" => rules.state = decoder.one_of(value, words::STATE).and_then(state),
        "home" => rules.home = decoder.one_of(value, words::HOME).and_then(home),
        "seccomp" => rules.seccomp = decoder.one_of(value, words::SECCOMP).and_then(seccomp),
        "limits" => rules.limits = limits::decode(decoder, value),
        _ => {}
    }
}

pub(super) fn state(word: &str) -> Option<State> {
    match word {
        "ephemeral" => Some(State::Ephemeral),
        "scratch" => Some(State::Scratch),
        _ => None,
    }
}

pub(super) fn home(word: &str) -> Option<Home> {
    match word {
        "memory" => Some(Home::Memory),
        "kept" => Some(Home::Kept),
        _ => None,
    }
}

pub(super) fn seccomp(word: &str) -> Option<Seccomp> {
    match word {
        "default" => Some(Seccomp::Default),
        "relaxed" => Some(Seccomp::Relaxed),
        _ => None,
    }
}

/// A choice of programs that is not a list of names.
pub(super) fn command_set(word: &str) -> Option<Commands> {
    match word {
        "base" => Some(Commands::Base),
        "none" => Some(Commands::None),
        _ => None,
    }
}

/// An empty list names no program, so there is no shell to start one with either.
pub(super) fn listed_commands(names: BTreeSet<String>) -> Commands {
    if names.is_empty() { Commands::None } else { Commands::Listed(names) }
}

fn decode_commands<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Option<Commands> {
    let names = || words::COMMANDS.iter().map(|word| word.name);
    let expected = format!("{} or a list of names", listed_quoted(names()));
    match value.get_ref() {
        DeValue::String(written) => {
            let set = command_set(written);
            if set.is_none() {
                decoder.unknown_value(value, written, &expected, meant(written, names()));
            }
            set
        }
        DeValue::Array(list) => {
            let names = list.iter().filter_map(|name| command_name(decoder, name)).collect();
            Some(listed_commands(names))
        }
        _ => decoder.wrong_type(value, &expected),
    }
}

fn command_name<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Option<String> {
    let name = decoder.string(value, "the name of a program")?;
    match check_command_name(name) {
        Ok(()) => Some(name.to_owned()),
        Err((problem, help)) => {
            let message = format!("`{}` is not the name of a program", Shown(name));
            let diagnostic = Diagnostic::new(Code::CommandName, value.span(), message);
            decoder.report(diagnostic.label(problem).help(help));
            None
        }
    }
}

/// A program is named as it is found in the system's own directories, without a path.
pub(super) fn check_command_name(name: &str) -> Result<(), (&'static str, &'static str)> {
    if name.is_empty() || name == "." || name == ".." {
        Err(("names no program", "write a name such as `\"git\"`"))
    } else if name.contains('/') {
        Err((
            "has a path in it",
            "write the name alone; a program outside the system is granted with `fs`",
        ))
    } else if name.chars().any(char::is_control) {
        Err(("has a control character", "take it out"))
    } else if name.chars().any(char::is_whitespace) {
        Err(("has white space in it", "write the name without arguments"))
    } else if name.len() > 255 {
        Err(("longer than any file name", "write a name such as `\"git\"`"))
    } else {
        Ok(())
    }
}

/// Every `[cage.NAME]` or `[agent.NAME]` with a name that can be one.
pub(super) fn named<'value, 'text>(
    decoder: &mut Decoder<'text>,
    value: &'value Value<'text>,
    what: &str,
) -> Vec<(String, Span, &'value Value<'text>)> {
    let Some(table) = decoder.table(value, &format!("a table of {what}s by name")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in in_order(table) {
        let name = key.get_ref().as_ref();
        match check_name(name) {
            Ok(()) => found.push((name.to_owned(), key.span(), value)),
            Err(problem) => {
                let message = format!("`{}` cannot be the name of a {what}", Shown(name));
                let help = "a name is 1 to 64 letters, digits, `-` and `_`";
                let diagnostic = Diagnostic::new(Code::BadName, key.span(), message);
                decoder.report(diagnostic.label(problem).help(help));
            }
        }
    }
    found
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name == words::DISABLED {
        Err("this word stands for no cage at all")
    } else if name.is_empty() {
        Err("empty")
    } else if name.len() > 64 {
        Err("longer than 64 characters")
    } else if !name.bytes().all(plain) {
        Err("has other characters")
    } else {
        Ok(())
    }
}
