//! One connection to the daemon, kept for all of a client's requests. Knows as much of HTTP as the
//! daemon's own answers need, and trusts them.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// A connection that stands.
pub(crate) struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Connects to the daemon's socket.
    pub(crate) fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks, and reads the answer as JSON.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<Value> {
        Ok(serde_json::from_slice(&self.bytes(method, path, body)?)?)
    }

    /// Asks, and reads the answer's bytes.
    pub(crate) fn bytes(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<Vec<u8>> {
        let body = body.unwrap_or_default();
        let kind = "Content-Type: application/json";
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: stockade\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (status, length) = self.head()?;
        let bytes = match length {
            Length::Known(length) => self.exactly(length)?,
            Length::Chunked => self.chunks()?,
        };
        match status {
            200..=299 => Ok(bytes),
            _ => {
                let said = String::from_utf8_lossy(&bytes).into_owned();
                Err(io::Error::other(format!("{method} {path}: {status} {said}")))
            }
        }
    }

    fn head(&mut self) -> io::Result<(u16, Length)> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no answer: `{first}`")))?;
        let mut length = Length::Known(0);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            match line.split_once(':') {
                None => return Ok((status, length)),
                Some(("content-length", value)) => {
                    length = Length::Known(value.trim().parse().map_err(io::Error::other)?);
                }
                Some(("transfer-encoding", _)) => length = Length::Chunked,
                Some(_) => {}
            }
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let mut chunk = self.exactly(size)?;
            self.line()?;
            if size == 0 {
                return Ok(all);
            }
            all.append(&mut chunk);
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

enum Length {
    Known(usize),
    Chunked,
}

/// The longest that the daemon may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
