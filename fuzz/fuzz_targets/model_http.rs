//! Any bytes as heads and bodies between a client of a model, the service and a provider: read or refused, never a
//! panic, in the same way however they are split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::http::{BodyReader, Progress, RequestHead, ResponseHead};

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else { return };
    if let Ok(Progress::Head(head, length)) = RequestHead::read(bytes) {
        head.body().ok().iter().for_each(|body| check(body, &bytes[length..], *split));
    }
    if let Ok(Progress::Head(head, length)) = ResponseHead::read(bytes) {
        head.body().ok().iter().for_each(|body| check(body, &bytes[length..], *split));
    }
});

fn check(body: &BodyReader, bytes: &[u8], split: u8) {
    let split = usize::from(split).min(bytes.len());
    let whole = read(body, &[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(read(body, &[&bytes[..split], &bytes[split..]]), whole);
    assert_eq!(read(body, &single), whole);
}

fn read(body: &BodyReader, parts: &[&[u8]]) -> (Vec<u8>, bool) {
    let (mut body, mut content) = (body.clone(), Vec::new());
    for part in parts {
        if body.feed(part, &mut content).is_err() {
            return (content, false);
        }
    }
    (content, body.end().is_ok())
}
