//! What a caged program may write to the user's terminal: the filter must not panic, must not keep
//! more than it needs, must not depend on how the bytes are split, and must never let a clipboard
//! command through.
#![no_main]

use cage::terminal_filter::Filter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (split, bytes) = match data.split_first() {
        Some((first, rest)) => (usize::from(*first).min(rest.len()), rest),
        None => return,
    };
    let mut whole = Vec::new();
    Filter::new().pass(bytes, &mut whole);
    let mut parts = Vec::new();
    let mut filter = Filter::new();
    filter.pass(&bytes[..split], &mut parts);
    filter.pass(&bytes[split..], &mut parts);
    assert_eq!(whole, parts);
    assert!(whole.len() <= bytes.len());
    // A terminal acts on most control bytes inside a sequence and goes on with it.
    let acted: Vec<u8> = whole
        .into_iter()
        .filter(|byte| !matches!(byte, 0..=0x17 | 0x19 | 0x1c..=0x1f | 0x7f))
        .collect();
    for clipboard in [&b"\x1b]52;"[..], b"\xc2\x9d52;"] {
        assert!(!acted.windows(clipboard.len()).any(|window| window == clipboard));
    }
});
