//! Azure's store of blobs: its requests, signed with the key of an account, and what their answers mean.

use std::fmt::{Debug, Formatter};

use vfs::Timestamp;

use crate::backend::{Meta, MetaKind, Mode};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::hash::{hex, sha256};
use crate::http::{Answer, EndpointError, Http, Request, check_endpoint, escaped, refused};
use crate::notes::Notes;
use crate::objects::{Change, Objects, Page, Part};
use crate::time;

mod listing;
mod sign;

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
            headers.push(("x-ms-date", time::written(Timestamp::now().seconds)));
            headers.push(("x-ms-version", VERSION.to_owned()));
            let signature = subject
                .signature(&key, &headers)
                .ok_or_else(|| Why::Credential("the key of the account is no base64".into()))?;
            headers.push(("authorization", signature));
            let headers = headers.into_iter().map(|(name, value)| (name.into(), value)).collect();
            let address = format!("{address}{mark}{}", written.join("&"));
            Ok(Request { method: what.method, address, headers, body: what.body, most: what.most })
        };
        self.http.send(&format!("{} `{}`", what.action, what.key), make, judge)
    }

    /// How far a copy has come that was not done at once.
    fn copy_state(&self, key: &str) -> Result<Copied, Failure> {
        self.send(&What::new("look at", "HEAD", key), |answer| match answer.status {
            200 => Copied::of(&answer),
            status => Err(refused(status)),
        })
    }
}

/// A request before it is signed.
struct What<'a> {
    action: &'static str,
    method: &'static str,
    key: &'a str,
    query: Vec<(&'a str, &'a str)>,
    headers: Vec<(&'static str, String)>,
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
        let mut query = vec![
            ("restype", "container"),
            ("comp", "list"),
            ("prefix", start),
            ("delimiter", "/"),
            ("maxresults", &count),
        ];
        if !after.is_empty() {
            query.push(("marker", after));
        }
        let what = What { query, most: MOST_LISTING, ..What::new("list", "GET", "") };
        self.send(&what, |answer| match answer.status {
            200 => {
                let text = std::str::from_utf8(&answer.body)
                    .map_err(|_| Why::Answer("a listing that is no text"))?;
                listing::read(text, start).ok_or(Why::Answer("a listing that nobody understands"))
            }
            status => Err(refused(status)),
        })
        .map_err(|failure| Failure { action: format!("list `{start}`"), ..failure })
    }

    fn look(&self, key: &str) -> Result<Meta, Failure> {
        self.send(&What::new("look at", "HEAD", key), |answer| match answer.status {
            200 => file(&answer),
            status => Err(refused(status)),
        })
    }

    fn get(&self, key: &str, part: &Part<'_>) -> Result<Vec<u8>, Failure> {
        let headers = vec![("x-ms-range", part.range()), ("if-match", part.meta.version.clone())];
        let what = What { headers, most: part.length, ..What::new("read", "GET", key) };
        self.send(&what, |answer| part.judged(answer))
    }

    fn put(&self, key: &str, bytes: &[u8], mode: Mode, _: Option<&Notes>) -> Result<Meta, Failure> {
        let hash = sha256(bytes);
        let mut headers = vec![("x-ms-blob-type", "BlockBlob".to_owned()), (HASH, hex(&hash))];
        if mode == Mode::Create {
            headers.push(("if-none-match", "*".to_owned()));
        }
        let what = What { headers, body: bytes, ..What::new("write", "PUT", key) };
        self.send(&what, |answer| match answer.status {
            201 => Ok(Meta {
                kind: MetaKind::File,
                size: bytes.len() as u64,
                modified: Timestamp::now(),
                version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
                id: String::new(),
                sha256: Some(hash),
                notes: None,
            }),
            409 | 412 if mode == Mode::Create => Err(Why::Exists),
            400 => Err(Why::Name),
            status => Err(refused(status)),
        })
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        let headers = vec![("x-ms-delete-snapshots", "include".to_owned())];
        let what = What { headers, ..What::new("remove", "DELETE", key) };
        self.send(&what, |answer| match answer.status {
            202 | 404 => Ok(()),
            status => Err(refused(status)),
        })
    }

    fn copy(&self, from: &str, meta: &Meta, to: &str, _: Change<'_>) -> Result<Meta, Failure> {
        let headers = vec![
            ("x-ms-copy-source", self.address(from)),
            ("x-ms-source-if-match", meta.version.clone()),
        ];
        let what = What { headers, ..What::new("rename", "PUT", to) };
        let mut state = self.send(&what, |answer| match answer.status {
            201 | 202 => Copied::of(&answer),
            status => Err(refused(status)),
        })?;
        for pause in PAUSES {
            match state {
                Copied::Whole => return Ok(meta.clone()),
                Copied::Not => break,
                Copied::NotYet => {
                    std::thread::sleep(pause);
                    state = self.copy_state(to)?;
                }
            }
        }
        if state == Copied::Whole {
            return Ok(meta.clone());
        }
        Err(Failure { action: format!("rename `{from}`"), why: Why::Server(202) })
    }
}

/// How far a copy has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    Whole,
    NotYet,
    Not,
}

impl Copied {
    fn of(answer: &Answer) -> Result<Self, Why> {
        match answer.header("x-ms-copy-status") {
            Some("success") => Ok(Self::Whole),
            Some("pending") => Ok(Self::NotYet),
            Some(_) => Ok(Self::Not),
            None => Err(Why::Answer("no state of a copy")),
        }
    }
}

fn file(answer: &Answer) -> Result<Meta, Why> {
    let size = answer.header("content-length").and_then(|text| text.parse().ok());
    let modified = answer.header("last-modified").and_then(time::http);
    Ok(Meta {
        kind: MetaKind::File,
        size: size.ok_or(Why::Answer("no length"))?,
        modified: modified.unwrap_or_default(),
        version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
        id: String::new(),
        sha256: answer.header(HASH).and_then(crate::hash::from_hex),
        notes: None,
    })
}

/// Whoever writes a blob anew takes this from it: it never says anything about other bytes.
const HASH: &str = "x-ms-meta-sha256";
/// Of the protocol.
const VERSION: &str = "2021-08-06";
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
/// Between looks at a copy, of which one within an account is done at once as a rule.
const PAUSES: [std::time::Duration; 6] = [
    std::time::Duration::from_millis(100),
    std::time::Duration::from_millis(300),
    std::time::Duration::from_secs(1),
    std::time::Duration::from_secs(3),
    std::time::Duration::from_secs(5),
    std::time::Duration::from_secs(10),
];
