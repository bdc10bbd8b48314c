//! Messages of a peer, read from bytes that may be anything: every length is checked before it is
//! used, and what is too long or too deep is malformed. Pure.

#[cfg(test)]
mod tests;

use super::BusError;

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: MessageKind,
    /// The call that it answers.
    pub reply_serial: Option<u32>,
    /// The interface of a signal.
    pub interface: Option<String>,
    /// The name of a signal.
    pub member: Option<String>,
    /// The name of an error.
    pub error_name: Option<String>,
    /// The types of its values.
    pub signature: String,
    body: Vec<u8>,
    order: Order,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Somebody wants something of us.
    Call,
    /// The answer to a call.
    Reply,
    /// The answer to a call that failed.
    Error,
    /// Something happened.
    Signal,
    /// A kind that nobody knows yet, to be passed over.
    Unknown,
}

/// In which order a peer writes the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Message {
    /// Reads its values.
    pub fn reader(&self) -> Reader<'_> {
        Reader { bytes: &self.body, at: 0, order: self.order }
    }
}

/// Reads the first message of what has arrived, and says how many bytes it had; none if it has not
/// arrived in full.
pub fn decode(arrived: &[u8]) -> Result<Option<(Message, usize)>, BusError> {
    let Some([endianness, kind, _flags, version]) = arrived.first_chunk() else { return Ok(None) };
    let order = match endianness {
        b'l' => Order::Little,
        b'B' => Order::Big,
        _ => return Err(BusError::Malformed),
    };
    if *version != 1 || *kind == 0 {
        return Err(BusError::Malformed);
    }
    let mut reader = Reader { bytes: arrived, at: 4, order };
    let Some(fixed) = arrived.get(..FIXED) else { return Ok(None) };
    reader.bytes = fixed;
    let body_length = index(reader.number()?);
    let _serial = reader.number()?;
    let fields_length = index(reader.number()?);
    let header = FIXED.saturating_add(fields_length).next_multiple_of(8);
    let total = header.saturating_add(body_length);
    if fields_length > MOST || body_length > MOST {
        return Err(BusError::Malformed);
    }
    let Some(whole) = arrived.get(..total) else { return Ok(None) };
    let (header, body) = whole.split_at_checked(header).ok_or(BusError::Malformed)?;
    let kind = match kind {
        1 => MessageKind::Call,
        2 => MessageKind::Reply,
        3 => MessageKind::Error,
        4 => MessageKind::Signal,
        _ => MessageKind::Unknown,
    };
    let mut message = Message {
        kind,
        reply_serial: None,
        interface: None,
        member: None,
        error_name: None,
        signature: String::new(),
        body: body.to_vec(),
        order,
    };
    let end = FIXED.checked_add(fields_length).ok_or(BusError::Malformed)?;
    let fields = header.get(..end).ok_or(BusError::Malformed)?;
    let mut reader = Reader { bytes: fields, at: FIXED, order };
    while !reader.is_at_end() {
        reader.align(8)?;
        message.take_field(&mut reader)?;
    }
    Ok(Some((message, total)))
}

impl Message {
    fn take_field(&mut self, reader: &mut Reader<'_>) -> Result<(), BusError> {
        let code = reader.byte()?;
        let signature = reader.signature()?;
        match (code, signature) {
            (2, "s") => self.interface = Some(reader.text()?.to_owned()),
            (3, "s") => self.member = Some(reader.text()?.to_owned()),
            (4, "s") => self.error_name = Some(reader.text()?.to_owned()),
            (5, "u") => self.reply_serial = Some(reader.number()?),
            (8, "g") => self.signature = reader.signature()?.to_owned(),
            (2..=5 | 8, _) => return Err(BusError::Malformed),
            (_, other) => reader.skip(other)?,
        }
        Ok(())
    }
}

/// Values one after the other. The caller knows their types, or skips them by their signature.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Reader<'a> {
    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// `y`
    pub fn byte(&mut self) -> Result<u8, BusError> {
        let [byte] = self.chunk()?;
        Ok(byte)
    }

    /// `u`
    pub fn number(&mut self) -> Result<u32, BusError> {
        self.align(4)?;
        let bytes = self.chunk()?;
        Ok(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    /// `s`, and `o`, which has the same form.
    pub fn text(&mut self) -> Result<&'a str, BusError> {
        let length = index(self.number()?);
        self.terminated(length)
    }

    /// `g`
    pub fn signature(&mut self) -> Result<&'a str, BusError> {
        let length = usize::from(self.byte()?);
        self.terminated(length)
    }

    /// `a…`: calls `element` as long as there is one.
    pub fn array(
        &mut self,
        alignment: usize,
        mut element: impl FnMut(&mut Self) -> Result<(), BusError>,
    ) -> Result<(), BusError> {
        let length = index(self.number()?);
        self.align(alignment)?;
        let end = self.at.checked_add(length).ok_or(BusError::Malformed)?;
        let bytes = self.bytes.get(..end).ok_or(BusError::Malformed)?;
        let mut inner = Self { bytes, at: self.at, order: self.order };
        while !inner.is_at_end() {
            let before = inner.at;
            element(&mut inner)?;
            if inner.at == before {
                // Elements without a size would never end.
                return Err(BusError::Malformed);
            }
        }
        self.at = end;
        Ok(())
    }

    /// `(…)`: the fields follow.
    pub fn structure(&mut self) -> Result<(), BusError> {
        self.align(8)
    }

    /// Passes over values of these types.
    pub fn skip(&mut self, signature: &str) -> Result<(), BusError> {
        let mut types = signature.as_bytes();
        while !types.is_empty() {
            self.skip_one(&mut types, 0)?;
        }
        Ok(())
    }

    fn skip_one(&mut self, types: &mut &[u8], depth: usize) -> Result<(), BusError> {
        if depth > DEEPEST {
            return Err(BusError::Malformed);
        }
        let (first, rest) = types.split_first().ok_or(BusError::Malformed)?;
        *types = rest;
        match first {
            b'y' => self.byte().map(drop),
            b'n' | b'q' => self.skip_aligned(2),
            b'b' | b'i' | b'u' | b'h' => self.skip_aligned(4),
            b'x' | b't' | b'd' => self.skip_aligned(8),
            b's' | b'o' => self.text().map(drop),
            b'g' => self.signature().map(drop),
            b'v' => {
                let inner = self.signature()?;
                let mut inner = inner.as_bytes();
                self.skip_one(&mut inner, depth.saturating_add(1))?;
                if inner.is_empty() { Ok(()) } else { Err(BusError::Malformed) }
            }
            b'a' => self.skip_array(types),
            b'(' | b'{' => {
                let close = if *first == b'(' { b')' } else { b'}' };
                self.align(8)?;
                while types.first() != Some(&close) {
                    self.skip_one(types, depth.saturating_add(1))?;
                }
                *types = types.get(1..).unwrap_or_default();
                Ok(())
            }
            _ => Err(BusError::Malformed),
        }
    }

    /// The length says where an array ends, so its elements need not be looked at; only their type
    /// has to be passed over.
    fn skip_array(&mut self, types: &mut &[u8]) -> Result<(), BusError> {
        let length = index(self.number()?);
        let first = types.first().ok_or(BusError::Malformed)?;
        self.align(match first {
            b'y' | b'g' | b'v' => 1,
            b'n' | b'q' => 2,
            b'x' | b't' | b'd' | b'(' | b'{' => 8,
            _ => 4,
        })?;
        let mut depth = 0_usize;
        loop {
            let (one, rest) = types.split_first().ok_or(BusError::Malformed)?;
            *types = rest;
            match one {
                b'(' | b'{' => depth = depth.saturating_add(1),
                b')' | b'}' => depth = depth.checked_sub(1).ok_or(BusError::Malformed)?,
                _ => {}
            }
            if depth == 0 && *one != b'a' {
                break;
            }
        }
        self.take(length).map(drop)
    }

    fn skip_aligned(&mut self, size: usize) -> Result<(), BusError> {
        self.align(size)?;
        self.take(size).map(drop)
    }

    /// Text with a zero byte behind it, which does not count, and none within.
    fn terminated(&mut self, length: usize) -> Result<&'a str, BusError> {
        let text = self.take(length)?;
        if self.byte()? != 0 || text.contains(&0) {
            return Err(BusError::Malformed);
        }
        std::str::from_utf8(text).map_err(|_| BusError::Malformed)
    }

    /// Padding is of zero bytes.
    pub(super) fn align(&mut self, alignment: usize) -> Result<(), BusError> {
        let aligned = self.at.next_multiple_of(alignment);
        let padding = self.take(aligned.saturating_sub(self.at))?;
        if padding.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(BusError::Malformed) }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], BusError> {
        let end = self.at.checked_add(length).ok_or(BusError::Malformed)?;
        let taken = self.bytes.get(self.at..end).ok_or(BusError::Malformed)?;
        self.at = end;
        Ok(taken)
    }

    fn chunk<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], BusError> {
        self.take(SIZE)?.first_chunk().copied().ok_or(BusError::Malformed)
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What comes before the header's fields.
const FIXED: usize = 16;
/// Nothing that we ask for has an answer that long.
const MOST: usize = 1 << 20;
const DEEPEST: usize = 16;
