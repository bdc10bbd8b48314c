//! `mounts`: files at places of the cage's own that come from memory, from a directory of the host, from a store or from
//! far away. A place lies in the cage's own memory, so that nothing has to be made on the host.

use std::collections::BTreeMap;

use plan::{Access, GuestPath, HostPath, MountedFrom, WrittenFrom};
use toml::de::DeValue;

use super::decode::{Decoder, Value};
use super::diagnostic::{Code, Diagnostic};
use super::path::{self, WrittenPath};
use super::words;
use crate::shown::Shown;
use crate::{FsAccess, Mount, Reach};

/// The most mounts of one list.
pub(crate) const MAX_MOUNTS: usize = 64;

pub(super) fn decode<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<BTreeMap<GuestPath, Mount>> {
    let expected = "a list of mounts such as `[{ at = \"/mnt/data\", from = \"memory:\" }]`";
    let list = decoder.list(value, expected)?;
    let mut mounts = BTreeMap::new();
    if list.len() > MAX_MOUNTS {
        let message = format!("`mounts` has {} entries, and {MAX_MOUNTS} is the most", list.len());
        decoder.report(Diagnostic::new(Code::TooManyRules, value.span(), message));
        return None;
    }
    for value in list {
        if let Some((at, mount)) = decode_one(decoder, value)
            && let Some(earlier) = mounts.insert(at.clone(), mount)
        {
            let message = format!("two mounts at one place: `{}`", Shown(&at.to_string()));
            let mut diagnostic = Diagnostic::new(Code::ConflictingRules, value.span(), message);
            if let Some(span) = decoder.span_of(&earlier.origin) {
                diagnostic = diagnostic.also_at(span, "already mounted here");
            }
            decoder.report(diagnostic.help("keep one of them"));
        }
    }
    Some(mounts)
}

fn decode_one<'text>(
    decoder: &mut Decoder<'text>,
    value: &Value<'text>,
) -> Option<(GuestPath, Mount)> {
    let expected = "a mount such as `{ at = \"/mnt/data\", from = \"memory:\" }`";
    let table = decoder.table(value, expected)?;
    let (mut at, mut from, mut access) = (None, None, Access::ReadOnly);
    let mut is_whole = true;
    for entry in decoder.entries(table, words::MOUNT, "in a mount") {
        let problem = match (entry.word, entry.value.get_ref()) {
            ("at", DeValue::String(text)) => place(text).map(|place| at = Some(place)),
            ("from", DeValue::String(text)) => {
                let read = |text: &str| {
                    let (author, place) = (decoder.author, decoder.place);
                    let read = path::read(text, FsAccess::ReadWrite, author, place);
                    read.map_err(|refused| refused.message)
                };
                source(text, read).map(|source| from = Some(source))
            }
            ("rw", DeValue::Boolean(writes)) => {
                access = if *writes { Access::ReadWrite } else { Access::ReadOnly };
                Ok(())
            }
            (word, _) => {
                let expected = if word == "rw" { "`true` or `false`" } else { "a string" };
                decoder.wrong_type::<()>(entry.value, expected);
                is_whole = false;
                continue;
            }
        };
        if let Err(problem) = problem {
            is_whole = false;
            decoder.report(Diagnostic::new(Code::Mount, entry.value.span(), problem));
        }
    }
    match (at, from) {
        (Some(at), Some((from, reach))) => {
            let origin = decoder.origin(&value.span());
            Some((at, Mount { from, access, reach, origin }))
        }
        _ if is_whole => {
            let message = "a mount has `at` and `from`";
            decoder.report(Diagnostic::new(Code::MissingWord, value.span(), message));
            None
        }
        _ => None,
    }
}

/// Where files come from, with the paths of its own read by `read`.
pub(super) fn source(
    text: &str,
    read: impl Fn(&str) -> Result<WrittenPath, String>,
) -> Result<(MountedFrom, Reach), String> {
    let from = WrittenFrom::parse(text).map_err(|error| error.to_string())?;
    let path = |make: fn(HostPath) -> MountedFrom, text| {
        read(text).map(|WrittenPath { path, reach }| (make(path), reach))
    };
    match from {
        WrittenFrom::Memory => Ok((MountedFrom::Memory, Reach::BeneathProject)),
        WrittenFrom::Directory(text) => path(MountedFrom::Directory, text),
        WrittenFrom::Store(text) => path(MountedFrom::Store, text),
        WrittenFrom::Remote(store) => Ok((MountedFrom::Remote(store), Reach::Anywhere)),
        WrittenFrom::Inside(calls) => Ok((MountedFrom::Inside(calls), Reach::BeneathProject)),
    }
}

/// A place inside that can have a mount.
pub(super) fn place(text: &str) -> Result<GuestPath, String> {
    let at = GuestPath::new(text).map_err(|error| error.to_string())?;
    if text.chars().any(char::is_control) {
        return Err("the path has a control character in it".to_owned());
    }
    let is_below = |top: &&str| {
        at.as_bytes() == top.as_bytes() || at.ancestors().any(|above| above == top.as_bytes())
    };
    let own = at == GuestPath::root() || OWN.iter().any(|own| own.as_bytes() == at.as_bytes());
    if own || SYSTEM.iter().any(is_below) {
        let at = at.to_string();
        return Err(format!(
            "`{}` is the system's or the cage's own; mount below `/mnt`",
            Shown(&at)
        ));
    }
    Ok(at)
}

/// Where nothing is mounted.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run",
    "/sbin", "/scratch", "/sys", "/usr",
];

/// Where nothing is mounted but below it.
const OWN: &[&str] = &["/tmp", "/var"];
