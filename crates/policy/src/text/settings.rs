//! `[network]` of the user's configuration: how this machine reaches the network. What it says
//! goes to the gatekeeper and never into a Plan.

use std::net::{IpAddr, SocketAddr};

use toml::de::DeValue;

use super::decode::{Decoder, Value};
use super::diagnostic::{Code, Diagnostic};
use super::words;
use crate::network_settings::{NetworkSettings, Proxy, ProxyAddress};
use crate::shown::shown;

pub(super) fn decode<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> NetworkSettings {
    let mut settings = NetworkSettings::default();
    let expected = "a table such as `{ resolvers = [\"10.0.0.2\"] }`";
    let Some(table) = decoder.table(value, expected) else { return settings };
    for entry in decoder.entries(table, words::NETWORK, "in `[network]`") {
        match entry.word {
            "resolvers" => settings.resolvers = decode_resolvers(decoder, entry.value),
            "proxy" => settings.proxy = decode_proxy(decoder, entry.value),
            _ => settings.log_allowed_per_million = decode_share(decoder, entry.value),
        }
    }
    settings
}

fn decode_resolvers<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Vec<SocketAddr> {
    let expected = "a list of addresses such as `[\"10.0.0.2\", \"[::1]:5353\"]`";
    let Some(list) = decoder.list(value, expected) else { return Vec::new() };
    if list.len() > MOST_RESOLVERS {
        let message = format!("there are more than {MOST_RESOLVERS} resolvers");
        decoder.report(Diagnostic::new(Code::TooManyRules, value.span(), message));
        return Vec::new();
    }
    let mut resolvers = Vec::new();
    for value in list {
        let Some(text) = decoder.string(value, "an address such as `\"10.0.0.2\"`") else {
            continue;
        };
        match resolver(text) {
            Some(address) => resolvers.push(address),
            None => {
                let message = format!("`{}` is not the address of a resolver", shown(text));
                let diagnostic = Diagnostic::new(Code::NetworkSetting, value.span(), message);
                let help = "write an address, with a port where it is not 53: `10.0.0.2`, \
                            `10.0.0.2:5353`, `[::1]:5353`";
                decoder.report(diagnostic.help(help));
            }
        }
    }
    resolvers
}

/// An address with or without a port. A name would have to be resolved itself.
fn resolver(text: &str) -> Option<SocketAddr> {
    let alone = text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS_PORT));
    let address = alone.or_else(|| text.parse().ok())?;
    let usable = address.port() != 0
        && !address.ip().is_unspecified()
        && !address.ip().is_multicast()
        && address.ip() != IpAddr::from([255, 255, 255, 255]);
    usable.then_some(address)
}

fn decode_proxy<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> Proxy {
    let expected = "a proxy such as `\"http://proxy.example:3128\"`, or `\"environment\"`";
    match decoder.string(value, expected) {
        None => Proxy::None,
        Some(ENVIRONMENT) => Proxy::Environment,
        Some(text) => match ProxyAddress::parse(text) {
            Ok(address) => Proxy::At(address),
            Err(problem) => {
                // The text may hold a password, so it is not repeated.
                let message = "this is not the address of a proxy";
                let diagnostic = Diagnostic::new(Code::NetworkSetting, value.span(), message);
                decoder.report(
                    diagnostic.label(problem.to_string()).help(format!("write {expected}")),
                );
                Proxy::None
            }
        },
    }
}

fn decode_share<'text>(decoder: &mut Decoder<'text>, value: &Value<'text>) -> u32 {
    let text = match value.get_ref() {
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        _ => {
            return decoder.wrong_type(value, "a number from 0 to 1").unwrap_or_default();
        }
    };
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => (share * 1e6).round() as u32,
        _ => {
            let message = "`log_allowed` is a share, from 0 to 1";
            let diagnostic = Diagnostic::new(Code::OutOfRange, value.span(), message);
            decoder.report(diagnostic.label("out of range"));
            0
        }
    }
}

const DNS_PORT: u16 = 53;
const MOST_RESOLVERS: usize = 8;
const ENVIRONMENT: &str = "environment";
