//! What a container lists. Pure.

use super::version_of;
use crate::backend::{Meta, MetaKind};
use crate::objects::{Page, directory};
use crate::time;
use crate::xml::{element, elements, unescaped};

/// Reads one answer, of a directory whose names begin so.
pub(super) fn read(text: &str, start: &str) -> Option<Page> {
    let text = inside(text)?;
    let blobs = blobs(text, start)?;
    let mut is_there = !blobs.is_empty();
    let is_shown = |name: &str| !name.is_empty() && !name.ends_with('/');
    let mut names: Vec<_> = blobs.into_iter().filter(|(name, _)| is_shown(name)).collect();
    for common in elements(text, "BlobPrefix") {
        let key = unescaped(element(common, "Name")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?.trim_end_matches('/').to_owned();
        names.push((name, directory()));
    }
    Some(Page { names, is_there, next: next(text)? })
}

/// Reads one of everything that begins so.
pub(super) fn all(text: &str, start: &str) -> Option<Page> {
    let text = inside(text)?;
    let names = blobs(text, start)?;
    Some(Page { is_there: !names.is_empty(), names, next: next(text)? })
}

fn inside(text: &str) -> Option<&str> {
    let (_, text) = text.split_once("<EnumerationResults")?;
    text.split_once("</EnumerationResults>").map(|(text, _)| text)
}

fn blobs(text: &str, start: &str) -> Option<Vec<(String, Meta)>> {
    let mut names = Vec::new();
    for blob in elements(text, "Blob") {
        let key = unescaped(element(blob, "Name")?)?;
        let name = key.strip_prefix(start)?;
        let modified = element(blob, "Last-Modified").and_then(time::http);
        let etag = unescaped(element(blob, "Etag")?)?;
        // Requests have it between quotes, and a listing has not.
        let etag = if etag.starts_with('"') { etag } else { format!("\"{etag}\"") };
        let hash = element(blob, "Content-MD5").filter(|hash| !hash.is_empty());
        let hash = hash.and_then(unescaped);
        let kind = element(blob, "BlobType").unwrap_or_default();
        let meta = Meta {
            kind: MetaKind::File,
            size: element(blob, "Content-Length")?.parse().ok()?,
            modified: modified.unwrap_or_default(),
            version: version_of(kind, hash.as_deref(), &etag),
            id: String::new(),
            sha256: None,
            notes: None,
        };
        names.push((name.to_owned(), meta));
    }
    Some(names)
}

/// Where the next one begins, if there is more.
fn next(text: &str) -> Option<Option<String>> {
    match element(text, "NextMarker").filter(|marker| !marker.is_empty()) {
        Some(next) => unescaped(next).map(Some),
        None => Some(None),
    }
}
