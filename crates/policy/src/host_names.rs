//! Host names as people write them: a name in another script becomes the `xn--` form that the
//! network uses (UTS 46), here and nowhere else. What a program inside a cage asks for never comes
//! this way: it has to be ASCII already.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use crate::net::{Destination, DestinationError, Hosts, Name, NameError};

/// An entry of `net` or of `--net`.
pub fn destination(text: &str) -> Result<Destination, DestinationError> {
    if text.is_ascii() {
        return text.parse();
    }
    let (wildcard, rest) = match text.split_once('.') {
        Some((first @ ("*" | "**"), rest)) => (Some(first), rest),
        _ => (None, text),
    };
    // A port is ASCII, and a name has no colon in it.
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (rest, None),
    };
    // What the grammar refuses for its shape is refused with that reason.
    if [host, port.unwrap_or_default()].iter().any(|part| part.contains(WRONG_IN_A_NAME)) {
        return text.parse();
    }
    let mut entry = wildcard.map(|wildcard| format!("{wildcard}.")).unwrap_or_default();
    entry.push_str(&to_ascii(host)?);
    if let Some(port) = port {
        entry.push(':');
        entry.push_str(port);
    }
    let destination: Destination = entry.parse()?;
    match destination.hosts() {
        // Digits of another script are no way to write an address.
        Hosts::Network(_) => Err(DestinationError::NoAsciiForm),
        _ => Ok(destination),
    }
}

/// A name that somebody asks about.
pub fn name(text: &str) -> Result<Name, NameError> {
    if text.is_ascii() {
        return Name::parse(text);
    }
    to_ascii(text).map_err(|_| NameError::BadLabel).and_then(|ascii| Name::parse(&ascii))
}

fn to_ascii(host: &str) -> Result<String, DestinationError> {
    // Lengths are judged by the grammar, which says what is too long.
    let ascii = Uts46::new()
        .to_ascii(host.as_bytes(), AsciiDenyList::URL, Hyphens::CheckFirstLast, DnsLength::Ignore)
        .map_err(|_| DestinationError::NoAsciiForm)?;
    // Some characters stand for a `*`, which a person would not see.
    if ascii.contains('*') { Err(DestinationError::NoAsciiForm) } else { Ok(ascii.into_owned()) }
}

/// Signs that belong to something else than a name, and white space, which the mapping would drop.
const WRONG_IN_A_NAME: fn(char) -> bool = |character| {
    character.is_whitespace() || character.is_control() || "/:@?#%\\[]*".contains(character)
};

#[cfg(test)]
mod tests;
