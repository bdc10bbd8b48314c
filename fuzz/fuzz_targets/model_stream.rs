//! Any bytes as the answer of a model: read or refused, never a panic, in the same way however they are split, by each
//! protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::sse::{Event, Parser};
use model::{Delta, Protocol};

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else { return };
    let split = usize::from(*split).min(bytes.len());
    let whole = events(&[bytes]);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for parts in [&[&bytes[..split], &bytes[split..]][..], &single] {
        assert_eq!(events(parts), whole);
    }
    for protocol in [Protocol::Anthropic, Protocol::Completions, Protocol::Responses] {
        let mut decoder = protocol.decoder();
        let mut shown: Vec<Delta> = Vec::new();
        if whole.0.iter().all(|event| decoder.take(event, &mut |delta| shown.push(delta)).is_ok()) {
            let _reply = decoder.finish();
        }
    }
});

/// What is read, and whether all of it was. Of a stream that is refused only that is the same: what came before it
/// depends on when it was refused.
fn events(parts: &[&[u8]]) -> (Vec<Event>, bool) {
    let (mut parser, mut events) = (Parser::new(4096), Vec::new());
    for part in parts {
        if parser.feed(part, &mut |event| events.push(event)).is_err() {
            return (events, false);
        }
    }
    (events, true)
}
