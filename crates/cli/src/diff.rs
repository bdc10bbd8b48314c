//! `stockade diff`: what programs changed in their view of a directory, as text, as a summary or as data. Changes
//! nothing but what an interrupted apply left.

use std::io::Write as _;

use policy::shown::shown;
use review::{Changes, Looked, Named, Purpose, Report, Style, Text};
use serde::Serialize;
use terminal::pager::{Output, Paging};

use crate::arguments::review::DiffArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::{Colour, Messages};
use crate::output::{print_json, unless_the_reader_left};
use crate::review::{Review, failed, style};
use terminal::progress::ProgressLine;

/// The command.
pub(crate) fn diff(
    arguments: &DiffArguments,
    colour: Colour,
    messages: Messages,
) -> Result<Exit, Failure> {
    let line = ProgressLine::new();
    let review = Review::find(&arguments.which, Purpose::Changes, messages)?.with_progress(&line);
    let mut found = Vec::new();
    for named in review.named()? {
        let Looked { changes, in_use } = named.place.look(&review.log).map_err(failed)?;
        let path = shown(named.place.path());
        if in_use {
            messages.note(&format!(
                "session `{}` is in use: what it has changed in `{path}` may be different in a moment",
                review.session
            ));
        }
        let chosen = changes.named_by(&named.paths);
        for path in &named.paths {
            let is_there = named
                .place
                .path()
                .join(path.as_bytes())
                .is_ok_and(|path| path.as_path().symlink_metadata().is_ok());
            if changes.named_by(std::slice::from_ref(path)).is_empty() && !is_there {
                let path = shown(path);
                return Err(Failure::new(
                    Exit::No,
                    format!("`{path}` is no session, and nothing of that name was changed"),
                )
                .help("`stockade session list` shows sessions, `stockade diff --stat` changes"));
            }
        }
        found.push((named, chosen));
    }
    drop(line);
    if arguments.json {
        return print_as_json(&review, &found);
    }
    if found.iter().all(|(_, changes)| changes.is_empty()) {
        let where_in = if review.names_paths() { " there" } else { "" };
        messages.note(&format!("session `{}` has changed nothing{where_in}", review.session));
        return Ok(Exit::Success);
    }
    show(&found, arguments, style(colour), messages)?;
    Ok(Exit::Success)
}

/// All of it, through the pager. The command after a run shows its changes by this too.
fn show(
    found: &[(Named<'_>, Changes)],
    arguments: &DiffArguments,
    style: Style,
    messages: Messages,
) -> Result<(), Failure> {
    let paging = if arguments.no_pager { Paging::Unwanted } else { Paging::Wanted };
    let mut output = Output::open(paging);
    let mut written = Ok(());
    for (named, changes) in found {
        if written.is_ok() {
            written = write(named, changes, found.len() > 1, arguments, style, &mut output);
        }
    }
    // A reader that has seen enough is no failure.
    let left = matches!(&written, Err(review::WorkspaceError::Output(error))
        if error.kind() == std::io::ErrorKind::BrokenPipe);
    unless_the_reader_left(output.finish())?;
    if !left {
        written.map_err(|error| failed(error.into()))?;
    }
    // A patch for a program has nothing else in it.
    if style == Style::Plain && !arguments.name_only {
        for (_, changes) in found {
            let mut notes = Vec::new();
            review::write_notes(changes, &mut notes).map_err(|error| failed(error.into()))?;
            let notes = String::from_utf8_lossy(&notes);
            let count = notes.lines().count();
            notes.lines().take(MOST_NOTES).for_each(|note| messages.note(note));
            if count > MOST_NOTES {
                messages.note(&format!("{} more of that kind", count - MOST_NOTES));
            }
        }
    }
    Ok(())
}

fn write(
    named: &Named<'_>,
    changes: &Changes,
    is_one_of_several: bool,
    arguments: &DiffArguments,
    style: Style,
    output: &mut Output,
) -> Result<(), review::WorkspaceError> {
    let failed = review::WorkspaceError::Output;
    let workspace = named.place.workspace();
    if arguments.name_only {
        return review::write_names(changes, output);
    }
    if is_one_of_several {
        writeln!(output, "workspace {}", shown(named.place.path())).map_err(failed)?;
    }
    if style != Style::Plain {
        review::write_notes(changes, output)?;
    }
    if arguments.stat {
        review::write_stat(workspace, changes, style, output)
    } else {
        review::write_diff(workspace, changes, style, output)
    }
}

#[derive(Serialize)]
struct Shown<'found> {
    session: &'found str,
    workspaces: Vec<ShownWorkspace<'found>>,
}

#[derive(Serialize)]
struct ShownWorkspace<'found> {
    path: &'found plan::HostPath,
    #[serde(flatten)]
    report: Report<'found>,
}

fn print_as_json(review: &Review, found: &[(Named<'_>, Changes)]) -> Result<Exit, Failure> {
    let mut workspaces = Vec::new();
    for (named, changes) in found {
        let report = review::report_changes(named.place.workspace(), changes, Text::LeftOut);
        let report = report.map_err(|error| failed(error.into()))?;
        workspaces.push(ShownWorkspace { path: named.place.path(), report });
    }
    let shown = Shown { session: review.session.as_str(), workspaces };
    let value =
        serde_json::to_value(shown).map_err(|error| Failure::new(Exit::No, error.to_string()))?;
    print_json(&value)?;
    Ok(Exit::Success)
}

/// How many remarks stand beside a patch.
const MOST_NOTES: usize = 20;
