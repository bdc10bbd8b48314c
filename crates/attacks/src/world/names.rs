//! Just enough of DNS messages: questions as attacks ask them, and the far resolver's answers. Reads
//! what it is given without trusting a length in it, and keeps nothing but whose turn it is.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use super::zone::{addresses_of, alias_of};

/// A question about a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The name, its labels with dots between them.
    pub(crate) name: &'a str,
    /// The number of the record type.
    pub(crate) kind: u16,
}

impl<'a> Question<'a> {
    /// A question for IPv4 addresses.
    pub(crate) fn v4(name: &'a str) -> Self {
        Self { name, kind: A }
    }

    /// A question for IPv6 addresses.
    pub(crate) fn v6(name: &'a str) -> Self {
        Self { name, kind: AAAA }
    }

    /// A question for texts.
    pub(crate) fn text(name: &'a str) -> Self {
        Self { name, kind: TXT }
    }

    /// The message that asks these, with one more record of no meaning behind them if `option` has
    /// something to say in it.
    pub(crate) fn message(questions: &[Self], option: &[u8]) -> Vec<u8> {
        let count = u16::try_from(questions.len()).unwrap_or_default();
        let options = u16::from(!option.is_empty());
        let mut bytes = header(ID, RECURSION_DESIRED, [count, 0, 0, options]);
        for question in questions {
            bytes.extend(encoded(question.name));
            bytes.extend(question.kind.to_be_bytes());
            bytes.extend(INTERNET.to_be_bytes());
        }
        if !option.is_empty() {
            bytes.extend(option_record(option));
        }
        bytes
    }
}

/// The addresses that an answer holds; none if it is a failure, or no answer.
pub(crate) fn read_addresses(message: &[u8]) -> Option<Vec<IpAddr>> {
    let failed = message.get(3)? & 0x0f != 0;
    let (questions, answers) = (number_at(message, 4)?, number_at(message, 6)?);
    let mut place = HEADER;
    for _ in 0..questions {
        place = end_of_name(message, place)? + 4;
    }
    let mut addresses = Vec::new();
    for _ in 0..answers {
        place = end_of_name(message, place)?;
        let kind = number_at(message, place)?;
        let length = usize::from(number_at(message, place + 8)?);
        let data = message.get(place + 10..place + 10 + length)?;
        match kind {
            A => addresses.push(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?))),
            AAAA => addresses.push(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?))),
            _ => {}
        }
        place += 10 + length;
    }
    (!failed).then_some(addresses)
}

/// The far resolver.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    /// How often each name was asked for.
    turns: Mutex<BTreeMap<(String, u16), usize>>,
}

/// What the resolver makes of a message.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The names that were asked for, as they were written.
    pub(super) asked: Vec<String>,
    /// The answer to the first of them.
    pub(super) answer: Vec<u8>,
}

impl Resolver {
    /// Answers a message; not one that is no question.
    pub(super) fn answer(&self, message: &[u8]) -> Option<Resolved> {
        let count = number_at(message, 4)?.min(MOST_QUESTIONS);
        let mut asked = Vec::new();
        let (mut place, mut first) = (HEADER, None);
        for _ in 0..count {
            let start = place;
            asked.push(name_at(message, place)?);
            place = end_of_name(message, place)?;
            let kind = number_at(message, place)?;
            place += 4;
            first = first.or(Some((message.get(start..place)?, kind)));
        }
        let (question, kind) = first?;
        let name = asked.first()?.to_ascii_lowercase();
        let records = self.records(&name, kind);
        let answers = u16::try_from(records.len()).ok()?;
        let mut answer = header(number_at(message, 0)?, ANSWER, [1, answers, 0, 0]);
        answer.extend(question);
        answer.extend(records.concat());
        Some(Resolved { asked, answer })
    }

    /// The addresses of a name, as the resolver would answer now.
    pub(super) fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let name = alias_of(name).unwrap_or(name);
        let all = [A, AAAA].into_iter().flat_map(|kind| self.of_kind(name, kind));
        all.collect()
    }

    fn records(&self, name: &str, kind: u16) -> Vec<Vec<u8>> {
        let alias = alias_of(name);
        let mut records = Vec::new();
        records.extend(alias.map(|target| record(name, CNAME, &encoded(target))));
        let name = alias.unwrap_or(name);
        let data = self.of_kind(name, kind).into_iter().map(|address| match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        });
        records.extend(data.map(|data| record(name, kind, &data)));
        records
    }

    fn of_kind(&self, name: &str, kind: u16) -> Vec<IpAddr> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.entry((name.to_owned(), kind)).or_default();
        let found = addresses_of(name, *turn);
        *turn += 1;
        let wanted = |address: &&IpAddr| match kind {
            A => address.is_ipv4(),
            AAAA => address.is_ipv6(),
            _ => false,
        };
        found.iter().filter(wanted).copied().collect()
    }
}

fn header(id: u16, flags: u16, counts: [u16; 4]) -> Vec<u8> {
    [id, flags].iter().chain(&counts).flat_map(|number| number.to_be_bytes()).collect()
}

/// A record that nobody may keep.
fn record(name: &str, kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = encoded(name);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(INTERNET.to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(u16::try_from(data.len()).unwrap_or_default().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// EDNS (RFC 6891) with an option for local use.
fn option_record(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or_default();
    let mut bytes = vec![0];
    bytes.extend(OPT.to_be_bytes());
    bytes.extend(1232_u16.to_be_bytes());
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend((length + 4).to_be_bytes());
    bytes.extend(LOCAL_OPTION.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(text);
    bytes
}

fn encoded(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap_or_default());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// The name at a place of a message, which no question compresses.
fn name_at(message: &[u8], mut place: usize) -> Option<String> {
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(place)?);
        if length == 0 {
            return Some(labels.join("."));
        }
        let label = message.get(place + 1..place + 1 + length)?;
        labels.push(String::from_utf8_lossy(label).into_owned());
        place += 1 + length;
    }
}

/// Where a name ends that may be compressed.
fn end_of_name(message: &[u8], mut place: usize) -> Option<usize> {
    loop {
        match *message.get(place)? {
            0 => return Some(place + 1),
            POINTER.. => return Some(place + 2),
            length => place += 1 + usize::from(length),
        }
    }
}

fn number_at(message: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*message.get(place..)?.first_chunk()?))
}

const HEADER: usize = 12;
const ID: u16 = 7;
const RECURSION_DESIRED: u16 = 0x0100;
const ANSWER: u16 = 0x8580;
const INTERNET: u16 = 1;
const POINTER: u8 = 0xc0;
const MOST_QUESTIONS: u16 = 4;
const A: u16 = 1;
const CNAME: u16 = 5;
const TXT: u16 = 16;
const AAAA: u16 = 28;
const OPT: u16 = 41;
const LOCAL_OPTION: u16 = 65_001;

#[cfg(test)]
mod tests;
