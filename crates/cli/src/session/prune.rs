//! `stockade session prune`: removes sessions that hold nothing, or all that nobody has used for long. One that
//! somebody is in stays, whatever its age.

use cage::Recording;
use cage::session::Sessions;
use cage::state::Locations;
use policy::shown::shown;

use super::list::{Found, Shown, sized};
use super::{failed, record_end};
use crate::arguments::sessions::PruneArguments;
use crate::audit_command::when::moment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::review::counted;
use terminal::prompt;

/// The command.
pub(super) fn prune(
    sessions: &Sessions,
    arguments: &PruneArguments,
    locations: &Locations,
    messages: Messages,
) -> Result<Exit, Failure> {
    let before = arguments.older_than.as_deref().map(|age| moment("--older-than", age));
    let before = before.transpose()?;
    let listed = sessions.list().map_err(failed)?;
    let mut going = Vec::new();
    for one in listed.iter().filter(|one| one.processes.is_empty()) {
        let goes = match &before {
            Some(before) => audit::Timestamp::from(one.used) < *before,
            // One that cannot be looked at stays.
            None => sessions.holds_something(&one.id).is_ok_and(|holds| !holds),
        };
        if goes {
            going.push(Found::of(sessions, one));
        }
    }
    let unapplied = going.iter().filter(|found| has_changes(found)).count();
    if unapplied > 0 && !arguments.dry_run && !arguments.yes {
        let lost = counted(unapplied, "session");
        if arguments.json || !prompt::somebody_is_there() {
            return Err(Failure::new(
                Exit::Usage,
                format!("{lost} with changes that were never applied would be removed"),
            )
            .help("look with `--dry-run`, then pass `--yes`"));
        }
        describe(&going)?;
        if !prompt::confirms(&format!("Remove these, {lost} of them with unapplied changes?")) {
            messages.note("nothing was removed");
            return Ok(Exit::No);
        }
    }
    let mut removed = Vec::new();
    for found in going {
        let id = &found.listed.id;
        if !arguments.dry_run {
            if !sessions.end_unused(id).map_err(failed)? {
                messages.note(&format!("session `{id}` is in use now, so it stays"));
                continue;
            }
            record_end(&Recording::of_nobody(locations), id, 0, messages);
        }
        removed.push(found);
    }
    if arguments.json {
        let shown: Vec<Shown<'_>> = removed.iter().map(Shown::of).collect();
        print_json(&serde_json::json!({ "removed": shown, "dry_run": arguments.dry_run }))?;
        return Ok(Exit::Success);
    }
    describe(&removed)?;
    let verb = if arguments.dry_run { "would be removed" } else { "removed" };
    print(&format!("{verb}: {}\n", counted(removed.len(), "session")))?;
    Ok(Exit::Success)
}

/// Whether a workspace has changes, or nobody knows.
fn has_changes(found: &Found<'_>) -> bool {
    found.workspaces.iter().any(|(_, overview)| match overview {
        Ok(overview) => overview.has_changes(),
        Err(_) => true,
    })
}

fn describe(found: &[Found<'_>]) -> Result<(), Failure> {
    let mut text = String::new();
    for one in found {
        text.push_str(&format!("{}  {}\n", one.listed.id, sized(one.size)));
        for (path, overview) in &one.workspaces {
            let changes = overview.as_ref().ok().and_then(|overview| overview.changes);
            let changes = changes
                .map_or("unknown changes".to_owned(), |count| counted(count, "changed path"));
            text.push_str(&format!("  {}: {changes}\n", shown(path)));
        }
    }
    print(&text)
}
