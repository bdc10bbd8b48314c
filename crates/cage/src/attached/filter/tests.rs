//! What reaches a terminal and what does not, whole and split at every byte.

use super::*;

fn check(input: &[u8], expected: &[u8]) {
    for split in 0..=input.len() {
        let mut filter = Filter::new();
        let mut passed = Vec::new();
        filter.pass(&input[..split], &mut passed);
        filter.pass(&input[split..], &mut passed);
        assert_eq!(passed, expected, "split at {split} of {:?}", String::from_utf8_lossy(input));
    }
}

/// T20
#[test]
fn what_draws_passes_untouched() {
    for input in [
        &b"plain \xc3\xa9 text\r\n"[..],
        b"\x1b[31mred\x1b[0m \x1b[2J\x1b[?1049h\x1b[6n",
        b"\x1b]0;a title\x07after",
        b"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
        b"\x1bPq#0;2;0;0;0\x1b\\sixel",
        b"\x1bP0;1;0q\"1;1;2;2#0~~\x1b\\\x1bP=1s\x1b\\frame\x1bP=2s\x1b\\",
        b"\xc2\xa0no-break space",
        b"\x1b(B\x1b=\x1bM",
        b"\x1b[18t\x1b[22;0;0t\x1b[23;0;0t\x1b[1;1;2;2;1$t",
    ] {
        check(input, input);
    }
}

/// T20
#[test]
fn what_acts_beyond_the_screen_is_taken_out() {
    check(b"a\x1b]52;c;ZXZpbA==\x07b", b"ab");
    check(b"a\x1b]52;c;ZXZpbA==\x1b\\b", b"ab");
    check(b"a\xc2\x9d52;c;ZXZpbA==\xc2\x9cb", b"ab");
    check(b"a\x1b]8;;file:///etc/passwd\x07b", b"ab");
    check(b"a\x1b[21tb", b"ab");
    check(b"a\x1b[021;0tb", b"ab");
    check(b"a\x1b[8;1;1tb\x1b[2t\x1b[3;0;0t\x1b[48t\x1b[t", b"ab");
    check(b"a\x1b[5ib\x1b[?5i\x1b[4i", b"ab");
    check(b"a\x1b]7;file://host/tmp/evil\x07b", b"ab");
    check(b"a\x1bP$qm\x1b\\b", b"ab");
    check(b"a\x1bP@kitty-cmd{\"cmd\":\"launch\"}\x1b\\b", b"ab");
    check(b"a\x1bP\0@kitty-cmd{}\x1b\\b\xc2\x90@kitty-cmd{}\xc2\x9c", b"ab");
    check(b"a\x1bP1000p\x1b\\b\x1bP1;0;1!z1b5d\x1b\\\x1bPtmux;x\x1b\\\x1bP=3s\x1b\\", b"ab");
    check(b"a\x1bP1;1|17/41\x1b\\b\x1bP+q544e\x1b\\\x1bP1$tx\x1b\\\x1bP>|x\x1b\\", b"ab");
    check(b"a\x05b", b"ab");
    check(b"a\x1b_G payload\x1b\\b", b"ab");
}

/// A terminal that was told to leave UTF-8 would take what is not looked for as controls.
#[test]
fn the_terminal_keeps_reading_utf_8() {
    check(b"a\x1b%@b", b"ab");
    check(b"\x1b%\x1b%@b", b"\x1b%b");
    check(b"a\x1b%\r@b", b"a\rb");
    check(b"\x1b%G\x1b%/Gb", b"\x1b%G\x1b%/Gb");
}

/// T20
#[test]
fn an_endless_string_is_dropped_and_costs_no_memory() {
    let mut input = b"a\x1b]0;".to_vec();
    input.extend(std::iter::repeat_n(b'x', 100_000));
    let mut filter = Filter::new();
    let mut passed = Vec::new();
    filter.pass(&input, &mut passed);
    assert!(filter.held.len() <= LONGEST_STRING);
    filter.pass(b"\x07b", &mut passed);
    assert_eq!(passed, b"ab");
}

/// T20
#[test]
fn a_sequence_hidden_in_another_is_seen() {
    check(b"\x1b[3\x1b]52;c;eA==\x07z", b"\x1b[3z");
    check(b"\x1b]0;t\x1b]52;c;eA==\x07z", b"z");
    check(b"\x1b\x1b]52;c;eA==\x07z", b"\x1bz");
    check(b"\xc2\x1b]52;c;eA==\x07z", b"\xc2z");
    check(b"\x1b\xc2\x9d52;c;eA==\x07z", b"\x1bz");
    check(b"\x1b[3\xc2\x9d52;c;eA==\x07z", b"\x1b[3z");
    check(b"\x1b]0;t\xc2\x9d52;c;eA==\x07z", b"z");
    check(b"\xc2\xc2\x9d52;c;eA==\x07z", b"\xc2z");
}

/// T20: a control byte inside a sequence acts at once and leaves the sequence open.
#[test]
fn a_sequence_with_control_bytes_in_it_is_seen() {
    check(b"\x1b\x05]52;c;eA==\x07z", b"z");
    check(b"\x1b\x00]52;c;eA==\x07z", b"\x00z");
    check(b"\x1b\n]52;c;eA==\x07z", b"\nz");
    check(b"\x1b\x7f]52;c;eA==\x07z", b"\x7fz");
    check(b"\x1b[2\x001tz", b"\x00z");
    check(b"\x1b]5\x002;c;eA==\x07z", b"z");
    check(b"\x1b]\x1852;c;eA==", b"52;c;eA==");
}
