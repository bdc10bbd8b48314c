//! Any bytes as a SOCKS client: understood or refused within a bound, never a panic, and in the same way
//! however they are split.
#![no_main]

use gate::inspect::socks::{MAX_STEP, Negotiation, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else { return };
    let split = usize::from(*split).min(bytes.len());
    let whole = run(&[bytes]);
    assert_eq!(run(&[&bytes[..split], &bytes[split..]]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(run(&single), whole);
});

/// All answers, the last step, and the bytes that it leaves.
fn run(parts: &[&[u8]]) -> (Vec<u8>, Step, Vec<u8>) {
    let mut negotiation = Negotiation::new();
    let mut buffer = Vec::new();
    let mut answers = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        buffer.extend_from_slice(part);
        loop {
            match negotiation.advance(&buffer) {
                Step::NeedMore => {
                    assert!(buffer.len() < MAX_STEP);
                    break;
                }
                Step::Answer { consumed, answer } => {
                    assert!(0 < consumed && consumed <= MAX_STEP);
                    buffer.drain(..consumed);
                    answers.extend_from_slice(answer);
                }
                Step::Request { consumed, request } => {
                    assert!(consumed <= MAX_STEP);
                    let mut rest = buffer.split_off(consumed);
                    rest.extend(parts[index + 1..].concat());
                    return (answers, Step::Request { consumed, request }, rest);
                }
                Step::Refuse { answer, denial } => {
                    assert!(denial.reason.chars().all(|character| !character.is_control()));
                    return (answers, Step::Refuse { answer, denial }, Vec::new());
                }
            }
        }
    }
    (answers, Step::NeedMore, buffer)
}
