//! `stockade acknowledge`: notes that the user has seen and does not want to read again in a project. What is
//! acknowledged is what a note names between backticks: a host, a path, an interpreter. Errors and warnings are always
//! told, the result and the record have everything, and what a cage holds does not change.

use advice::acknowledged::Store;
use cage::prepare::{Caller, PolicyFiles};
use cage::state::{Directory, Locations};
use plan::HostPath;
use policy::shown::shown;

use crate::arguments::acknowledge::AcknowledgeArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::print;

/// The command.
pub(crate) fn acknowledge(
    arguments: &AcknowledgeArguments,
    messages: Messages,
) -> Result<Exit, Failure> {
    let caller = Caller::of_this_process()?;
    let files = PolicyFiles::read_for_profile(&caller, arguments.project.as_deref())?;
    let project = files.project.root;
    let place = shown(&project);
    let state = Directory::open(&state()?).map_err(cannot_keep)?;
    let store = Store::of(state.path(), &project);
    for what in &arguments.what {
        let what = named(what)?;
        if arguments.forget {
            if !store.forget(what).map_err(cannot_keep)? {
                let failure = format!("`{}` is not acknowledged in `{place}`", shown(what));
                return Err(
                    Failure::new(Exit::No, failure).help("`stockade acknowledge` lists what is")
                );
            }
            messages.note(&format!("notes about `{}` are told again in `{place}`", shown(what)));
        } else {
            store.add(what).map_err(cannot_keep)?;
            messages.note(&format!(
                "notes about `{}` are told no more in `{place}`, but with `--verbose`",
                shown(what)
            ));
        }
    }
    if arguments.what.is_empty() {
        let lines = store.all().iter().map(|what| format!("{}\n", shown(what))).collect::<String>();
        print(&lines)?;
    }
    Ok(Exit::Success)
}

/// What can be in a note, as it would stand there.
fn named(what: &str) -> Result<&str, Failure> {
    let is_bad = what.is_empty() || what.len() > MOST_BYTES || what.contains(['`', '\n']);
    if is_bad {
        return Err(Failure::new(Exit::Usage, "that is nothing that a note names")
            .help("give what a note has between backticks: a host, a path or a program"));
    }
    Ok(what)
}

fn state() -> Result<HostPath, Failure> {
    Locations::of_this_process().state.ok_or_else(|| {
        Failure::new(Exit::CannotBuild, "there is no place to keep what is acknowledged")
            .help("set HOME or XDG_STATE_HOME")
    })
}

fn cannot_keep(error: impl std::error::Error) -> Failure {
    Failure::new(Exit::CannotBuild, with_causes(&error))
}

const MOST_BYTES: usize = 4096;
