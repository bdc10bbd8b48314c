//! Hashes and how they are written. Pure.

use sha2::{Digest as _, Sha256};

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A hash with a key, as RFC 2104 has it.
pub(crate) fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    let short = if key.len() > block.len() { sha256(key).to_vec() } else { key.to_vec() };
    for (place, byte) in block.iter_mut().zip(short) {
        *place = byte;
    }
    let inner = block.map(|byte| byte ^ 0x36);
    let outer = block.map(|byte| byte ^ 0x5c);
    let first = Sha256::new().chain_update(inner).chain_update(text).finalize();
    Sha256::new().chain_update(outer).chain_update(first).finalize().into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash from its digits.
pub(crate) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() {
        return None;
    }
    for (number, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * number..2 * number + 2)?, 16).ok()?;
    }
    Some(hash)
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or_default());
        let all = at(0) << 16 | at(1) << 8 | at(2);
        for index in 0..4_u32 {
            let digit = usize::try_from(all >> (18 - 6 * index) & 63).unwrap_or_default();
            let is_there = index as usize <= three.len();
            let digit = DIGITS.get(digit).copied().filter(|_| is_there).unwrap_or(b'=');
            text.push(char::from(digit));
        }
    }
    text
}

pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut all, mut count) = (0_u32, 0);
    for digit in text.bytes().take_while(|digit| *digit != b'=') {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        all = all << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(all >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests;
