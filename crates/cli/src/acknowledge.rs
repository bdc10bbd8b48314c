//! `stockade acknowledge`: notes that the user has seen and does not want to read again in a project. What is
//! acknowledged is what a note names between backticks: a host, a path, an interpreter. Errors and warnings are always
//! told, the result and the record have everything, and what a cage holds does not change.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use cage::prepare::{Caller, PolicyFiles};
use cage::state::{Directory, Locations};
use plan::HostPath;
use policy::shown::shown;
use sha2::{Digest as _, Sha256};

use crate::arguments::acknowledge::AcknowledgeArguments;
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::print;

#[cfg(test)]
mod tests;

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

/// From now on this process tells no notes about what is acknowledged in the project, or in one that it is a part of.
pub(crate) fn hush(locations: &Locations, project: &HostPath) {
    if let Some(state) = &locations.state {
        let places = project.ancestors_from_root().into_iter().chain([project.clone()]);
        let _the_first_counts = STORES.set(places.map(|place| Store::of(state, &place)).collect());
    }
}

/// Whether a note is about something that is acknowledged.
pub(crate) fn covers(note: &str) -> bool {
    let Some(stores) = STORES.get() else { return false };
    is_about(note, ALL.get_or_init(|| stores.iter().flat_map(Store::all).collect()))
}

/// Whether a note names one of these: between backticks, alone or with a port.
fn is_about(note: &str, acknowledged: &BTreeSet<String>) -> bool {
    let quoted = note.split('`').skip(1).step_by(2);
    let without_port = |what: &str| what.rsplit_once(':').map(|(host, _)| host.to_owned());
    quoted.into_iter().any(|what| {
        acknowledged.contains(what)
            || without_port(what).is_some_and(|host| acknowledged.contains(&host))
    })
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

/// What is acknowledged in one project: a file for each, so that two at once lose nothing.
struct Store {
    directory: PathBuf,
}

impl Store {
    fn of(state: &HostPath, project: &HostPath) -> Self {
        let name = digest(project.as_bytes());
        Self { directory: state.as_path().join("acknowledged").join(name) }
    }

    fn all(&self) -> BTreeSet<String> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return BTreeSet::new() };
        let files = entries.filter_map(Result::ok).take(MOST).map(|entry| entry.path());
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    fn add(&self, what: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        fs::write(self.file(what), what)
    }

    /// Whether it was there.
    fn forget(&self, what: &str) -> std::io::Result<bool> {
        match fs::remove_file(self.file(what)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn file(&self, what: &str) -> PathBuf {
        self.directory.join(digest(what.as_bytes()))
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
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

/// Where what counts for this process may be acknowledged.
static STORES: OnceLock<Vec<Store>> = OnceLock::new();

/// What is acknowledged there, read for the first note.
static ALL: OnceLock<BTreeSet<String>> = OnceLock::new();

const MOST: usize = 4096;
const MOST_BYTES: usize = 4096;
