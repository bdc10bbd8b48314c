//! Signatures by the key of an account: a keyed hash over everything that counts in a request. Pure.

use crate::hash::{base64, from_base64, hmac};
use crate::http::Headers;

/// What is asked, and for whom.
pub(super) struct Subject<'a> {
    pub(super) account: &'a str,
    pub(super) method: &'a str,
    /// Escaped.
    pub(super) path: &'a str,
    /// Not escaped, and in order.
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Of the body.
    pub(super) length: usize,
}

impl Subject<'_> {
    /// The header that says who asks; none if the key is no base64.
    pub(super) fn signature(&self, key: &str, headers: &Headers) -> Option<String> {
        let Self { account, method, path, query, length } = self;
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let length = if *length == 0 { String::new() } else { length.to_string() };
        let (is, is_not) = (header("if-match"), header("if-none-match"));
        // In their places: encoding, language, length, hash, type, date, four conditions, range.
        let mut text = format!("{method}\n\n\n{length}\n\n\n\n\n{is}\n{is_not}\n\n\n");
        let mut own: Vec<_> =
            headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).collect();
        // The service sorts as text is sorted, where an underscore comes before all other signs.
        own.sort_by_cached_key(|(name, _)| name.replace('_', " "));
        for (name, value) in own {
            text.push_str(&format!("{name}:{}\n", value.trim()));
        }
        text.push_str(&format!("/{account}{path}"));
        for (name, value) in *query {
            text.push_str(&format!("\n{name}:{value}"));
        }
        let key = from_base64(key)?;
        Some(format!("SharedKey {account}:{}", base64(&hmac(&key, text.as_bytes()))))
    }
}
