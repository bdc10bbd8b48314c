//! Packets of the `inward` socket, there and back.

use super::*;

#[test]
fn what_is_said_is_understood() {
    for port in [1, 80, u16::MAX] {
        let request = InwardRequest { port };
        assert_eq!(InwardRequest::decode(&request.encode()), Some(request));
        for errno in [None, Some(111), Some(u16::MAX)] {
            let answer = InwardAnswer { port, errno };
            assert_eq!(InwardAnswer::decode(&answer.encode()), Some(answer));
        }
    }
}

#[test]
fn anything_else_is_nothing() {
    let table: [&[u8]; 4] = [b"", b"\0", b"\0\0", b"abc"];
    for packet in table {
        assert_eq!(InwardRequest::decode(packet), None);
        assert_eq!(InwardAnswer::decode(packet), None);
    }
}
