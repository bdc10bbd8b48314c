//! Heads in one piece, in many, and what is none.

use super::read_head;

/// Gives one byte at a time.
struct Drip<'a>(&'a [u8]);

impl std::io::Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(buffer.len()).min(1);
        let (now, later) = self.0.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

#[test]
fn a_head_is_read_however_it_comes() {
    let answer = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n\r\n{}";
    let (head, rest) = read_head(&mut &answer[..]).unwrap();
    assert_eq!((head.status, head.is_success()), (201, true));
    assert_eq!(head.header("content-type"), Some("application/json"));
    assert_eq!(rest, b"{}");
    let (head, rest) = read_head(&mut Drip(answer)).unwrap();
    assert_eq!((head.status, rest.as_slice()), (201, &b""[..]));
}

#[test]
fn what_is_no_answer_is_told() {
    let long = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 100_000]].concat();
    let table: [(&[u8], &str); 4] = [
        (b"", "it ends in its head"),
        (b"HTTP/1.1 200 OK\r\n", "it ends in its head"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "it is not HTTP"),
        (&long, "its head is too long"),
    ];
    for (bytes, problem) in table {
        let message = read_head(&mut &bytes[..]).unwrap_err().to_string();
        assert!(message.ends_with(problem), "{message}");
    }
}
