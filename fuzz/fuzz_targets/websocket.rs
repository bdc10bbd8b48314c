//! Any bytes as the frames of a WebSocket: messages or a refusal, never a panic, in the same way
//! however they are split; never more than what was agreed; and what is sent is read back.
#![no_main]

use daemon::websocket::{Message, Messages, Opcode, ProtocolError, Role, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else { return };
    let at = usize::from(*split).min(bytes.len());
    for role in [Role::Server, Role::Client] {
        let whole = read(role, &[bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(role, &[&bytes[..at], &bytes[at..]]), whole);
        assert_eq!(read(role, &single), whole);
    }
    let mask = [*split, 1, 2, 3];
    let sent = encode(Opcode::Binary, bytes, Some(mask));
    let (got, error) = read(Role::Server, &[&sent]);
    match error {
        None => assert_eq!(got, [Message::Binary(bytes.to_vec())]),
        Some(error) => assert!(bytes.len() > MOST, "{error}"),
    }
});

fn read(role: Role, parts: &[&[u8]]) -> (Vec<Message>, Option<ProtocolError>) {
    let mut messages = Messages::new(role, MOST);
    let mut got = Vec::new();
    for part in parts {
        messages.feed(part);
        loop {
            match messages.next_message() {
                Ok(Some(message)) => {
                    if let Message::Binary(bytes) = &message {
                        assert!(bytes.len() <= MOST);
                    }
                    got.push(message);
                }
                Ok(None) => break,
                Err(error) => return (got, Some(error)),
            }
        }
    }
    (got, None)
}

const MOST: usize = 1000;
