//! What there is: from what, of when and how large.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::{InStore, OF_ARCHIVE, OF_SESSION};
use crate::{Library, SnapshotError};

/// A table, or JSON.
pub(super) fn list(
    library: &Library,
    store: &InStore,
    as_json: bool,
) -> Result<String, SnapshotError> {
    let all = library.list()?;
    let named = |name: &[u8]| {
        let whole = String::from_utf8_lossy(name).into_owned();
        let stripped = |kind: &str| whole.strip_prefix(kind).filter(|_| store.store.is_none());
        let (of, name) = match (stripped(OF_SESSION), stripped(OF_ARCHIVE)) {
            (Some(name), _) => ("session", name),
            (_, Some(name)) => ("archive", name),
            _ => ("store", &whole[..]),
        };
        (of, policy::shown::shown(name).to_string())
    };
    if as_json {
        let one = |one: &store::Snapshot| {
            let (of, name) = named(&one.name);
            let made = seconds(one.made);
            json!({ "name": name, "of": of, "made_unix": made, "files": one.files, "bytes": one.bytes })
        };
        let all: Vec<_> = all.iter().map(one).collect();
        return Ok(format!("{:#}\n", json!(all)));
    }
    let names: Vec<_> = all.iter().map(|one| named(&one.name)).collect();
    let width = names.iter().map(|(_, name)| name.chars().count()).max().unwrap_or_default();
    let line = |(one, (of, name)): (&store::Snapshot, &(&str, String))| {
        let (files, kib) = (one.files, one.bytes.div_ceil(1024));
        let age = seconds(SystemTime::now()).saturating_sub(seconds(one.made));
        format!("{name:width$}  {of:7}  {:>8} ago  {files:>8} files  {kib:>10} KiB\n", ago(age))
    };
    Ok(all.iter().zip(&names).map(line).collect())
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A length of time as a person says it.
fn ago(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
