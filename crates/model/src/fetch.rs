//! One request to any server, as a tool or a service of the operator makes it: no redirect, an answer that is bounded, and a key
//! only where the operator has one. Where it may go is decided by what is around the process.

use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::client::read_head;
use crate::connection::{Connection, Patience};
use crate::error::{ModelError, Refusal};
use crate::http::{Fields, ResponseHead};
use crate::key::Key;
use crate::url::{BaseUrl, UrlError};
use zeroize::Zeroizing;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Fetch<'a> {
    /// Such as `GET`: letters alone.
    pub method: &'a str,
    /// Where, with its query.
    pub address: &'a Address,
    /// Fields beside those that every request has.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// A key of the operator's, and the field that it is sent in. An answer that has it is none.
    pub key: Option<(&'a str, &'a Key)>,
    /// What is sent; none where the method sends nothing.
    pub body: Option<&'a [u8]>,
    /// The most of an answer that is read.
    pub most: usize,
    /// How long it may take.
    pub until: Instant,
}

/// An address of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    server: BaseUrl,
    target: String,
}

/// An answer.
#[derive(Debug)]
pub struct Fetched {
    /// Such as 200.
    pub status: u16,
    /// What stands before it.
    pub fields: Fields,
    /// The answer, as far as it was read.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
}

impl Address {
    /// Reads one. What stands after `#` is for whoever reads the page.
    ///
    /// # Errors
    /// If it is none of `http` or `https`, or has letters that a request cannot have.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.split_once('#').map_or(text, |(text, _)| text);
        let after = text.find("://").map_or(text.len(), |at| at + 3);
        let rest = text.get(after..).unwrap_or_default();
        let end = rest.find(['/', '?']).map_or(text.len(), |at| after + at);
        let (server, target) = text.split_at(end);
        let server: BaseUrl = server.parse()?;
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        if !target.bytes().all(is_plain) || target.len() > MOST_TARGET {
            return Err(UrlError::new(
                text,
                "its path has letters that have to be written with `%`",
            ));
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { server, target })
    }

    /// What an answer from here names as another place.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn join(&self, text: &str) -> Result<Self, UrlError> {
        let scheme = if self.server.is_tls { "https" } else { "http" };
        if text.contains("://") {
            return Self::parse(text);
        }
        if let Some(rest) = text.strip_prefix("//") {
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let above = path.rfind('/').map_or("/", |at| path.get(..=at).unwrap_or("/"));
        let target = if text.starts_with('/') { text.to_owned() } else { format!("{above}{text}") };
        Self::parse(&format!("{}{target}", self.server))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.server, self.target)
    }
}

/// Asks once.
///
/// # Errors
/// If there is no answer.
pub fn fetch(wanted: &Fetch<'_>, cancel: &Cancel) -> Result<Fetched, ModelError> {
    let server = &wanted.address.server;
    if wanted.key.is_some() && !server.is_tls && !server.is_loopback() {
        return Err(Refusal::KeyInTheOpen(server.to_string()).into());
    }
    let left = wanted.until.saturating_duration_since(Instant::now());
    let patience =
        Patience { cancel, silence: left.min(LONGEST_SILENCE), until: wanted.until, whole: left };
    let mut connection = Connection::open(&wanted.address.server, patience)?;
    let mut head = Zeroizing::new(
        format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept-encoding: identity\r\n",
            wanted.method,
            wanted.address.target,
            wanted.address.server.authority()
        )
        .into_bytes(),
    );
    if let Some((name, key)) = wanted.key {
        let before: &[u8] = if name == "authorization" { b"Bearer " } else { b"" };
        // The room is taken at once, so that growing leaves no copy of the key behind.
        let mut with = Zeroizing::new(Vec::with_capacity(head.len() + key.bytes().len() + 8192));
        let parts: [&[u8]; 6] = [&head, name.as_bytes(), b": ", before, key.bytes(), b"\r\n"];
        for part in parts {
            with.extend_from_slice(part);
        }
        head = with;
    }
    for (name, value) in wanted.fields {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    if let Some(body) = wanted.body {
        head.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    connection.write_all(&head, patience)?;
    connection.write_all(wanted.body.unwrap_or_default(), patience)?;
    let (head, rest) = read_head(&mut connection, patience)?;
    let mut body = match wanted.method {
        "HEAD" => Vec::new(),
        _ => read_body(&mut connection, &head, rest, wanted.most, patience)?,
    };
    if let Some((_, key)) = wanted.key
        && body.windows(key.bytes().len()).any(|part| part == key.bytes())
    {
        return Err(ModelError::Broken(std::io::Error::other("the answer has the key in it")));
    }
    let is_cut = body.len() > wanted.most;
    body.truncate(wanted.most);
    Ok(Fetched { status: head.status, fields: head.fields, body, is_cut })
}

/// What follows the head, or its beginning that is longer than `most`.
fn read_body(
    connection: &mut Connection,
    head: &ResponseHead,
    mut taken: Vec<u8>,
    most: usize,
    patience: Patience<'_>,
) -> Result<Vec<u8>, ModelError> {
    let (mut reader, mut body) = (head.body()?, Vec::new());
    let mut buffer = vec![0; 16 << 10];
    loop {
        reader.feed(&taken, &mut body)?;
        if reader.is_done() || body.len() > most {
            return Ok(body);
        }
        let count = connection.read(&mut buffer, patience)?;
        if count == 0 {
            reader.end()?;
            return Ok(body);
        }
        taken.clear();
        taken.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
}

const LONGEST_SILENCE: Duration = Duration::from_secs(60);
const MOST_TARGET: usize = 8 << 10;

#[cfg(test)]
mod tests;
