//! One frame: its head, its mask, its payload. Lengths are checked against what the reader takes
//! before anything is kept.

#[cfg(test)]
mod tests;

/// Which side of the connection this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its frames are masked, those it gets are not.
    Client,
    /// The reverse.
    Server,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of the message before.
    Continuation,
    /// The beginning of a text.
    Text,
    /// The beginning of bytes.
    Binary,
    /// The other side closes.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    /// Whether it may come between the frames of a message, whole and short.
    pub fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whether the message ends with it.
    pub is_last: bool,
    /// What it is.
    pub opcode: Opcode,
    /// What its payload is combined with.
    pub mask: Option<[u8; 4]>,
    /// How long its payload is.
    pub length: u64,
    /// How long the head itself is.
    pub size: usize,
}

/// Why a frame cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Bits that only an extension sets, and there is none.
    #[error("a frame has reserved bits")]
    ReservedBits,
    /// An opcode that the RFC does not have.
    #[error("a frame has an unknown opcode")]
    UnknownOpcode,
    /// Not written in the shortest form.
    #[error("a frame's length is not in its shortest form")]
    LongForm,
    /// Longer than any frame may be, by the RFC.
    #[error("a frame's length has its first bit set")]
    NegativeLength,
    /// A ping, pong or close that is long or in parts.
    #[error("a control frame is long or in parts")]
    BadControl,
    /// A client must mask, a server must not.
    #[error("a frame is masked where it must not be, or the reverse")]
    WrongMask,
}

impl Head {
    /// Reads a head: none as long as there is not all of it.
    pub fn read(bytes: &[u8], role: Role) -> Result<Option<Self>, FrameError> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(FrameError::ReservedBits);
        }
        let opcode = Opcode::from_bits(first & 0x0f).ok_or(FrameError::UnknownOpcode)?;
        let is_last = first & 0x80 != 0;
        let is_masked = second & 0x80 != 0;
        if is_masked != (role == Role::Server) {
            return Err(FrameError::WrongMask);
        }
        let short = second & 0x7f;
        if opcode.is_control() && (!is_last || short > 125) {
            return Err(FrameError::BadControl);
        }
        let (length, rest, length_size) = match (short, rest) {
            (126, [a, b, rest @ ..]) => (u64::from(u16::from_be_bytes([*a, *b])), rest, 2),
            (127, [a, b, c, d, e, f, g, h, rest @ ..]) => {
                (u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), rest, 8)
            }
            (126 | 127, _) => return Ok(None),
            (short, rest) => (u64::from(short), rest, 0),
        };
        let least = match length_size {
            2 => 126,
            8 => 1 << 16,
            _ => 0,
        };
        if length < least {
            return Err(FrameError::LongForm);
        }
        if length > i64::MAX.unsigned_abs() {
            return Err(FrameError::NegativeLength);
        }
        let (mask, mask_size) = match (is_masked, rest) {
            (false, _) => (None, 0),
            (true, [a, b, c, d, ..]) => (Some([*a, *b, *c, *d]), 4),
            (true, _) => return Ok(None),
        };
        Ok(Some(Self { is_last, opcode, mask, length, size: 2 + length_size + mask_size }))
    }
}

/// A whole frame. A client gives a mask that nobody can foresee; a server gives none.
pub fn encode(opcode: Opcode, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode.bits());
    let masked = if mask.is_some() { 0x80 } else { 0 };
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..=125), _) => frame.push(masked | length),
        (_, Ok(length)) => {
            frame.push(masked | 126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(masked | 127);
            frame.extend(u64::try_from(payload.len()).unwrap_or(u64::MAX).to_be_bytes());
        }
    }
    frame.extend(mask.iter().flatten());
    let start = frame.len();
    frame.extend_from_slice(payload);
    if let (Some(mask), Some(copied)) = (mask, frame.get_mut(start..)) {
        apply_mask(copied, mask);
    }
    frame
}

/// Masks or unmasks, which is the same.
pub fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    for (byte, key) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}
