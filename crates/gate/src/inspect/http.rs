//! HTTP/1 as a client sends it through the gatekeeper: which host each request is for, and where it
//! ends. Strict on purpose: whatever two parsers could read in two ways is refused, because the server
//! behind is the second parser. Never decides whether a host is allowed.
//!
//! Every method is taken, TRACE too: the gatekeeper adds nothing to a request that TRACE could show.

mod answer;
mod authority;
mod chunks;
mod head;
mod lines;
mod request;
mod requests;
mod response;
mod rewrite;

pub use answer::{CONNECTION_ESTABLISHED, Failure, failure, refusal};
pub use authority::Authority;
pub use request::{BodyLength, Form, RequestHead, Scheme};
pub use requests::{Requests, Step};
pub use response::{Answer, ResponseHead, ResponseReader};

use crate::decision::{Denial, DenialCode};

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// A carriage return without a line feed, or the other way round.
    #[error("a line of the HTTP message does not end in CR LF")]
    BareLineEnd,
    /// A NUL or another control character.
    #[error("the HTTP message has a control character in its head")]
    ControlCharacter,
    /// An empty line where a request should begin.
    #[error("the HTTP message begins with an empty line")]
    LeadingBlank,
    /// More than 64 KiB.
    #[error("the head of the HTTP message is longer than 64 KiB")]
    HeadTooLong,
    /// More than 128 fields.
    #[error("the HTTP message has more than 128 header fields")]
    TooManyFields,
    /// A first line that is none.
    #[error("the first line of the HTTP message is malformed")]
    BadFirstLine,
    /// HTTP/0.9, or something later than 1.1.
    #[error("the request is neither HTTP/1.0 nor HTTP/1.1")]
    OtherVersion,
    /// `PRI * HTTP/2.0`.
    #[error("the client begins with HTTP/2, whose requests cannot be checked without TLS")]
    Http2,
    /// A field without a name, with white space around it, or folded over lines.
    #[error("a header field of the HTTP message is malformed")]
    BadField,
    /// A field that says how to read the message is declared to be for the next hop alone.
    #[error("the HTTP request declares a field as hop-by-hop that has to stay")]
    FramingIsHopByHop,
    /// A target that is neither path, URL, authority nor `*` where it may be.
    #[error("the target of the HTTP request is malformed")]
    BadTarget,
    /// No `Host`.
    #[error("the HTTP request has no Host field")]
    NoHost,
    /// Two of them.
    #[error("the HTTP request has several Host fields")]
    SeveralHosts,
    /// One that is no host.
    #[error("the HTTP request names a bad host: {0}")]
    BadHost(String),
    /// URL and `Host` name two hosts.
    #[error("the URL and the Host field of the HTTP request name different hosts")]
    HostsDisagree,
    /// A length and an encoding.
    #[error("the HTTP request has both a Content-Length and a Transfer-Encoding")]
    LengthAndEncoding,
    /// Several lengths, or one that is no number.
    #[error("the HTTP request has no single plain Content-Length")]
    BadLength,
    /// Something else than `chunked` alone, or that in HTTP/1.0.
    #[error("the HTTP request has another Transfer-Encoding than `chunked`")]
    BadEncoding,
    /// A chunk that does not begin or end as it should.
    #[error("a chunk of the HTTP request is malformed")]
    BadChunk,
    /// A chunk whose size or extension is too long.
    #[error("the size line of a chunk of the HTTP request is too long")]
    ChunkLineTooLong,
    /// A field after the last chunk that belongs before the first.
    #[error("the HTTP request has a trailer field that only a head may have")]
    BadTrailer,
}

impl From<HttpError> for Denial {
    fn from(error: HttpError) -> Self {
        Self::new(DenialCode::HttpRefused, error.to_string())
    }
}

/// The longest head, and the longest trailer section.
pub const MAX_HEAD: usize = 64 * 1024;
/// The most header fields.
pub const MAX_FIELDS: usize = 128;

#[cfg(test)]
mod tests;
