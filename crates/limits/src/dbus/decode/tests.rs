//! Messages of peers: whole ones, cut ones, and ones that lie about their lengths.

use super::*;
use crate::dbus::encode::tests::{HELLO, bytes};
use crate::dbus::{Call, Value, Writer, encode};

fn call(signature: &str, body: &[u8]) -> Vec<u8> {
    let call =
        Call { destination: None, path: "/a", interface: "b.c", member: "D", signature, body };
    encode(&call, 7)
}

#[test]
fn a_message_of_another_program_reads_back() {
    let bytes = bytes(HELLO);
    let (message, length) = decode(&bytes).unwrap().unwrap();
    assert_eq!(length, bytes.len());
    assert_eq!(message.kind, MessageKind::Call);
    assert_eq!(message.member.as_deref(), Some("Hello"));
    assert_eq!(message.interface.as_deref(), Some("org.freedesktop.DBus"));
}

/// A message that is not all there is no error, however little of it there is.
#[test]
fn every_beginning_of_a_message_waits_for_the_rest() {
    let bytes = bytes(HELLO);
    for length in 0..bytes.len() {
        assert_eq!(decode(&bytes[..length]).unwrap(), None, "{length}");
    }
    let two = [bytes.clone(), bytes.clone()].concat();
    assert_eq!(decode(&two).unwrap().unwrap().1, bytes.len());
}

/// One changed byte may make another message of it, and never a panic.
#[test]
fn changed_bytes_are_read_or_refused() {
    let mut body = Writer::new();
    body.text("x");
    body.array(8, |body| body.structure(|body| body.variant(&Value::Numbers(vec![1, 2]))));
    let bytes = call("sa(v)", &body.into_bytes());
    for position in 0..bytes.len() {
        for value in 0..=u8::MAX {
            let mut changed = bytes.clone();
            changed[position] = value;
            if let Ok(Some((message, _))) = decode(&changed) {
                let mut reader = message.reader();
                let _read = reader.skip(&message.signature);
                let _read = message.reader().text();
            }
        }
    }
}

#[test]
fn lengths_beyond_reason_are_refused_at_once() {
    for (position, name) in [(4, "body"), (12, "fields")] {
        let mut huge = bytes(HELLO);
        huge[position..position + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(decode(&huge), Err(BusError::Malformed)), "{name}");
    }
}

#[test]
fn big_endian_peers_are_understood() {
    // A reply to call 7 with the number 258.
    let bytes = [
        b'B', 2, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 15, 5, 1, b'u', 0, 0, 0, 0, 7, 8, 1, b'g',
        0, 1, b'u', 0, 0, 0, 0, 1, 2,
    ];
    let (message, _) = decode(&bytes).unwrap().unwrap();
    assert_eq!(message.reply_serial, Some(7));
    assert_eq!(message.signature, "u");
    assert_eq!(message.reader().number().unwrap(), 258);
}

/// Values of every type are passed over to the byte.
#[test]
fn values_that_nobody_needs_are_passed_over() {
    let mut body = Writer::new();
    body.byte(1);
    body.array(8, |body| {
        body.structure(|body| {
            body.text("key");
            body.variant(&Value::Number(9));
        });
    });
    body.variant(&Value::Flag(true));
    body.signature("a{sv}");
    body.number(77);
    let bytes = call("ya{sv}vgu", &body.into_bytes());
    let (message, _) = decode(&bytes).unwrap().unwrap();
    let mut reader = message.reader();
    reader.skip("ya{sv}vg").unwrap();
    assert_eq!(reader.number().unwrap(), 77);
    assert!(reader.is_at_end());
}

#[test]
fn types_that_are_none_are_refused() {
    let bytes = call("u", &77_u32.to_le_bytes());
    let (message, _) = decode(&bytes).unwrap().unwrap();
    let deep = "(".repeat(4000);
    for signature in ["z", "(", "(u", ")", "a", "a(", "aa", "a)", "{", deep.as_str()] {
        assert!(message.reader().skip(signature).is_err(), "{signature}");
    }
    // An array whose length reaches beyond the message.
    assert!(message.reader().array(1, |reader| reader.byte().map(drop)).is_err());
    // Elements of no size.
    let bytes = call("a()", &8_u32.to_le_bytes());
    let (message, _) = decode(&bytes).unwrap().unwrap();
    assert!(message.reader().array(1, |_| Ok(())).is_err());
}

#[test]
fn text_is_text() {
    for (bytes, fine) in [
        (&b"\x01\0\0\0a\0"[..], true),
        (b"\x01\0\0\0a", false),
        (b"\x01\0\0\0ab", false),
        (b"\x02\0\0\0a\0\0", false),
        (b"\x01\0\0\0\xff\0", false),
    ] {
        let message = call("s", bytes);
        let (message, _) = decode(&message).unwrap().unwrap();
        assert_eq!(message.reader().text().is_ok(), fine, "{bytes:?}");
    }
}
