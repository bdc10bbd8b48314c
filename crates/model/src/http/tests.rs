//! Heads and bodies, good and bad, whole and in pieces.

use proptest::prelude::*;

use super::{HttpError, MOST_HEAD, Progress, RequestHead, ResponseHead};

fn body(head: &str, parts: &[&[u8]]) -> Result<(String, bool), HttpError> {
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n");
    let Progress::Head(head, length) = ResponseHead::read(head.as_bytes())? else {
        panic!("a head")
    };
    assert!(length > 0);
    let (mut reader, mut content) = (head.body()?, Vec::new());
    for part in parts {
        reader.feed(part, &mut content)?;
    }
    reader.end()?;
    Ok((String::from_utf8(content).expect("text"), reader.is_done()))
}

#[test]
fn bodies_end_where_they_should() {
    for (head, bytes, expected) in [
        ("Content-Length: 3\r\n", "abcdef", Ok("abc")),
        ("Content-Length: 3\r\n", "ab", Err(HttpError::CutOff)),
        ("", "all of it", Ok("all of it")),
        ("Transfer-Encoding: Chunked\r\n", "3\r\nabc\r\n0\r\n\r\nrest", Ok("abc")),
        ("Transfer-Encoding: chunked\r\n", "3;x=y\r\nabc\r\n00\r\nTrailer: x\r\n\r\n", Ok("abc")),
        ("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n", Err(HttpError::Chunk)),
        ("Transfer-Encoding: chunked\r\n", "\r\n", Err(HttpError::Chunk)),
        ("Transfer-Encoding: chunked\r\n", "-1\r\n", Err(HttpError::Chunk)),
        ("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n", Err(HttpError::Chunk)),
        ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", Err(HttpError::CutOff)),
        ("Transfer-Encoding: gzip, chunked\r\n", "", Err(HttpError::Ambiguous)),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "", Err(HttpError::Ambiguous)),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", "abc", Err(HttpError::Ambiguous)),
        ("Content-Length: +3\r\n", "abc", Err(HttpError::Ambiguous)),
    ] {
        let read = body(head, &[bytes.as_bytes()]).map(|(text, _)| text);
        assert_eq!(read, expected.map(str::to_owned), "{head:?} {bytes:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(MOST_HEAD));
    assert_eq!(RequestHead::read(long.as_bytes()), Err(HttpError::LongHead));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200));
    assert_eq!(RequestHead::read(many.as_bytes()), Err(HttpError::LongHead));
    assert_eq!(RequestHead::read(b"\x16\x03\x01"), Err(HttpError::NotHttp));
    assert_eq!(RequestHead::read(b"POST /v1"), Ok(Progress::NeedMore));
}

proptest! {
    #[test]
    fn chunks_may_be_split_anywhere(texts in prop::collection::vec("[a-z]{1,20}", 0..5), at in any::<prop::sample::Index>()) {
        let mut bytes: Vec<u8> = texts.iter().flat_map(|text| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()).collect();
        bytes.extend_from_slice(b"0\r\n\r\n");
        let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
        prop_assert_eq!(body("transfer-encoding: chunked\r\n", &[first, second]), Ok((texts.concat(), true)));
    }

    #[test]
    fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _any = (ResponseHead::read(&bytes), RequestHead::read(&bytes));
        let _any = body("transfer-encoding: chunked\r\n", &[]);
    }
}
