//! The part of an address after `?`, and the percent encoding of all of it. Names that an operation
//! does not know are refused: a misspelt filter must not show everything.

use std::collections::BTreeMap;

use crate::problem::{Code, Problem};

#[cfg(test)]
mod tests;

/// The values of a query, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads a query of which only these names may be there, each once.
    pub(crate) fn read(text: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut values = BTreeMap::new();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.contains(&name.as_str()) {
                return Err(unknown(&name, known));
            }
            if values.insert(name.clone(), value).is_some() {
                return Err(bad(format!("`{name}` is given twice")));
            }
        }
        Ok(Self(values))
    }

    /// The value of a name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A number up to `most`.
    pub(crate) fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => Err(bad(format!("`{name}` must be a whole number up to {most}"))),
        }
    }

    /// `true` or `false`; false where it is not given.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(_) => Err(bad(format!("`{name}` must be `true` or `false`"))),
        }
    }
}

/// Text without its percent encoding.
pub(crate) fn decoded(text: &str) -> Result<String, Problem> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                hexadecimal(*high)? << 4 | hexadecimal(*low)?
            }
            (b'%', _) => return Err(bad("a `%` is not followed by two digits")),
            (b'+', _) => b' ',
            (byte, _) => *byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| bad("the address is not UTF-8"))
}

fn hexadecimal(digit: u8) -> Result<u8, Problem> {
    let value = char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    value.ok_or_else(|| bad("a `%` is not followed by two digits"))
}

fn unknown(name: &str, known: &[&str]) -> Problem {
    let problem = bad(format!("there is no parameter `{}`", policy::shown::shown(name)));
    match policy::text::words::meant(name, known.iter().copied()) {
        Some(meant) => problem.help(format!("did you mean `{meant}`?")),
        None if known.is_empty() => problem.help("this operation has no parameters"),
        None => problem.help(format!("there are: {}", known.join(", "))),
    }
}

fn bad(message: impl Into<String>) -> Problem {
    Problem::new(Code::BadRequest, message)
}
