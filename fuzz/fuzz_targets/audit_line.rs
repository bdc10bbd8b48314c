//! Any bytes as a line of the log, and as a file of one: read to an answer, never a panic. What is
//! taken for a record has the one form that records have, and one hash.
#![no_main]

use audit::{Filter, Hash, Line, LineError, Reader, Record, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    try_line(data);
    // With the right hash everything behind it is reached.
    let framed = [&b"{\"v\":1,\"seq\":1,\"time\":\"2026-01-31T10:20:30.000000Z\",\"prev\":\""[..]];
    let mut line = framed.concat();
    line.extend_from_slice(Hash::NONE.to_string().as_bytes());
    line.extend_from_slice(b"\",");
    line.extend_from_slice(data);
    let hash = Hash::of(&line);
    line.extend_from_slice(format!(",\"hash\":\"{hash}\"}}").as_bytes());
    try_line(&line);
    try_log(&[data, b"\n", &line, b"\n", data].concat());
});

fn try_line(bytes: &[u8]) {
    match Line::parse(bytes) {
        Ok(line) => {
            assert!(bytes.iter().all(|byte| matches!(byte, b' '..=b'~')));
            let hashed = &bytes[..bytes.len() - 75];
            assert_eq!(Hash::of(hashed), line.hash);
            let begin = format!(
                "{{\"v\":1,\"seq\":{},\"time\":\"{}\",\"prev\":\"{}\",\"event\":\"{}\"",
                line.sequence, line.time, line.previous, line.event
            );
            assert!(bytes.starts_with(begin.as_bytes()));
        }
        Err(LineError::Malformed | LineError::Changed { .. }) => {
            assert!(Record::parse(bytes).is_err());
        }
    }
    if let Ok(record) = Record::parse(bytes) {
        assert_eq!(record.line.as_bytes(), bytes);
        if let Some(event) = record.event() {
            let again = serde_json::to_value(&event).expect("an event has a text form");
            assert_eq!(again["event"], record.name.as_str());
        }
    }
}

fn try_log(bytes: &[u8]) {
    let directory = std::env::temp_dir().join(format!("stockade-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be written to");
    std::fs::write(directory.join("000001.jsonl"), bytes).expect("a file can be written");
    // Whatever is there, it is not a log that was written.
    assert!(verify(&directory, &Default::default()).is_err() || bytes.is_empty());
    if let Ok(reader) = Reader::open(&directory) {
        let count = reader.records(Filter::default()).count();
        assert!(count <= bytes.iter().filter(|byte| **byte == b'\n').count() + 1);
    }
}
