//! `net.allow` and `net.deny`: lists of destinations. The grammar of one is in [`crate::net`].

use std::collections::BTreeMap;

use super::decode::{Decoder, Value};
use super::diagnostic::{Code, Diagnostic, Span};
use super::words;
use crate::RuleOrigin;
use crate::net::{Destination, DestinationError};
use crate::shown::shown;

/// Both lists as they are written.
#[derive(Default)]
pub(super) struct WrittenNetwork {
    pub(super) allow: Option<BTreeMap<Destination, RuleOrigin>>,
    pub(super) deny: Option<BTreeMap<Destination, RuleOrigin>>,
    pub(super) spans: Vec<(&'static str, Span)>,
}

pub(super) fn decode<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> WrittenNetwork {
    let mut written = WrittenNetwork::default();
    let expected = "a table such as `{ allow = [\"example.com:443\"] }`";
    let Some(table) = decoder.table(value, expected) else { return written };
    for entry in decoder.entries(table, words::NET, "in `net`") {
        if entry.word == "allow" {
            written.spans.push(("net.allow", entry.at));
            written.allow = decode_list(decoder, entry.value, List::Allow);
        } else {
            written.spans.push(("net.deny", entry.at));
            written.deny = decode_list(decoder, entry.value, List::Deny);
        }
    }
    written
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Allow,
    Deny,
}

fn decode_list<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    kind: List,
) -> Option<BTreeMap<Destination, RuleOrigin>> {
    let list = decoder.list(value, "a list of destinations such as `[\"example.com:443\"]`")?;
    let mut entries = BTreeMap::new();
    for value in list {
        let Some(text) = decoder.string(value, "a destination such as `\"example.com:443\"`")
        else {
            continue;
        };
        match read(text, kind) {
            Ok(destination) => {
                let origin = decoder.origin(&value.span());
                entries.entry(destination).or_insert(origin);
            }
            Err(error) => {
                let message = format!("`{}` is not a destination", shown(text));
                let mut diagnostic =
                    Diagnostic::new(Code::Destination, value.span(), message).label(shown(&error));
                if let Some(hint) = error.hint() {
                    diagnostic = diagnostic.help(shown(hint));
                }
                decoder.report(diagnostic);
            }
        }
    }
    Some(entries)
}

fn read(text: &str, kind: List) -> Result<Destination, DestinationError> {
    let destination: Destination = text.parse()?;
    if kind == List::Allow && destination.is_every_address() {
        return Err(DestinationError::EveryHost);
    }
    Ok(destination)
}
