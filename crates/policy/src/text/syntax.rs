//! From bytes to a TOML tree: size, encoding, grammar. Errors of the grammar are collected; what
//! could be read around them is still handed on.

use toml::Spanned;
use toml::de::DeTable;

use super::MAX_TEXT_BYTES;
use super::diagnostic::{Code, Diagnostic};
use super::source::Source;

/// A text that cannot be looked at at all.
pub(super) struct Refused {
    pub(super) error: Diagnostic,
    /// What can be drawn of the text.
    pub(super) drawn: String,
}

/// The text as UTF-8, or the one error that keeps it from being looked at.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, Box<Refused>> {
    if bytes.len() > MAX_TEXT_BYTES {
        let message =
            format!("the policy has {} bytes, and {MAX_TEXT_BYTES} is the most", bytes.len());
        let help = "grant directories instead of single files, or split the project";
        let error = Diagnostic::new(Code::TextTooLarge, 0..0, message).help(help);
        return Err(Box::new(Refused { error, drawn: String::new() }));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        // The drawn text has a replacement character there, which is three bytes long.
        let span = start..start + char::REPLACEMENT_CHARACTER.len_utf8();
        let error = Diagnostic::new(Code::NotUtf8, span, "the policy is not UTF-8")
            .label("not a character")
            .help("save the file as UTF-8");
        Box::new(Refused { error, drawn: String::from_utf8_lossy(bytes).into_owned() })
    })
}

/// The tree and every error of the grammar.
pub(super) fn tree_of<'text>(source: &Source<'text>) -> (Spanned<DeTable<'text>>, Vec<Diagnostic>) {
    let (tree, errors) = DeTable::parse_recoverable(source.text);
    let mut found: Vec<Diagnostic> = errors.iter().map(|error| diagnostic(source, error)).collect();
    // What follows a nesting that was cut short is noise: the cut is the error.
    if let Some(deep) = found.iter().position(|error| error.code == Code::NestingTooDeep) {
        found = vec![found.swap_remove(deep)];
    }
    (tree, found)
}

fn diagnostic(source: &Source<'_>, error: &toml::de::Error) -> Diagnostic {
    let message = error.message();
    let span = error.span().unwrap_or(0..0);
    let start = source.text.floor_char_boundary(span.start);
    let span = start..source.text.ceil_char_boundary(span.end.max(start));
    if message.starts_with("duplicate key") {
        let key = crate::shown::shown(source.text.get(span.clone()).unwrap_or_default());
        return Diagnostic::new(Code::DuplicateKey, span, format!("`{key}` stands here twice"))
            .label("the second time")
            .help("keep one of them");
    }
    if message.contains("recur") {
        return Diagnostic::new(Code::NestingTooDeep, span, "the text is nested too deeply")
            .label("deeper than any policy")
            .help("a policy needs no more than five levels");
    }
    let at = source.text.get(span.start..).and_then(|rest| rest.chars().next());
    if let Some(character) = at.filter(|character| is_stray_control(*character)) {
        let what = if character == '\0' { "a NUL" } else { "a control character" };
        return Diagnostic::new(Code::ControlCharacter, span, format!("the text has {what} in it"))
            .label(format!("U+{:04X}", u32::from(character)))
            .help("take it out");
    }
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let diagnostic = Diagnostic::new(Code::Syntax, span, crate::shown::shown(what));
    if expected.is_empty() { diagnostic } else { diagnostic.label(format!("expected {expected}")) }
}

/// Characters that no text has but for line ends and tabs.
fn is_stray_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
}
