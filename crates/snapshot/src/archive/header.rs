//! One header of an archive: 512 bytes with a sum over them. Pure.

use super::BLOCK;

/// Numbers and names of a header, as they lie in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) mode: u64,
    pub(super) uid: u64,
    pub(super) gid: u64,
    pub(super) size: u64,
    pub(super) modified: i64,
    pub(super) kind: u8,
    pub(super) link: Vec<u8>,
    pub(super) device: (u64, u64),
}

impl Header {
    /// Reads one whose sum is right.
    pub(super) fn read(block: &[u8; BLOCK]) -> Result<Self, &'static str> {
        let sum = number(&block[148..156]).ok_or("a header's sum is no number")?;
        if sum != checksum(block) {
            return Err("a header's sum is wrong");
        }
        let field = |from: usize, to: usize| {
            number(block.get(from..to).unwrap_or_default()).ok_or("a header has no number")
        };
        let is_ustar = &block[257..262] == b"ustar";
        let mut name = text(&block[..100]);
        if is_ustar && &block[257..263] == b"ustar\0" && block[345] != 0 {
            name = [&text(&block[345..500])[..], b"/", &name].concat();
        }
        let device = if is_ustar { (field(329, 337)?, field(337, 345)?) } else { (0, 0) };
        Ok(Self {
            name,
            mode: field(100, 108)?,
            uid: field(108, 116)?,
            gid: field(116, 124)?,
            size: field(124, 136)?,
            modified: signed(&block[136..148]).ok_or("a header has no time")?,
            kind: block[156],
            link: text(&block[157..257]),
            device,
        })
    }

    /// What fits is in it; the rest is in a header before it.
    pub(super) fn write(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        put(&mut block[..100], &self.name);
        octal(&mut block[100..108], self.mode);
        octal(&mut block[108..116], self.uid);
        octal(&mut block[116..124], self.gid);
        octal(&mut block[124..136], self.size);
        octal(&mut block[136..148], u64::try_from(self.modified).unwrap_or_default());
        block[156] = self.kind;
        put(&mut block[157..257], &self.link);
        put(&mut block[257..265], b"ustar\x0000");
        octal(&mut block[329..337], self.device.0);
        octal(&mut block[337..345], self.device.1);
        let sum = checksum(&block);
        put(&mut block[148..156], format!("{sum:06o}\0 ").as_bytes());
        block
    }
}

/// The sum of all bytes, its own place as spaces.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let at =
        |(at, byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) };
    block.iter().enumerate().map(at).sum()
}

fn text(field: &[u8]) -> Vec<u8> {
    field.iter().copied().take_while(|byte| *byte != 0).collect()
}

/// In octal digits, or as GNU has what is too large for them: in bytes, after a first bit.
fn number(field: &[u8]) -> Option<u64> {
    signed(field).and_then(|number| u64::try_from(number).ok())
}

fn signed(field: &[u8]) -> Option<i64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        // The bit below the first one is the sign.
        let start = i64::from(first & 0x3f) - i64::from(first & 0x40);
        return rest
            .iter()
            .try_fold(start, |all, byte| all.checked_mul(256)?.checked_add(i64::from(*byte)));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ');
    let digits = digits.take_while(|byte| !matches!(**byte, 0 | b' '));
    digits.into_iter().try_fold(0_i64, |all, byte| match byte {
        b'0'..=b'7' => all.checked_mul(8)?.checked_add(i64::from(byte - b'0')),
        _ => None,
    })
}

fn put(place: &mut [u8], bytes: &[u8]) {
    for (place, byte) in place.iter_mut().zip(bytes) {
        *place = *byte;
    }
}

/// A number that is too large for its place is nothing: it is in the header before this one.
fn octal(place: &mut [u8], number: u64) {
    let width = place.len() - 1;
    let text = format!("{number:0width$o}");
    let text = if text.len() > width { "0".repeat(width) } else { text };
    put(place, text.as_bytes());
}
