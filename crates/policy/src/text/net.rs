//! `net`: lists of destinations, sentences about refused hosts, and lists of ports of loopbacks.
//! The grammar of a destination is in [`crate::net`], names in other scripts are in
//! [`crate::host_names`].

use std::collections::BTreeMap;

use plan::network::{GATEKEEPER_PORTS, MODEL_PORT};
use toml::de::DeValue;

use super::decode::{Decoder, Value, in_order, listed};
use super::diagnostic::{Code, Diagnostic, Span};
use super::rules::NetworkRules;
use super::{MAX_NETWORK_ENTRIES, MAX_REASON_CHARACTERS, words};
use crate::net::{Destination, DestinationError, Ports};
use crate::shown::{misleads, shown};
use crate::{RuleOrigin, host_names};

pub(super) fn decode<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    spans: &mut BTreeMap<&'static str, Span>,
) -> NetworkRules {
    let mut rules = NetworkRules::default();
    let expected = "a table such as `{ allow = [\"example.com:443\"] }`";
    let Some(table) = decoder.table(value, expected) else { return rules };
    for entry in decoder.entries(table, words::NET, "in `net`") {
        let word = match entry.word {
            "allow" => {
                rules.allow = decode_list(decoder, entry.value, allowed);
                "net.allow"
            }
            "deny" => {
                rules.deny = decode_list(decoder, entry.value, host_names::destination);
                "net.deny"
            }
            "reasons" => {
                rules.reasons = decode_reasons(decoder, entry.value);
                "net.reasons"
            }
            "host_ports" => {
                rules.host_ports = decode_ports(decoder, entry.value, &[MODEL]);
                "net.host_ports"
            }
            _ => {
                rules.publish = decode_ports(decoder, entry.value, &[]);
                "net.publish"
            }
        };
        spans.insert(word, entry.at);
    }
    rules
}

fn decode_list<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    read: fn(&str) -> Result<Destination, DestinationError>,
) -> Option<BTreeMap<Destination, RuleOrigin>> {
    let list = decoder.list(value, "a list of destinations such as `[\"example.com:443\"]`")?;
    is_short_enough(decoder, value, list.len())?;
    let mut entries = BTreeMap::new();
    for value in list {
        let Some(text) = decoder.string(value, "a destination such as `\"example.com:443\"`")
        else {
            continue;
        };
        match read(text) {
            Ok(destination) => {
                let origin = decoder.origin(&value.span());
                entries.entry(destination).or_insert(origin);
            }
            Err(error) => report_entry(decoder, value.span(), text, &error),
        }
    }
    Some(entries)
}

/// A destination that can be allowed.
pub(super) fn allowed(text: &str) -> Result<Destination, DestinationError> {
    let destination = host_names::destination(text)?;
    if destination.is_every_address() {
        return Err(DestinationError::EveryHost);
    }
    Ok(destination)
}

fn report_entry(decoder: &mut Decoder<'_>, span: Span, text: &str, error: &DestinationError) {
    let message = format!("`{}` is not a destination", shown(text));
    let mut diagnostic = Diagnostic::new(Code::Destination, span, message).label(shown(error));
    if let Some(hint) = error.hint() {
        diagnostic = diagnostic.help(shown(hint));
    }
    decoder.report(diagnostic);
}

fn decode_reasons<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<BTreeMap<Destination, String>> {
    let expected = "a table of sentences such as `{ \"example.com\" = \"use the mirror\" }`";
    let table = decoder.table(value, expected)?;
    is_short_enough(decoder, value, table.len())?;
    let mut reasons = BTreeMap::new();
    for (key, value) in in_order(table) {
        let host = match host_names::destination(key.get_ref()) {
            Ok(host) if host.ports() == Ports::ALL => Some(host),
            Ok(_) => {
                let message = "a reason is given for a host, whatever the port";
                let diagnostic = Diagnostic::new(Code::Destination, key.span(), message);
                decoder.report(diagnostic.label("has a port").help("leave the port out"));
                None
            }
            Err(error) => {
                report_entry(decoder, key.span(), key.get_ref(), &error);
                None
            }
        };
        let Some(sentence) = decoder.string(value, "a sentence") else { continue };
        match (check_reason(sentence), host) {
            (Ok(()), Some(host)) => {
                reasons.insert(host, sentence.to_owned());
            }
            (Ok(()), None) => {}
            (Err(problem), _) => {
                let message = "this cannot be shown as a reason";
                let diagnostic = Diagnostic::new(Code::Reason, value.span(), message);
                let most =
                    format!("a reason is one line of at most {MAX_REASON_CHARACTERS} characters");
                decoder.report(diagnostic.label(problem).help(most));
            }
        }
    }
    Some(reasons)
}

/// A reason is passed on to programs and terminals as it is.
fn check_reason(sentence: &str) -> Result<(), &'static str> {
    if sentence.trim().is_empty() {
        Err("says nothing")
    } else if sentence.chars().any(misleads) {
        Err("has a line break, a control character or an invisible one")
    } else if sentence.chars().count() > MAX_REASON_CHARACTERS {
        Err("is too long")
    } else {
        Ok(())
    }
}

fn decode_ports<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
    names: &[(&str, u16)],
) -> Option<BTreeMap<u16, RuleOrigin>> {
    let list = decoder.list(value, "a list of ports such as `[5432]`")?;
    is_short_enough(decoder, value, list.len())?;
    let mut ports = BTreeMap::new();
    for value in list {
        let is_it =
            |name| matches!(value.get_ref(), DeValue::String(text) if text.as_ref() == name);
        if let Some((_, port)) = names.iter().find(|(name, _)| is_it(*name)) {
            ports.insert(*port, decoder.origin(&value.span()));
            continue;
        }
        let Some(number) = decoder.integer(value, "a port such as `5432`") else { continue };
        match port(number) {
            Ok(port) => {
                let origin = decoder.origin(&value.span());
                ports.entry(port).or_insert(origin);
            }
            Err(problem) => {
                let message = format!("`{number}` is not a port that can be named here");
                let diagnostic = Diagnostic::new(Code::Port, value.span(), message).label(problem);
                decoder.report(diagnostic.help(port_help()));
            }
        }
    }
    Some(ports)
}

/// A port of a loopback that a policy can name.
pub(super) fn port(number: i64) -> Result<u16, &'static str> {
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    match port {
        None => Err("out of range"),
        Some(port) if GATEKEEPER_PORTS.contains(&port) => {
            Err("in a cage with network this port is the gatekeeper's own")
        }
        Some(MODEL_PORT) => Err("this port is the model service's: `\"model\"` in `host_ports`"),
        Some(port) => Ok(port),
    }
}

/// The service that `host_ports` can name, and its port.
pub(super) const MODEL: (&str, u16) = ("model", MODEL_PORT);

/// What a port of a loopback can be, for a person who named another.
pub(super) fn port_help() -> String {
    let taken = GATEKEEPER_PORTS.map(|port| port.to_string());
    let taken = listed(taken.iter().map(String::as_str));
    format!(
        "a port is 1 to 65535, without {taken}; `host_ports` also takes `{}`, the model service",
        MODEL.0
    )
}

fn is_short_enough(decoder: &mut Decoder<'_>, value: &Value<'_>, length: usize) -> Option<()> {
    if length <= MAX_NETWORK_ENTRIES {
        return Some(());
    }
    let message = format!("the list has {length} entries, and {MAX_NETWORK_ENTRIES} is the most");
    decoder.report(Diagnostic::new(Code::TooManyRules, value.span(), message));
    None
}
