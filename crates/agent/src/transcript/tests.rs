//! Transcripts that were cut, changed or are in use.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use model::{Arguments, Content, Message, Role, ToolCall};

use super::{Line, Transcript, TranscriptError};

#[test]
fn what_was_written_is_read_and_what_was_cut_is_left_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.jsonl");
    let call = ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments: Arguments::Object(serde_json::Map::new()),
    };
    let asked = Message { role: Role::Assistant, content: vec![Content::Call(call)] };
    {
        let (mut transcript, told) = Transcript::open(&path).expect("a transcript");
        assert_eq!(told, super::Told::default());
        transcript.add(&Transcript::begun("m", Some("s"))).expect("a line");
        transcript.add(&Line::Said { message: Message::user("hello") }).expect("a line");
        transcript.add(&Line::Said { message: asked.clone() }).expect("a line");
        assert!(matches!(Transcript::open(&path), Err(TranscriptError::InUse(_))));
    }
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(b"{\"line\":\"sa"))
        .expect("a torn line");
    for _ in 0..2 {
        let (_, told) = Transcript::open(&path).expect("a transcript");
        assert_eq!((told.session.as_deref(), told.model.as_deref()), (Some("s"), Some("m")));
        let [first, second, third] = told.messages.as_slice() else { panic!("{told:?}") };
        assert_eq!((first, second), (&Message::user("hello"), &asked));
        assert!(
            matches!(third.content.as_slice(), [Content::Result(result)] if result.is_error && result.id == "c")
        );
    }
    fs::write(&path, "{}\n").expect("a file");
    assert!(matches!(Transcript::open(&path), Err(TranscriptError::Line { line: 1, .. })));
}
