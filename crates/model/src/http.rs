//! HTTP/1.1 as far as a client of a model and the service need it: heads and bodies, sans-io and bounded. Never follows
//! a redirect, never decompresses, and refuses a message whose length could be read in two ways.

mod body;

use httparse::{EMPTY_HEADER, Header, Status};
use thiserror::Error;

pub use body::BodyReader;

/// Why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HttpError {
    /// The head is no HTTP.
    #[error("what arrived is no HTTP")]
    NotHttp,
    /// The head is too long.
    #[error("the head is longer than {MOST_HEAD} bytes")]
    LongHead,
    /// How long the body is can be read in two ways.
    #[error("the length of the body is ambiguous")]
    Ambiguous,
    /// A chunk is not what it should be.
    #[error("the body is not in chunks as it should be")]
    Chunk,
    /// The connection ended too early.
    #[error("the connection ended before the message did")]
    CutOff,
}

/// The fields of a head, with names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    fn of(headers: &[Header<'_>]) -> Self {
        let field = |header: &Header<'_>| (header.name.to_ascii_lowercase(), header.value.to_vec());
        Self(headers.iter().map(field).collect())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The first of a name.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The first of a name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.first(name).and_then(|value| str::from_utf8(value).ok()).map(str::trim)
    }

    fn is_chunked(&self) -> Result<bool, HttpError> {
        let mut codings = self.iter().filter(|(name, _)| *name == "transfer-encoding");
        match (codings.next(), codings.next()) {
            (None, _) => Ok(false),
            (Some((_, value)), None) if value.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
                Ok(true)
            }
            _ => Err(HttpError::Ambiguous),
        }
    }

    fn length(&self) -> Result<Option<u64>, HttpError> {
        let mut lengths = self.iter().filter(|(name, _)| *name == "content-length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(None),
            (Some((_, value)), None)
                if !value.is_empty() && value.iter().all(u8::is_ascii_digit) =>
            {
                let text = str::from_utf8(value).map_err(|_| HttpError::Ambiguous)?;
                text.parse().map(Some).map_err(|_| HttpError::Ambiguous)
            }
            _ => Err(HttpError::Ambiguous),
        }
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Such as 200.
    pub status: u16,
    /// What it says about itself.
    pub fields: Fields,
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Such as `POST`.
    pub method: String,
    /// What is asked for, as it was written.
    pub target: String,
    /// What it says about itself.
    pub fields: Fields,
}

/// A head that may not be complete yet.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// More bytes have to come.
    NeedMore,
    /// The head, and how many bytes it took.
    Head(T, usize),
}

impl ResponseHead {
    /// Reads a head from all bytes that have come so far.
    ///
    /// # Errors
    /// If no bytes after these could make it one.
    pub fn read(bytes: &[u8]) -> Result<Progress<Self>, HttpError> {
        let mut headers = [EMPTY_HEADER; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut headers);
        let Some(length) = read_head(bytes.len(), response.parse(bytes))? else {
            return Ok(Progress::NeedMore);
        };
        let status = response.code.ok_or(HttpError::NotHttp)?;
        Ok(Progress::Head(Self { status, fields: Fields::of(response.headers) }, length))
    }

    /// How its body is delimited.
    ///
    /// # Errors
    /// If that is ambiguous.
    pub fn body(&self) -> Result<BodyReader, HttpError> {
        if matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(BodyReader::of_length(0));
        }
        match (self.fields.is_chunked()?, self.fields.length()?) {
            (true, None) => Ok(BodyReader::chunked()),
            (false, Some(length)) => Ok(BodyReader::of_length(length)),
            (false, None) => Ok(BodyReader::until_close()),
            (true, Some(_)) => Err(HttpError::Ambiguous),
        }
    }
}

impl RequestHead {
    /// Reads a head from all bytes that have come so far.
    ///
    /// # Errors
    /// If no bytes after these could make it one.
    pub fn read(bytes: &[u8]) -> Result<Progress<Self>, HttpError> {
        let mut headers = [EMPTY_HEADER; MOST_FIELDS];
        let mut request = httparse::Request::new(&mut headers);
        let Some(length) = read_head(bytes.len(), request.parse(bytes))? else {
            return Ok(Progress::NeedMore);
        };
        let (Some(method), Some(target)) = (request.method, request.path) else {
            return Err(HttpError::NotHttp);
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        Ok(Progress::Head(Self { method, target, fields: Fields::of(request.headers) }, length))
    }

    /// How its body is delimited.
    ///
    /// # Errors
    /// If that is ambiguous.
    pub fn body(&self) -> Result<BodyReader, HttpError> {
        match (self.fields.is_chunked()?, self.fields.length()?) {
            (true, None) => Ok(BodyReader::chunked()),
            (false, length) => Ok(BodyReader::of_length(length.unwrap_or_default())),
            (true, Some(_)) => Err(HttpError::Ambiguous),
        }
    }
}

/// The length of a head, once it is complete.
fn read_head(arrived: usize, parsed: httparse::Result<usize>) -> Result<Option<usize>, HttpError> {
    match parsed {
        Ok(Status::Complete(length)) if length <= MOST_HEAD => Ok(Some(length)),
        Ok(Status::Partial) if arrived < MOST_HEAD => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(HttpError::LongHead),
        Err(_) => Err(HttpError::NotHttp),
    }
}

/// The longest head.
pub const MOST_HEAD: usize = 64 << 10;
const MOST_FIELDS: usize = 128;

#[cfg(test)]
mod tests;
