//! `stockade undo`: takes the last apply of a session back. The host is as before it, and its changes are unapplied
//! again; where the host was changed since, nothing is done.

use policy::shown::shown;
use review::{Place, Purpose, ReviewError, UndoneReport, WorkspaceError};

use crate::arguments::review::UndoArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::review::{Review, counted, failed};
use terminal::progress::ProgressLine;

/// The command.
pub(crate) fn undo(arguments: &UndoArguments, messages: Messages) -> Result<Exit, Failure> {
    let line = ProgressLine::new();
    let session = arguments.session.as_deref();
    let review = Review::of_session(session, Purpose::Undo, messages)?.with_progress(&line);
    let words: Vec<_> =
        arguments.workspace.iter().map(|path| path.clone().into_os_string()).collect();
    let overwritten = match arguments.overwrite.as_slice() {
        [] => Vec::new(),
        words => review.named_by(words)?,
    };
    let mut possible: Vec<&Place> = Vec::new();
    for named in review.named_by(&words)? {
        if named.place.has_undo().map_err(failed)? {
            possible.push(named.place);
        }
    }
    if possible.is_empty() {
        return Err(failed(ReviewError::Workspace(WorkspaceError::NothingToUndo)));
    }
    let mut reports = Vec::new();
    for place in possible {
        let given_up = overwritten.iter().find(|named| std::ptr::eq(named.place, place));
        let given_up = given_up.map(|named| named.paths.as_slice()).unwrap_or_default();
        let done = place.undo(given_up, &review.log).map_err(failed)?;
        if let Some(why) = &done.unrecorded {
            messages.error(&format!("what came of it is not on record: {}", with_causes(why)));
        }
        reports.push(UndoneReport { path: place.path().clone(), undone: done.value });
    }
    drop(line);
    if arguments.json {
        let session = review.session.as_str();
        print_json(&serde_json::json!({ "session": session, "workspaces": reports }))?;
        return Ok(Exit::Success);
    }
    for report in &reports {
        let paths = counted(report.undone.len(), "path");
        print(&format!("as before the last apply: {paths} of `{}`\n", shown(&report.path)))?;
    }
    messages.note(&format!("{} shows the changes again", review.command("diff", "")));
    Ok(Exit::Success)
}
