//! What a bucket lists. Pure.

use crate::backend::{Meta, MetaKind};
use crate::objects::{Page, directory};
use crate::time;
use crate::xml::{element, elements, unescaped};

/// Reads one, of a directory whose names begin so.
pub(super) fn read(text: &str, start: &str) -> Option<Page> {
    let (_, text) = text.split_once("<ListBucketResult")?;
    let (text, _) = text.split_once("</ListBucketResult>")?;
    let mut names = Vec::new();
    let mut is_there = false;
    for (name, meta) in objects(text, start)? {
        is_there = true;
        if !name.is_empty() && !name.ends_with('/') {
            names.push((name, meta));
        }
    }
    for common in elements(text, "CommonPrefixes") {
        let key = unescaped(element(common, "Prefix")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?.trim_end_matches('/').to_owned();
        names.push((name, directory()));
    }
    Some(Page { names, is_there, next: next(text)? })
}

/// Reads one of everything that begins so.
pub(super) fn all(text: &str, start: &str) -> Option<Page> {
    let (_, text) = text.split_once("<ListBucketResult")?;
    let (text, _) = text.split_once("</ListBucketResult>")?;
    let names = objects(text, start)?;
    Some(Page { is_there: !names.is_empty(), names, next: next(text)? })
}

fn objects(text: &str, start: &str) -> Option<Vec<(String, Meta)>> {
    let mut names = Vec::new();
    for object in elements(text, "Contents") {
        let key = unescaped(element(object, "Key")?)?;
        let name = key.strip_prefix(start)?;
        let modified = element(object, "LastModified").and_then(time::iso);
        let meta = Meta {
            kind: MetaKind::File,
            size: element(object, "Size")?.parse().ok()?,
            modified: modified.unwrap_or_default(),
            version: unescaped(element(object, "ETag")?)?,
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
    let is_cut = element(text, "IsTruncated") == Some("true");
    let next = element(text, "NextContinuationToken").filter(|_| is_cut);
    match next {
        Some(next) => unescaped(next).map(Some),
        None if is_cut => None,
        None => Some(None),
    }
}
