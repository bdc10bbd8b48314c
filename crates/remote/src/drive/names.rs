//! Names on a drive: what is in a folder, what a name leads to, and whether that is in the mount. Changes nothing.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::Value;
use vfs::Name;

use super::properties::{named, noted};
use super::{BELIEVED, Drive, FIELDS, FOLDER, MOST_FOLDERS, MOST_LISTING, What, lock, split, text};
use crate::backend::{Meta, MetaKind};
use crate::failure::{Failure, Why};
use crate::hash::{from_hex, hex};
use crate::http::escaped;
use crate::notes::Notes;
use crate::time;

/// A name in a folder, and what has it.
#[derive(Clone, Debug)]
pub(super) struct DriveEntry {
    pub(super) name: String,
    /// The file that this is one more name of.
    pub(super) name_of: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) is_trashed: bool,
    pub(super) meta: Meta,
}

impl Drive {
    /// What is in a folder, of one name or of all.
    pub(super) fn children(
        &self,
        folder: &str,
        name: Option<&str>,
        most: usize,
    ) -> Result<Vec<DriveEntry>, Failure> {
        let mut query = format!("'{}' in parents and trashed = false", quoted(folder));
        if let Some(name) = name {
            query.push_str(&format!(" and name = '{}'", quoted(name)));
        }
        let mut found = self.query(&format!("list the folder `{folder}`"), &query, most)?;
        // The oldest of a name.
        let mut names = HashSet::new();
        found.retain(|entry| {
            Name::new(entry.name.as_bytes()).is_ok() && names.insert(entry.name.clone())
        });
        Ok(found)
    }

    /// Everything that a query finds, the oldest first.
    pub(super) fn query(
        &self,
        action: &str,
        query: &str,
        most: usize,
    ) -> Result<Vec<DriveEntry>, Failure> {
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let mut path = format!(
                "/drive/v3/files?pageSize=1000&orderBy=createdTime&spaces=drive&q={}&fields={}",
                escaped(query, false),
                escaped(&format!("nextPageToken,files({FIELDS},parents)"), false),
            );
            if !next.is_empty() {
                path.push_str(&format!("&pageToken={}", escaped(&next, false)));
            }
            let what = What { most: MOST_LISTING, ..What::new("GET", &path) };
            let answer = self.ask(action, &what)?;
            let files = answer.get("files").and_then(Value::as_array);
            let failed = |why| Failure { action: action.to_owned(), why };
            for file in files.ok_or_else(|| failed(Why::Answer("no files")))? {
                found.extend(entry(file));
            }
            if found.len() > most {
                return Err(failed(Why::TooLarge));
            }
            match text(&answer, "nextPageToken") {
                Some(token) if token != next => next = token.to_owned(),
                _ => return Ok(found),
            }
        }
    }

    /// What has a path, be it one more name of something else.
    pub(super) fn entry(&self, path: &str) -> Result<DriveEntry, Failure> {
        let (above, name) = split(path);
        let found = self.children(&self.folder(above)?, Some(name), 100)?.into_iter().next();
        let missing = || Failure { action: format!("look at `{path}`"), why: Why::Missing };
        found.ok_or_else(missing)
    }

    /// The folder that all files are in.
    pub(super) fn top(&self) -> Result<Meta, Failure> {
        let folder = &self.place.folder;
        let action = format!("look at the folder `{folder}`");
        let found = self.file(&action, folder)?;
        let is_folder = found.meta.kind == MetaKind::Directory;
        is_folder.then_some(found.meta).ok_or(Failure { action, why: Why::Missing })
    }

    /// The file of an id, wherever it is.
    pub(super) fn file(&self, action: &str, id: &str) -> Result<DriveEntry, Failure> {
        let path =
            format!("/drive/v3/files/{}?fields={FIELDS},parents,trashed", escaped(id, false));
        let answer = self.ask(action, &What::new("GET", &path))?;
        let failed = Failure { action: action.to_owned(), why: Why::Missing };
        entry(&answer).ok_or(failed)
    }

    /// What a name leads to: of one more name, the file, if that is in the mount.
    pub(super) fn resolved(&self, action: &str, entry: DriveEntry) -> Result<Meta, Failure> {
        let Some(id) = &entry.name_of else { return Ok(entry.meta) };
        let found = self.file(action, id)?;
        let is_file = found.meta.kind == MetaKind::File && found.name_of.is_none();
        if is_file && self.is_inside(action, &found)? {
            return Ok(found.meta);
        }
        Err(Failure { action: action.to_owned(), why: Why::Missing })
    }

    /// Whether a file is in the folder that is the root, however deep. Somebody may have forged what led to it.
    pub(super) fn is_inside(&self, action: &str, file: &DriveEntry) -> Result<bool, Failure> {
        let (mut way, mut root) = (Vec::new(), None);
        let (mut above, mut is_trashed) = (file.parent.clone(), file.is_trashed);
        while let Some(folder) = above.take().filter(|_| !is_trashed && way.len() < DEEPEST) {
            let known = lock(&self.inside).get(&folder).copied();
            let is_root =
                folder == self.place.folder || known.is_some_and(|it| it > Instant::now());
            // `root` is a word for a folder that has an id of its own.
            if root.is_none() && !is_root {
                root = Some(self.top()?.id);
            }
            if is_root || root.as_ref() == Some(&folder) {
                way.push(folder);
                let mut inside = lock(&self.inside);
                if inside.len() >= MOST_FOLDERS {
                    inside.clear();
                }
                let until = Instant::now() + BELIEVED;
                inside.extend(way.into_iter().map(|folder| (folder, until)));
                return Ok(true);
            }
            let found = self.file(action, &folder)?;
            way.push(folder);
            (above, is_trashed) = (found.parent, found.is_trashed);
        }
        Ok(false)
    }

    /// The id of a folder.
    pub(super) fn folder(&self, path: &str) -> Result<String, Failure> {
        if path.is_empty() {
            return Ok(self.place.folder.clone());
        }
        let known = lock(&self.folders).get(path).cloned();
        if let Some((id, until)) = known
            && until > Instant::now()
        {
            return Ok(id);
        }
        let found = self.entry(path)?.meta;
        if found.kind != MetaKind::Directory {
            return Err(Failure { action: format!("find `{path}`"), why: Why::Missing });
        }
        let mut folders = lock(&self.folders);
        if folders.len() >= MOST_FOLDERS {
            folders.clear();
        }
        folders.insert(path.to_owned(), (found.id.clone(), Instant::now() + BELIEVED));
        Ok(found.id)
    }

    /// A folder of this path has moved or gone.
    pub(super) fn forget(&self, path: &str) {
        let below = format!("{path}/");
        lock(&self.folders).retain(|known, _| known != path && !known.starts_with(&below));
        lock(&self.inside).clear();
    }
}

/// A text within a query.
pub(super) fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// A file as the service tells of it; none for what has no bytes.
pub(super) fn entry(file: &Value) -> Option<DriveEntry> {
    let (id, name) = (text(file, "id")?, text(file, "name")?);
    let kind = text(file, "mimeType")?;
    let is_folder = kind == FOLDER;
    let size = text(file, "size").and_then(|size| size.parse().ok());
    if !is_folder && size.is_none() {
        return None;
    }
    let size = size.unwrap_or_default();
    let modified = text(file, "modifiedTime").and_then(time::iso).unwrap_or_default();
    let hash = text(file, "sha256Checksum").and_then(from_hex);
    let version = hash.map_or_else(
        || text(file, "modifiedTime").unwrap_or_default().to_owned(),
        |hash| hex(&hash),
    );
    let kind = if is_folder { MetaKind::Directory } else { MetaKind::File };
    let notes = noted(file).map(|notes| valid(notes, kind, size, text(file, "modifiedTime")));
    let meta = Meta { kind, size, modified, version, id: id.to_owned(), sha256: hash, notes };
    let parent = file.get("parents").and_then(|all| all.get(0)?.as_str());
    Some(DriveEntry {
        name: name.to_owned(),
        name_of: named(file),
        parent: parent.map(str::to_owned),
        is_trashed: file.get("trashed").and_then(Value::as_bool).unwrap_or_default(),
        meta,
    })
}

/// What of its notes holds: somebody may have written the file since, who knows of none.
fn valid(notes: Notes, kind: MetaKind, size: u64, modified: Option<&str>) -> Notes {
    let mut notes = notes;
    let is_same = notes.modified.is_some_and(|it| Some(&*time::milliseconds(it)) == modified);
    if !is_same {
        (notes.modified, notes.length) = (None, None);
    }
    notes.of(kind, size)
}

/// The deepest folder that one more name of a file may lead to.
const DEEPEST: usize = 256;
