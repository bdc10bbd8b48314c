//! Streams, whole and in pieces.

use proptest::prelude::*;

use super::{Event, Parser, SseError};

fn read(parts: &[&[u8]], most: usize) -> (Vec<Event>, Option<SseError>) {
    let (mut parser, mut events) = (Parser::new(most), Vec::new());
    for part in parts {
        if let Err(error) = parser.feed(part, &mut |event| events.push(event)) {
            return (events, Some(error));
        }
    }
    (events, None)
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_owned(), data: data.to_owned() }
}

#[test]
fn streams_are_read_as_the_standard_says() {
    for (text, expected) in [
        ("data: a\n\n", vec![event("", "a")]),
        ("\u{feff}event: x\r\ndata:a\r\ndata: b\r\n\r\n", vec![event("x", "a\nb")]),
        ("event: x\r\rdata: a\r\r", vec![event("", "a")]),
        (": comment\nid: 1\nretry: 5\ndata\n\n", vec![event("", "")]),
        ("data: never ended\n", vec![]),
        ("event: without data\n\n", vec![]),
        ("data: a\n\n\n\ndata: b\n\n", vec![event("", "a"), event("", "b")]),
    ] {
        assert_eq!(read(&[text.as_bytes()], 1000), (expected, None), "{text:?}");
    }
}

#[test]
fn what_is_too_long_or_no_text_is_refused() {
    let endless = vec![b'x'; 101];
    assert_eq!(read(&[&endless], 100).1, Some(SseError::TooLong { most: 100 }));
    let many = "data: 0123456789\n".repeat(10);
    assert_eq!(read(&[many.as_bytes()], 100).1, Some(SseError::TooLong { most: 100 }));
    assert_eq!(read(&[b"data: \xff\n\n"], 100).1, Some(SseError::NotText));
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_split(text in "((data|event): [a-z\u{e9}]{0,5}|:|\r|\n|\r\n){0,30}", at in any::<prop::sample::Index>()) {
        let bytes = text.as_bytes();
        let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(&[first, second], 200), read(&[bytes], 200));
        prop_assert_eq!(read(&single, 200), read(&[bytes], 200));
    }
}
