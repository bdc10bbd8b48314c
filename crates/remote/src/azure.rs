//! Azure's store of blobs: its requests, signed with the key of an account, and what their answers mean. Notes are metadata
//! of a blob, which are changed in place; what others keep there stays.

use std::fmt::{Debug, Formatter};

use vfs::Timestamp;

use crate::backend::{Meta, MetaKind, Mode};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::hash::{hex, sha256};
use crate::http::{
    Answer, EndpointError, Headers, Http, Request, check_endpoint, escaped, refused,
};
use crate::notes::Notes;
use crate::objects::{Change, Metadata, Objects, Page, Part, id};
use crate::time;

mod changes;
mod listing;
mod sign;

use changes::tag;

/// Where the blobs are.
#[derive(Clone, Debug)]
pub struct AzurePlace {
    /// The address of the account's blobs, such as `https://ACCOUNT.blob.core.windows.net`.
    pub endpoint: String,
    /// The account.
    pub account: String,
    /// The container.
    pub container: String,
    /// What all names begin with; empty for all of the container.
    pub prefix: String,
    /// The key of the account, in base64 as Azure gives it.
    pub key: Secret,
}

/// A container, or a part of one. A13
pub struct Azure {
    http: Http,
    place: AzurePlace,
    endpoint: String,
}

impl Debug for Azure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Azure").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Azure {
    /// The one at a place. Nothing is asked yet.
    ///
    /// # Errors
    /// The address is none, or is not encrypted and not on this machine.
    pub fn new(place: AzurePlace, http: Http) -> Result<Self, EndpointError> {
        let endpoint = check_endpoint(&place.endpoint)?;
        let prefix = place.prefix.trim_matches('/').to_owned();
        Ok(Self { http, endpoint, place: AzurePlace { prefix, ..place } })
    }

    /// The address of a blob, or with an empty name of the container.
    fn address(&self, key: &str) -> String {
        let container = escaped(&self.place.container, false);
        let slash = if key.is_empty() { "" } else { "/" };
        format!("{}/{container}{slash}{}", self.endpoint, escaped(key, true))
    }

    fn send<T>(
        &self,
        what: &What<'_>,
        judge: impl FnMut(Answer) -> Result<T, Why>,
    ) -> Result<T, Failure> {
        let mut query = what.query.clone();
        query.sort_unstable();
        let address = self.address(what.key);
        let host = address.split_once("://").map_or("", |(_, rest)| rest);
        let path = host.find('/').and_then(|at| host.get(at..)).unwrap_or("/");
        let written: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)))
            .collect();
        let mark = if written.is_empty() { "" } else { "?" };
        let make = || {
            let key = self.place.key.read().map_err(|error| Why::Credential(error.to_string()))?;
            let subject = sign::Subject {
                account: &self.place.account,
                method: what.method,
                path,
                query: &query,
                length: what.body.len(),
            };
            let mut headers = what.headers.clone();
            headers.push(("x-ms-date".into(), time::written(Timestamp::now().seconds)));
            headers.push(("x-ms-version".into(), VERSION.to_owned()));
            let signature = subject
                .signature(&key, &headers)
                .ok_or_else(|| Why::Credential("the key of the account is no base64".into()))?;
            headers.push(("authorization".into(), signature));
            let address = format!("{address}{mark}{}", written.join("&"));
            Ok(Request { method: what.method, address, headers, body: what.body, most: what.most })
        };
        self.http.send(&format!("{} `{}`", what.action, what.key), make, judge)
    }

    /// What is known of a blob, and what its copy needs to be the same for others.
    fn look_at_all(&self, key: &str) -> Result<Seen, Failure> {
        self.send(&What::new("look at", "HEAD", key), |answer| match answer.status {
            200 => Ok(Seen {
                meta: file(key, &answer)?,
                etag: tag(&answer)?,
                others: METADATA.others(&answer, &[]),
            }),
            _ => Err(refused_with(&answer)),
        })
    }

    /// One answer of a listing.
    fn listed<T>(
        &self,
        start: &str,
        query: Vec<(&str, &str)>,
        read: fn(&str, &str) -> Option<T>,
    ) -> Result<T, Failure> {
        let mut query = query;
        query.extend([("restype", "container"), ("comp", "list"), ("prefix", start)]);
        let what = What { query, most: MOST_LISTING, ..What::new("list", "GET", "") };
        self.send(&what, |answer| match answer.status {
            200 => {
                let text = std::str::from_utf8(&answer.body)
                    .map_err(|_| Why::Answer("a listing that is no text"))?;
                read(text, start).ok_or(Why::Answer("a listing that nobody understands"))
            }
            _ => Err(refused_with(&answer)),
        })
        .map_err(|failure| Failure { action: format!("list `{start}`"), ..failure })
    }
}

/// A blob as it was looked at.
struct Seen {
    meta: Meta,
    /// Another one with each change, also of what is noted.
    etag: String,
    /// The metadata of others, if they are text.
    others: Option<Headers>,
}

/// A request before it is signed.
struct What<'a> {
    action: &'static str,
    method: &'static str,
    key: &'a str,
    query: Vec<(&'a str, &'a str)>,
    headers: Headers,
    body: &'a [u8],
    most: u64,
}

impl<'a> What<'a> {
    fn new(action: &'static str, method: &'static str, key: &'a str) -> Self {
        let (query, headers) = (Vec::new(), Vec::new());
        Self { action, method, key, query, headers, body: b"", most: MOST_ANSWER }
    }
}

impl Objects for Azure {
    fn title(&self) -> String {
        format!("container `{}`", self.place.container)
    }

    fn prefix(&self) -> &str {
        &self.place.prefix
    }

    fn page(&self, start: &str, after: &str, most: usize) -> Result<Page, Failure> {
        let count = most.to_string();
        let mut query = vec![("delimiter", "/"), ("maxresults", &*count)];
        if !after.is_empty() {
            query.push(("marker", after));
        }
        self.listed(start, query, listing::read)
    }

    fn look(&self, key: &str) -> Result<Meta, Failure> {
        self.look_at_all(key).map(|seen| seen.meta)
    }

    fn get(&self, key: &str, part: &Part<'_>) -> Result<Vec<u8>, Failure> {
        let mut headers: Headers = vec![("x-ms-range".into(), part.range())];
        let wanted = &part.meta.version;
        if !wanted.starts_with(BY_HASH) {
            headers.push(("if-match".into(), wanted.clone()));
        }
        let what = What { headers, most: part.length, ..What::new("read", "GET", key) };
        self.send(&what, |answer| match answer.status {
            200 | 206 if version(&answer)? != *wanted => Err(Why::Changed),
            _ => part.judged(answer),
        })
    }

    fn put(
        &self,
        key: &str,
        bytes: &[u8],
        mode: Mode,
        notes: Option<&Notes>,
    ) -> Result<Meta, Failure> {
        let hash = sha256(bytes);
        let mut headers: Headers = vec![(HASH.into(), hex(&hash))];
        headers.extend(METADATA.written(key, notes, &headers)?);
        headers.push(("x-ms-blob-type".into(), BLOCKS.to_owned()));
        if mode == Mode::Create {
            headers.push(("if-none-match".into(), "*".to_owned()));
        }
        let what = What { headers, body: bytes, ..What::new("write", "PUT", key) };
        self.send(&what, |answer| match answer.status {
            201 => Ok(Meta {
                kind: MetaKind::File,
                size: bytes.len() as u64,
                modified: Timestamp::now(),
                version: version_of(BLOCKS, answer.header("content-md5"), &tag(&answer)?),
                id: id(notes),
                sha256: Some(hash),
                notes: notes.cloned(),
            }),
            409 | 412 if mode == Mode::Create => Err(Why::Exists),
            400 => match refused_with(&answer) {
                Why::TooMuchNoted => Err(Why::TooMuchNoted),
                _ => Err(Why::Name),
            },
            _ => Err(refused_with(&answer)),
        })
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        let headers = vec![("x-ms-delete-snapshots".into(), "include".to_owned())];
        let what = What { headers, ..What::new("remove", "DELETE", key) };
        self.send(&what, |answer| match answer.status {
            202 | 404 => Ok(()),
            _ => Err(refused_with(&answer)),
        })
    }

    fn copy(&self, from: &str, meta: &Meta, to: &str, change: Change<'_>) -> Result<Meta, Failure> {
        self.changed(from, meta, to, change)
    }

    fn all(&self, start: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let count = most.to_string();
            let mut query = vec![("maxresults", &*count)];
            if !after.is_empty() {
                query.push(("marker", &after));
            }
            let page = self.listed(start, query, listing::all)?;
            found.extend(page.names);
            if found.len() > most {
                return Err(Failure { action: format!("list `{start}`"), why: Why::TooLarge });
            }
            // An answer can have fewer than there are, and even none.
            match page.next {
                Some(next) if next != after => after = next,
                _ => return Ok(found),
            }
        }
    }
}

fn file(key: &str, answer: &Answer) -> Result<Meta, Why> {
    let size = answer.header("content-length").and_then(|text| text.parse().ok());
    let size = size.ok_or(Why::Answer("no length"))?;
    let modified = answer.header("last-modified").and_then(time::http);
    let notes = METADATA.read(key, size, answer);
    Ok(Meta {
        kind: MetaKind::File,
        size,
        modified: modified.unwrap_or_default(),
        version: version(answer)?,
        id: id(notes.as_ref()),
        sha256: answer.header(HASH).and_then(crate::hash::from_hex),
        notes,
    })
}

/// The version of the contents that an answer is about.
fn version(answer: &Answer) -> Result<String, Why> {
    // Beside a part the one is the hash of all, and the other one of the part.
    let of_all = answer.header("x-ms-blob-content-md5");
    let hash = of_all.or_else(|| answer.header("content-md5").filter(|_| answer.status != 206));
    Ok(version_of(answer.header("x-ms-blob-type").unwrap_or_default(), hash, &tag(answer)?))
}

/// An ETag is another one whenever something is noted, and what is read stays what it was: so the hash that Azure has of the
/// contents says which they are. It has none of what was put together of parts, and what others append to keeps an old one.
fn version_of(kind: &str, hash: Option<&str>, etag: &str) -> String {
    match hash.filter(|_| kind == BLOCKS) {
        Some(hash) => format!("{BY_HASH}{hash}"),
        None => etag.to_owned(),
    }
}

/// What an answer means that is no success.
fn refused_with(answer: &Answer) -> Why {
    match answer.header("x-ms-error-code") {
        Some("MetadataTooLarge") => Why::TooMuchNoted,
        _ => refused(answer.status),
    }
}

/// Names are identifiers: some programs in between drop a header with an underscore, and Azure refuses a hyphen.
const METADATA: Metadata = Metadata {
    start: "x-ms-meta-",
    notes: "x-ms-meta-stockade",
    names: "x-ms-meta-stockadenames",
    most: 8192,
};
/// Whoever writes a blob anew takes this from it: it never says anything about other bytes.
const HASH: &str = "x-ms-meta-sha256";
/// The kind of blobs that are written as a whole.
const BLOCKS: &str = "BlockBlob";
/// No ETag begins so.
const BY_HASH: &str = "md5:";
/// Of the protocol.
const VERSION: &str = "2021-08-06";
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
