//! An object store that speaks S3: its requests, signed, and what their answers mean. Notes are metadata of an object, which
//! is copied onto itself to change them; what others keep there stays.

use std::fmt::{Debug, Formatter};

use vfs::Timestamp;

use crate::backend::{Meta, MetaKind, Mode};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::hash::{base64, from_base64, sha256};
use crate::http::{
    Answer, EndpointError, Headers, Http, Request, check_endpoint, escaped, refused,
};
use crate::notes::Notes;
use crate::objects::{Change, Metadata, Objects, Page, Part, id};
use crate::time;
use crate::xml::{element, unescaped};

mod listing;
mod sign;

use sign::Signer;

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
}

impl S3 {
    /// What is known of an object, and the headers that its copy needs to be the same for others, if they are text.
    fn look_at_all(&self, key: &str) -> Result<(Meta, Option<Headers>), Failure> {
        let headers = vec![("x-amz-checksum-mode".into(), "ENABLED".to_owned())];
        let what = What { headers, ..What::new("look at", "HEAD", key) };
        self.send(&what, |answer| match answer.status {
            200 => Ok((file(key, &answer)?, METADATA.others(&answer, &KEPT))),
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

impl Objects for S3 {
    fn title(&self) -> String {
        format!("bucket `{}`", self.place.bucket)
    }

    fn prefix(&self) -> &str {
        &self.place.prefix
    }

    fn page(&self, start: &str, after: &str, most: usize) -> Result<Page, Failure> {
        let count = most.to_string();
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

    fn look(&self, key: &str) -> Result<Meta, Failure> {
        self.look_at_all(key).map(|(meta, _)| meta)
    }

    fn get(&self, key: &str, part: &Part<'_>) -> Result<Vec<u8>, Failure> {
        let headers =
            vec![("range".into(), part.range()), ("if-match".into(), part.meta.version.clone())];
        let what = What { headers, most: part.length, ..What::new("read", "GET", key) };
        self.send(&what, |answer| part.judged(answer))
    }

    fn put(
        &self,
        key: &str,
        bytes: &[u8],
        mode: Mode,
        notes: Option<&Notes>,
    ) -> Result<Meta, Failure> {
        let hash = sha256(bytes);
        let mut headers = vec![
            ("x-amz-checksum-sha256".into(), base64(&hash)),
            // Some stores keep the hash only for who names its kind.
            ("x-amz-sdk-checksum-algorithm".into(), "SHA256".to_owned()),
        ];
        if mode == Mode::Create {
            headers.push(("if-none-match".into(), "*".to_owned()));
        }
        headers.extend(METADATA.written(key, notes, &Headers::new())?);
        let what = What { headers, body: bytes, ..What::new("write", "PUT", key) };
        self.send(&what, |answer| match answer.status {
            200 => Ok(Meta {
                kind: MetaKind::File,
                size: bytes.len() as u64,
                modified: Timestamp::now(),
                version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
                id: id(notes),
                sha256: Some(hash),
                notes: notes.cloned(),
            }),
            412 if mode == Mode::Create => Err(Why::Exists),
            400 => Err(Why::Checksum),
            status => Err(refused(status)),
        })
    }

    fn delete(&self, key: &str) -> Result<(), Failure> {
        self.send(&What::new("remove", "DELETE", key), |answer| match answer.status {
            200 | 204 | 404 => Ok(()),
            status => Err(refused(status)),
        })
    }

    fn copy(&self, from: &str, meta: &Meta, to: &str, change: Change<'_>) -> Result<Meta, Failure> {
        let failed = |why| Failure { action: format!("copy `{from}`"), why };
        let (found, others) = self.look_at_all(from)?;
        if found.version != meta.version && !meta.version.is_empty() {
            return Err(failed(Why::Changed));
        }
        let others = others.ok_or_else(|| failed(Why::Unable))?;
        let notes = change(found.notes.clone());
        let bucket = escaped(&self.place.bucket, false);
        let mut headers = vec![
            ("x-amz-copy-source".into(), format!("/{bucket}/{}", escaped(from, true))),
            ("x-amz-copy-source-if-match".into(), found.version.clone()),
            ("x-amz-metadata-directive".into(), "REPLACE".to_owned()),
        ];
        headers.extend(METADATA.written(to, notes.as_ref(), &others)?);
        headers.extend(others);
        let what = What { headers, ..What::new("copy to", "PUT", to) };
        let version = self.send(&what, |answer| {
            let text = String::from_utf8_lossy(&answer.body);
            match answer.status {
                // It can say 200 first, and in its body that nothing came of it.
                200 if text.contains("<Error>") => Err(Why::Server(200)),
                200 => Ok(element(&text, "ETag").and_then(unescaped)),
                status => Err(refused(status)),
            }
        })?;
        let version = version.unwrap_or_else(|| found.version.clone());
        Ok(Meta { version, id: id(notes.as_ref()), notes, ..found })
    }

    fn all(&self, start: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        // One answer has no more than 1000: what is cut is too large.
        let count = most.to_string();
        let query = vec![("list-type", "2"), ("prefix", start), ("max-keys", &*count)];
        let what = What { query, most: MOST_LISTING, ..What::new("list", "GET", "") };
        self.send(&what, |answer| match answer.status {
            200 => {
                let text = std::str::from_utf8(&answer.body)
                    .map_err(|_| Why::Answer("a listing that is no text"))?;
                let all = listing::all(text, start)
                    .ok_or(Why::Answer("a listing that nobody understands"))?;
                if all.next.is_some() { Err(Why::TooLarge) } else { Ok(all.names) }
            }
            status => Err(refused(status)),
        })
        .map_err(|failure| Failure { action: format!("list `{start}`"), ..failure })
    }
}

fn file(key: &str, answer: &Answer) -> Result<Meta, Why> {
    let size = answer.header("content-length").and_then(|text| text.parse().ok());
    let modified = answer.header("last-modified").and_then(time::http);
    let size = size.ok_or(Why::Answer("no length"))?;
    let hash = answer.header("x-amz-checksum-sha256").and_then(from_base64);
    let notes = METADATA.read(key, size, answer);
    Ok(Meta {
        kind: MetaKind::File,
        size,
        modified: modified.unwrap_or_default(),
        version: answer.header("etag").ok_or(Why::Answer("no ETag"))?.to_owned(),
        id: id(notes.as_ref()),
        sha256: hash.and_then(|hash| hash.try_into().ok()),
        notes,
    })
}

const METADATA: Metadata = Metadata {
    start: "x-amz-meta-",
    notes: "x-amz-meta-stockade",
    names: "x-amz-meta-stockade-names",
    most: 2048,
};
/// What a copy with other metadata would lose.
const KEPT: [&str; 7] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-storage-class",
];
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
