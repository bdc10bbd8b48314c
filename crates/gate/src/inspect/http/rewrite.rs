//! Heads as they are passed on where they cannot stay as they came. Takes fields out and sets
//! `Connection`; never touches a body or the order of the fields that stay.

use super::head;
use super::request::{Form, Place, RequestHead};

/// What becomes of an offer to leave HTTP behind on this connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// There is none.
    Absent,
    /// It is passed on; after an answer of 101 the connection is no longer read.
    Kept,
    /// It is taken out, as every intermediary may. HTTP/2 and TLS would carry requests that cannot be
    /// checked any more; and only the answer to a connection's first request can be told from others
    /// without following them all.
    Removed,
}

impl Switch {
    pub(super) fn of(head: &[u8], place: Place) -> Self {
        let mut offers = head::words(head, "upgrade").peekable();
        if offers.peek().is_none() && !head::fields(head).any(|field| field.is("http2-settings")) {
            return Self::Absent;
        }
        let is_known =
            |word: &[u8]| KNOWN.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
        let harmless = offers.peek().is_some() && offers.all(is_known);
        if place == Place::First && harmless { Self::Kept } else { Self::Removed }
    }

    pub(super) fn apply(self, head: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Absent | Self::Kept => head,
            Self::Removed => without_switch(&head),
        }
    }
}

/// The head with its offer to switch taken out of its fields and of `Connection`.
fn without_switch(head: &[u8]) -> Vec<u8> {
    let is_switch = |name: &[u8]| {
        let names: [&[u8]; 2] = [b"upgrade", b"http2-settings"];
        names.iter().any(|switch| name.eq_ignore_ascii_case(switch))
    };
    let mut out = Vec::with_capacity(head.len());
    push_line(&mut out, &[head::first_line(head)]);
    for field in head::fields(head) {
        if field.is("connection") {
            let words: Vec<&[u8]> = field
                .value
                .split(|byte| *byte == b',')
                .map(<[u8]>::trim_ascii)
                .filter(|word| !word.is_empty() && !is_switch(word))
                .collect();
            if !words.is_empty() {
                push_line(&mut out, &[b"Connection: ", &words.join(&b", "[..])]);
            }
        } else if !is_switch(field.name) {
            push_line(&mut out, &[field.line]);
        }
    }
    push_line(&mut out, &[]);
    out
}

/// See [`RequestHead::in_origin_form`].
pub(super) fn in_origin_form(request: &RequestHead) -> Vec<u8> {
    let head = &request.bytes;
    let first = head::first_line(head);
    let mut out = Vec::with_capacity(head.len() + LONGEST_ADDITION);
    match &request.form {
        Form::Absolute { path, .. } => {
            let version = first.rsplit(|byte| *byte == b' ').next().unwrap_or(b"HTTP/1.1");
            let method = request.method.as_bytes();
            push_line(&mut out, &[method, b" ", path.as_bytes(), b" ", version]);
        }
        Form::Origin | Form::Asterisk | Form::Authority { .. } => push_line(&mut out, &[first]),
    }
    push_line(&mut out, &[b"Host: ", request.host.to_string().as_bytes()]);
    for field in head::end_to_end(head).filter(|field| !field.is("host")) {
        push_line(&mut out, &[field.line]);
    }
    push_line(&mut out, &[b"Connection: close"]);
    push_line(&mut out, &[]);
    out
}

/// A response's head as the last one of its connection.
pub(super) fn closing(head: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + LONGEST_ADDITION);
    push_line(&mut out, &[head::first_line(head)]);
    for field in head::end_to_end(head) {
        push_line(&mut out, &[field.line]);
    }
    push_line(&mut out, &[b"Connection: close"]);
    push_line(&mut out, &[]);
    out
}

fn push_line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

/// Protocols inside of which nobody takes bytes for a request. Of others it is not known: servers have
/// HTTP/2 by more than one name.
const KNOWN: [&str; 2] = ["websocket", "tcp"];
const LONGEST_ADDITION: usize = 64;
