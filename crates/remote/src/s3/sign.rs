//! Signatures of requests, version 4: a keyed hash over everything that counts in a request. Pure.

use sha2::{Digest as _, Sha256};

use crate::time;

/// Who signs.
pub(super) struct Signer {
    pub(super) key_id: String,
    pub(super) key: String,
    pub(super) token: Option<String>,
    pub(super) region: String,
}

/// What is asked of whom.
pub(super) struct Subject<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// Escaped.
    pub(super) path: &'a str,
    /// Escaped and in order.
    pub(super) query: &'a str,
}

impl Signer {
    /// All headers of the request, the signature among them.
    pub(super) fn sign(
        &self,
        subject: &Subject<'_>,
        headers: &[(&'static str, String)],
        body: &[u8],
        now: i64,
    ) -> Vec<(&'static str, String)> {
        let moment = time::compact(now);
        let day = moment.get(..8).unwrap_or_default();
        let content = hex(&sha256(body));
        let mut all = headers.to_vec();
        all.push(("x-amz-content-sha256", content.clone()));
        all.push(("x-amz-date", moment.clone()));
        if let Some(token) = &self.token {
            all.push(("x-amz-security-token", token.clone()));
        }
        let mut signed: Vec<(&str, &str)> =
            all.iter().map(|(name, value)| (*name, value.trim())).collect();
        signed.push(("host", subject.host));
        signed.sort_unstable();
        let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String =
            signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let Subject { method, path, query, .. } = subject;
        let request = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{content}");
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text =
            format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hex(&sha256(request.as_bytes())));
        let mut key = hmac(format!("AWS4{}", self.key).as_bytes(), day.as_bytes());
        for part in [self.region.as_str(), "s3", "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        let signature = hex(&hmac(&key, text.as_bytes()));
        let credential = &self.key_id;
        let value = format!(
            "AWS4-HMAC-SHA256 Credential={credential}/{scope}, SignedHeaders={names}, \
             Signature={signature}"
        );
        all.push(("authorization", value));
        all
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A hash with a key, as RFC 2104 has it.
fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
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

pub(super) fn base64(bytes: &[u8]) -> String {
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

pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
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
