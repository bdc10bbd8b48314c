//! What a bucket lists, which is XML. Only what is asked for is looked at; everything is bounded by the length of the
//! answer. Pure.

use super::directory;
use crate::backend::{Meta, MetaKind};
use crate::time;

/// One answer.
pub(super) struct Page {
    /// Names in the directory.
    pub(super) names: Vec<(String, Meta)>,
    /// Whether there is anything, also what has no name of its own.
    pub(super) is_there: bool,
    /// Where the next one begins.
    pub(super) next: Option<String>,
}

/// Reads one, of a directory whose names begin so.
pub(super) fn read(text: &str, start: &str) -> Option<Page> {
    let (_, text) = text.split_once("<ListBucketResult")?;
    let (text, _) = text.split_once("</ListBucketResult>")?;
    let mut names = Vec::new();
    let mut is_there = false;
    for object in elements(text, "Contents") {
        let key = unescaped(element(object, "Key")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?;
        if name.is_empty() || name.ends_with('/') {
            continue;
        }
        let modified = element(object, "LastModified").and_then(time::iso);
        let meta = Meta {
            kind: MetaKind::File,
            size: element(object, "Size")?.parse().ok()?,
            modified: modified.unwrap_or_default(),
            version: unescaped(element(object, "ETag")?)?,
            id: String::new(),
            sha256: None,
        };
        names.push((name.to_owned(), meta));
    }
    for common in elements(text, "CommonPrefixes") {
        let key = unescaped(element(common, "Prefix")?)?;
        is_there = true;
        let name = key.strip_prefix(start)?.trim_end_matches('/').to_owned();
        names.push((name, directory()));
    }
    let is_cut = element(text, "IsTruncated") == Some("true");
    let next = element(text, "NextContinuationToken").filter(|_| is_cut);
    let next = match next {
        Some(next) => Some(unescaped(next)?),
        None if is_cut => return None,
        None => None,
    };
    Some(Page { names, is_there, next })
}

/// What is between a tag and its end, for each.
fn elements<'a>(text: &'a str, tag: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&begin)?;
        let (inside, after) = after.split_once(&end)?;
        rest = after;
        Some(inside)
    })
}

fn element<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    elements(text, tag).next()
}

fn unescaped(text: &str) -> Option<String> {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, after) = after.split_once(';')?;
        all.push_str(before);
        all.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        rest = after;
    }
    all.push_str(rest);
    Some(all)
}
