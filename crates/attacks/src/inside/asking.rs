//! A request to whoever serves a socket, word for word. Judges nothing of the answer.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::attack::Refused;

/// The first line of the answer of whoever serves a socket.
pub fn ask(socket: &Path, method: &str, path: &str, body: &str) -> Result<String, Refused> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: stockade\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let answer = say(socket, request.as_bytes())?;
    answer.lines().next().map(str::to_owned).ok_or(Refused("no answer".to_owned()))
}

/// What whoever serves a socket answers to some bytes.
pub fn say(socket: &Path, bytes: &[u8]) -> Result<String, Refused> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A server that has read enough may close before everything is sent.
    let _cut = stream.write_all(bytes);
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer)?;
    answer.truncate(length);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

const PATIENCE: Duration = Duration::from_secs(20);
