//! `stockade snapshot list`: what there is, from what, of when and how large.

use std::time::UNIX_EPOCH;

use serde::Serialize;
use snapshot::Library;

use super::{OF_ARCHIVE, OF_SESSION, failed};
use crate::arguments::snapshots::InStore;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// A snapshot for a program.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    /// `session`, `archive` or `store`.
    of: &'static str,
    made: String,
    files: u64,
    bytes: u64,
}

/// The command.
pub(super) fn list(library: &Library, store: &InStore, as_json: bool) -> Result<(), Failure> {
    let all = library.list().map_err(failed)?.into_iter().map(|one| {
        let whole = String::from_utf8_lossy(&one.name).into_owned();
        let (of, name) = match (whole.strip_prefix(OF_SESSION), whole.strip_prefix(OF_ARCHIVE)) {
            (Some(name), _) if store.store.is_none() => ("session", name),
            (_, Some(name)) if store.store.is_none() => ("archive", name),
            _ => ("store", &whole[..]),
        };
        let made = audit::Timestamp::from(one.made.max(UNIX_EPOCH)).to_string();
        let name = policy::shown::shown(name).to_string();
        Shown { name, of, made, files: one.files, bytes: one.bytes }
    });
    let all: Vec<Shown> = all.collect();
    if as_json {
        return print_json(&serde_json::json!(all));
    }
    let width = all.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    let line = |one: &Shown| {
        let Shown { name, of, made, files, bytes } = one;
        let made = made.get(..19).unwrap_or(made);
        format!(
            "{name:width$}  {of:7}  {made}  {files:>8} files  {:>10} KiB\n",
            bytes.div_ceil(1024)
        )
    };
    print(&all.iter().map(line).collect::<String>())
}
