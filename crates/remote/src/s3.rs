//! An object store that speaks S3. A directory is what has objects below it, or an object whose name ends with a slash.
//! Objects whose names no file can have are not shown.

use std::fmt::{Debug, Formatter};

use vfs::{Name, Timestamp};

use crate::backend::{Backend, Meta, MetaKind, Mode, below};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::http::{Answer, EndpointError, Http, Request, check_endpoint, escaped, refused};
use crate::time;

mod listing;
mod sign;

use sign::Signer;
pub(crate) use sign::{hex, sha256};

/// Where the objects are.
#[derive(Clone, Debug)]
pub struct S3Place {
    /// The address of the store.
    pub endpoint: String,
    /// Its region.
    pub region: String,
    /// The bucket.
    pub bucket: String,
    /// What all names begin with; empty for all of the bucket.
    pub prefix: String,
    /// The id of the key.
    pub key_id: Secret,
    /// The key.
    pub key: Secret,
    /// The token that belongs to a key that does not last.
    pub token: Option<Secret>,
}

/// A bucket, or a part of one. A13
pub struct S3 {
    http: Http,
    place: S3Place,
    endpoint: String,
}

impl Debug for S3 {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("S3").field("place", &self.place).finish_non_exhaustive()
    }
}

impl S3 {
    /// The one at a place. Nothing is asked yet.
    ///
    /// # Errors
    /// The address is none, or is not encrypted and not on this machine.
    pub fn new(place: S3Place, http: Http) -> Result<Self, EndpointError> {
        let endpoint = check_endpoint(&place.endpoint)?;
        let prefix = place.prefix.trim_matches('/').to_owned();
        Ok(Self { http, endpoint, place: S3Place { prefix, ..place } })
    }

    fn key(&self, path: &str) -> String {
        if path.is_empty() { self.place.prefix.clone() } else { below(&self.place.prefix, path) }
    }

    /// What the names in a directory begin with.
    fn start(&self, path: &str) -> String {
        let key = self.key(path);
        if key.is_empty() { key } else { format!("{key}/") }
    }

    fn signer(&self) -> Result<Signer, Why> {
        let read = |secret: &Secret| secret.read().map_err(|it| Why::Credential(it.to_string()));
        Ok(Signer {
            key_id: read(&self.place.key_id)?,
            key: read(&self.place.key)?,
            token: self.place.token.as_ref().map(read).transpose()?,
            region: self.place.region.clone(),
        })
    }

    /// Sends a signed request about an object, or with an empty key about the bucket.
    fn send<T>(
        &self,
        what: &What<'_>,
        judge: impl FnMut(Answer) -> Result<T, Why>,
    ) -> Result<T, Failure> {
        let path = format!("/{}/{}", escaped(&self.place.bucket, false), escaped(what.key, true));
        let mut query: Vec<String> = what
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)))
            .collect();
        query.sort();
        let query = query.join("&");
        let host = self.endpoint.split_once("://").map_or("", |(_, host)| host);
        let make = || {
            let signer = self.signer()?;
            let now = Timestamp::now().seconds;
            let signed = sign::Subject { method: what.method, host, path: &path, query: &query };
            let headers = signer.sign(&signed, &what.headers, what.body, now);
            let mark = if query.is_empty() { "" } else { "?" };
            let address = format!("{}{path}{mark}{query}", self.endpoint);
            Ok(Request { method: what.method, address, headers, body: what.body, most: what.most })
        };
        self.http.send(&format!("{} `{}`", what.action, what.key), make, judge)
    }

    /// One page of a listing.
    fn page(&self, start: &str, after: &str, most: usize) -> Result<listing::Page, Failure> {
        let count = most.min(PAGE).to_string();
        let mut query =
            vec![("list-type", "2"), ("prefix", start), ("delimiter", "/"), ("max-keys", &count)];
        if !after.is_empty() {
            query.push(("continuation-token", after));
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

    fn is_directory(&self, path: &str) -> Result<bool, Failure> {
        if path.is_empty() {
            return Ok(true);
        }
        let page = self.page(&self.start(path), "", 1)?;
        Ok(page.is_there)
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

impl Backend for S3 {
    fn renames_directories(&self) -> bool {
        false
    }

    fn stat(&self, path: &str) -> Result<Meta, Failure> {
        // What has something below it is a directory, whatever object has its name.
        if self.is_directory(path)? {
            return Ok(directory());
        }
        let key = self.key(path);
        let headers = vec![("x-amz-checksum-mode", "ENABLED".to_owned())];
        let what = What { headers, ..What::new("look at", "HEAD", &key) };
        self.send(&what, |answer| match answer.status {
            200 => file(&answer),
            status => Err(refused(status)),
        })
    }

    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        let start = self.start(path);
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.page(&start, &after, PAGE)?;
            found.extend(
                page.names.into_iter().filter(|(name, _)| Name::new(name.as_bytes()).is_ok()),
            );
            if found.len() > most {
                return Err(Failure { action: format!("list `{start}`"), why: Why::TooLarge });
            }
            match page.next {
                Some(next) if next != after => after = next,
                _ => break,
            }
        }
        // A directory hides an object of the same name.
        found.sort_by(|one, other| {
            (&one.0, one.1.kind == MetaKind::File).cmp(&(&other.0, other.1.kind == MetaKind::File))
        });
        found.dedup_by(|one, other| one.0 == other.0);
        Ok(found)
    }

    fn read(&self, path: &str, meta: &Meta, from: u64, length: u64) -> Result<Vec<u8>, Failure> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let key = self.key(path);
        let last = from + length - 1;
        let headers =
            vec![("range", format!("bytes={from}-{last}")), ("if-match", meta.version.clone())];
        let what = What { headers, most: length, ..What::new("read", "GET", &key) };
        self.send(&what, |answer| {
            let found = answer.body.len() as u64;
            let range = format!("bytes {from}-{last}/{}", meta.size);
            match answer.status {
                206 if found != length => Err(Why::Length { expected: length, found }),
                206 if answer.header("content-range") != Some(&range) => {
                    Err(Why::Answer("another part than was asked for"))
                }
                206 => check(meta, length, answer.body),
                200 if from == 0 && found == length && length == meta.size => {
                    check(meta, length, answer.body)
                }
                200 => Err(Why::Length { expected: length, found }),
                416 => Err(Why::Changed),
                status => Err(refused(status)),
            }
        })
    }

    fn write(&self, path: &str, bytes: &[u8], mode: Mode) -> Result<Meta, Failure> {
        let key = self.key(path);
        let hash = sha256(bytes);
        let mut headers = vec![
            ("x-amz-checksum-sha256", sign::base64(&hash)),
            // Some stores keep the hash only for who names its kind.
            ("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()),
        ];
        if mode == Mode::Create {
            headers.push(("if-none-match", "*".to_owned()));
        }
        let what = What { headers, body: bytes, ..What::new("write", "PUT", &key) };
        self.send(&what, |answer| match answer.status {
            200 => Ok(Meta {
                kind: MetaKind::File,
                size: bytes.len() as u64,
                modified: Timestamp::now(),
                version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
                id: String::new(),
                sha256: Some(hash),
            }),
            412 if mode == Mode::Create => Err(Why::Exists),
            400 => Err(Why::Checksum),
            status => Err(refused(status)),
        })
    }

    fn make_directory(&self, path: &str) -> Result<Meta, Failure> {
        let key = self.start(path);
        self.send(&What::new("make", "PUT", &key), |answer| match answer.status {
            200 => Ok(directory()),
            status => Err(refused(status)),
        })
    }

    fn remove(&self, path: &str, meta: &Meta) -> Result<(), Failure> {
        let key = match meta.kind {
            MetaKind::File => self.key(path),
            MetaKind::Directory => self.start(path),
        };
        self.send(&What::new("remove", "DELETE", &key), |answer| match answer.status {
            200 | 204 | 404 => Ok(()),
            status => Err(refused(status)),
        })
    }

    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<(), Failure> {
        let (source, target) = (self.key(from), self.key(to));
        if meta.kind == MetaKind::Directory {
            return Err(Failure { action: format!("rename `{source}`"), why: Why::Unable });
        }
        let bucket = escaped(&self.place.bucket, false);
        let headers = vec![
            ("x-amz-copy-source", format!("/{bucket}/{}", escaped(&source, true))),
            ("x-amz-copy-source-if-match", meta.version.clone()),
        ];
        let what = What { headers, ..What::new("rename", "PUT", &target) };
        self.send(&what, |answer| match answer.status {
            // It can say 200 first, and in its body that nothing came of it.
            200 if String::from_utf8_lossy(&answer.body).contains("<Error>") => {
                Err(Why::Server(200))
            }
            200 => Ok(()),
            status => Err(refused(status)),
        })?;
        self.remove(from, meta)
    }
}

/// Whether the bytes are those of a whole file's hash.
pub(crate) fn check(meta: &Meta, length: u64, bytes: Vec<u8>) -> Result<Vec<u8>, Why> {
    match meta.sha256 {
        Some(hash) if length == meta.size && sha256(&bytes) != hash => Err(Why::Checksum),
        _ => Ok(bytes),
    }
}

fn file(answer: &Answer) -> Result<Meta, Why> {
    let size = answer.header("content-length").and_then(|text| text.parse().ok());
    let modified = answer.header("last-modified").and_then(time::http);
    let hash = answer.header("x-amz-checksum-sha256").and_then(sign::from_base64);
    Ok(Meta {
        kind: MetaKind::File,
        size: size.ok_or(Why::Answer("no length"))?,
        modified: modified.unwrap_or_default(),
        version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
        id: String::new(),
        sha256: hash.and_then(|hash| hash.try_into().ok()),
    })
}

fn directory() -> Meta {
    Meta {
        kind: MetaKind::Directory,
        size: 0,
        modified: Timestamp::default(),
        version: String::new(),
        id: String::new(),
        sha256: None,
    }
}

/// How many names come in one answer.
const PAGE: usize = 1000;
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
