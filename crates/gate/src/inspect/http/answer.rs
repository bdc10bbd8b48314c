//! Answers that the gatekeeper gives itself, instead of a server. Never lets anything into a field that
//! could end it.

use crate::decision::Denial;

/// Why there is no answer of a server, other than by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The request could not be understood.
    BadRequest,
    /// The server could not be reached.
    Unreachable,
    /// The cage has too much going on at once.
    Busy,
    /// The server did not answer in time.
    TimedOut,
}

/// The answer to a request that the rules refuse: 403 with `X-Stockade-Reason`.
pub fn refusal(denial: &Denial) -> Vec<u8> {
    answer("403 Forbidden", &denial.to_string())
}

/// The answer to a request that failed.
pub fn failure(failure: Failure, reason: &str) -> Vec<u8> {
    let status = match failure {
        Failure::BadRequest => "400 Bad Request",
        Failure::Unreachable => "502 Bad Gateway",
        Failure::Busy => "503 Service Unavailable",
        Failure::TimedOut => "504 Gateway Timeout",
    };
    answer(status, reason)
}

fn answer(status: &str, reason: &str) -> Vec<u8> {
    let reason = as_field(reason);
    let body = format!("stockade: {reason}\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         X-Stockade-Reason: {reason}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The text in printable ASCII, in one line, and of a length that every client takes.
fn as_field(reason: &str) -> String {
    let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    reason.chars().take(LONGEST_REASON).map(printable).collect()
}

/// The answer to a `CONNECT` that has reached its host.
pub const CONNECTION_ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

const LONGEST_REASON: usize = 512;
