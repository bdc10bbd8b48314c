//! `env`: a list of names to pass on, or a table that also sets values. What the cage itself sets
//! (`HOME` and its like) cannot be named.

use std::collections::BTreeMap;

use plan::ByteString;
use toml::de::DeValue;

use super::cage::Kind;
use super::decode::{Decoder, Value, in_order};
use super::diagnostic::{Code, Diagnostic, Span};
use crate::EnvironmentRule;
use crate::shown::Shown;

/// Variables that the cage sets itself and no policy can.
pub const FIXED: &[&str] = &["HOME", "LOGNAME", "PWD", "USER"];

/// The most bytes of a name.
const LONGEST_NAME: usize = 256;

/// The most bytes of a value; the kernel's own bound on one string is 128 KiB.
const LONGEST_VALUE: usize = 64 * 1024;

pub(super) fn decode<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    kind: Kind,
) -> Option<BTreeMap<String, EnvironmentRule>> {
    let mut variables = BTreeMap::new();
    match value.get_ref() {
        DeValue::Array(names) => {
            for value in names {
                let Some(name) = decoder.string(value, "the name of a variable") else { continue };
                if accept_name(decoder, name, value.span(), kind) {
                    let origin = decoder.origin(&value.span());
                    variables.insert(name.to_owned(), EnvironmentRule { value: None, origin });
                }
            }
        }
        DeValue::Table(table) if kind != Kind::Ceiling => {
            for (key, value) in in_order(table) {
                let accepted = accept_name(decoder, key.get_ref(), key.span(), kind);
                let (Some(content), true) = (decode_value(decoder, value), accepted) else {
                    continue;
                };
                let origin = decoder.origin(&key.span());
                let rule = EnvironmentRule { value: content, origin };
                variables.insert(key.get_ref().to_string(), rule);
            }
        }
        _ if kind == Kind::Ceiling => return decoder.wrong_type(value, "a list of names"),
        _ => {
            let expected = "a list of names or a table such as `{ LANG = true, MODE = \"test\" }`";
            return decoder.wrong_type(value, expected);
        }
    }
    Some(variables)
}

/// Nothing for `true` (the caller's value), the value for a string.
fn decode_value<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<Option<ByteString>> {
    match value.get_ref() {
        DeValue::Boolean(true) => Some(None),
        DeValue::Boolean(false) => {
            let message = "a variable that is not passed on is not named";
            let diagnostic = Diagnostic::new(Code::UnknownValue, value.span(), message);
            decoder.report(diagnostic.help("leave it out, or write `true` to pass it on"));
            None
        }
        DeValue::String(text) => match check_value(text.as_bytes()) {
            Ok(()) => Some(Some(ByteString::from(text.as_ref()))),
            Err(problem) => {
                let message = "this cannot be the value of a variable";
                let diagnostic = Diagnostic::new(Code::EnvironmentValue, value.span(), message);
                decoder.report(diagnostic.label(problem));
                None
            }
        },
        _ => decoder.wrong_type(value, "a string, or `true` to pass the caller's value on"),
    }
}

fn accept_name(decoder: &mut Decoder<'_>, name: &str, span: Span, kind: Kind) -> bool {
    // Only the ceiling knows families of names.
    let stem = if kind == Kind::Ceiling { name.strip_suffix('*').unwrap_or(name) } else { name };
    if kind == Kind::Ceiling && stem.is_empty() && stem != name {
        return true;
    }
    match check_name(stem) {
        Ok(()) => true,
        Err(problem) => {
            let message = format!("`{}` cannot be passed on as a variable", Shown(name));
            let mut diagnostic =
                Diagnostic::new(Code::EnvironmentName, span, message).label(problem);
            if let Some((name, value)) = name.split_once('=') {
                let (name, value) = (Shown(name), Shown(value));
                diagnostic = diagnostic
                    .help(format!("to set a value write `env = {{ {name} = \"{value}\" }}`"));
            }
            decoder.report(diagnostic);
            false
        }
    }
}

/// Whether a policy can name this variable.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if FIXED.contains(&name) {
        Err("the cage sets this variable itself")
    } else if name.is_empty() {
        Err("empty")
    } else if name.starts_with(|first: char| first.is_ascii_digit()) || !name.bytes().all(plain) {
        Err("a name is letters, digits and `_`, and does not begin with a digit")
    } else if name.len() > LONGEST_NAME {
        Err("longer than 256 bytes")
    } else {
        Ok(())
    }
}

/// Whether a policy can set a variable to this value.
pub(super) fn check_value(value: &[u8]) -> Result<(), &'static str> {
    if value.contains(&0) {
        Err("the value has a NUL in it")
    } else if value.len() > LONGEST_VALUE {
        Err("the value is longer than 64 KiB")
    } else {
        Ok(())
    }
}
