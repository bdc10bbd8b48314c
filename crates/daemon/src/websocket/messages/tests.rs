//! Messages whole, in fragments and byte by byte; what does not belong together is refused.

use super::{Message, Messages, ProtocolError};
use crate::websocket::frame::{FrameError, Opcode, Role, encode};

const MASK: Option<[u8; 4]> = Some([9, 8, 7, 6]);

fn first_part(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = encode(opcode, payload, MASK);
    frame[0] &= 0x7f;
    frame
}

fn all(bytes: &[u8]) -> Result<Vec<Message>, ProtocolError> {
    let mut messages = Messages::new(Role::Server, 64);
    messages.feed(bytes);
    let mut got = Vec::new();
    while let Some(message) = messages.next_message()? {
        got.push(message);
    }
    Ok(got)
}

#[test]
fn messages_are_whole_however_they_come() {
    let bytes = [
        first_part(Opcode::Text, b"he"),
        encode(Opcode::Ping, b"?", MASK),
        encode(Opcode::Continuation, b"llo", MASK),
        encode(Opcode::Binary, &[0, 255], MASK),
        encode(Opcode::Close, &1000_u16.to_be_bytes(), MASK),
    ]
    .concat();
    let expected = vec![
        Message::Ping(b"?".to_vec()),
        Message::Text("hello".to_owned()),
        Message::Binary(vec![0, 255]),
        Message::Close(Some(1000)),
    ];
    assert_eq!(all(&bytes), Ok(expected.clone()));
    let mut messages = Messages::new(Role::Server, 64);
    let mut got = Vec::new();
    for byte in bytes {
        messages.feed(&[byte]);
        got.extend(messages.next_message().unwrap());
    }
    assert_eq!(got, expected);
}

/// T52
#[test]
fn what_does_not_belong_is_refused() {
    let table = [
        (encode(Opcode::Continuation, b"x", MASK), ProtocolError::Fragment, 1002),
        (
            [first_part(Opcode::Text, b"a"), encode(Opcode::Text, b"b", MASK)].concat(),
            ProtocolError::Fragment,
            1002,
        ),
        (encode(Opcode::Text, &[0xff], MASK), ProtocolError::NotText, 1007),
        (encode(Opcode::Binary, &[0; 65], MASK), ProtocolError::TooLarge(64), 1009),
        (
            [first_part(Opcode::Binary, &[0; 60]), encode(Opcode::Continuation, &[0; 5], MASK)]
                .concat(),
            ProtocolError::TooLarge(64),
            1009,
        ),
        (encode(Opcode::Text, b"x", None), ProtocolError::Frame(FrameError::WrongMask), 1002),
        (encode(Opcode::Close, &[3], MASK), ProtocolError::BadClose, 1002),
        (encode(Opcode::Close, &1005_u16.to_be_bytes(), MASK), ProtocolError::BadClose, 1002),
        (encode(Opcode::Close, &[3, 232, 0xff], MASK), ProtocolError::BadClose, 1002),
    ];
    for (bytes, error, code) in table {
        assert_eq!(all(&bytes), Err(error), "{bytes:x?}");
        assert_eq!(error.close_code(), code);
    }
}

/// T52: a length that nobody could send is refused before a byte of it is waited for.
#[test]
fn a_huge_length_is_refused_by_its_head() {
    let head = [&[0x82, 0xff][..], &(1_u64 << 62).to_be_bytes(), &[0; 4]].concat();
    assert_eq!(all(&head), Err(ProtocolError::TooLarge(64)));
}
