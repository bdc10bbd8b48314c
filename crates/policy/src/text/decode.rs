//! The decoder's ground: typed looks at a parsed TOML value that report instead of failing, so
//! that one pass finds every error. Knows no word of the language.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Author;
use super::diagnostic::{Code, Diagnostic, Span};
use super::source::Source;
use super::words::{Word, meant};
use crate::shown::Shown;
use crate::{Place, RuleOrigin};

/// A value with its place.
pub(super) type Value<'text> = Spanned<DeValue<'text>>;

/// Collects errors while values are looked at.
pub(super) struct Decoder<'text> {
    pub(super) source: &'text Source<'text>,
    pub(super) place: &'text Place,
    pub(super) author: Author,
    found: Vec<Diagnostic>,
    /// By line and column.
    spans: BTreeMap<(u32, u32), Span>,
}

/// One entry of a table: a known word, where it stands and its value.
pub(super) struct Entry<'value, 'text> {
    pub(super) word: &'static str,
    pub(super) at: Span,
    pub(super) value: &'value Value<'text>,
}

impl<'text> Decoder<'text> {
    pub(super) fn new(source: &'text Source<'text>, place: &'text Place, author: Author) -> Self {
        Self { source, place, author, found: Vec::new(), spans: BTreeMap::new() }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    pub(super) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }

    /// Where something stands, remembered so that [`Decoder::span_of`] finds the way back.
    pub(super) fn origin(&mut self, span: &Span) -> RuleOrigin {
        let (line, column) = self.source.position(span.start);
        self.spans.insert((line, column), span.clone());
        RuleOrigin::File { file: Arc::clone(&self.source.file), line, column }
    }

    /// The stretch of text that an origin was made from.
    pub(super) fn span_of(&self, origin: &RuleOrigin) -> Option<Span> {
        match origin {
            RuleOrigin::File { file, line, column } if *file == self.source.file => {
                self.spans.get(&(*line, *column)).cloned()
            }
            _ => None,
        }
    }

    /// The entries whose word is known, in the order of the text; the others are reported.
    pub(super) fn entries<'value>(
        &mut self,
        table: &'value DeTable<'text>,
        known: &'static [Word],
        inside: &str,
    ) -> Vec<Entry<'value, 'text>> {
        let mut entries = Vec::new();
        for (key, value) in in_order(table) {
            match known.iter().find(|word| word.name == key.get_ref().as_ref()) {
                Some(word) => entries.push(Entry { word: word.name, at: key.span(), value }),
                None => self.unknown_word(key.get_ref(), key.span(), known, inside),
            }
        }
        entries
    }

    fn unknown_word(&mut self, written: &str, at: Span, known: &[Word], inside: &str) {
        let names = || known.iter().map(|word| word.name);
        let label = match meant(written, names()) {
            Some(word) => format!("did you mean `{word}`?"),
            None => "not a word of the language".to_owned(),
        };
        let message = format!("unknown word `{}` {inside}", Shown(written));
        let help = format!("the words here are {}", listed(names()));
        self.report(Diagnostic::new(Code::UnknownWord, at, message).label(label).help(help));
    }

    pub(super) fn string<'value>(
        &mut self,
        value: &'value Value<'text>,
        expected: &str,
    ) -> Option<&'value str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong_type(value, expected),
        }
    }

    pub(super) fn table<'value>(
        &mut self,
        value: &'value Value<'text>,
        expected: &str,
    ) -> Option<&'value DeTable<'text>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => self.wrong_type(value, expected),
        }
    }

    pub(super) fn list<'value>(
        &mut self,
        value: &'value Value<'text>,
        expected: &str,
    ) -> Option<&'value [Value<'text>]> {
        match value.get_ref() {
            DeValue::Array(list) => Some(list.as_ref()),
            _ => self.wrong_type(value, expected),
        }
    }

    /// An integer; one that is too large for the type saturates, so that a range check reports it.
    pub(super) fn integer(&mut self, value: &Value<'text>, expected: &str) -> Option<i64> {
        let DeValue::Integer(number) = value.get_ref() else {
            return self.wrong_type(value, expected);
        };
        let saturated = if number.as_str().starts_with('-') { i64::MIN } else { i64::MAX };
        Some(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(saturated))
    }

    /// One of a few words.
    pub(super) fn one_of(
        &mut self,
        value: &Value<'text>,
        known: &'static [Word],
    ) -> Option<&'static str> {
        let names = || known.iter().map(|word| word.name);
        let expected = listed_quoted(names());
        let written = self.string(value, &expected)?;
        let found = names().find(|name| *name == written);
        if found.is_none() {
            self.unknown_value(value, written, &expected, meant(written, names()));
        }
        found
    }

    pub(super) fn unknown_value(
        &mut self,
        value: &Value<'text>,
        written: &str,
        expected: &str,
        meant: Option<&str>,
    ) {
        let label = meant.map_or_else(
            || format!("expected {expected}"),
            |word| format!("did you mean `\"{word}\"`?"),
        );
        let message = format!("unknown value `\"{}\"`", Shown(written));
        let diagnostic = Diagnostic::new(Code::UnknownValue, value.span(), message).label(label);
        self.report(diagnostic.help(format!("expected {expected}")));
    }

    pub(super) fn wrong_type<T>(&mut self, value: &Value<'text>, expected: &str) -> Option<T> {
        let found = type_name(value.get_ref());
        let message = format!("expected {expected}, found {found}");
        let label = format!("this is {found}");
        self.report(Diagnostic::new(Code::WrongType, value.span(), message).label(label));
        None
    }
}

/// A table's entries in the order of the text; the parser keeps them by name.
pub(super) fn in_order<'value, 'text>(
    table: &'value DeTable<'text>,
) -> Vec<(&'value Spanned<std::borrow::Cow<'text, str>>, &'value Value<'text>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// `a`, `b` and `c`.
pub(super) fn listed<'word>(words: impl IntoIterator<Item = &'word str>) -> String {
    joined(words.into_iter().map(|word| format!("`{word}`")).collect(), "and")
}

/// `"a"` or `"b"`.
pub(super) fn listed_quoted<'word>(words: impl IntoIterator<Item = &'word str>) -> String {
    joined(words.into_iter().map(|word| format!("`\"{word}\"`")).collect(), "or")
}

fn joined(words: Vec<String>, conjunction: &str) -> String {
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} {conjunction} {last}", others.join(", ")),
        None => String::new(),
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
