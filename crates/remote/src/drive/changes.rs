//! Changes on a drive: contents with their notes, folders, names. Each is made in an order in which a request that fails
//! loses nothing: a file has too many names noted rather than too few.

use serde_json::{Map, Value, json};
use vfs::Timestamp;

use super::names::{DriveEntry, entry, quoted};
use super::properties::{NAME_OF, name_of, properties};
use super::{Drive, FIELDS, FOLDER, What, is_rate_limit, split};
use crate::backend::{Meta, MetaKind, Mode, Write};
use crate::failure::{Failure, Why};
use crate::hash::{hex, sha256};
use crate::http::{escaped, refused};
use crate::notes::{MOST_NAMES, Notes};
use crate::time;

impl Drive {
    /// Sends contents, and compares what the service says that it has.
    fn upload(&self, action: &str, what: &What<'_>, bytes: &[u8]) -> Result<Meta, Failure> {
        let hash = sha256(bytes);
        let answer = self.ask(action, what)?;
        let failed = |why| Failure { action: action.to_owned(), why };
        let meta = entry(&answer).ok_or_else(|| failed(Why::Answer("no file")))?.meta;
        let is_same = meta.size == bytes.len() as u64 && meta.sha256.is_none_or(|it| it == hash);
        if is_same { Ok(Meta { sha256: Some(hash), ..meta }) } else { Err(failed(Why::Checksum)) }
    }

    pub(super) fn write_once(
        &self,
        path: &str,
        bytes: &[u8],
        how: Write<'_>,
    ) -> Result<Meta, Failure> {
        let action = format!("write `{path}`");
        let there = match how.known {
            // Never another file that has its name by now, and none that was thrown away.
            Some(known) => {
                let found = self.file(&action, &known.id)?;
                let missing = Failure { action: action.clone(), why: Why::Missing };
                return match found.is_trashed {
                    true => Err(missing),
                    false => self.update(&action, &found.meta, bytes, how),
                };
            }
            None => self.stat_file(path),
        };
        match (there, how.mode) {
            (Ok(_), Mode::Create) => Err(Failure { action, why: Why::Exists }),
            (Ok(meta), Mode::Replace) => self.update(&action, &meta, bytes, how),
            (Err(Failure { why: Why::Missing, .. }), _) => {
                let about = about(&action, how.notes, None)?;
                self.create(path, about, bytes)
            }
            (Err(failure), _) => Err(failure),
        }
    }

    fn update(
        &self,
        action: &str,
        meta: &Meta,
        bytes: &[u8],
        how: Write<'_>,
    ) -> Result<Meta, Failure> {
        let about = about(action, how.notes, meta.notes.as_ref())?;
        let id = escaped(&meta.id, false);
        let to = format!("/upload/drive/v3/files/{id}?uploadType=multipart&fields={FIELDS}");
        self.send_parts(action, ("PATCH", &to), about, bytes)
    }

    fn stat_file(&self, path: &str) -> Result<Meta, Failure> {
        let entry = self.entry(path)?;
        self.resolved(&format!("look at `{path}`"), entry)
    }

    fn create(&self, path: &str, about: Map<String, Value>, bytes: &[u8]) -> Result<Meta, Failure> {
        let (above, name) = split(path);
        let folder = self.folder(above)?;
        let mut about = about;
        about.insert("name".into(), name.into());
        about.insert("parents".into(), json!([folder]));
        let to = format!("/upload/drive/v3/files?uploadType=multipart&fields={FIELDS}");
        self.send_parts(&format!("write `{path}`"), ("POST", &to), about, bytes)
    }

    /// Sends what is said of a file, and its contents, in one request.
    fn send_parts(
        &self,
        action: &str,
        (method, to): (&'static str, &str),
        about: Map<String, Value>,
        bytes: &[u8],
    ) -> Result<Meta, Failure> {
        let about = Value::Object(about);
        // Nothing in the contents can be this line: it has their hash in it.
        let line = format!("part-{}", hex(&sha256(bytes)));
        let kind = "Content-Type: application/json; charset=UTF-8\r\n\r\n";
        let head = format!(
            "--{line}\r\n{kind}{about}\r\n--{line}\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, format!("\r\n--{line}--\r\n").as_bytes()].concat();
        let headers = vec![("content-type", format!("multipart/related; boundary={line}"))];
        let what = What { headers, body: &body, is_once: true, ..What::new(method, to) };
        self.upload(action, &what, bytes)
    }

    pub(super) fn make_folder(&self, path: &str, notes: Option<&Notes>) -> Result<Meta, Failure> {
        let (above, name) = split(path);
        let action = format!("make `{path}`");
        let mut about = about(&action, notes, None)?;
        about.insert("name".into(), name.into());
        about.insert("parents".into(), json!([self.folder(above)?]));
        about.insert("mimeType".into(), FOLDER.into());
        let body = Value::Object(about).to_string();
        let to = format!("/drive/v3/files?fields={FIELDS}");
        self.http.again(|| match self.entry(path) {
            Err(Failure { why: Why::Missing, .. }) => {
                let what = What { is_once: true, ..What::json("POST", &to, &body) };
                let answer = self.ask(&action, &what)?;
                let failed = || Failure { action: action.clone(), why: Why::Answer("no folder") };
                entry(&answer).map(|entry| entry.meta).ok_or_else(failed)
            }
            found => found.map(|entry| entry.meta),
        })
    }

    /// Changes what is said of a file, with its place if that is given: from a folder to another one, under a name.
    pub(super) fn patch(
        &self,
        action: &str,
        meta: &Meta,
        notes: &Notes,
        to: Option<(&str, &str, &str)>,
    ) -> Result<Meta, Failure> {
        let further_names = meta.notes.as_ref().map_or(0, |notes| notes.further_names);
        let notes = &Notes { further_names, ..notes.clone() };
        self.patch_all(action, meta, notes, to)
    }

    /// The same, with how many names it has.
    fn patch_all(
        &self,
        action: &str,
        meta: &Meta,
        notes: &Notes,
        to: Option<(&str, &str, &str)>,
    ) -> Result<Meta, Failure> {
        let mut about = about(action, Some(notes), meta.notes.as_ref())?;
        if let Some((_, _, name)) = to {
            about.insert("name".into(), name.into());
        }
        let body = Value::Object(about).to_string();
        let mut path = format!("/drive/v3/files/{}?fields={FIELDS}", escaped(&meta.id, false));
        path.push_str(&to.map_or_else(String::new, |(from, to, _)| moving(from, to)));
        let answer = self.ask(action, &What::json("PATCH", &path, &body))?;
        let failed = || Failure { action: action.to_owned(), why: Why::Answer("no file") };
        entry(&answer).map(|entry| entry.meta).ok_or_else(failed)
    }

    fn delete(&self, action: &str, id: &str) -> Result<(), Failure> {
        let to = format!("/drive/v3/files/{}", escaped(id, false));
        self.send(action, &What::new("DELETE", &to), |answer| match answer.status {
            200 | 204 | 404 => Ok(()),
            403 if is_rate_limit(&answer.body) => Err(Why::RateLimited),
            status => Err(refused(status)),
        })
    }

    /// What has a name, if that is what is known.
    pub(super) fn as_known(
        &self,
        path: &str,
        entry: DriveEntry,
        meta: &Meta,
    ) -> Result<DriveEntry, Failure> {
        let is_known = entry.meta.id == meta.id || entry.name_of.as_ref() == Some(&meta.id);
        let changed = || Failure { action: format!("look at `{path}`"), why: Why::Changed };
        is_known.then_some(entry).ok_or_else(changed)
    }

    /// Takes a name from what has it. Returns what is known of a file that has others.
    pub(super) fn drop_name(
        &self,
        path: &str,
        entry: &DriveEntry,
    ) -> Result<Option<Meta>, Failure> {
        let action = format!("remove `{path}`");
        if entry.name_of.is_some() {
            self.delete(&action, &entry.meta.id)?;
            let file = match self.resolved(&action, entry.clone()) {
                Err(Failure { why: Why::Missing, .. }) => return Ok(None),
                found => found?,
            };
            return self.patch_all(&action, &file, &fewer_names(&file), None).map(Some);
        }
        let further = entry.meta.notes.as_ref().map_or(0, |notes| notes.further_names);
        if further > 0 && entry.meta.kind == MetaKind::File {
            let folder = self.folder(split(path).0)?;
            for other in self.further_names(&action, &entry.meta.id)? {
                let Some(to) = other.parent.as_ref().filter(|_| other.meta.id != entry.meta.id)
                else {
                    continue;
                };
                if !self.is_inside(&action, &other)? {
                    continue;
                }
                let to = (&*folder, &**to, &*other.name);
                let notes = fewer_names(&entry.meta);
                let file = self.patch_all(&action, &entry.meta, &notes, Some(to))?;
                self.delete(&action, &other.meta.id)?;
                return Ok(Some(file));
            }
        }
        self.delete(&action, &entry.meta.id).map(|()| None)
    }

    /// The entries that are names of a file.
    fn further_names(&self, action: &str, id: &str) -> Result<Vec<DriveEntry>, Failure> {
        let id = quoted(id);
        let query =
            format!("appProperties has {{ key='{NAME_OF}' and value='{id}' }} and trashed = false");
        self.query(action, &query, MOST_NAMES as usize)
    }

    pub(super) fn move_name(
        &self,
        from: &str,
        meta: &Meta,
        to: &str,
    ) -> Result<Option<Meta>, Failure> {
        let replaced = match self.entry(to) {
            Ok(entry) => Some(entry),
            Err(Failure { why: Why::Missing, .. }) => None,
            Err(failure) => return Err(failure),
        };
        let moved = self.as_known(from, self.entry(from)?, meta)?;
        let ((old, _), (new, name)) = (split(from), split(to));
        let (old, new) = (self.folder(old)?, self.folder(new)?);
        self.forget(from);
        self.forget(to);
        // The time of the contents stays only if it is said again.
        let notes = moved.meta.notes.clone().filter(|_| moved.name_of.is_none());
        let notes = notes.map(|notes| Notes { changed: Some(Timestamp::now()), ..notes });
        let action = format!("rename `{from}`");
        let mut about = about(&action, notes.as_ref(), moved.meta.notes.as_ref())?;
        about.insert("name".into(), name.into());
        let body = Value::Object(about).to_string();
        let id = escaped(&moved.meta.id, false);
        let path = format!("/drive/v3/files/{id}?fields={FIELDS}{}", moving(&old, &new));
        self.ask(&action, &What::json("PATCH", &path, &body))?;
        replaced.map_or(Ok(None), |entry| self.drop_name(to, &entry))
    }

    pub(super) fn add_name(&self, path: &str, meta: &Meta, to: &str) -> Result<Meta, Failure> {
        let action = format!("link `{path}`");
        let failed = |why| Failure { action: action.clone(), why };
        let file = self.file(&action, &meta.id)?.meta;
        let mut notes = file.notes.clone().unwrap_or_default();
        notes.further_names += 1;
        notes.changed = Some(Timestamp::now());
        if notes.further_names >= MOST_NAMES {
            return Err(failed(Why::TooManyNames));
        }
        let named = name_of(&file.id, &notes).ok_or_else(|| failed(Why::TooMuchNoted))?;
        let about = Map::from_iter([("appProperties".to_owned(), Value::Object(named))]);
        let file = self.patch_all(&action, &file, &notes, None)?;
        let made = self.http.again(|| match self.entry(to) {
            Ok(entry) if entry.name_of.as_ref() == Some(&file.id) => Ok(()),
            Ok(_) => Err(failed(Why::Exists)),
            Err(Failure { why: Why::Missing, .. }) => self.create(to, about.clone(), b"").map(drop),
            Err(failure) => Err(failure),
        });
        if let Err(failure) = made {
            // One too many is noted if this fails too, which is put right when the file has its last name.
            let _noted = self.patch_all(&action, &file, &fewer_names(&file), None);
            return Err(failure);
        }
        Ok(file)
    }
}

/// What is said of a file beside its place: its notes, and the time of its contents, by which it is seen later that
/// they still hold.
fn about(
    action: &str,
    notes: Option<&Notes>,
    before: Option<&Notes>,
) -> Result<Map<String, Value>, Failure> {
    let Some(notes) = notes else { return Ok(Map::new()) };
    let failed = || Failure { action: action.to_owned(), why: Why::TooMuchNoted };
    let all = properties(notes, before).ok_or_else(failed)?;
    let mut about = Map::from_iter([("appProperties".to_owned(), Value::Object(all))]);
    if let Some(time) = notes.modified {
        about.insert("modifiedTime".into(), time::milliseconds(time).into());
    }
    Ok(about)
}

/// The notes of a file that has lost a name.
fn fewer_names(meta: &Meta) -> Notes {
    let notes = meta.notes.clone().unwrap_or_default();
    let further_names = notes.further_names.saturating_sub(1);
    Notes { further_names, changed: Some(Timestamp::now()), ..notes }
}

fn moving(from: &str, to: &str) -> String {
    if from == to {
        return String::new();
    }
    format!("&addParents={}&removeParents={}", escaped(to, false), escaped(from, false))
}
