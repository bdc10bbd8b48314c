//! From a checked question and its outcome to the bytes of an answer. Pure. The only addresses that
//! can leave through here are those that the caller gives: nothing of what an upstream resolver sent
//! is copied, neither records nor options.

use std::net::IpAddr;

use super::question::{Asked, Fault};
use super::wire::{
    CLASS_INTERNET, HEADER, IS_ANSWER, OUTCOME, OWN_PAYLOAD, RECURSION_AVAILABLE, TRUNCATED,
    TYPE_A, TYPE_AAAA, TYPE_OPT, TYPE_SOA,
};

/// What a question comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The name has these addresses.
    Addresses {
        /// All of the family that was asked for.
        addresses: Vec<IpAddr>,
        /// For how many seconds; held to [`MAX_SECONDS`].
        seconds: u32,
    },
    /// The name is there and has nothing of the wanted kind.
    NoData,
    /// There is no such name, or none that the cage may know.
    NoSuchName,
    /// Nobody could say.
    ServerFailure,
    /// The question is not taken.
    Refused,
    /// The query as such is wrong.
    Faulty(Fault),
}

/// How the answer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// As a datagram of no more than the client takes.
    Datagram,
    /// On a connection.
    Connection,
}

/// The answer's bytes.
pub fn encode(asked: &Asked, answer: &Answer, carrier: Carrier) -> Vec<u8> {
    let room = match carrier {
        Carrier::Datagram => asked.datagram_room(),
        Carrier::Connection => usize::from(u16::MAX),
    };
    let full = message(asked, answer, 0);
    if full.len() <= room {
        return full;
    }
    message(asked, &Answer::Addresses { addresses: Vec::new(), seconds: 0 }, TRUNCATED)
}

fn message(asked: &Asked, answer: &Answer, more_flags: u16) -> Vec<u8> {
    let outcome = outcome(answer);
    let flags = IS_ANSWER | RECURSION_AVAILABLE | asked.flags | more_flags | (outcome & OUTCOME);
    let addresses = match (answer, &asked.section) {
        (Answer::Addresses { addresses, .. }, Some(_)) => addresses.as_slice(),
        _ => &[],
    };
    let addresses = addresses.get(..MAX_ADDRESSES).unwrap_or(addresses);
    let lifetime = asked.section.as_ref().filter(|_| is_negative(answer));
    let mut bytes = Vec::with_capacity(TYPICAL_SIZE);
    put(&mut bytes, &[asked.id, flags]);
    put(
        &mut bytes,
        &[
            u16::from(asked.section.is_some()),
            u16::try_from(addresses.len()).unwrap_or(0),
            u16::from(lifetime.is_some()),
            u16::from(asked.extension.is_some()),
        ],
    );
    if let Some((name, kind, class)) = &asked.section {
        bytes.extend_from_slice(name.as_bytes());
        put(&mut bytes, &[*kind, *class]);
    }
    if let Answer::Addresses { seconds, .. } = answer {
        for address in addresses {
            put_address(&mut bytes, *address, (*seconds).min(MAX_SECONDS));
        }
    }
    if let Some((name, _, _)) = lifetime {
        put_lifetime(&mut bytes, name.labels().next());
    }
    if asked.extension.is_some() {
        put_extension(&mut bytes, outcome);
    }
    bytes
}

/// An answer that says no for a while.
fn is_negative(answer: &Answer) -> bool {
    matches!(answer, Answer::NoData | Answer::NoSuchName)
}

/// The response code, of which the header holds the lower four bits.
fn outcome(answer: &Answer) -> u16 {
    match answer {
        Answer::Addresses { .. } | Answer::NoData => 0,
        Answer::Faulty(Fault::Malformed) => 1,
        Answer::ServerFailure => 2,
        Answer::NoSuchName => 3,
        Answer::Faulty(Fault::UnknownOperation) => 4,
        Answer::Refused | Answer::Faulty(Fault::UnknownClass) => 5,
        Answer::Faulty(Fault::UnknownVersion) => 16,
    }
}

fn put(bytes: &mut Vec<u8>, numbers: &[u16]) {
    for number in numbers {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
}

fn put_address(bytes: &mut Vec<u8>, address: IpAddr, seconds: u32) {
    let (kind, data) = match address {
        IpAddr::V4(address) => (TYPE_A, address.octets().to_vec()),
        IpAddr::V6(address) => (TYPE_AAAA, address.octets().to_vec()),
    };
    put_record(bytes, &QUESTION_POINTER, kind, seconds, &data);
}

/// The start-of-authority record that tells for how long a negative answer holds (RFC 2308). Its
/// owner is the parent of the name: a name that has one of its own would exist.
fn put_lifetime(bytes: &mut Vec<u8>, first_label: Option<&[u8]>) {
    let behind_first = first_label.and_then(|label| {
        let offset = u16::try_from(HEADER + 1 + label.len()).ok()?;
        Some((offset | POINTER).to_be_bytes())
    });
    let owner: &[u8] = behind_first.as_ref().map_or(&[0], |pointer| pointer);
    let mut data = Vec::with_capacity(AUTHORITY.len() * 2 + 20);
    data.extend_from_slice(AUTHORITY);
    data.extend_from_slice(AUTHORITY);
    // Serial, refresh, retry, expire: nobody transfers this zone. Then what matters.
    for number in [1, 3600, 600, 86400, NEGATIVE_SECONDS] {
        data.extend_from_slice(&u32::to_be_bytes(number));
    }
    put_record(bytes, owner, TYPE_SOA, NEGATIVE_SECONDS, &data);
}

fn put_record(bytes: &mut Vec<u8>, owner: &[u8], kind: u16, seconds: u32, data: &[u8]) {
    bytes.extend_from_slice(owner);
    put(bytes, &[kind, CLASS_INTERNET]);
    bytes.extend_from_slice(&seconds.to_be_bytes());
    put(bytes, &[u16::try_from(data.len()).unwrap_or(0)]);
    bytes.extend_from_slice(data);
}

/// Our own EDNS record: our size, the upper bits of the outcome, version 0, no flags, no options.
fn put_extension(bytes: &mut Vec<u8>, outcome: u16) {
    let upper = u8::try_from(outcome >> 4).unwrap_or(0);
    bytes.push(0);
    put(bytes, &[TYPE_OPT, OWN_PAYLOAD]);
    bytes.extend_from_slice(&[upper, 0, 0, 0]);
    put(bytes, &[0]);
}

/// The longest time for which a program may keep an answer.
pub const MAX_SECONDS: u32 = 60;
/// The time for which it may keep a no.
pub const NEGATIVE_SECONDS: u32 = 10;
/// Synthetic addresses are one for each family; this bounds what a caller can do by mistake.
const MAX_ADDRESSES: usize = 64;
/// Marks an offset as a pointer to an earlier name.
const POINTER: u16 = 0xc000;
/// Points to the question's name, which always follows the header.
const QUESTION_POINTER: [u8; 2] = [0xc0, HEADER as u8];
/// `stockade.invalid`, as whoever is responsible.
const AUTHORITY: &[u8] = b"\x08stockade\x07invalid\x00";
const TYPICAL_SIZE: usize = 256;

#[cfg(test)]
mod tests;
