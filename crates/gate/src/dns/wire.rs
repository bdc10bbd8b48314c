//! The wire form of DNS messages (RFC 1035, section 4), as far as one question and its addresses need
//! it: a reader that checks every bound and a name that remembers how it was spelled. Never panics,
//! never follows a pointer forwards, and knows no policy.
//!
//! A codec of our own because the process that reads these bytes is the most exposed one: a general
//! library brings a dozen record types, URLs and Unicode tables that would all be reachable from here.

use std::fmt;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// The bytes end in the middle of something.
    #[error("the message ends too early")]
    Short,
    /// A name is longer than 255 bytes or has a label of a reserved kind.
    #[error("a name in the message is malformed")]
    BadName,
    /// A compression pointer that does not point backwards, or too many of them.
    #[error("a name in the message points where it must not")]
    BadPointer,
}

/// Reads a message from its first byte on.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    message: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { message, position: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.position >= self.message.len()
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let end = self.position.checked_add(length).ok_or(WireError::Short)?;
        let bytes = self.message.get(self.position..end).ok_or(WireError::Short)?;
        self.position = end;
        Ok(bytes)
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], WireError> {
        self.take(LENGTH)?.try_into().map_err(|_| WireError::Short)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A name that may be compressed. Each pointer must go further back than where the part of the
    /// name that holds it began, so that reading always ends.
    pub(crate) fn name(&mut self) -> Result<WireName, WireError> {
        let mut bytes = Vec::new();
        let mut part = self.clone();
        let mut part_began = self.position;
        let mut jumped = false;
        loop {
            let length = part.u8()?;
            match length & LABEL_KIND {
                0 => {
                    bytes.push(length);
                    if length != 0 {
                        bytes.extend_from_slice(part.take(usize::from(length))?);
                    }
                    if bytes.len() > MAX_WIRE_NAME {
                        return Err(WireError::BadName);
                    }
                    if length == 0 {
                        break;
                    }
                }
                LABEL_KIND => {
                    let low = part.u8()?;
                    let target = usize::from(u16::from_be_bytes([length & !LABEL_KIND, low]));
                    if !jumped {
                        self.position = part.position;
                        jumped = true;
                    }
                    if target >= part_began {
                        return Err(WireError::BadPointer);
                    }
                    part_began = target;
                    part.position = target;
                }
                _ => return Err(WireError::BadName),
            }
        }
        if !jumped {
            self.position = part.position;
        }
        Ok(WireName { bytes })
    }

    /// A name that must be spelled out, as in a question: there is nothing before it to point to.
    pub(crate) fn plain_name(&mut self) -> Result<WireName, WireError> {
        let began = self.position;
        let name = self.name()?;
        let length = self.position.saturating_sub(began);
        if length == name.bytes.len() { Ok(name) } else { Err(WireError::BadPointer) }
    }

    /// A resource record; its data is left unread.
    pub(crate) fn record(&mut self) -> Result<Record<'a>, WireError> {
        let owner = self.name()?;
        let kind = self.u16()?;
        let class = self.u16()?;
        let ttl = self.u32()?;
        let length = usize::from(self.u16()?);
        let data_at = self.position;
        let data = self.take(length)?;
        Ok(Record { owner, kind, class, ttl, data, data_at, message: self.message })
    }
}

/// A resource record.
#[derive(Clone, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) owner: WireName,
    pub(crate) kind: u16,
    pub(crate) class: u16,
    pub(crate) ttl: u32,
    pub(crate) data: &'a [u8],
    data_at: usize,
    message: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the data, in which names may point to what comes earlier in the message.
    pub(crate) fn data_reader(&self) -> Reader<'a> {
        let end = self.data_at.saturating_add(self.data.len());
        // INVARIANT: cut at the end of the data, so that nothing behind it can be read as part of it.
        let message = self.message.get(..end).unwrap_or_default();
        Reader { message, position: self.data_at }
    }
}

/// A name as it stands in a message, uncompressed and with its upper and lower case kept: programs
/// and resolvers compare the case of an answer with that of their question. No host name yet: labels
/// may hold any bytes.
#[derive(Clone, Debug)]
pub(crate) struct WireName {
    /// Length and bytes of each label, and the zero at the end.
    bytes: Vec<u8>,
}

impl WireName {
    /// A host name's wire form. Nothing if a label or the whole does not fit.
    pub(crate) fn from_host(name: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(name.len() + 2);
        for label in name.split('.') {
            let length = u8::try_from(label.len()).ok()?;
            if !(1..=MAX_LABEL).contains(&length) {
                return None;
            }
            bytes.push(length);
            bytes.extend_from_slice(label.as_bytes());
        }
        bytes.push(0);
        (bytes.len() <= MAX_WIRE_NAME).then_some(Self { bytes })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The labels, without the root's empty one.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first()?;
            let (label, behind) = behind.split_at_checked(usize::from(*length))?;
            rest = behind;
            (!label.is_empty()).then_some(label)
        })
    }
}

/// Names differ in more than the case of ASCII letters, or are the same (RFC 4343).
impl PartialEq for WireName {
    fn eq(&self, other: &Self) -> bool {
        // Lengths of labels are below `A`, so folding case leaves them alone.
        self.bytes.eq_ignore_ascii_case(&other.bytes)
    }
}

impl Eq for WireName {}

/// The form of zone files: printable ASCII, everything else as `\DDD`.
impl fmt::Display for WireName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for label in self.labels() {
            formatter.write_str(separator)?;
            for byte in label {
                match byte {
                    b'.' | b'\\' => write!(formatter, "\\{}", char::from(*byte))?,
                    b'!'..=b'~' => write!(formatter, "{}", char::from(*byte))?,
                    other => write!(formatter, "\\{other:03}")?,
                }
            }
            separator = ".";
        }
        if separator.is_empty() { formatter.write_str(".") } else { Ok(()) }
    }
}

/// The two bits that tell a label from a pointer.
const LABEL_KIND: u8 = 0b1100_0000;
const MAX_LABEL: u8 = 63;
const MAX_WIRE_NAME: usize = 255;

/// Length of a message's header.
pub(crate) const HEADER: usize = 12;
/// Header bit: this is an answer.
pub(crate) const IS_ANSWER: u16 = 0x8000;
/// Header bits: what is asked for, 0 for a plain question.
pub(crate) const OPERATION: u16 = 0x7800;
/// Header bit: cut short.
pub(crate) const TRUNCATED: u16 = 0x0200;
/// Header bit: the server shall ask others.
pub(crate) const RECURSION_DESIRED: u16 = 0x0100;
/// Header bit: the server does ask others.
pub(crate) const RECURSION_AVAILABLE: u16 = 0x0080;
/// Header bit: signatures need no checking.
pub(crate) const CHECKING_DISABLED: u16 = 0x0010;
/// Header bits: the outcome.
pub(crate) const OUTCOME: u16 = 0x000f;

pub(crate) const CLASS_INTERNET: u16 = 1;
pub(crate) const TYPE_A: u16 = 1;
pub(crate) const TYPE_CNAME: u16 = 5;
pub(crate) const TYPE_SOA: u16 = 6;
pub(crate) const TYPE_PTR: u16 = 12;
pub(crate) const TYPE_AAAA: u16 = 28;
pub(crate) const TYPE_OPT: u16 = 41;

/// The size of datagram that passes every path unfragmented.
pub(crate) const OWN_PAYLOAD: u16 = 1232;

#[cfg(test)]
mod tests;
