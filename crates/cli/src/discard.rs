//! `stockade discard`: throws away what programs changed. What was applied stays; the host is not touched.

use policy::shown::shown;
use review::{DiscardedReport, Named, Purpose};

use crate::arguments::review::DiscardArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::review::{Review, counted, failed, listed};
use crate::session;
use terminal::{progress::ProgressLine, prompt};

/// The command.
pub(crate) fn discard(arguments: &DiscardArguments, messages: Messages) -> Result<Exit, Failure> {
    let line = ProgressLine::new();
    let review = Review::find(&arguments.which, Purpose::Changes, messages)?.with_progress(&line);
    let named = review.named()?;
    if !review.names_paths() && !arguments.yes {
        let count = count(&review, &named)?;
        if count == 0 {
            messages.note(&format!("session `{}` has nothing to throw away", review.session));
            return Ok(Exit::No);
        }
        if arguments.json || !prompt::somebody_is_there() {
            return Err(Failure::new(
                Exit::Usage,
                "everything would be thrown away, and nobody is there to be asked",
            )
            .help("name paths, or pass `--yes`"));
        }
        if !confirms(&review, count) {
            messages.note("nothing was thrown away");
            return Ok(Exit::No);
        }
    }
    let reports = discard_named(&review, &named, messages)?;
    drop(line);
    if arguments.json {
        let session = review.session.as_str();
        print_json(&serde_json::json!({ "session": session, "workspaces": reports }))?;
        return Ok(Exit::Success);
    }
    for report in &reports {
        let what = match report.discarded.as_slice() {
            [] => "all changes".to_owned(),
            paths => listed(paths.iter()),
        };
        print(&format!("thrown away: {what} of `{}`\n", shown(&report.path)))?;
    }
    Ok(Exit::Success)
}

/// Asks whether everything of a session is to go.
pub(crate) fn confirms(review: &Review, count: usize) -> bool {
    let paths = counted(count, "changed path");
    prompt::confirms(&format!("Throw away {paths} of session `{}` for good?", review.session))
}

/// How many paths are changed.
pub(crate) fn count(review: &Review, named: &[Named<'_>]) -> Result<usize, Failure> {
    let mut count = 0;
    for named in named {
        let changes = named.place.changes(&review.log).map_err(failed)?;
        count += changes.list.len() + changes.refused.len();
    }
    Ok(count)
}

/// Throws away what is named, and the session if nothing is left in it that anybody needs.
pub(crate) fn discard_named(
    review: &Review,
    named: &[Named<'_>],
    messages: Messages,
) -> Result<Vec<DiscardedReport>, Failure> {
    let mut reports = Vec::new();
    for Named { place, paths } in named {
        let some = (!paths.is_empty()).then_some(paths.as_slice());
        let done = place.discard(some, &review.log).map_err(failed)?;
        if let Some(why) = &done.unrecorded {
            messages.error(&format!("what came of it is not on record: {}", with_causes(why)));
        }
        reports.push(DiscardedReport {
            path: place.path().clone(),
            discarded: paths.clone(),
            all: some.is_none(),
        });
    }
    session::sweep();
    Ok(reports)
}
