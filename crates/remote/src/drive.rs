//! Google Drive, below one folder. Files have ids there and names need not be alone: of several with one name the oldest
//! is meant. What has no bytes of its own, as a document of its own editor, is not shown.

use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vfs::{Name, Timestamp};

use crate::backend::{Backend, Meta, MetaKind, Mode};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::hash::{hex, sha256};
use crate::http::{Answer, EndpointError, Http, Request, check_endpoint, escaped, refused};
use crate::objects::check;
use crate::time;

/// Where the files are.
#[derive(Clone, Debug)]
pub struct DrivePlace {
    /// The address of the service.
    pub endpoint: String,
    /// Where tokens are had.
    pub token_endpoint: String,
    /// The id of the folder that is the root; `root` is all of the drive.
    pub folder: String,
    /// By which it may be done.
    pub token: DriveToken,
}

/// A permission of a drive's owner.
#[derive(Clone, Debug)]
pub enum DriveToken {
    /// A token that lasts as long as it does.
    Access(Secret),
    /// What new tokens are had for.
    Refresh {
        /// The program, as the service knows it.
        client_id: Secret,
        /// Its secret.
        client_secret: Secret,
        /// What the owner gave it.
        refresh_token: Secret,
    },
}

/// A folder of a drive. A14
pub struct Drive {
    http: Http,
    place: DrivePlace,
    endpoint: String,
    token_endpoint: String,
    token: Mutex<Option<(String, Instant)>>,
    /// The folders that were found lately.
    folders: Mutex<HashMap<String, (String, Instant)>>,
}

impl Debug for Drive {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Drive").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Drive {
    /// The one at a place. Nothing is asked yet.
    ///
    /// # Errors
    /// An address is none, or is not encrypted and not on this machine.
    pub fn new(place: DrivePlace, http: Http) -> Result<Self, EndpointError> {
        let endpoint = check_endpoint(&place.endpoint)?;
        let token_endpoint = check_endpoint(&place.token_endpoint)?;
        let (token, folders) = (Mutex::default(), Mutex::default());
        Ok(Self { http, place, endpoint, token_endpoint, token, folders })
    }

    /// A token that lasts for a request.
    fn token(&self) -> Result<String, Failure> {
        let read = |secret: &Secret| {
            let why = |error: crate::CredentialError| Why::Credential(error.to_string());
            let failed = |why| Failure { action: "read the credential".to_owned(), why };
            secret.read().map_err(why).map_err(failed)
        };
        let (client_id, client_secret, refresh_token) = match &self.place.token {
            DriveToken::Access(secret) => return read(secret),
            DriveToken::Refresh { client_id, client_secret, refresh_token } => {
                (read(client_id)?, read(client_secret)?, read(refresh_token)?)
            }
        };
        let mut known = lock(&self.token);
        if let Some((token, until)) = &*known
            && *until > Instant::now()
        {
            return Ok(token.clone());
        }
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", &client_id),
            ("client_secret", &client_secret),
            ("refresh_token", &refresh_token),
        ];
        let form = form.map(|(name, value)| format!("{name}={}", escaped(value, false))).join("&");
        let make = || {
            let kind = "application/x-www-form-urlencoded".to_owned();
            Ok(Request {
                method: "POST",
                address: self.token_endpoint.clone(),
                headers: vec![("content-type", kind)],
                body: form.as_bytes(),
                most: MOST_ANSWER,
            })
        };
        let (token, lasts) = self.http.send("get a token", make, |answer| {
            if answer.status != 200 {
                // The service says 400 of a permission that was taken back.
                let status = answer.status;
                return Err(if status == 400 { Why::Refused(status) } else { refused(status) });
            }
            let answer = parsed(&answer)?;
            let token = text(&answer, "access_token").ok_or(Why::Answer("no token"))?;
            Ok((token.to_owned(), answer.get("expires_in").and_then(Value::as_u64).unwrap_or(60)))
        })?;
        let until = Instant::now() + Duration::from_secs(lasts.saturating_sub(30).min(3600));
        *known = Some((token.clone(), until));
        Ok(token)
    }

    fn send<T>(
        &self,
        action: &str,
        what: &What<'_>,
        judge: impl FnMut(Answer) -> Result<T, Why>,
    ) -> Result<T, Failure> {
        let token = self.token()?;
        let make = || {
            let mut headers = what.headers.clone();
            headers.push(("authorization", format!("Bearer {token}")));
            let address = format!("{}{}", self.endpoint, what.path);
            Ok(Request { method: what.method, address, headers, body: what.body, most: what.most })
        };
        let http = if what.is_once { self.http.once_only() } else { self.http.clone() };
        let done = http.send(action, make, judge);
        if matches!(&done, Err(Failure { why: Why::Refused(401), .. })) {
            *lock(&self.token) = None;
        }
        done
    }

    fn ask(&self, action: &str, what: &What<'_>) -> Result<Value, Failure> {
        self.send(action, what, |answer| match answer.status {
            200 => parsed(&answer),
            403 if is_rate_limit(&answer.body) => Err(Why::RateLimited),
            403 if is_full(&answer.body) => Err(Why::NoRoom),
            status => Err(refused(status)),
        })
    }

    /// What is in a folder, of one name or of all.
    fn children(
        &self,
        folder: &str,
        name: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, Meta)>, Failure> {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        let mut query = format!("'{}' in parents and trashed = false", quoted(folder));
        if let Some(name) = name {
            query.push_str(&format!(" and name = '{}'", quoted(name)));
        }
        let action = format!("list the folder `{folder}`");
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let mut path = format!(
                "/drive/v3/files?pageSize=1000&orderBy=createdTime&spaces=drive&q={}&fields={}",
                escaped(&query, false),
                escaped(&format!("nextPageToken,files({FIELDS})"), false),
            );
            if !next.is_empty() {
                path.push_str(&format!("&pageToken={}", escaped(&next, false)));
            }
            let what = What { most: MOST_LISTING, ..What::new("GET", &path) };
            let answer = self.ask(&action, &what)?;
            let files = answer.get("files").and_then(Value::as_array);
            let invalid = || Failure { action: action.clone(), why: Why::Answer("no files") };
            for file in files.ok_or_else(invalid)? {
                if let Some(one) = meta(file) {
                    found.push(one);
                }
            }
            if found.len() > most {
                return Err(Failure { action, why: Why::TooLarge });
            }
            match text(&answer, "nextPageToken") {
                Some(token) if token != next => next = token.to_owned(),
                _ => break,
            }
        }
        // The oldest of a name.
        let mut names = std::collections::HashSet::new();
        found.retain(|(name, _)| Name::new(name.as_bytes()).is_ok() && names.insert(name.clone()));
        Ok(found)
    }

    /// The id of a folder.
    fn folder(&self, path: &str) -> Result<String, Failure> {
        if path.is_empty() {
            return Ok(self.place.folder.clone());
        }
        let known = lock(&self.folders).get(path).cloned();
        if let Some((id, until)) = known
            && until > Instant::now()
        {
            return Ok(id);
        }
        let (above, name) = split(path);
        let above = self.folder(above)?;
        let missing = || Failure { action: format!("find `{path}`"), why: Why::Missing };
        let found = self.children(&above, Some(name), 100)?.into_iter().next();
        let (_, meta) =
            found.filter(|(_, it)| it.kind == MetaKind::Directory).ok_or_else(missing)?;
        let mut folders = lock(&self.folders);
        if folders.len() >= MOST_FOLDERS {
            folders.clear();
        }
        folders.insert(path.to_owned(), (meta.id.clone(), Instant::now() + BELIEVED));
        Ok(meta.id)
    }

    fn forget(&self, path: &str) {
        let below = format!("{path}/");
        lock(&self.folders).retain(|known, _| known != path && !known.starts_with(&below));
    }

    /// Sends contents, and compares what the service says that it has.
    fn upload(&self, action: &str, what: &What<'_>, bytes: &[u8]) -> Result<Meta, Failure> {
        let hash = sha256(bytes);
        let answer = self.ask(action, what)?;
        let failed = |why| Failure { action: action.to_owned(), why };
        let (_, meta) = meta(&answer).ok_or_else(|| failed(Why::Answer("no file")))?;
        let is_same = meta.size == bytes.len() as u64 && meta.sha256.is_none_or(|it| it == hash);
        if is_same { Ok(Meta { sha256: Some(hash), ..meta }) } else { Err(failed(Why::Checksum)) }
    }

    fn write_once(&self, path: &str, bytes: &[u8], mode: Mode) -> Result<Meta, Failure> {
        match (self.stat(path), mode) {
            (Ok(_), Mode::Create) => {
                Err(Failure { action: format!("write `{path}`"), why: Why::Exists })
            }
            (Ok(meta), Mode::Replace) => {
                let id = escaped(&meta.id, false);
                let to = format!("/upload/drive/v3/files/{id}?uploadType=media&fields={FIELDS}");
                let headers = vec![("content-type", "application/octet-stream".to_owned())];
                let what = What { headers, body: bytes, is_once: true, ..What::new("PATCH", &to) };
                self.upload(&format!("write `{path}`"), &what, bytes)
            }
            (Err(Failure { why: Why::Missing, .. }), _) => self.create(path, bytes),
            (Err(failure), _) => Err(failure),
        }
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Meta, Failure> {
        let (above, name) = split(path);
        let folder = self.folder(above)?;
        let about = json!({ "name": name, "parents": [folder] }).to_string();
        // Nothing in the contents can be this line: it has their hash in it.
        let line = format!("part-{}", hex(&sha256(bytes)));
        let kind = "Content-Type: application/json; charset=UTF-8\r\n\r\n";
        let head = format!(
            "--{line}\r\n{kind}{about}\r\n--{line}\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, format!("\r\n--{line}--\r\n").as_bytes()].concat();
        let to = format!("/upload/drive/v3/files?uploadType=multipart&fields={FIELDS}");
        let headers = vec![("content-type", format!("multipart/related; boundary={line}"))];
        let what = What { headers, body: &body, is_once: true, ..What::new("POST", &to) };
        self.upload(&format!("write `{path}`"), &what, bytes)
    }
}

/// A request before it has a token.
struct What<'a> {
    method: &'static str,
    path: &'a str,
    headers: Vec<(&'static str, String)>,
    body: &'a [u8],
    most: u64,
    /// Who asks tries again by itself: twice it could be two files.
    is_once: bool,
}

impl<'a> What<'a> {
    fn new(method: &'static str, path: &'a str) -> Self {
        Self { method, path, headers: Vec::new(), body: b"", most: MOST_ANSWER, is_once: false }
    }

    fn json(method: &'static str, path: &'a str, body: &'a str) -> Self {
        let headers = vec![("content-type", "application/json; charset=UTF-8".to_owned())];
        Self { headers, body: body.as_bytes(), ..Self::new(method, path) }
    }
}

impl Backend for Drive {
    fn renames_directories(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), Failure> {
        let folder = &self.place.folder;
        let action = format!("look at the folder `{folder}`");
        let no_place = || Failure {
            action: action.clone(),
            why: Why::NoPlace(format!("folder `{folder}` that this credential may see")),
        };
        if folder == WHOLE_DRIVE {
            // It is there for every credential that is one.
            return self.children(folder, Some(ANY_NAME), 100).map(drop);
        }
        let path = format!("/drive/v3/files/{}?fields={FIELDS}", escaped(folder, false));
        let found = self
            .ask(&action, &What::new("GET", &path))
            .map_err(|failure| if failure.why == Why::Missing { no_place() } else { failure })?;
        if text(&found, "mimeType") == Some(FOLDER) { Ok(()) } else { Err(no_place()) }
    }

    fn stat(&self, path: &str) -> Result<Meta, Failure> {
        let (above, name) = split(path);
        if path.is_empty() {
            return Ok(Meta {
                kind: MetaKind::Directory,
                size: 0,
                modified: Timestamp::default(),
                version: String::new(),
                id: self.place.folder.clone(),
                sha256: None,
            });
        }
        let found = self.children(&self.folder(above)?, Some(name), 100)?.into_iter().next();
        let missing = || Failure { action: format!("look at `{path}`"), why: Why::Missing };
        found.map(|(_, meta)| meta).ok_or_else(missing)
    }

    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        self.children(&self.folder(path)?, None, most)
    }

    fn read(&self, path: &str, meta: &Meta, from: u64, length: u64) -> Result<Vec<u8>, Failure> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let to = format!("/drive/v3/files/{}?alt=media", escaped(&meta.id, false));
        let last = from + length - 1;
        let headers = vec![("range", format!("bytes={from}-{last}"))];
        let what = What { headers, most: length, ..What::new("GET", &to) };
        let range = format!("bytes {from}-{last}/{}", meta.size);
        self.send(&format!("read `{path}`"), &what, |answer| {
            let found = answer.body.len() as u64;
            match answer.status {
                200 | 206 if found != length => Err(Why::Length { expected: length, found }),
                206 if answer.header("content-range") != Some(&range) => Err(Why::Changed),
                206 => check(meta, length, answer.body),
                200 if from == 0 && length == meta.size => check(meta, length, answer.body),
                200 => Err(Why::Answer("another part than was asked for")),
                416 => Err(Why::Changed),
                403 if is_rate_limit(&answer.body) => Err(Why::RateLimited),
                status => Err(refused(status)),
            }
        })
    }

    fn write(&self, path: &str, bytes: &[u8], mode: Mode) -> Result<Meta, Failure> {
        let mut mode = mode;
        self.http.again(|| {
            // An answer that was lost may have been that the file is made: it is looked for first.
            let written = self.write_once(path, bytes, mode);
            mode = Mode::Replace;
            written
        })
    }

    fn make_directory(&self, path: &str) -> Result<Meta, Failure> {
        let (above, name) = split(path);
        let folder = self.folder(above)?;
        let body = json!({ "name": name, "parents": [folder], "mimeType": FOLDER }).to_string();
        let to = format!("/drive/v3/files?fields={FIELDS}");
        let action = format!("make `{path}`");
        self.http.again(|| match self.stat(path) {
            Err(Failure { why: Why::Missing, .. }) => {
                let what = What { is_once: true, ..What::json("POST", &to, &body) };
                let answer = self.ask(&action, &what)?;
                let found = meta(&answer).map(|(_, meta)| meta);
                let why = Why::Answer("no folder");
                found.ok_or_else(|| Failure { action: action.clone(), why })
            }
            found => found,
        })
    }

    fn remove(&self, path: &str, meta: &Meta) -> Result<(), Failure> {
        self.forget(path);
        let to = format!("/drive/v3/files/{}", escaped(&meta.id, false));
        self.send(&format!("remove `{path}`"), &What::new("DELETE", &to), |answer| {
            match answer.status {
                200 | 204 | 404 => Ok(()),
                403 if is_rate_limit(&answer.body) => Err(Why::RateLimited),
                status => Err(refused(status)),
            }
        })
    }

    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<(), Failure> {
        let replaced = match self.stat(to) {
            Ok(meta) => Some(meta),
            Err(Failure { why: Why::Missing, .. }) => None,
            Err(failure) => return Err(failure),
        };
        let ((old, _), (new, name)) = (split(from), split(to));
        let (old, new) = (self.folder(old)?, self.folder(new)?);
        self.forget(from);
        let body = json!({ "name": name }).to_string();
        let id = escaped(&meta.id, false);
        let mut path = format!("/drive/v3/files/{id}?fields={FIELDS}");
        if old != new {
            let (old, new) = (escaped(&old, false), escaped(&new, false));
            path.push_str(&format!("&addParents={new}&removeParents={old}"));
        }
        self.ask(&format!("rename `{from}`"), &What::json("PATCH", &path, &body))?;
        replaced.map_or(Ok(()), |meta| self.remove(to, &meta))
    }
}

/// A file as the service tells of it; none for what has no bytes.
fn meta(file: &Value) -> Option<(String, Meta)> {
    let (id, name) = (text(file, "id")?, text(file, "name")?);
    let kind = text(file, "mimeType")?;
    let is_folder = kind == FOLDER;
    let size = text(file, "size").and_then(|size| size.parse().ok());
    if !is_folder && size.is_none() {
        return None;
    }
    let modified = text(file, "modifiedTime").and_then(time::iso).unwrap_or_default();
    let hash = text(file, "sha256Checksum").and_then(from_hex);
    let version = hash.map_or_else(
        || text(file, "modifiedTime").unwrap_or_default().to_owned(),
        |hash| hex(&hash),
    );
    let meta = Meta {
        kind: if is_folder { MetaKind::Directory } else { MetaKind::File },
        size: size.unwrap_or_default(),
        modified,
        version,
        id: id.to_owned(),
        sha256: hash,
    };
    Some((name.to_owned(), meta))
}

fn parsed(answer: &Answer) -> Result<Value, Why> {
    serde_json::from_slice(&answer.body).map_err(|_| Why::Answer("no JSON"))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The service says 403 of more than one thing, and which one only in the body.
fn is_rate_limit(body: &[u8]) -> bool {
    let body = String::from_utf8_lossy(body);
    body.contains("rateLimitExceeded") || body.contains("userRateLimitExceeded")
}

fn is_full(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("storageQuotaExceeded")
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> = (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect();
    digits?.try_into().ok()
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const FIELDS: &str = "id,name,mimeType,size,modifiedTime,sha256Checksum";
const FOLDER: &str = "application/vnd.google-apps.folder";
const WHOLE_DRIVE: &str = "root";
const ANY_NAME: &str = "any";
const BELIEVED: Duration = Duration::from_secs(10);
const MOST_FOLDERS: usize = 10_000;
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
