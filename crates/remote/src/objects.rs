//! Stores of objects, which have names and no directories: how files and directories are made of them. A directory is what
//! has objects below it, or an object whose name ends with a slash. Objects whose names no file can have are not shown.
//! A directory's notes are those of that object, and it is renamed object by object.

use vfs::{Name, Timestamp};

use crate::backend::{Backend, Meta, MetaKind, Mode, Write, below};
use crate::failure::{Failure, Why};
use crate::hash::sha256;
use crate::http::Answer;
use crate::notes::Notes;

mod links;
mod metadata;

pub use links::Linked;
pub(crate) use metadata::{Metadata, id};

/// A store of objects. Names are whole; each operation is one request, tried again as it is useful.
#[allow(clippy::missing_errors_doc, reason = "every operation says why the other side refused")]
pub trait Objects: Send + Sync + std::fmt::Debug {
    /// What it is called, with the word for what it is.
    fn title(&self) -> String;

    /// What all names begin with; empty for all of the store.
    fn prefix(&self) -> &str;

    /// Some of what begins so, up to the next slash.
    fn page(&self, start: &str, after: &str, most: usize) -> Result<Page, Failure>;

    /// What is known of one.
    fn look(&self, key: &str) -> Result<Meta, Failure>;

    /// A part of the version that is known; never an empty one.
    fn get(&self, key: &str, part: &Part<'_>) -> Result<Vec<u8>, Failure>;

    /// Writes a whole one, with notes if there are any.
    fn put(
        &self,
        key: &str,
        bytes: &[u8],
        mode: Mode,
        notes: Option<&Notes>,
    ) -> Result<Meta, Failure>;

    /// Removes one, if it is there.
    fn delete(&self, key: &str) -> Result<(), Failure>;

    /// Copies one as it is known, with other notes; also onto itself.
    fn copy(&self, from: &str, meta: &Meta, to: &str, change: Change<'_>) -> Result<Meta, Failure>;

    /// Everything that begins so, by what follows, unless it is more than this.
    fn all(&self, start: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure>;
}

/// From what is noted of an object to what is noted of its copy.
pub(crate) type Change<'a> = &'a dyn Fn(Option<Notes>) -> Option<Notes>;

/// One answer of a listing.
#[derive(Debug)]
pub struct Page {
    /// Names in the directory.
    pub(crate) names: Vec<(String, Meta)>,
    /// Whether there is anything, also what has no name of its own.
    pub(crate) is_there: bool,
    /// Where the next one begins.
    pub(crate) next: Option<String>,
}

/// A part of an object.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub(crate) meta: &'a Meta,
    pub(crate) from: u64,
    pub(crate) length: u64,
}

impl Part<'_> {
    /// As a header asks for it.
    pub(crate) fn range(&self) -> String {
        format!("bytes={}-{}", self.from, self.from + self.length - 1)
    }

    /// Its bytes, if the answer has them and no others.
    pub(crate) fn judged(&self, answer: Answer) -> Result<Vec<u8>, Why> {
        let &Self { meta, from, length } = self;
        let found = answer.body.len() as u64;
        let range = format!("bytes {from}-{}/{}", from + length - 1, meta.size);
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
            status => Err(crate::http::refused(status)),
        }
    }
}

/// Whether the bytes are those of a whole file's hash.
pub(crate) fn check(meta: &Meta, length: u64, bytes: Vec<u8>) -> Result<Vec<u8>, Why> {
    match meta.sha256 {
        Some(hash) if length == meta.size && sha256(&bytes) != hash => Err(Why::Checksum),
        _ => Ok(bytes),
    }
}

/// What is known of every directory.
pub(crate) fn directory() -> Meta {
    Meta {
        kind: MetaKind::Directory,
        size: 0,
        modified: Timestamp::default(),
        version: String::new(),
        id: String::new(),
        sha256: None,
        notes: None,
    }
}

fn key(store: &impl Objects, path: &str) -> String {
    if path.is_empty() { store.prefix().to_owned() } else { below(store.prefix(), path) }
}

/// What the names in a directory begin with.
fn start(store: &impl Objects, path: &str) -> String {
    let key = key(store, path);
    if key.is_empty() { key } else { format!("{key}/") }
}

impl<Store: Objects> Backend for Store {
    fn check(&self) -> Result<(), Failure> {
        // Names that begin so need not be there: with the first one they will be.
        self.page(&start(self, ""), "", 1).map(drop).map_err(|failure| match failure.why {
            Why::Missing => {
                Failure { action: "look at the store".to_owned(), why: Why::NoPlace(self.title()) }
            }
            _ => failure,
        })
    }

    fn stat(&self, path: &str) -> Result<Meta, Failure> {
        // What has something below it is a directory, whatever object has its name.
        if path.is_empty() || self.page(&start(self, path), "", 1)?.is_there {
            return stat_directory(self, path);
        }
        let key = key(self, path);
        links::resolved(self, &key, self.look(&key)?).map(|(_, meta)| meta)
    }

    fn list(&self, path: &str, most: usize) -> Result<Vec<(String, Meta)>, Failure> {
        let start = start(self, path);
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
        match length {
            0 => Ok(Vec::new()),
            _ => self.get(&links::place(self, path, meta)?, &Part { meta, from, length }),
        }
    }

    fn write(&self, path: &str, bytes: &[u8], how: Write<'_>) -> Result<Meta, Failure> {
        let own = key(self, path);
        let (Some(notes), Mode::Replace) = (how.notes, how.mode) else {
            return self.put(&own, bytes, how.mode, how.notes);
        };
        let there = match how.known {
            Some(known) => {
                let key = links::place(self, path, known)?;
                self.look(&key).map(|file| (key, file))
            }
            None => self.look(&own).and_then(|found| links::resolved(self, &own, found)),
        };
        match there {
            // Its names stay.
            Ok((key, Meta { id, notes: Some(Notes { linked, .. }), .. })) if !id.is_empty() => {
                let further_names = linked.further_names();
                let notes = Notes { linked, further_names, ..notes.clone() };
                self.put(&key, bytes, how.mode, Some(&notes))
            }
            Err(failure) if failure.why != Why::Missing || how.known.is_some() => Err(failure),
            _ => self.put(&own, bytes, how.mode, Some(&alone(notes))),
        }
    }

    fn make_directory(&self, path: &str, notes: Option<&Notes>) -> Result<Meta, Failure> {
        let marker = self.put(&start(self, path), b"", Mode::Replace, notes)?;
        Ok(Meta { notes: marker.notes, ..directory() })
    }

    fn remove(&self, path: &str, meta: &Meta) -> Result<Option<Meta>, Failure> {
        match meta.kind {
            MetaKind::File => links::remove(self, &key(self, path)),
            MetaKind::Directory => self.delete(&start(self, path)).map(|()| None),
        }
    }

    fn rename(&self, from: &str, meta: &Meta, to: &str) -> Result<Option<Meta>, Failure> {
        if meta.kind == MetaKind::Directory {
            return rename_directory(self, from, to).map(|()| None);
        }
        links::rename(self, &key(self, from), meta, &key(self, to))
    }

    fn noted(&self, path: &str, listed: Meta) -> Result<Meta, Failure> {
        // What is no file to us is as long as a path at most.
        let is_file = listed.kind == MetaKind::File && listed.size > vfs::LONGEST_PATH as u64;
        if is_file || listed.kind == MetaKind::Directory {
            return Ok(listed);
        }
        let key = key(self, path);
        links::resolved(self, &key, self.look(&key)?).map(|(_, meta)| meta)
    }

    fn link(&self, path: &str, meta: &Meta, to: &str) -> Result<Meta, Failure> {
        links::add(self, path, meta, to)
    }

    fn set_notes(&self, path: &str, meta: &Meta, notes: &Notes) -> Result<Meta, Failure> {
        let change = |before: Option<Notes>| {
            let Notes { linked, further_names, .. } = before.unwrap_or_default();
            Some(Notes { linked, further_names, ..notes.clone() })
        };
        if meta.kind == MetaKind::File {
            let key = links::place(self, path, meta)?;
            return self.copy(&key, meta, &key, &change);
        }
        let marker = start(self, path);
        if marker.is_empty() {
            // All of the store, which has no object of its own.
            return Err(Failure {
                action: format!("note something of `{path}`"),
                why: Why::Unable,
            });
        }
        let marked = match self.copy(&marker, meta, &marker, &change) {
            // It is there by what is in it alone.
            Err(Failure { why: Why::Missing, .. }) => {
                self.put(&marker, b"", Mode::Replace, Some(notes))
            }
            marked => marked,
        }?;
        Ok(Meta { notes: marked.notes, ..directory() })
    }
}

/// What is known of a directory that is there, with what is noted of the object that ends with a slash.
fn stat_directory(store: &impl Objects, path: &str) -> Result<Meta, Failure> {
    let marker = start(store, path);
    if marker.is_empty() {
        return Ok(directory());
    }
    match store.look(&marker) {
        Ok(found) => {
            let notes = found.notes.map(|notes| notes.of(MetaKind::Directory, 0));
            Ok(Meta { notes, ..directory() })
        }
        Err(Failure { why: Why::Missing, .. }) => Ok(directory()),
        Err(failure) => Err(failure),
    }
}

/// Renames all that is in a directory. Nothing goes before everything is there under the new name: a failure loses
/// nothing, and leaves names twice.
fn rename_directory(store: &impl Objects, from: &str, to: &str) -> Result<(), Failure> {
    let (old, new) = (start(store, from), start(store, to));
    let all = store.all(&old, MOST_RENAMED).map_err(|failure| match failure.why {
        Why::TooLarge => Failure { why: Why::TooMuchInside, ..failure },
        _ => failure,
    })?;
    let outside = links::Outside::default();
    for (rest, meta) in &all {
        let key = format!("{old}{rest}");
        let change = |notes: Option<Notes>| {
            let moved = notes.map(|notes| outside.moved(notes, &key, &old, &new));
            if rest.is_empty() { changed_now(moved) } else { moved }
        };
        store.copy(&key, meta, &format!("{new}{rest}"), &change)?;
    }
    outside.change(store)?;
    // What a directory is by comes last.
    for (rest, _) in all.iter().rev() {
        store.delete(&format!("{old}{rest}"))?;
    }
    Ok(())
}

/// What is noted of something that has another name from now on.
fn changed_now(notes: Option<Notes>) -> Option<Notes> {
    notes.map(|notes| Notes { changed: Some(Timestamp::now()), ..notes })
}

/// Notes of something new.
fn alone(notes: &Notes) -> Notes {
    Notes { linked: Linked::Alone, further_names: 0, ..notes.clone() }
}

/// How many objects a directory that is renamed may have in it.
const MOST_RENAMED: usize = 1000;
/// How many names come in one answer.
const PAGE: usize = 1000;
