//! The tables of a file: `version`, `[defaults]`, `[cage.*]`, `[agent.*]`, `[ceiling]`,
//! `[network]`.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::cage::{self, Kind, Written};
use super::decode::{Decoder, Entry, Value};
use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::inherit::{self, Body, WrittenCage};
use super::rules::Rules;
use super::source::Source;
use super::words::{self, meant};
use super::{
    Agent, AgentCage, Author, Document, LANGUAGE_VERSION, MAX_CAGES, MAX_ERRORS, Profile, settings,
    syntax,
};
use crate::shown::Shown;
use crate::{Cage, Ceiling, Limits, NetworkSettings, Place};

pub(super) fn parse(
    file: &str,
    bytes: &[u8],
    place: &Place,
    author: Author,
) -> Result<Document, Diagnostics> {
    let text = syntax::text_of(bytes).map_err(|refused| {
        let source = Source::new(file, &refused.drawn);
        in_one(&source, vec![refused.error])
    })?;
    let source = Source::new(file, text);
    let (tree, of_grammar) = syntax::tree_of(&source);
    let mut decoder = Decoder::new(&source, place, author);
    let document = decode(&mut decoder, &tree);
    let of_words = without_echoes(&source, &of_grammar, decoder.into_found());
    match (document, of_grammar.is_empty() && of_words.is_empty()) {
        (Some(document), true) => Ok(document),
        _ => Err(in_one(&source, of_grammar.into_iter().chain(of_words).collect())),
    }
}

fn decode<'text>(decoder: &mut Decoder<'text>, tree: &Spanned<DeTable<'text>>) -> Option<Document> {
    let (known, inside) = match decoder.author {
        Author::Project => (words::PROJECT, "at the top of a project's file"),
        Author::User => (words::USER, "at the top of the configuration"),
    };
    if !is_version_known(decoder, tree.get_ref()) {
        return None;
    }
    let mut defaults = Written::default();
    let mut cages = Vec::new();
    let mut agents = Vec::new();
    let mut profiles = IndexMap::new();
    let mut ceiling = None;
    let mut network = NetworkSettings::default();
    for entry in decoder.entries(tree.get_ref(), known, inside) {
        match entry.word {
            "defaults" => defaults = words_of(decoder, &entry, Kind::Defaults, "in `[defaults]`"),
            "ceiling" => ceiling = Some(words_of(decoder, &entry, Kind::Ceiling, "in `[ceiling]`")),
            "network" => network = settings::decode(decoder, entry.value),
            "cage" => cages = decode_cages(decoder, entry.value),
            "agent" => agents = cage::named(decoder, entry.value, "agent"),
            "profile" => profiles = decode_profiles(decoder, entry.value),
            _ => {}
        }
    }
    let cages = inherit::complete(decoder, &defaults, cages);
    let agents = agents
        .into_iter()
        .take(MAX_CAGES)
        .filter_map(|(name, _, value)| {
            let agent = decode_agent(decoder, &name, value, &cages, defaults.rules.limits)?;
            Some((name, agent))
        })
        .collect();
    let ceiling = ceiling.map(|written| ceiling_of(decoder.place, written.rules));
    let cages = cages.into_iter().filter_map(|(name, cage)| Some((name, cage?))).collect();
    let defaults = defaults.rules;
    Some(Document { cages, agents, profiles, defaults, ceiling, network })
}

fn words_of<'text>(
    decoder: &mut Decoder<'text>,
    entry: &Entry<'_, 'text>,
    kind: Kind,
    inside: &str,
) -> Written {
    match decoder.table(entry.value, "a table") {
        Some(table) => cage::decode(decoder, table, kind, inside),
        None => Written::default(),
    }
}

fn is_version_known<'text>(decoder: &mut Decoder<'text>, tree: &DeTable<'text>) -> bool {
    let Some(value) = tree.get("version") else {
        let message = "the policy does not say which version of the language it is written in";
        let diagnostic = Diagnostic::new(Code::VersionMissing, 0..0, message);
        decoder.report(diagnostic.help("write `version = 1` at the top"));
        return true;
    };
    match decoder.integer(value, "`version = 1`") {
        // Of a wrong type: reported, and the rest can still be judged.
        None | Some(LANGUAGE_VERSION) => true,
        Some(_) => {
            let message = "this version of the language is not known";
            let diagnostic = Diagnostic::new(Code::VersionUnsupported, value.span(), message)
                .label(format!("known is {LANGUAGE_VERSION}"));
            decoder.report(diagnostic.help("a newer stockade may know it"));
            false
        }
    }
}

fn decode_cages<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Vec<WrittenCage> {
    let named = cage::named(decoder, value, "cage");
    if named.len() > MAX_CAGES {
        let message = format!("the file has {} cages, and {MAX_CAGES} is the most", named.len());
        decoder.report(Diagnostic::new(Code::TooManyCages, value.span(), message));
        return Vec::new();
    }
    let mut cages = Vec::new();
    for (name, at, value) in named {
        let body = match value.get_ref() {
            DeValue::Table(table) => {
                let inside = format!("in `[cage.{name}]`");
                let written = cage::decode(decoder, table, Kind::Cage, &inside);
                Some(Body::Enabled(Box::new(written)))
            }
            DeValue::String(word) if word == words::DISABLED => {
                Some(Body::Disabled { origin: decoder.origin(&value.span()) })
            }
            DeValue::String(word) => {
                let likely = meant(word, [words::DISABLED]);
                decoder.unknown_value(value, word, "a table or `\"disabled\"`", likely);
                None
            }
            _ => decoder.wrong_type(value, "a table or `\"disabled\"`"),
        };
        cages.push(WrittenCage { name, at, body });
    }
    cages
}

fn decode_profiles<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> IndexMap<String, Profile> {
    let named = cage::named(decoder, value, "profile").into_iter().take(MAX_CAGES);
    let mut profiles = IndexMap::new();
    for (name, _, value) in named {
        let Some(table) = decoder.table(value, "a table such as `{ from = \"code\" }`") else {
            continue;
        };
        let written =
            cage::decode(decoder, table, Kind::Profile, &format!("in `[profile.{name}]`"));
        profiles.insert(name, Profile { from: written.from, rules: written.rules });
    }
    profiles
}

fn decode_agent<'text>(
    decoder: &mut Decoder<'text>,
    name: &str,
    value: &Value<'text>,
    cages: &IndexMap<String, Option<Cage>>,
    limits: Limits,
) -> Option<Agent> {
    let table = decoder.table(value, "a table such as `{ cage = \"default\" }`")?;
    let mut cage = None;
    let mut command = Vec::new();
    let mut origin = decoder.origin(&value.span());
    let entries = decoder.entries(table, words::AGENT, &format!("in `[agent.{name}]`"));
    if !entries.iter().any(|entry| entry.word == "cage") {
        let message = format!("`[agent.{name}]` does not say which cage it runs in");
        let diagnostic = Diagnostic::new(Code::MissingWord, value.span(), message);
        decoder.report(diagnostic.help("write `cage = \"NAME\"`"));
    }
    for entry in entries {
        if entry.word == "cage" {
            cage = decode_agent_cage(decoder, entry.value, cages, limits);
            origin = decoder.origin(&entry.value.span());
        } else {
            command = decode_command(decoder, entry.value);
        }
    }
    Some(Agent { cage: cage?, command, origin })
}

fn decode_agent_cage<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    cages: &IndexMap<String, Option<Cage>>,
    limits: Limits,
) -> Option<AgentCage> {
    let name = decoder.string(value, "the name of a cage")?;
    if name == words::DISABLED {
        return Some(AgentCage::Disabled(limits));
    }
    if cages.contains_key(name) {
        return Some(AgentCage::Named(name.to_owned()));
    }
    unknown_cage(decoder, value.span(), name, cages.keys().map(String::as_str));
    None
}

pub(super) fn unknown_cage<'name>(
    decoder: &mut Decoder<'_>,
    span: super::Span,
    written: &str,
    known: impl Iterator<Item = &'name str>,
) {
    let message = format!("there is no cage `{}` in this file", Shown(written));
    let mut diagnostic = Diagnostic::new(Code::UnknownCage, span, message);
    if let Some(name) = meant(written, known) {
        diagnostic = diagnostic.label(format!("did you mean `\"{name}\"`?"));
    }
    decoder.report(diagnostic);
}

fn decode_command<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Vec<String> {
    let expected = "a list such as `[\"program\", \"argument\"]`";
    let Some(list) = decoder.list(value, expected) else { return Vec::new() };
    let mut command = Vec::new();
    for value in list {
        let Some(argument) = decoder.string(value, "a string") else { continue };
        if argument.contains('\0') {
            let message = "an argument cannot have a NUL in it";
            decoder.report(Diagnostic::new(Code::CommandName, value.span(), message));
        }
        command.push(argument.to_owned());
    }
    if list.is_empty() || command.first().is_some_and(String::is_empty) {
        let message = "the command names no program";
        decoder.report(Diagnostic::new(Code::CommandName, value.span(), message));
    }
    command
}

fn ceiling_of(place: &Place, mut rules: Rules) -> Ceiling {
    let mut ceiling = Ceiling::built_in(place);
    if let Some(env) = rules.env.take() {
        ceiling.variables = env.into_keys().collect();
    }
    rules.replace(&mut ceiling.bound);
    ceiling
}

/// Leaves out what only repeats an error of the grammar: words on the same line, and words that
/// may be missing because the grammar swallowed them.
fn without_echoes(
    source: &Source<'_>,
    of_grammar: &[Diagnostic],
    of_words: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if of_grammar.is_empty() {
        return of_words;
    }
    let line = |error: &Diagnostic| source.position(error.span.start).0;
    let broken: BTreeSet<u32> = of_grammar.iter().map(line).collect();
    let may_be_swallowed = |code| {
        matches!(
            code,
            Code::VersionMissing
                | Code::MissingWord
                | Code::UnknownCage
                | Code::FsEmpty
                | Code::FsOnlyHides
        )
    };
    let own = |error: &Diagnostic| !may_be_swallowed(error.code) && !broken.contains(&line(error));
    of_words.into_iter().filter(own).collect()
}

/// Errors in the order of the text, with their lines and columns.
fn in_one(source: &Source<'_>, mut errors: Vec<Diagnostic>) -> Diagnostics {
    errors.sort_by_key(|error| (error.span.start, error.code));
    errors.dedup();
    let left_out = errors.len().saturating_sub(MAX_ERRORS);
    errors.truncate(MAX_ERRORS);
    for error in &mut errors {
        (error.line, error.column) = source.position(error.span.start);
    }
    Diagnostics { file: source.file.to_string(), errors, left_out, text: source.text.to_owned() }
}
