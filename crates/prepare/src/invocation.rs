//! The name of one start: a ULID, 48 bits of time in milliseconds and 80 random bits in Crockford's
//! base 32; and the ids, taken from the same random bits, that a cage of root acts with. Unique and
//! sortable; never a secret.

use std::time::{SystemTime, UNIX_EPOCH};

use plan::HostIds;
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

#[cfg(test)]
mod tests;

/// What one start is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The ULID.
    pub text: String,
    /// Host ids that own nothing, for a cage that root starts.
    pub unowned: HostIds,
}

impl Name {
    /// A new name.
    pub fn new() -> Result<Self, Errno> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut random = [0_u8; 10];
        let mut filled = 0;
        while let Some(rest) = random.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match rustix::rand::getrandom(rest, GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(Self::of(since_epoch.as_millis(), random))
    }

    fn of(milliseconds: u128, random: [u8; 10]) -> Self {
        let random = random.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let id = FIRST_UNOWNED + u32::try_from(random % UNOWNED_IDS).unwrap_or_default();
        Self { text: encode(milliseconds, random), unowned: HostIds { uid: id, gid: id } }
    }
}

/// 26 characters of 5 bits each, the first of which holds only 3.
fn encode(milliseconds: u128, random: u128) -> String {
    let value = (milliseconds & TIME_MASK) << RANDOM_BITS | random;
    let digit = |position: u32| {
        let index = usize::try_from(value >> (position * 5) & 31).unwrap_or_default();
        char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
    };
    (0..LENGTH).rev().map(digit).collect()
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: u32 = 26;
const RANDOM_BITS: u32 = 80;
const TIME_MASK: u128 = (1 << 48) - 1;

/// Above the ids that distributions, containers and directory services hand out, and below those
/// that are negative in 32 bits.
const FIRST_UNOWNED: u32 = 1_900_000_000;
const UNOWNED_IDS: u128 = 100_000_000;
