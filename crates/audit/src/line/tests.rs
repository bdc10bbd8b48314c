//! Lines: one form, and nothing else is a record.

use super::*;

fn written() -> Vec<u8> {
    let event = Event::SessionBegun { session_id: "s".into(), project_id: "\"\n\\".into() };
    let time = Timestamp::from_microseconds(1_000_000).unwrap();
    let mut line = Vec::new();
    write(&mut line, 7, time, Hash::NONE, &event).unwrap();
    line
}

#[test]
fn a_record_has_one_form() {
    let line = String::from_utf8(written()).unwrap();
    let body = "{\"v\":1,\"seq\":7,\"time\":\"1970-01-01T00:00:01.000000Z\",\"prev\":\"0000000000000000\
                000000000000000000000000000000000000000000000000\",\"event\":\"session.begun\",\
                \"session_id\":\"s\",\"project_id\":\"\\\"\\\\x0a\\\\\\\\\"";
    let hash = Hash::of(body.as_bytes());
    assert_eq!(line, format!("{body},\"hash\":\"{hash}\"}}\n"));
    let read = Line::parse(line.trim_end().as_bytes()).unwrap();
    assert_eq!((read.sequence, read.event, read.hash), (7, "session.begun", hash));
    assert_eq!(read.previous, Hash::NONE);
}

/// T52
#[test]
fn no_changed_byte_goes_unseen() {
    let whole = written();
    let line = &whole[..whole.len() - 1];
    for index in 0..line.len() {
        for flip in [1, 0x20, 0x80] {
            let mut changed = line.to_vec();
            changed[index] ^= flip;
            assert!(Line::parse(&changed).is_err(), "byte {index}");
        }
        assert!(Line::parse(&line[..index]).is_err());
        assert!(Line::parse(&line[index + 1..]).is_err());
    }
}
