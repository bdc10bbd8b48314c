//! Headers of requests and answers: bounded, each of them valid, and never one that says how the connection is used.

use std::sync::Arc;

use ureq::http::{HeaderName, HeaderValue};
use wasmtime::component::Resource;
use wasmtime::{Error, Result};

use super::super::super::host::Ending;
use super::super::budget::{Budget, Kept};
use super::super::codes::HeaderFault;
use super::super::host::Host;
use super::bindings::wasi::http::types::{self, HeaderError};
use crate::limits::Limit;

/// Headers that a component holds.
#[derive(Debug)]
pub struct Fields {
    entries: Arc<Entries>,
    /// Those of an answer and of a request that is made are as they are.
    is_immutable: bool,
}

/// Names and values, in their order.
#[derive(Debug)]
pub(super) struct Entries {
    list: Vec<(HeaderName, HeaderValue)>,
    kept: Kept,
}

type Outcome<T> = Result<T, HeaderFault>;

impl Entries {
    fn new(budget: &Budget) -> Self {
        Self { list: Vec::new(), kept: budget.begin() }
    }

    /// Those of an answer, without what says how the connection is used.
    pub(super) fn of_answer(budget: &Budget, list: Vec<(HeaderName, HeaderValue)>) -> Result<Self> {
        let mut entries = Self::new(budget);
        for (name, value) in list {
            if !is_forbidden(&name) {
                entries.push(name, value)?;
            }
        }
        Ok(entries)
    }

    fn push(&mut self, name: HeaderName, value: HeaderValue) -> Result<()> {
        let size = size(&name, &value);
        if self.kept.bytes().saturating_add(size as u64) > MOST_BYTES {
            return Err(Error::msg("headers over HTTP are larger than 128 KiB"));
        }
        if !self.kept.grow(size) {
            return Err(Ending::Reached(Limit::Memory).into());
        }
        self.list.push((name, value));
        Ok(())
    }

    fn remove(&mut self, name: &HeaderName) {
        let kept = &mut self.kept;
        self.list.retain(|(other, value)| {
            let stays = other != name;
            if !stays {
                kept.shrink(size(other, value));
            }
            stays
        });
    }

    fn copy(&self, budget: &Budget) -> Result<Self> {
        let mut copy = Self::new(budget);
        for (name, value) in self.iter() {
            copy.push(name.clone(), value.clone())?;
        }
        Ok(copy)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.list.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How long the body is said to be, if that is said once and is a number.
    pub(super) fn content_length(&self) -> Result<Option<u64>, ()> {
        let mut said = self.iter().filter(|(name, _)| name == "content-length");
        match (said.next(), said.next()) {
            (None, _) => Ok(None),
            (Some((_, value)), None) => {
                let digits = value.to_str().map_err(drop)?;
                digits.parse().map(Some).map_err(drop)
            }
            (Some(_), Some(_)) => Err(()),
        }
    }
}

fn size(name: &HeaderName, value: &HeaderValue) -> usize {
    name.as_str().len().saturating_add(value.len()).saturating_add(OVERHEAD)
}

impl Fields {
    /// Those that can be read alone.
    pub(super) const fn immutable(entries: Arc<Entries>) -> Self {
        Self { entries, is_immutable: true }
    }

    pub(super) fn into_entries(self) -> Arc<Entries> {
        self.entries
    }

    fn changeable(&mut self) -> Outcome<&mut Entries> {
        let entries = Arc::get_mut(&mut self.entries).filter(|_| !self.is_immutable);
        entries.ok_or(HeaderFault::Code(HeaderError::Immutable))
    }
}

fn name(text: &str) -> Outcome<HeaderName> {
    let name = HeaderName::from_bytes(text.as_bytes());
    let name = name.map_err(|_| HeaderFault::Code(HeaderError::InvalidSyntax))?;
    match is_forbidden(&name) {
        true => Err(HeaderFault::Code(HeaderError::Forbidden)),
        false => Ok(name),
    }
}

fn value(bytes: &[u8]) -> Outcome<HeaderValue> {
    HeaderValue::from_bytes(bytes).map_err(|_| HeaderFault::Code(HeaderError::InvalidSyntax))
}

fn is_forbidden(name: &HeaderName) -> bool {
    FORBIDDEN.contains(&name.as_str())
}

impl types::HostFields for Host {
    fn new(&mut self) -> Result<Resource<Fields>> {
        let entries = Arc::new(Entries::new(&self.budget));
        self.push(Fields { entries, is_immutable: false })
    }

    fn from_list(&mut self, list: Vec<(String, Vec<u8>)>) -> Outcome<Resource<Fields>> {
        let mut entries = Entries::new(&self.budget);
        for (text, bytes) in list {
            entries.push(name(&text)?, value(&bytes)?)?;
        }
        Ok(self.push(Fields { entries: Arc::new(entries), is_immutable: false })?)
    }

    fn get(&mut self, fields: Resource<Fields>, name: String) -> Result<Vec<Vec<u8>>> {
        let entries = self.table.get(&fields)?.entries.iter();
        let named = entries.filter(|(other, _)| other.as_str().eq_ignore_ascii_case(&name));
        Ok(named.map(|(_, value)| value.as_bytes().to_vec()).collect())
    }

    fn has(&mut self, fields: Resource<Fields>, name: String) -> Result<bool> {
        let mut entries = self.table.get(&fields)?.entries.iter();
        Ok(entries.any(|(other, _)| other.as_str().eq_ignore_ascii_case(&name)))
    }

    fn set(&mut self, fields: Resource<Fields>, text: String, values: Vec<Vec<u8>>) -> Outcome<()> {
        let entries = self.table.get_mut(&fields)?.changeable()?;
        let name = name(&text)?;
        let values: Outcome<Vec<_>> = values.iter().map(|bytes| value(bytes)).collect();
        let values = values?;
        entries.remove(&name);
        for value in values {
            entries.push(name.clone(), value)?;
        }
        Ok(())
    }

    fn delete(&mut self, fields: Resource<Fields>, text: String) -> Outcome<()> {
        let entries = self.table.get_mut(&fields)?.changeable()?;
        entries.remove(&name(&text)?);
        Ok(())
    }

    fn append(&mut self, fields: Resource<Fields>, text: String, bytes: Vec<u8>) -> Outcome<()> {
        let entries = self.table.get_mut(&fields)?.changeable()?;
        Ok(entries.push(name(&text)?, value(&bytes)?)?)
    }

    fn entries(&mut self, fields: Resource<Fields>) -> Result<Vec<(String, Vec<u8>)>> {
        let entries = self.table.get(&fields)?.entries.iter();
        let both = |(name, value): &(HeaderName, HeaderValue)| {
            (name.as_str().to_owned(), value.as_bytes().to_vec())
        };
        Ok(entries.map(both).collect())
    }

    fn clone(&mut self, fields: Resource<Fields>) -> Result<Resource<Fields>> {
        let entries = Arc::new(self.table.get(&fields)?.entries.copy(&self.budget)?);
        self.push(Fields { entries, is_immutable: false })
    }

    fn drop(&mut self, fields: Resource<Fields>) -> Result<()> {
        self.table.delete(fields)?;
        Ok(())
    }
}

/// Those of one request or answer together.
const MOST_BYTES: u64 = 128 << 10;
/// What an entry takes beside its text.
const OVERHEAD: usize = 96;
/// How the connection is used, and for whom, is said by the host alone: by these another request could be hidden in a body.
const FORBIDDEN: &[&str] = &[
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];
