//! From the bytes that a program sent to a checked question. Pure; whatever cannot be a question comes
//! back as what to answer, and a question's name is either a host name or is told to be none. Options
//! that came along (cookies, client subnets, padding) are dropped here and go no further.

use plan::destination::Name;
use plan::network::Family;

use super::wire::{
    CHECKING_DISABLED, CLASS_INTERNET, IS_ANSWER, OPERATION, RECURSION_DESIRED, Reader, TYPE_A,
    TYPE_AAAA, TYPE_OPT, TYPE_PTR, WireError, WireName,
};

/// The one question of a well-formed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What an answer has to repeat.
    pub asked: Asked,
    /// Whom it is about.
    pub subject: Subject,
    /// What it wants to know.
    pub wanted: Wanted,
}

/// Whom a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A host name in its normal form.
    Host(Name),
    /// A name that no host has; printable.
    NoHost(String),
}

/// What a question wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Addresses of a family.
    Addresses(Family),
    /// The name of an address.
    Pointer,
    /// Any other record type. Services, texts, keys and the like are nothing that a cage is told.
    Other,
}

/// The parts of a query that its answer repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub(super) id: u16,
    /// Operation, recursion desired and checking disabled; nothing else.
    pub(super) flags: u16,
    /// Name (spelled as it came), type and class, if the query had one question.
    pub(super) section: Option<(WireName, u16, u16)>,
    pub(super) extension: Option<Extension>,
}

/// The query's EDNS record (RFC 6891), without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    /// The size of datagram that the client takes.
    pub(super) payload: u16,
    pub(super) version: u8,
}

/// Bytes that are no question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Too short to carry an id, or itself an answer: any reply could start a loop.
    Silently,
    /// A query that is refused as such.
    With(Asked, Fault),
}

/// What is wrong with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Malformed, too large, or not exactly one question.
    Malformed,
    /// Another operation than a plain question: updates, notifications, status.
    UnknownOperation,
    /// Another class than the internet's.
    UnknownClass,
    /// A later version of EDNS.
    UnknownVersion,
}

impl Asked {
    /// How large an answer may be as a datagram.
    pub fn datagram_room(&self) -> usize {
        let payload = self.extension.map_or(0, |extension| extension.payload);
        usize::from(payload.clamp(SMALLEST_ROOM, super::wire::OWN_PAYLOAD))
    }
}

/// Reads a query.
pub fn parse(bytes: &[u8]) -> Result<Question, Unanswered> {
    let mut reader = Reader::new(bytes);
    let (asked, counts) = header(&mut reader).map_err(|_| Unanswered::Silently)?;
    let mut asked = match asked {
        Some(asked) => asked,
        None => return Err(Unanswered::Silently),
    };
    let read = match bytes.len() {
        ..=MAX_QUERY => sections(&mut reader, counts, &mut asked),
        _ => Err(WireError::BadName),
    };
    let fault = if asked.flags & OPERATION != 0 {
        Some(Fault::UnknownOperation)
    } else if read.is_err() {
        Some(Fault::Malformed)
    } else {
        fault_of(&asked)
    };
    match (fault, &asked.section) {
        (None, Some((name, kind, _))) => {
            let (subject, wanted) = (Subject::of(name), Wanted::of(*kind));
            Ok(Question { subject, wanted, asked })
        }
        (fault, _) => Err(Unanswered::With(asked, fault.unwrap_or(Fault::Malformed))),
    }
}

impl Subject {
    fn of(name: &WireName) -> Self {
        host_name(name).map_or_else(|| Self::NoHost(name.to_string()), Self::Host)
    }
}

impl Wanted {
    fn of(kind: u16) -> Self {
        match kind {
            TYPE_A => Self::Addresses(Family::V4),
            TYPE_AAAA => Self::Addresses(Family::V6),
            TYPE_PTR => Self::Pointer,
            _ => Self::Other,
        }
    }
}

/// A dot inside a label must not become a border between two, so labels are checked before they are
/// joined; what else a host name may be is `Name`'s to say.
fn host_name(name: &WireName) -> Option<Name> {
    let mut joined = String::with_capacity(name.as_bytes().len());
    for label in name.labels() {
        if label.contains(&b'.') {
            return None;
        }
        joined.push_str(str::from_utf8(label).ok()?);
        joined.push('.');
    }
    Name::parse(&joined).ok()
}

/// How many entries each section has.
struct Counts {
    questions: u16,
    answers: u16,
    authorities: u16,
    additional: u16,
}

/// The header; nothing if the message is an answer.
fn header(reader: &mut Reader<'_>) -> Result<(Option<Asked>, Counts), WireError> {
    let (id, flags) = (reader.u16()?, reader.u16()?);
    let counts = Counts {
        questions: reader.u16()?,
        answers: reader.u16()?,
        authorities: reader.u16()?,
        additional: reader.u16()?,
    };
    let kept = flags & (OPERATION | RECURSION_DESIRED | CHECKING_DISABLED);
    let asked = Asked { id, flags: kept, section: None, extension: None };
    Ok(((flags & IS_ANSWER == 0).then_some(asked), counts))
}

/// One question, at most one EDNS record, and nothing else. What was read by the time of an error
/// stays in `asked`, so that the refusal can repeat it.
fn sections(reader: &mut Reader<'_>, counts: Counts, asked: &mut Asked) -> Result<(), WireError> {
    if counts.questions != 1 {
        return Err(WireError::Short);
    }
    let section = (reader.plain_name()?, reader.u16()?, reader.u16()?);
    asked.section = Some(section);
    if counts.answers != 0 || counts.authorities != 0 || counts.additional > 1 {
        return Err(WireError::Short);
    }
    if counts.additional == 1 {
        let record = reader.record()?;
        if record.kind != TYPE_OPT || record.owner.labels().next().is_some() {
            return Err(WireError::BadName);
        }
        pass_over_options(record.data)?;
        let [_, version, _, _] = record.ttl.to_be_bytes();
        asked.extension = Some(Extension { payload: record.class, version });
    }
    if reader.is_at_end() { Ok(()) } else { Err(WireError::Short) }
}

/// Options are not looked at, but must be some: each a code, a length and as many bytes.
fn pass_over_options(data: &[u8]) -> Result<(), WireError> {
    let mut options = Reader::new(data);
    while !options.is_at_end() {
        options.u16()?;
        let length = options.u16()?;
        options.take(usize::from(length))?;
    }
    Ok(())
}

fn fault_of(asked: &Asked) -> Option<Fault> {
    if asked.extension.is_some_and(|extension| extension.version != 0) {
        return Some(Fault::UnknownVersion);
    }
    let class = asked.section.as_ref().map(|(_, _, class)| *class);
    (class != Some(CLASS_INTERNET)).then_some(Fault::UnknownClass)
}

/// What every client takes, whatever it says (RFC 6891, section 6.2.3).
const SMALLEST_ROOM: u16 = 512;
/// No query of one question is larger, padding included (RFC 8467).
pub(super) const MAX_QUERY: usize = 1024;

#[cfg(test)]
mod tests;
