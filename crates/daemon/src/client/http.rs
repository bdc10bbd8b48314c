//! The head of an answer. Reads no more than a daemon of ours would ever send.

use std::io::Read;

use super::ClientError;

#[cfg(test)]
mod tests;

/// A status and the headers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a head, and gives back what was read beyond it.
pub(super) fn read_head(stream: &mut impl Read) -> Result<(Head, Vec<u8>), ClientError> {
    let mut bytes = Vec::new();
    loop {
        if let Some((head, size)) = parse(&bytes)? {
            return Ok((head, bytes.split_off(size)));
        }
        if bytes.len() >= LONGEST_HEAD {
            return Err(ClientError::Malformed("its head is too long"));
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) => return Err(ClientError::Malformed("it ends in its head")),
            Ok(count) => bytes.extend(chunk.iter().take(count)),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ClientError::Broken(error)),
        }
    }
}

/// The head at the beginning of some bytes and its size; none as long as it is not whole.
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ClientError> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    match answer.parse(bytes) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(size)) => {
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let pair = |header: &httparse::Header<'_>| {
                (header.name.to_ascii_lowercase(), text(header.value))
            };
            let headers = answer.headers.iter().map(pair).collect();
            Ok(Some((Head { status: answer.code.unwrap_or_default(), headers }, size)))
        }
        Err(_) => Err(ClientError::Malformed("it is not HTTP")),
    }
}

const LONGEST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
