//! `stockade session list`: who is in each session, how old it is, how much it takes and what it changed where.

use std::time::SystemTime;

use audit::Timestamp;
use cage::session::{Life, Listed, Sessions};
use plan::HostPath;
use policy::shown::shown;
use review::{Overview, Overviews};
use serde::Serialize;

use super::failed;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::output::{print, print_json};
use crate::review::counted;

/// The command.
pub(super) fn list(sessions: &Sessions, as_json: bool) -> Result<(), Failure> {
    let listed = sessions.list().map_err(failed)?;
    let found: Vec<Found> = listed.iter().map(|one| Found::of(sessions, one)).collect();
    if !as_json {
        return print(&table(&found, SystemTime::now()));
    }
    let shown: Vec<Shown<'_>> = found.iter().map(Shown::of).collect();
    let value =
        serde_json::to_value(shown).map_err(|error| Failure::new(Exit::No, error.to_string()))?;
    print_json(&value)
}

/// A session, and what is in it.
pub(super) struct Found<'listed> {
    pub(super) listed: &'listed Listed,
    pub(super) size: cage::session::Size,
    pub(super) workspaces: Overviews,
}

impl<'listed> Found<'listed> {
    /// One that ends meanwhile has nothing in it.
    pub(super) fn of(sessions: &Sessions, listed: &'listed Listed) -> Self {
        let size = sessions.size(&listed.id).unwrap_or_default();
        let workspaces = review::overviews(sessions, &listed.id).unwrap_or_default();
        Self { listed, size, workspaces }
    }
}

/// A session for a program.
#[derive(Debug, Serialize)]
pub(super) struct Shown<'found> {
    id: &'found str,
    life: &'static str,
    begun: String,
    used: String,
    processes: Vec<i32>,
    ending: bool,
    bytes: u64,
    partial: bool,
    workspaces: Vec<ShownWorkspace<'found>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ShownWorkspace<'found> {
    Seen(&'found Overview),
    Unseen { path: &'found HostPath, error: String },
}

impl<'found> Shown<'found> {
    pub(super) fn of(found: &'found Found<'_>) -> Self {
        let Found { listed, size, workspaces } = found;
        Self {
            id: listed.id.as_str(),
            life: life_word(listed.life),
            begun: Timestamp::from(listed.begun).to_string(),
            used: Timestamp::from(listed.used).to_string(),
            processes: listed.processes.iter().map(|pid| pid.as_raw_nonzero().get()).collect(),
            ending: listed.ending,
            bytes: size.bytes,
            partial: size.is_partial,
            workspaces: workspaces
                .iter()
                .map(|(path, overview)| match overview {
                    Ok(overview) => ShownWorkspace::Seen(overview),
                    Err(error) => ShownWorkspace::Unseen { path, error: with_causes(error) },
                })
                .collect(),
        }
    }
}

fn life_word(life: Life) -> &'static str {
    match life {
        Life::Kept => "kept",
        Life::OneRun => "one_run",
        Life::IfChanged => "if_changed",
    }
}

/// Sessions for a person.
fn table(found: &[Found<'_>], now: SystemTime) -> String {
    if found.is_empty() {
        return "no sessions\n".to_owned();
    }
    let width = found.iter().map(|one| one.listed.id.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for Found { listed, size, workspaces } in found {
        let (begun, used) = (age(now, listed.begun), age(now, listed.used));
        let life = match listed.life {
            Life::Kept => "kept",
            Life::OneRun => "of one run",
            Life::IfChanged => "if changed",
        };
        let users = match (listed.ending, listed.processes.len()) {
            (true, _) => "being ended".to_owned(),
            (false, 0) => "not in use".to_owned(),
            (false, 1) => "in use by one process".to_owned(),
            (false, more) => format!("in use by {more} processes"),
        };
        let (id, size) = (listed.id.as_str(), sized(*size));
        text.push_str(&format!(
            "{id:width$}  {life:10}  begun {begun} ago, used {used} ago  {size}  {users}\n"
        ));
        for (path, overview) in workspaces {
            let what = match overview {
                Err(error) => shown(with_causes(error)),
                Ok(overview) => {
                    let changes = match overview.changes {
                        Some(count) => counted(count, "changed path"),
                        None => "too many changed paths to count".to_owned(),
                    };
                    let undo =
                        if overview.undo { ", `undo` takes the last apply back" } else { "" };
                    format!("{changes}{undo}")
                }
            };
            text.push_str(&format!("  {}: {what}\n", shown(path)));
        }
    }
    text
}

fn age(now: SystemTime, then: SystemTime) -> String {
    let age = now.duration_since(then).unwrap_or_default().as_secs();
    match age {
        0..=119 => format!("{age} s"),
        120..=7199 => format!("{} min", age / 60),
        7200..=172_799 => format!("{} h", age / 3600),
        _ => format!("{} days", age / 86_400),
    }
}

pub(super) fn sized(size: cage::session::Size) -> String {
    let bytes = size.bytes;
    let text = match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} KiB", bytes / 1024),
        10_000_000..=9_999_999_999 => format!("{} MiB", bytes / (1024 * 1024)),
        _ => format!("{} GiB", bytes / (1024 * 1024 * 1024)),
    };
    if size.is_partial { format!("more than {text}") } else { text }
}
