//! Any messages of 9P to a session over a file system in memory: each is answered by one whole message, or ends the
//! connection, and never by a panic.
#![no_main]

use std::sync::Arc;

use fileserver::{Identity, Session};
use libfuzzer_sys::fuzz_target;
use vfs::{Caller, FileSystem, Limits, Memory};

fuzz_target!(|data: &[u8]| {
    let limits = Limits { max_bytes: 1 << 20, max_inodes: 1000, ..Limits::default() };
    let engine = Memory::new(&Caller::root(), 0o777, limits);
    let files = FileSystem::new(Arc::new(engine), &limits);
    let mut session = Session::new(files, Identity::Asked, 1);
    let Some((first, mut rest)) = data.split_first() else { return };
    let version: &[u8] = if first & 1 == 0 { b"9P2000.L" } else { b"9P2000" };
    let mut opening = 8192_u32.to_le_bytes().to_vec();
    opening.extend((version.len() as u16).to_le_bytes());
    opening.extend(version);
    send(&mut session, 100, &opening);
    // Of user 0, whom only the first dialect names by number.
    let attach = [0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0];
    send(&mut session, 104, if first & 1 == 0 { &attach } else { &attach[..12] });
    // One message after the other: its kind, its length, and that many bytes.
    while let [kind, length, more @ ..] = rest {
        let (body, next) = more.split_at(usize::from(*length).min(more.len()));
        send(&mut session, *kind, body);
        rest = next;
    }
});

fn send(session: &mut Session, kind: u8, body: &[u8]) {
    let length = (body.len() as u32 + 7).to_le_bytes();
    let message = [&length[..], &[kind, 1, 0], body].concat();
    let answer = session.answer(&message).expect("the head is right");
    let told = u32::from_le_bytes([answer[0], answer[1], answer[2], answer[3]]);
    assert_eq!(told as usize, answer.len());
    assert!(told <= session.most_bytes() + 24);
    assert_eq!(answer[5..7], [1, 0]);
}
