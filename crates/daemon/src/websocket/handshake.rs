//! The one computation of the opening handshake: the answer to a client's key. Proves nothing but
//! that the server speaks WebSocket.

use sha1::{Digest as _, Sha1};

#[cfg(test)]
mod tests;

/// What `Sec-WebSocket-Accept` says to a `Sec-WebSocket-Key` (RFC 6455, 4.2.2).
pub fn accept_key(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    base64(&hash.finalize())
}

/// Bytes in base64 with padding (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            let six = (bits >> (18 - 6 * position)) & 0x3f;
            text.push(if position <= group.len() { letter(six) } else { '=' });
        }
    }
    text
}

fn letter(six: u32) -> char {
    let at = |first: char, distance: u32| char::from_u32(u32::from(first) + distance);
    let letter = match six {
        0..=25 => at('A', six),
        26..=51 => at('a', six - 26),
        52..=61 => at('0', six - 52),
        62 => Some('+'),
        _ => Some('/'),
    };
    letter.unwrap_or('/')
}
