//! Signatures of requests, version 4: a keyed hash over everything that counts in a request. Pure.

use crate::hash::{hex, hmac, sha256};
use crate::http::Headers;
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
        headers: &Headers,
        body: &[u8],
        now: i64,
    ) -> Headers {
        let moment = time::compact(now);
        let day = moment.get(..8).unwrap_or_default();
        let content = hex(&sha256(body));
        let mut all = headers.clone();
        all.push(("x-amz-content-sha256".into(), content.clone()));
        all.push(("x-amz-date".into(), moment.clone()));
        if let Some(token) = &self.token {
            all.push(("x-amz-security-token".into(), token.clone()));
        }
        // Spaces count once.
        let once = |value: &str| value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let mut signed: Vec<(&str, String)> =
            all.iter().map(|(name, value)| (name.as_ref(), once(value))).collect();
        signed.push(("host", subject.host.to_owned()));
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
        all.push(("authorization".into(), value));
        all
    }
}

#[cfg(test)]
mod tests;
