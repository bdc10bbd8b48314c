//! Any bytes as the requests of an HTTP client: read or refused, never a panic, in the same way however
//! they are split; and whatever is read is read again as the same request by a second reader.
#![no_main]

use gate::inspect::http::{
    Answer, HttpError, MAX_FIELDS, RequestHead, Requests, ResponseReader, Step,
};
use gate::inspect::{Classifier, FirstBytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else { return };
    let split = usize::from(*split).min(bytes.len());
    let whole = run(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for parts in [&[&bytes[..split], &bytes[split..]][..], &single] {
        let other = run(parts);
        assert_eq!((&other.heads, &other.error), (&whole.heads, &whole.error));
        assert!(other.bodies.starts_with(&whole.bodies));
        assert!(whole.error.is_some() || other.bodies == whole.bodies);
        assert_eq!(classify(parts), classify(&[bytes]));
        assert_eq!(answers(parts), answers(&[bytes]));
    }
    if !whole.heads.is_empty() {
        assert_eq!(Classifier::new().feed(bytes), FirstBytes::Http);
    }
    whole.heads.iter().for_each(check_head);
});

#[derive(Default)]
struct Seen {
    heads: Vec<RequestHead>,
    bodies: Vec<u8>,
    error: Option<HttpError>,
}

fn run(parts: &[&[u8]]) -> Seen {
    let mut requests = Requests::new();
    let mut seen = Seen::default();
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            match requests.next(rest) {
                Ok(Step::NeedMore) => break,
                Ok(Step::Head { consumed, head }) => {
                    seen.heads.push(*head);
                    rest = &rest[consumed..];
                }
                Ok(Step::Body { consumed }) => {
                    assert!(consumed > 0);
                    seen.bodies.extend_from_slice(&rest[..consumed]);
                    rest = &rest[consumed..];
                }
                Err(error) => {
                    seen.error = Some(error);
                    return seen;
                }
            }
        }
    }
    seen
}

fn classify(parts: &[&[u8]]) -> FirstBytes {
    let mut classifier = Classifier::new();
    parts.iter().fold(FirstBytes::NeedMore, |_, part| classifier.feed(part))
}

fn answers(parts: &[&[u8]]) -> (Vec<u16>, Option<HttpError>) {
    let mut reader = ResponseReader::new();
    let mut statuses = Vec::new();
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            match reader.next(rest) {
                Ok(Answer::NeedMore) => break,
                Ok(Answer::Head { consumed, head }) => {
                    let closing = head.closing();
                    let again = ResponseReader::new().next(&closing);
                    assert!(
                        at_the_bound(&head.bytes)
                            || matches!(again, Ok(Answer::Head { consumed, .. }) if consumed == closing.len())
                    );
                    statuses.push(head.status);
                    rest = &rest[consumed..];
                }
                Err(error) => return (statuses, Some(error)),
            }
        }
    }
    (statuses, None)
}

/// What is passed on means to the next reader what it meant here.
fn check_head(head: &RequestHead) {
    let again = |bytes: &[u8]| match Requests::new().next(bytes) {
        Ok(Step::Head { consumed, head }) if consumed == bytes.len() => *head,
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    };
    let passed = again(&head.bytes);
    assert_eq!((&passed.method, &passed.form, passed.body), (&head.method, &head.form, head.body));
    assert_eq!(passed.host, head.host);
    if at_the_bound(&head.bytes) {
        return;
    }
    let plain = again(&head.in_origin_form());
    assert_eq!((&plain.method, &plain.host, plain.body), (&head.method, &head.host, head.body));
    assert!(!plain.may_switch);
}

/// Whether a head has as many fields as we take. One is added on the way, and the next reader need
/// not have our bound.
fn at_the_bound(head: &[u8]) -> bool {
    head.iter().filter(|byte| **byte == b'\n').count() >= MAX_FIELDS
}
