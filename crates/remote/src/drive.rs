//! Google Drive, below one folder. Files have ids there and names need not be alone: of several with one name the oldest
//! is meant. What has no bytes of its own, as a document of its own editor, is not shown.
//!
//! Notes are private properties of a file. One more name of a file is an empty file with the id of that one in a property;
//! when a file's own name goes, it takes the place of one of those. Nothing outside of the folder is ever reached so.

use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::backend::{Backend, Meta, Mode, Write};
use crate::credentials::Secret;
use crate::failure::{Failure, Why};
use crate::http::{Answer, EndpointError, Http, Request, check_endpoint, escaped, refused};
use crate::notes::Notes;
use crate::objects::check;

mod changes;
mod names;
mod properties;

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
    /// The ids of folders that were seen lately to be in the root, or to be it.
    inside: Mutex<HashMap<String, Instant>>,
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
        let (token, folders, inside) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { http, place, endpoint, token_endpoint, token, folders, inside })
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
                headers: vec![("content-type".into(), kind)],
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
            let headers = what.headers.iter().cloned();
            let token = ("authorization", format!("Bearer {token}"));
            let headers =
                headers.chain([token]).map(|(name, value)| (name.into(), value)).collect();
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
        if path.is_empty() {
            return self.top();
        }
        let entry = self.entry(path)?;
        self.resolved(&format!("look at `{path}`"), entry)
    }

    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        // Of one more name of a file its own notes say what that is.
        let found = self.children(&self.folder(path)?, None, most)?;
        Ok(found.into_iter().map(|entry| (entry.name, entry.meta)).collect())
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

    fn write(&self, path: &str, bytes: &[u8], how: Write<'_>) -> Result<Meta, Failure> {
        let mut how = how;
        self.http.again(|| {
            // An answer that was lost may have been that the file is made: it is looked for first.
            let written = self.write_once(path, bytes, how);
            how.mode = Mode::Replace;
            written
        })
    }

    fn make_directory(&self, path: &str, notes: Option<&Notes>) -> Result<Meta, Failure> {
        self.make_folder(path, notes)
    }

    fn remove(&self, path: &str, meta: &Meta) -> Result<Option<Meta>, Failure> {
        self.forget(path);
        match self.entry(path) {
            Ok(entry) => self.drop_name(path, &self.as_known(path, entry, meta)?),
            Err(Failure { why: Why::Missing, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<Option<Meta>, Failure> {
        self.move_name(from, meta, to)
    }

    fn set_notes(&self, path: &str, meta: &Meta, notes: &Notes) -> Result<Meta, Failure> {
        self.patch(&format!("note something of `{path}`"), meta, notes, None)
    }

    fn link(&self, path: &str, meta: &Meta, to: &str) -> Result<Meta, Failure> {
        self.add_name(path, meta, to)
    }
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

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const FIELDS: &str = "id,name,mimeType,size,modifiedTime,sha256Checksum,appProperties";
const FOLDER: &str = "application/vnd.google-apps.folder";
const WHOLE_DRIVE: &str = "root";
const ANY_NAME: &str = "any";
const BELIEVED: Duration = Duration::from_secs(10);
const MOST_FOLDERS: usize = 10_000;
const MOST_LISTING: u64 = 8 << 20;
const MOST_ANSWER: u64 = 64 << 10;
