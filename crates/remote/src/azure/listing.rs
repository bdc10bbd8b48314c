//! What a container lists. Pure.

use crate::backend::{Meta, MetaKind};
use crate::objects::{Page, directory};
use crate::time;
use crate::xml::{element, elements, unescaped};

/// Reads one answer, of a directory whose names begin so.
pub(super) fn read(text: &str, start: &str) -> Option<Page> {
    let (_, text) = text.split_once("<EnumerationResults")?;
    let (text, _) = text.split_once("</EnumerationResults>")?;
    let mut names = Vec::new();
    let mut is_there = false;
    for blob in elements(text, "Blob") {
        let key = unescaped(element(blob, "Name")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?;
        if name.is_empty() || name.ends_with('/') {
            continue;
        }
        let modified = element(blob, "Last-Modified").and_then(time::http);
        let version = unescaped(element(blob, "Etag")?)?;
        let meta = Meta {
            kind: MetaKind::File,
            size: element(blob, "Content-Length")?.parse().ok()?,
            modified: modified.unwrap_or_default(),
            // Requests have it between quotes, and a listing has not.
            version: if version.starts_with('"') { version } else { format!("\"{version}\"") },
            id: String::new(),
            sha256: None,
            notes: None,
        };
        names.push((name.to_owned(), meta));
    }
    for common in elements(text, "BlobPrefix") {
        let key = unescaped(element(common, "Name")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?.trim_end_matches('/').to_owned();
        names.push((name, directory()));
    }
    let next = match element(text, "NextMarker").filter(|marker| !marker.is_empty()) {
        Some(next) => Some(unescaped(next)?),
        None => None,
    };
    Some(Page { names, is_there, next })
}
