//! What reaches a terminal and what does not, whole and split at every byte, and what is undone afterwards.

use super::*;

/// What a terminal gets of bytes that come in two parts.
fn passed(answers: Answers, parts: &[(Source, &[u8])]) -> Vec<u8> {
    let mut filter = Filter::new(answers);
    let mut passed = Vec::new();
    for (source, bytes) in parts {
        filter.pass(*source, bytes, &mut passed);
    }
    passed
}

#[track_caller]
fn check(input: &[u8], expected: &[u8]) {
    for split in 0..=input.len() {
        let (first, second) = input.split_at(split);
        let parts = [(Source::Output, first), (Source::Output, second)];
        let passed = passed(Answers::ToProgram, &parts);
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(shown(&passed), shown(expected), "split at {split} of {}", shown(input));
    }
}

#[track_caller]
fn check_dropped(sequences: &[&[u8]]) {
    for sequence in sequences {
        check(&[b"a", *sequence, b"b"].concat(), b"ab");
    }
}

/// T20
#[test]
fn what_draws_passes_untouched() {
    for input in [
        &b"plain \xc3\xa9 text\r\n\ttab\x08\x07"[..],
        b"\x1b[31mred\x1b[0m \x1b[2J\x1b[?1049h",
        b"\x1b[38;5;11m\x1b[38:2::1:2:3m\x1b[4:3m\x1b[58;2;1;2;3m\x1b[1;3;4;7;38;2;1;2;3;48;2;4;5;6m",
        b"\x1b[H\x1b[3;4H\x1b[K\x1b[1K\x1b[5A\x1b[2L\x1b[3M\x1b[4P\x1b[2@\x1b[9X\x1b[2;9r\x1b[r\x1b[3b",
        b"\x1b]0;a title\x07after",
        b"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
        b"\x1bPq#0;2;0;0;0\x1b\\sixel",
        b"\x1bP0;1;0q\"1;1;2;2#0~~\x1b\\\x1bP=1s\x1b\\frame\x1bP=2s\x1b\\",
        b"\xc2\xa0no-break space \xe2\x82\xac \xf0\x9f\xa6\x80",
        b"\x1b(B\x1b(0\x1b)0\x1b=\x1b>\x1bM\x1b7\x1b8\x1bH\x1bc\x0e\x0f\x1b%G",
        b"\x1b[22;0;0t\x1b[23;0;0t\x1b[1;1;2;2;1$t\x1b[32;1;1;2;2$x",
        b"\x1b[?25l\x1b[?12;25h\x1b[?1006;1000h\x1b[?2004h\x1b[4h\x1b[4l\x1b[34h\x1b[!p",
        b"\x1b[2 q\x1b[?1c\x1b[>4;2m\x1b[>4;m\x1b[>1u\x1b[<u\x1b[=0u\x1b[?3;4l",
        b"\x1b]4;1;rgb:00/00/00\x1b\\\x1b]104\x07\x1b]10;#ffffff\x07\x1b]110\x07\x1b]133;A\x07",
    ] {
        check(input, input);
    }
}

/// What vim, tmux and others ask a terminal of their own, and only there: the user's shell would have to read the answers.
#[test]
fn questions_pass_where_the_program_hears_the_answer() {
    for question in [
        &b"\x1b[c"[..],
        b"\x1b[0c",
        b"\x1b[>c",
        b"\x1b[>0q",
        b"\x1b[5n",
        b"\x1b[6n",
        b"\x1b[?6n",
        b"\x1b[?996n",
        b"\x1b[?2026$p",
        b"\x1b[4$p",
        b"\x1b[14t",
        b"\x1b[14;2t",
        b"\x1b[16t",
        b"\x1b[18t",
        b"\x1b[?u",
        b"\x1b[?4m",
        b"\x1b]10;?\x07",
        b"\x1b]11;?\x1b\\",
        b"\x1b]4;1;?;2;?\x07",
    ] {
        check(question, question);
        let text = passed(Answers::ToOthers, &[(Source::Output, question)]);
        assert!(text.is_empty(), "{}", question.escape_ascii());
    }
}

/// T20, T71
#[test]
fn what_acts_beyond_the_screen_is_taken_out() {
    check_dropped(&[
        b"\x1b]52;c;ZXZpbA==\x07",
        b"\x1b]52;c;ZXZpbA==\x1b\\",
        b"\x1b]052;c;ZXZpbA==\x1b\\",
        b"\x1b]8;;file:///etc/passwd\x07",
        b"\x1b]8;;https://a/\tb\x07",
        b"\x1b]7;file://host/tmp/evil\x07",
        b"\x1b]9;note\x07\x1b]777;notify;a;b\x07\x1b]99;;a\x07\x1b]1337;File=:x\x07\x1b]50;?\x07",
        b"\x1b]10;#000;#000;#000\x07\x1b]P0000000\x1b\\\x1b]R\x1b\\\x1b]lx\x1b\\\x1b]13;?\x07",
        b"\x1b[20t\x1b[21t\x1b[021;0t\x1b[21;0;0t",
        b"\x1b[8;1;1t\x1b[2t\x1b[3;0;0t\x1b[48t\x1b[t\x1b[>2t\x1b[1 t",
        b"\x1b[23t",
        b"\x1b[5i\x1b[?5i\x1b[4i",
        b"\x1b[2h\x1b[12l\x1b[20h\x1b[?2l\x1b[?38h\x1b[?40h\x1b[?3h\x1b[?6h\x1b[?46h\x1b[?1001h\x1b[?42h",
        b"\x1b[?1049s\x1b[?1049r\x1b[12;3]\x1b[1$}\x1b[1;1;1;1;1T\x1b[1;2'z\x1b[1'|\x1b[61\"p\x1b[1q",
        b"\x1bP$qm\x1b\\",
        b"\x1bP@kitty-cmd{\"cmd\":\"launch\"}\x1b\\",
        b"\x1bP\0@kitty-cmd{}\x1b\\",
        b"\x1bP1000p\x1b\\\x1bP1;0;1!z1b5d\x1b\\\x1bPtmux;x\x1b\\\x1bP=3s\x1b\\",
        b"\x1bP1;1|17/41\x1b\\\x1bP+q544e\x1b\\\x1bP1$tx\x1b\\\x1bP>|x\x1b\\",
        b"\x05\x18\x1a\x11\x13\x10",
        b"\x1b_G payload\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\\x1bktitle\x1b\\",
        b"\x1bZ\x1bn\x1bo\x1b|\x1b}\x1b~\x1bN\x1bO\x1bl\x1bm\x1b G\x1b F\x1b#3\x1b#6\x1b(A\x1b-A\x1b\\",
    ]);
}

/// T71: what would tell the program what stands on the screen, or what was told to the terminal.
#[test]
fn reports_of_content_are_taken_out() {
    check_dropped(&[
        b"\x1b[1;1;1;1;1;1*y",
        b"\x1b[*y",
        b"\x1b[?63;1n\x1b[?26n\x1b[?15n",
        b"\x1b[1$w\x1b[2$w\x1b[1$u\x1b[2;2$u\x1b[&u\x1b[\"v\x1b[x\x1b[4;1y\x1b[1;1;1;1#|\x1b[=c\x1b[1*z\x1b[1+p",
    ]);
}

/// C1 controls are dropped by themselves: what follows is text for a terminal that never saw them.
#[test]
fn controls_in_other_codings_are_taken_out() {
    check(b"a\xc2\x9d52;c;ZXZpbA==\xc2\x9cb", b"a52;c;ZXZpbA==b");
    check(b"a\xc2\x9b21tb\xc2\x90q\xc2\x9a\xc2\x85", b"a21tbq");
    check(b"a\x9b21tb\x9d", "a\u{fffd}21tb\u{fffd}".as_bytes());
    // Of a title, too.
    check(b"a\x1b]0;t\xc2\x9d52;c;eA==\x07b\x1b]0;t\xff\x07", b"ab");
    check(b"latin \xe9\xe8 text \xe2\x82", "latin \u{fffd}\u{fffd} text ".as_bytes());
}

/// A terminal that was told to leave UTF-8 would take what is not looked for as controls.
#[test]
fn the_terminal_keeps_reading_utf_8() {
    check(b"a\x1b%@b", b"ab");
    check(b"\x1b%\x1b%@b", b"b");
    check(b"a\x1b%\r@b", b"a\rb");
    check(b"\x1b%G\x1b%/Gb\x1b%/@", b"\x1b%Gb");
}

/// T20, T70: also what has no end costs no memory.
#[test]
fn a_sequence_without_end_is_swallowed_whole() {
    let digits = [b'0'; 100_000];
    check(&[b"a\x1b[", &digits[..300], b"21tb"].concat(), b"ab");
    check(&[b"a\x1b[", &digits[..300], b"31mb"].concat(), b"ab");
    check(&[b"a\x1b", &[b' '; 300][..], b"Fb"].concat(), b"ab");
    for (begin, end) in [
        (&b"a\x1b["[..], &b"mb"[..]),
        (b"a\x1b]0;", b"\x07b"),
        (b"a\x1b]52;c;", b"\x1b\\b"),
        (b"a\x1bPq", b"\x1b\\b"),
        (b"a\x1b_", b"\x1b\\b"),
        (b"a\x1b^", b"\x1b\\b"),
        (b"a\x1bX", b"\x1b\\b"),
    ] {
        let parts = [begin, &digits, end].map(|part| (Source::Output, part));
        assert_eq!(passed(Answers::ToProgram, &parts), b"ab", "{}", begin.escape_ascii());
    }
    // More parameters than terminals read.
    check(b"a\x1b[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;25lb", b"ab");
}

/// T20: nothing stays open on the terminal that what comes after a dropped sequence could complete.
#[test]
fn a_sequence_that_another_cuts_short_is_taken_out() {
    check(b"\x1b[3\x1b]52;c;eA==\x07z", b"z");
    check(b"\x1b[21\x1b]52;c;eA==\x07t", b"t");
    check(b"\x1b]0;t\x1b]52;c;eA==\x07z", b"z");
    check(b"\x1b\x1b]52;c;eA==\x07z", b"z");
    check(b"\x1b\x1b]52;c;eA==\x07]52;c;eA==\x07", b"]52;c;eA==\x07");
    check(b"\xc2\x1b]52;c;eA==\x07z", "\u{fffd}z".as_bytes());
    check(b"\xc2\x1b]52;c;eA==\x07\x9b21t", "\u{fffd}\u{fffd}21t".as_bytes());
    check(b"\x1b\xc2\x9d52;c;eA==\x07z", b"52;c;eA==\x07z");
    check(b"\x1b[3\xc2\x9d1m", b"1m");
    check(b"\x1b[3\xe2\x82\xac1m", b"\xe2\x82\xac1m");
    check(b"\x1bPq\x071\x1b[0mz", b"\x1b[0mz");
    check(b"\x1bPq~\x07z\x1b\\", b"");
}

/// T20: a control byte inside a sequence acts at once and leaves the sequence open.
#[test]
fn a_sequence_with_control_bytes_in_it_is_seen() {
    check(b"\x1b\x05]52;c;eA==\x07z", b"z");
    check(b"\x1b\x00]52;c;eA==\x07z", b"\x00z");
    check(b"\x1b\n]52;c;eA==\x07z", b"\nz");
    check(b"\x1b\x7f]52;c;eA==\x07z", b"\x7fz");
    check(b"\x1b[2\x001tz", b"\x00z");
    check(b"\x1b[3\r1mz", b"\r\x1b[31mz");
    check(b"\x1b]5\x002;c;eA==\x07z", b"z");
    check(b"\x1b]0;5\x002\x07z", b"z");
    check(b"\x1b]\x1852;c;eA==", b"52;c;eA==");
}

/// T69
#[test]
fn two_streams_complete_nothing_of_each_other() {
    use Source::{Error, Output};
    let check = |parts: &[(Source, &[u8])], expected: &[u8]| {
        let passed = passed(Answers::ToProgram, parts);
        assert_eq!(passed.escape_ascii().to_string(), expected.escape_ascii().to_string());
    };
    check(&[(Output, b"\x1b"), (Error, b"]52;c;eA==\x07")], b"]52;c;eA==\x07");
    check(&[(Output, b"\x1b\x1b"), (Error, b"]52;c;eA==\x07")], b"]52;c;eA==\x07");
    check(&[(Output, b"\x1b]52;c;"), (Error, b"eA==\x07"), (Output, b"\x07")], b"eA==\x07");
    check(&[(Error, b"\x1b[2"), (Output, b"1t")], b"1t");
    check(&[(Output, b"\xc2"), (Error, b"\x9b21t")], "\u{fffd}21t".as_bytes());
    // What is honest comes whole, wherever the streams were cut.
    check(
        &[(Output, b"\x1b[3"), (Error, b"note \xe2\x82"), (Output, b"1mred"), (Error, b"\xac")],
        b"note \x1b[31mred\xe2\x82\xac",
    );
}

/// What follows the program's last byte on the terminal.
#[track_caller]
fn check_restored(input: &[u8], expected: &[u8]) {
    let mut filter = Filter::new(Answers::ToProgram);
    filter.pass(Source::Output, input, &mut Vec::new());
    let mut written = Vec::new();
    filter.restore(&mut written);
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(shown(&written), shown(expected), "after {}", shown(input));
    let mut again = Vec::new();
    filter.restore(&mut again);
    assert_eq!(again, b"");
}

#[test]
fn nothing_is_undone_where_nothing_was_changed() {
    for input in [
        &b"plain text\r\nmore"[..],
        b"\x1b[31mred\x1b[0m \x1b[1;32mgreen\x1b[m\x1b[K\r\n",
        b"\x1b]0;title\x07\x1b(B\x1b[?25h\x1b[?7h\x1b)0\x0e\x0f",
        b"\x1b[?2004h\x1b[?2004l\x1b[22;0;0t\x1b[23;0;0t\x1b[>4;2m\x1b[>4;m\x1b[>1u\x1b[<u\x1b=\x1b>",
        b"\x1b]8;;https://a\x07b\x1b]8;;\x07\x1b]10;#fff\x07\x1b]110\x07\x1b]11;?\x07",
        // Dropped, so never on the terminal.
        b"\x1b[?1049;38h\x1b[?6h\x1b[23t\x1b[<u\x1b[?1049",
    ] {
        check_restored(input, b"");
    }
}

/// T71
#[test]
fn what_was_left_changed_is_undone() {
    for (input, expected) in [
        (&b"\x1b[31mred"[..], &b"\x1b[0m"[..]),
        (b"\x1b[31;0m", b"\x1b[0m"),
        (b"\x1b[11m\x1b[0m", b"\x1b[10m"),
        (b"\x1b[38;5;11m\x1b[0m", b""),
        (b"\x1b(0", b"\x1b(B"),
        (b"\x0e", b"\x0f"),
        (b"\x1b[?25l\x1b[?7l\x1b[4h\x1b[?5h", b"\x1b[?7h\x1b[?5l\x1b[4l\x1b[?25h"),
        (b"\x1b[?1000;1006h\x1b[?2004h", b"\x1b[?1000l\x1b[?1006l\x1b[?2004l"),
        (b"\x1b[?1049h", b"\x1b[?1049l\x1b[J"),
        (b"\x1b[?47h", b"\x1b[?47l"),
        (b"\x1b[?2026h\x1bP=1s\x1b\\", b"\x1b[?2026l\x1bP=2s\x1b\\"),
        (b"\x1b[2;5r", b"\x1b7\x1b[r\x1b8\x1b[J"),
        (b"\x1b[?69h\x1b[2;5s", b"\x1b7\x1b[?69l\x1b8"),
        (b"\x1b[H", b"\x1b[J"),
        (b"forged tail\r", b"\x1b[J"),
        (b"\x1b]8;;https://a\x07b", b"\x1b]8;;\x1b\\"),
        (b"\x1b]10;#000\x07\x1b]11;#000\x07", b"\x1b]110\x1b\\\x1b]111\x1b\\"),
        (b"\x1b]4;7;#000\x07", b"\x1b]104\x1b\\"),
        (b"\x1b[22;0;0t\x1b]0;evil\x07", b"\x1b[23;0;0t"),
        (b"\x1b[>1u", b"\x1b[<1u\x1b[=0u"),
        (b"\x1b[>4;2m\x1b=\x1b[?1h", b"\x1b[?1l\x1b>\x1b[>4m"),
        // What was saved with the cursor comes back with it.
        (b"\x1b[8m\x1b7\x1b[0m", b""),
        (b"\x1b[8m\x1b7\x1b[0m\x1b8", b"\x1b[0m\x1b[J"),
        (b"\x1b(0\x1b[?1049h\x1b(B", b"\x1b[?1049l\x1b(B\x1b[J"),
        (b"\x1b(0\x1b[?1049h\x1b(B\x1b[?1049l", b"\x1b(B\x1b[J"),
    ] {
        check_restored(input, expected);
    }
}

/// T71: what was begun before our words does not go on after them.
#[test]
fn words_of_ours_end_what_was_begun() {
    let mut filter = Filter::new(Answers::ToProgram);
    let mut passed = Vec::new();
    filter.pass(Source::Output, b"\x1b]0;unfinished", &mut passed);
    filter.pass(Source::Error, b"\xe2\x82", &mut passed);
    filter.restore(&mut passed);
    filter.pass(Source::Output, b"text\x07", &mut passed);
    filter.pass(Source::Error, b"text", &mut passed);
    assert_eq!(passed, b"text\x07text");
    // What the terminal has saved, it still has.
    filter.pass(Source::Output, b"\x1b[8m\x1b7", &mut Vec::new());
    filter.restore(&mut Vec::new());
    filter.pass(Source::Output, b"\x1b8", &mut Vec::new());
    let mut written = Vec::new();
    filter.restore(&mut written);
    assert_eq!(written, b"\x1b[0m\x1b[J");
}

#[test]
fn a_terminal_is_known_by_its_device() {
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let open = || {
        let controller = openpt(flags).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let ends = [(); 2].map(|()| ioctl_tiocgptpeer(&controller, flags).unwrap());
        (controller, ends)
    };
    let ((_first, [one, again]), (_second, [other, _])) = (open(), open());
    assert!(is_same_terminal(&one, &one));
    assert!(is_same_terminal(&one, &again));
    assert!(!is_same_terminal(&one, &other));
}
