//! A question to an upstream resolver as bytes, and what came back for it. Pure. Takes addresses of
//! the one family that was asked for and nothing else: no record, option or name of the reply goes any
//! further. What an address is worth is decided elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use plan::destination::Name;
use plan::network::Family;

use super::wire::{
    CLASS_INTERNET, IS_ANSWER, OPERATION, OUTCOME, OWN_PAYLOAD, RECURSION_DESIRED, Reader, Record,
    TRUNCATED, TYPE_A, TYPE_AAAA, TYPE_CNAME, TYPE_OPT, TYPE_SOA, WireError, WireName,
};

/// A question on its way to a resolver.
#[derive(Clone, Debug)]
pub struct Query {
    id: u16,
    name: WireName,
    family: Family,
    dialect: Dialect,
}

/// Whether the resolver is offered EDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// With EDNS, for larger datagrams.
    Extended,
    /// Without, for resolvers that refuse it.
    Plain,
}

/// What a resolver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The name's addresses, at least one, and for how many seconds they hold.
    Addresses(Vec<IpAddr>, u32),
    /// The name has no address of this family, and for how many seconds that holds.
    NoAddress(u32),
    /// There is no such name, and for how many seconds that holds.
    NoSuchName(u32),
    /// Too long for a datagram.
    Truncated,
    /// Nothing, with this response code.
    Failed(u16),
}

impl Query {
    /// A question with an id that nobody can guess. Nothing if the name has no wire form.
    pub fn new(id: u16, name: &Name, family: Family, dialect: Dialect) -> Option<Self> {
        Some(Self { id, name: WireName::from_host(name.as_str())?, family, dialect })
    }

    /// The question's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.name.as_bytes().len() + 27);
        let additional = u16::from(self.dialect == Dialect::Extended);
        for number in [self.id, RECURSION_DESIRED, 1, 0, 0, additional] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(&record_type(self.family).to_be_bytes());
        bytes.extend_from_slice(&CLASS_INTERNET.to_be_bytes());
        if self.dialect == Dialect::Extended {
            bytes.push(0);
            bytes.extend_from_slice(&TYPE_OPT.to_be_bytes());
            bytes.extend_from_slice(&OWN_PAYLOAD.to_be_bytes());
            bytes.extend_from_slice(&[0; 6]);
        }
        bytes
    }

    /// Reads what came back. Nothing if these bytes do not answer this very question.
    pub fn read(&self, bytes: &[u8]) -> Option<Reply> {
        let mut reader = Reader::new(bytes);
        let (flags, counts) = self.matching_header(&mut reader).ok()??;
        if flags & TRUNCATED != 0 {
            return Some(Reply::Truncated);
        }
        let code = flags & OUTCOME;
        match self.sections(&mut reader, counts) {
            Ok(sections) => Some(self.conclude(code | sections.upper_code, &sections)),
            // Malformed behind a question that matches: whoever sent it is no resolver to trust.
            Err(_) if code == NO_ERROR => Some(Reply::Failed(SERVER_FAILURE)),
            Err(_) => Some(Reply::Failed(code)),
        }
    }

    /// Flags and the counts of records, if id and question are ours. A resolver that cannot read the
    /// query may leave the question out.
    fn matching_header(
        &self,
        reader: &mut Reader<'_>,
    ) -> Result<Option<(u16, [u16; 3])>, WireError> {
        let (id, flags) = (reader.u16()?, reader.u16()?);
        let questions = reader.u16()?;
        let counts = [reader.u16()?, reader.u16()?, reader.u16()?];
        if id != self.id || flags & IS_ANSWER == 0 || flags & OPERATION != 0 {
            return Ok(None);
        }
        if questions == 0 && flags & OUTCOME != NO_ERROR && flags & OUTCOME != NO_SUCH_NAME {
            return Ok(Some((flags & !TRUNCATED, counts)));
        }
        let (name, kind, class) = (reader.plain_name()?, reader.u16()?, reader.u16()?);
        let ours = questions == 1
            && name == self.name
            && kind == record_type(self.family)
            && class == CLASS_INTERNET;
        Ok(ours.then_some((flags, counts)))
    }

    fn sections(&self, reader: &mut Reader<'_>, counts: [u16; 3]) -> Result<Sections, WireError> {
        let [answers, authorities, additional] = counts;
        let mut sections = Sections::default();
        for _ in 0..answers.min(MAX_RECORDS) {
            let record = reader.record()?;
            if record.class == CLASS_INTERNET {
                self.keep(&mut sections, &record)?;
            }
        }
        if answers > MAX_RECORDS {
            return Ok(sections);
        }
        for _ in 0..authorities.min(MAX_RECORDS) {
            let record = reader.record()?;
            if record.kind == TYPE_SOA && record.class == CLASS_INTERNET {
                sections.negative_seconds = Some(negative_seconds(&record)?);
            }
        }
        if authorities > MAX_RECORDS {
            return Ok(sections);
        }
        for _ in 0..additional.min(MAX_RECORDS) {
            let record = reader.record()?;
            if record.kind == TYPE_OPT {
                let [upper, ..] = record.ttl.to_be_bytes();
                sections.upper_code = u16::from(upper) << 4;
            }
        }
        Ok(sections)
    }

    fn keep(&self, sections: &mut Sections, record: &Record<'_>) -> Result<(), WireError> {
        if record.kind == TYPE_CNAME {
            let target = record.data_reader().name()?;
            sections.aliases.push((record.owner.clone(), target, record.ttl));
        } else if record.kind == record_type(self.family) {
            let address = address(self.family, record.data).ok_or(WireError::Short)?;
            sections.addresses.push((record.owner.clone(), address, record.ttl));
        }
        Ok(())
    }

    fn conclude(&self, code: u16, sections: &Sections) -> Reply {
        match code {
            NO_ERROR => self.follow(sections),
            NO_SUCH_NAME => Reply::NoSuchName(sections.negative_seconds.unwrap_or(0)),
            other => Reply::Failed(other),
        }
    }

    /// From the name along its aliases to its addresses. Records about other names count for nothing.
    fn follow(&self, sections: &Sections) -> Reply {
        let mut name = &self.name;
        let mut seconds = u32::MAX;
        for _ in 0..=MAX_ALIASES {
            let mut addresses = Vec::new();
            for (_, address, ttl) in sections.addresses.iter().filter(|(owner, _, _)| owner == name)
            {
                seconds = seconds.min(clamp_ttl(*ttl));
                addresses.push(*address);
            }
            if !addresses.is_empty() {
                addresses.truncate(MAX_ADDRESSES);
                return Reply::Addresses(addresses, seconds);
            }
            match sections.aliases.iter().find(|(owner, _, _)| owner == name) {
                Some((_, target, ttl)) => {
                    seconds = seconds.min(clamp_ttl(*ttl));
                    name = target;
                }
                None => return Reply::NoAddress(sections.negative_seconds.unwrap_or(0)),
            }
        }
        Reply::Failed(SERVER_FAILURE)
    }
}

/// What is kept of a reply's records.
#[derive(Default)]
struct Sections {
    aliases: Vec<(WireName, WireName, u32)>,
    addresses: Vec<(WireName, IpAddr, u32)>,
    negative_seconds: Option<u32>,
    /// The upper bits of the response code.
    upper_code: u16,
}

fn record_type(family: Family) -> u16 {
    match family {
        Family::V4 => TYPE_A,
        Family::V6 => TYPE_AAAA,
    }
}

fn address(family: Family, data: &[u8]) -> Option<IpAddr> {
    match family {
        Family::V4 => <[u8; 4]>::try_from(data).ok().map(|octets| Ipv4Addr::from(octets).into()),
        Family::V6 => <[u8; 16]>::try_from(data).ok().map(|octets| Ipv6Addr::from(octets).into()),
    }
}

/// The smaller of the record's own time to live and its last field (RFC 2308, section 5).
fn negative_seconds(record: &Record<'_>) -> Result<u32, WireError> {
    let mut reader = record.data_reader();
    reader.name()?;
    reader.name()?;
    let mut minimum = 0;
    for _ in 0..5 {
        minimum = reader.u32()?;
    }
    Ok(clamp_ttl(record.ttl).min(clamp_ttl(minimum)))
}

/// A time to live with its top bit set counts as none (RFC 2181, section 8).
fn clamp_ttl(ttl: u32) -> u32 {
    if ttl > i32::MAX.unsigned_abs() { 0 } else { ttl }
}

pub(super) const NO_ERROR: u16 = 0;
pub(super) const FORMAT_ERROR: u16 = 1;
pub(super) const SERVER_FAILURE: u16 = 2;
pub(super) const NO_SUCH_NAME: u16 = 3;
pub(super) const NOT_IMPLEMENTED: u16 = 4;
pub(super) const BAD_VERSION: u16 = 16;
/// Records of a section that are read.
const MAX_RECORDS: u16 = 256;
/// Aliases that are followed, one after the other.
const MAX_ALIASES: usize = 16;
/// Addresses that are kept.
const MAX_ADDRESSES: usize = 64;

#[cfg(test)]
mod tests;
