//! `stockade quarantine`: what was set aside after runs, and what becomes of it. Acts on the user's word alone, names
//! what will run what it puts back, and records what was decided.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use aftermath::quarantine::{Stored, stored};
use audit::Event;
use cage::Recording;
use cage::state::Locations;
use plan::HostPath;
use plan::render::for_shell;
use policy::shown::shortened;
use serde_json::json;

use crate::arguments::quarantine::{QuarantineArguments, QuarantineCommand};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};

/// The command.
pub(crate) fn quarantine(
    arguments: &QuarantineArguments,
    messages: Messages,
) -> Result<Exit, Failure> {
    let locations = Locations::of_this_process();
    let state = locations.state.as_ref().ok_or_else(|| {
        Failure::new(Exit::No, "there is no home that a record could be in")
            .help("set HOME or XDG_STATE_HOME")
    })?;
    let all = stored(&state.as_path().join("audit"))
        .map_err(|error| Failure::new(Exit::No, with_causes(&error)))?;
    match &arguments.command {
        QuarantineCommand::List { json: true } => {
            print_json(&all.iter().map(shown).collect::<Vec<_>>().into())?;
        }
        QuarantineCommand::List { json: false } => print(&table(&all))?,
        QuarantineCommand::Restore { path } => {
            let one = last_of(&all, path)?;
            let was_in_place =
                one.restore().map_err(|error| Failure::new(Exit::No, with_causes(&error)))?;
            let mut said = format!(
                "`{}` is back; it is run by {}",
                shortened(&one.path),
                one.runs_by(home().as_ref())
            );
            if was_in_place {
                let aside = shortened(&one.moved_to);
                // Writing to a text cannot fail.
                let _written = write!(said, "; what was there is now `{aside}`");
            }
            messages.note(&said);
            record(&locations, one, "restored", messages);
        }
        QuarantineCommand::Drop { path, .. } => {
            let chosen = match path {
                Some(path) => of(&all, path)?,
                None => all.iter().collect(),
            };
            for one in chosen {
                one.drop_it().map_err(|error| Failure::new(Exit::No, with_causes(&error)))?;
                messages.note(&format!("removed `{}`", shortened(&one.moved_to)));
                record(&locations, one, "dropped", messages);
            }
        }
    }
    Ok(Exit::Success)
}

fn home() -> Option<HostPath> {
    HostPath::new(std::env::home_dir()?.into_os_string()).ok()
}

/// All that were at a path, or are.
fn of<'a>(all: &'a [Stored], path: &Path) -> Result<Vec<&'a Stored>, Failure> {
    let absolute =
        std::path::absolute(path).map_err(|error| Failure::new(Exit::No, error.to_string()))?;
    let is_it = |place: &HostPath| place.as_bytes() == absolute.as_os_str().as_bytes();
    // A path may be written over links, where the record has the real one.
    let real = absolute.parent().and_then(|above| above.canonicalize().ok());
    let real = real.zip(absolute.file_name()).map(|(above, name)| above.join(name));
    let is_real = |place: &HostPath| {
        real.as_ref().is_some_and(|real| place.as_bytes() == real.as_os_str().as_bytes())
    };
    let is_meant = |place: &HostPath| is_it(place) || is_real(place);
    let found: Vec<&Stored> =
        all.iter().filter(|one| is_meant(&one.path) || is_meant(&one.moved_to)).collect();
    if found.is_empty() {
        let path = shortened(absolute.display());
        return Err(Failure::new(
            Exit::No,
            format!("nothing was set aside that was or is `{path}`"),
        )
        .help("`stockade quarantine list` shows all that was"));
    }
    Ok(found)
}

/// The one that was set aside last.
fn last_of<'a>(all: &'a [Stored], path: &Path) -> Result<&'a Stored, Failure> {
    let mut found = of(all, path)?;
    found.pop().ok_or_else(|| Failure::new(Exit::No, "nothing was set aside"))
}

fn shown(one: &Stored) -> serde_json::Value {
    json!({
        "path": policy::shown::shown(&one.path).to_string(),
        "moved_to": policy::shown::shown(&one.moved_to).to_string(),
        "invocation_id": one.invocation,
        "time": one.time.to_string(),
        "runs_by": one.runs_by(home().as_ref()),
        "details": one.details,
    })
}

fn table(all: &[Stored]) -> String {
    let mut text = String::new();
    for one in all {
        let Stored { path, moved_to, time, .. } = one;
        // Writing to a text cannot fail.
        let _written = writeln!(
            text,
            "{time}  {}\n    run by {}\n    stockade quarantine restore {}",
            shortened(path),
            one.runs_by(home().as_ref()),
            for_shell(&moved_to.as_bytes().into()),
        );
    }
    text
}

fn record(locations: &Locations, one: &Stored, decision: &str, messages: Messages) {
    let event = Event::QuarantineDecided {
        invocation_id: one.invocation.as_str().into(),
        path: one.path.as_bytes().into(),
        moved_to: one.moved_to.as_bytes().into(),
        decision: decision.into(),
    };
    let recorded = Recording::of_nobody(locations).open().and_then(|log| {
        log.append(&event)?;
        Ok(log.checkpoint()?)
    });
    if let Err(error) = recorded {
        messages.error(&format!("what was decided is not on record: {}", with_causes(&error)));
    }
}
