//! Whatever a program writes, on whichever streams and in whichever pieces: a real terminal's parser behind the filter is told
//! nothing that it must not do, and is in order before our own words.

mod terminal;

use ::terminal::{Answers, Filter, Source};
use proptest::prelude::*;
use terminal::{State, Terminal};

/// Output of a program: pieces, each on one of its streams.
fn output() -> impl Strategy<Value = Vec<(Source, Vec<u8>)>> {
    let fragment = prop_oneof![
        3 => proptest::sample::select(FRAGMENTS).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
        1 => "[0-9;:?]{0,5}[a-zA-Z]".prop_map(|text| [b"\x1b[", text.as_bytes()].concat()),
    ];
    let piece = proptest::collection::vec(fragment, 0..8).prop_map(|parts| parts.concat());
    let source = prop_oneof![Just(Source::Output), Just(Source::Error)];
    proptest::collection::vec((source, piece), 0..12)
}

fn answers() -> impl Strategy<Value = Answers> {
    prop_oneof![Just(Answers::ToProgram), Just(Answers::ToOthers)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// T20, T69, T70, T71
    #[test]
    fn a_terminal_is_told_nothing_that_it_must_not_do(output in output(), answers in answers()) {
        let mut filter = Filter::new(answers);
        let mut terminal = Terminal::default();
        for (source, piece) in output {
            let mut passed = Vec::new();
            filter.pass(source, &piece, &mut passed);
            terminal.take(&passed);
            prop_assert!(terminal.shows_what_comes());
        }
        prop_assert_eq!(&terminal.screen.forbidden, &Vec::<String>::new());
        if answers == Answers::ToOthers {
            prop_assert_eq!(&terminal.screen.asked, &Vec::<String>::new());
        }
    }

    /// T71: also when the program goes on afterwards, and on terminals that save both screens' cursor in one place.
    #[test]
    fn our_words_find_the_terminal_in_order(
        outputs in proptest::collection::vec(output(), 1..4),
        has_one_place in any::<bool>(),
    ) {
        let mut filter = Filter::new(Answers::ToProgram);
        let mut terminal = Terminal::default();
        terminal.screen.has_one_place = has_one_place;
        for output in outputs {
            let mut passed = Vec::new();
            for (source, piece) in output {
                filter.pass(source, &piece, &mut passed);
            }
            filter.restore(&mut passed);
            terminal.take(&passed);
            prop_assert_eq!(&terminal.screen.state, &State::default());
            prop_assert!(terminal.shows_what_comes());
        }
        prop_assert_eq!(&terminal.screen.forbidden, &Vec::<String>::new());
    }

    /// What has passed once is not held up a second time, and where a stream is cut makes no difference.
    #[test]
    fn what_passes_is_one_answer(output in output(), cut in any::<prop::sample::Index>()) {
        let filtered = |pieces: &[(Source, &[u8])]| {
            let mut filter = Filter::new(Answers::ToProgram);
            let mut passed = Vec::new();
            for (source, piece) in pieces {
                filter.pass(*source, piece, &mut passed);
            }
            passed
        };
        let pieces: Vec<(Source, &[u8])> =
            output.iter().map(|(source, piece)| (*source, piece.as_slice())).collect();
        let passed = filtered(&pieces);
        let again = filtered(&[(Source::Output, &passed)]);
        prop_assert_eq!(again.escape_ascii().to_string(), passed.escape_ascii().to_string());
        let whole: Vec<u8> = output.iter().flat_map(|(_, piece)| piece.clone()).collect();
        let (first, second) = whole.split_at(cut.index(whole.len() + 1));
        let parts = filtered(&[(Source::Error, first), (Source::Error, second)]);
        prop_assert_eq!(filtered(&[(Source::Error, &whole)]), parts);
    }

    #[test]
    fn text_passes_unchanged(text in "[^\\p{Cc}]{0,40}", lines in "[a-z \\n\\t\\r]{0,20}") {
        let text = format!("{text}{lines}");
        let mut passed = Vec::new();
        let mut filter = Filter::new(Answers::ToOthers);
        for part in text.as_bytes().chunks(3) {
            filter.pass(Source::Error, part, &mut passed);
        }
        prop_assert_eq!(String::from_utf8(passed).unwrap(), text);
    }
}

/// The terminal of these tests sees what must not come.
#[test]
fn an_unfiltered_terminal_would_have_done_it() {
    for (input, is_seen) in [
        (&b"\x1b]52;c;eA==\x07"[..], true),
        (b"\x1b[1;1;1;1;1;1*y", true),
        (b"\x1b[21t", true),
        (b"\x1bP$qm\x1b\\", true),
        (b"\x1b]8;;file:///etc/passwd\x07", true),
        (b"\x05", true),
        (b"\x1b%@", true),
        (b"\x1b[?38h", true),
        (b"\x1b[31mred\x1b[0m\r\n", false),
    ] {
        let mut terminal = Terminal::default();
        terminal.take(input);
        assert_eq!(!terminal.screen.forbidden.is_empty(), is_seen, "{}", input.escape_ascii());
    }
    for left in [&b"\x1b(0"[..], b"\x0e", b"\x1b[?1049h", b"\x1b[8m", b"\x1b[?7l", b"\x1b[2;3r"] {
        let mut terminal = Terminal::default();
        terminal.take(left);
        assert_ne!(terminal.screen.state, State::default(), "{}", left.escape_ascii());
    }
    for open in [&b"\x1b]0;"[..], b"\x1b_", b"\x1b[1;", b"\x1bPq", b"\x1bX", b"\x1b"] {
        let mut terminal = Terminal::default();
        terminal.take(open);
        assert!(!terminal.shows_what_comes(), "{}", open.escape_ascii());
    }
}

/// What sequences are made of, whole and in parts.
const FRAGMENTS: &[&[u8]] = &[
    b"\x1b", b"\x1b\x1b", b"[", b"]", b"]52;c;", b"eA==", b"52;c;?", b"\x07", b"\x1b\\", b"\\", b"P", b"q", b"_G", b"^", b"X",
    b"k", b"\xc2", b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x9c", b"\x9b", b"\x9d", b"\x9c", b"\x90", b"\xe2", b"\xe2\x82\xac", b"\xff",
    b"\x18", b"\x1a", b"\x05", b"\x00", b"\r", b"\n", b"\x08", b"\x0e", b"\x0f", b"\x7f", b"21", b"t", b"21t", b"1;1;1;1;1;1*y",
    b"m", b"31", b"0", b";", b":", b"?", b">", b"$", b"*", b" ", b"h", b"l", b"?1049h", b"?1049l", b"?47h", b"?25l", b"?7l",
    b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?1047h", b"\x1b[?47h", b"\x1b[?47l", b"\x1b[?7l", b"\x1b[?25l", b"\x1b[?1048h",
    b"\x1b[?1048l", b"\x1b[?69h", b"\x1b[?2026h", b"\x1b[?1000;1006h", b"\x1b[?2l", b"\x1b[?38h", b"\x1b[?6h", b"\x1b[4h",
    b"\x1b[12l", b"\x1b[8m", b"\x1b[0m", b"\x1b[11m", b"\x1b[38;5;11m", b"\x1b(0", b"\x1b(B", b"\x1b)0", b"\x1b7", b"\x1b8",
    b"\x1b[s", b"\x1b[u", b"\x1b[2;5r", b"\x1b[r", b"\x1b[22;0;0t", b"\x1b[23;0;0t", b"\x1b[>1u", b"\x1b[<u", b"\x1b[<9u",
    b"\x1b[=5u", b"\x1b[>4;2m", b"\x1b[>4m", b"\x1b]10;#000\x07", b"\x1b]110\x07", b"\x1b]4;1;#000;2;?\x07", b"\x1b]104\x1b\\",
    b"\x1b]8;;https://a;b\x07", b"\x1b]8;;\x07", b"\x1b]8;;file://a\x07", b"\x1bP=1s\x1b\\", b"\x1bP=2s\x1b\\", b"\x1bP$qm\x1b\\",
    b"\x1bPq~\x1b\\", b"\x1b%@", b"\x1b%G", b"\x1b[6n", b"\x1b[c", b"\x1b[?6n", b"\x1b[?2026$p", b"\x1b[5i", b"\x1b[?1c",
    b"\x1b[2 q", b"\x1b=", b"\x1b>", b"\x1bc", b"\x1b[!p", b"\x1b[34l", b"text",
    b"\x1b]52;c;eA==\x07",
    b"\x1b]52;c;?\x1b\\",
    b"\x1b[21t",
    b"\x1b[1;1;1;1;1;1*y",
    b"\x1b]7;file://a/b\x07",
    b"\x1b]1337;File=:eA==\x07",
    b"\x1bP@kitty-cmd{}\x1b\\",
    b"\x1b_Ga=q\x1b\\", b"\x1b[0000000000000000000000000000000000000000",
    b"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    b";;;;;;;;;;;;;;;;;;", b"::::::::::::::::::",
];
