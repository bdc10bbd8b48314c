//! Notes that the user has seen and does not want to read again in a project: by what a note names between backticks.
//! Keeps them, and says of a note whether it is about one. Tells nothing, and knows of no errors and warnings.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use cage::state::Locations;
use plan::HostPath;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// From now on this process tells no notes about what is acknowledged in the project, or in one that it is a part of.
pub fn hush(locations: &Locations, project: &HostPath) {
    if let Some(state) = &locations.state {
        let places = project.ancestors_from_root().into_iter().chain([project.clone()]);
        let _the_first_counts = STORES.set(places.map(|place| Store::of(state, &place)).collect());
    }
}

/// Whether a note is about something that is acknowledged.
pub fn covers(note: &str) -> bool {
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

/// What is acknowledged in one project: a file for each, so that two at once lose nothing.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
}

impl Store {
    /// In this state directory.
    pub fn of(state: &HostPath, project: &HostPath) -> Self {
        let name = digest(project.as_bytes());
        Self { directory: state.as_path().join("acknowledged").join(name) }
    }

    /// All of it.
    pub fn all(&self) -> BTreeSet<String> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return BTreeSet::new() };
        let files = entries.filter_map(Result::ok).take(MOST).map(|entry| entry.path());
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    /// Adds one.
    pub fn add(&self, what: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        fs::write(self.file(what), what)
    }

    /// Takes one away. Whether it was there.
    pub fn forget(&self, what: &str) -> std::io::Result<bool> {
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

/// Where what counts for this process may be acknowledged.
static STORES: OnceLock<Vec<Store>> = OnceLock::new();

/// What is acknowledged there, read for the first note.
static ALL: OnceLock<BTreeSet<String>> = OnceLock::new();

const MOST: usize = 4096;
