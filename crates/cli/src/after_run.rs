//! What follows a run whose program changed something in a copy-on-write view: at a terminal the person is offered to
//! review, apply, keep or discard it. Keeping is what happens whenever nobody answers.

use std::ffi::OsString;

use cage::session::SessionId;
use review::Purpose;

use crate::arguments::review::{DiffArguments, WhichArguments};
use crate::diff::diff;
use crate::failure::Failure;
use crate::message::{Colour, Messages};
use crate::review::{Review, failed};
use crate::{apply, discard};
use terminal::prompt;

/// Asks the person, if there is one and there is something to decide. What was changed has been told. Whatever becomes
/// of it, the run ends as its program did.
pub(crate) fn follow_up(session: &SessionId, messages: Messages) {
    if let Err(failure) = try_follow_up(session, messages) {
        failure.tell(messages);
    }
}

fn try_follow_up(session: &SessionId, messages: Messages) -> Result<(), Failure> {
    if !prompt::somebody_is_there() {
        return Ok(());
    }
    let Ok(review) = Review::of_session(Some(session.as_str()), Purpose::Changes, messages) else {
        // It had nothing to review, and has ended.
        return Ok(());
    };
    let mut count = 0;
    for place in &review.places {
        let looked = place.look(&review.log).map_err(failed)?;
        if looked.in_use {
            // Another run goes on in it.
            return Ok(());
        }
        count += looked.changes.list.len() + looked.changes.refused.len();
    }
    if count > 0 { ask(&review, count, messages) } else { Ok(()) }
}

fn ask(review: &Review, count: usize, messages: Messages) -> Result<(), Failure> {
    loop {
        let answer = prompt::ask_uninterrupted(QUESTION).unwrap_or_default();
        match answer.as_str() {
            "r" | "review" => {
                diff(&everything_of(review), Colour::Auto, messages)?;
            }
            "a" | "apply" => {
                apply::apply_all(review, messages)?;
                return Ok(());
            }
            "d" | "discard" => {
                if discard::confirms(review, count) {
                    discard::discard_named(review, &review.named()?, messages)?;
                    messages.note("thrown away");
                    return Ok(());
                }
            }
            "" | "k" | "keep" => {
                messages.note(&format!(
                    "kept as session `{0}`; `stockade discard {0}` throws it away",
                    review.session
                ));
                return Ok(());
            }
            _ => prompt::say(HELP),
        }
    }
}

fn everything_of(review: &Review) -> DiffArguments {
    let which = WhichArguments {
        first: None,
        rest: Vec::<OsString>::new(),
        paths: Vec::new(),
        session: Some(review.session.to_string()),
    };
    DiffArguments { which, stat: false, name_only: false, json: false, no_pager: false }
}

const QUESTION: &str = "review, apply, keep or discard? [r/a/K/d] ";

const HELP: &str = "\
r: show the changes  a: bring them to the host  k: keep them for later  d: throw them away
";
