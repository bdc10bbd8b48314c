//! Built-in agents: the policy of one that no policy file defines, and its directory of settings, which is made
//! before its first start. A file of settings that is there is never changed: it is the user's and the agent's.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use plan::HostPath;
use policy::{Policy, text};
use profiles::agents::{self, Agent, Settings, SettingsFile};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::caller::Caller;
use super::documents::Documents;
use super::error::{Definition, PrepareError, SelectionError};
use super::own_places;
use super::policy_files::PolicyFiles;
use super::profile;
use super::selection::TooBroad;

/// A built-in agent, and its policy.
pub(super) struct BuiltIn {
    pub(super) agent: Agent,
    pub(super) policy: Policy,
}

impl PolicyFiles {
    /// A built-in agent as it is for this caller here.
    pub fn built_in_agent(&self, name: &str, caller: &Caller) -> Result<Agent, SelectionError> {
        match agents::known_agent(name) {
            Some(known) => Ok(known.on(&self.host(caller))?),
            None => Err(undefined(name, &self.parse()?)),
        }
    }
}

/// The files that an agent goes by: those of a profile for a built-in one, whose project is found as a profile's is.
pub(super) fn files(
    name: &str,
    files: PolicyFiles,
    caller: &Caller,
    project: Option<&Path>,
) -> Result<PolicyFiles, SelectionError> {
    if agents::known_agent(name).is_none() || files.parse()?.defines_agent(name) {
        return Ok(files);
    }
    PolicyFiles::read_for_profile(caller, project)
}

/// The built-in agent of a name, if the policy files define none.
pub(super) fn built_in(
    name: &str,
    files: &PolicyFiles,
    documents: &Documents,
    caller: &Caller,
    flags: &text::Rules,
    too_broad: TooBroad,
) -> Result<Option<BuiltIn>, SelectionError> {
    if documents.defines_agent(name) {
        return Ok(None);
    }
    let Some(known) = agents::known_agent(name) else { return Err(undefined(name, documents)) };
    let agent = known.on(&files.host(caller))?;
    let title = format!("agent {name}");
    let mut document = text::parse_user(&title, agent.rules.as_bytes(), &files.place)?;
    let layer = document.profiles.shift_remove(name).map(|profile| profile.rules);
    let layers = layer.as_slice();
    let policy = profile::layered(name, layers, files, documents, flags, too_broad)?;
    Ok(Some(BuiltIn { agent, policy }))
}

fn undefined(name: &str, documents: &Documents) -> SelectionError {
    let mut defined = documents.agent_names();
    defined.extend(agents::AGENTS.iter().map(|known| known.name.to_owned()));
    defined.sort();
    defined.dedup();
    SelectionError::Undefined { what: Definition::Agent, name: name.to_owned(), defined }
}

/// Makes what an agent's rules name, where it is missing.
pub(super) fn make_settings(settings: &Settings) -> Result<(), PrepareError> {
    let failed = |path: &HostPath| {
        let path = path.clone();
        move |error: std::io::Error| PrepareError::AgentSettings { path, source: error }
    };
    if settings.directories.is_empty() {
        return Ok(());
    }
    let own = &settings.directory;
    own_places::make_with_those_above(own).map_err(failed(own))?;
    for directory in &settings.directories {
        let files: Vec<&SettingsFile> =
            settings.files.iter().filter(|file| file.path.is_within(directory)).collect();
        if !directory.as_path().exists() {
            make_directory(own, directory, &files).map_err(failed(directory))?;
        }
        for file in files.iter().filter(|file| file.is_named) {
            make_if_missing(file).map_err(failed(&file.path))?;
        }
    }
    Ok(())
}

/// Made aside and moved to its place whole: a cage that has it may put links into it, and another start may be
/// making it too.
fn make_directory(
    own: &HostPath,
    directory: &HostPath,
    files: &[&SettingsFile],
) -> std::io::Result<()> {
    let aside = tempfile_name(own);
    std::fs::DirBuilder::new().mode(0o700).create(&aside)?;
    for file in files {
        let name = file.path.as_path().strip_prefix(directory.as_path()).unwrap_or(Path::new(""));
        write_new(&aside.join(name), &file.text)?;
    }
    own_places::give_to_owner_of(own, &aside)?;
    let (from, to) = (aside.as_path(), directory.as_path());
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => std::fs::remove_dir_all(&aside),
        moved => Ok(moved?),
    }
}

/// A link that the agent left there is not followed.
fn make_if_missing(file: &SettingsFile) -> std::io::Result<()> {
    match write_new(file.path.as_path(), &file.text) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => match file.path.parent() {
            Some(directory) => own_places::give_to_owner_of(&directory, file.path.as_path()),
            None => Ok(()),
        },
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

fn tempfile_name(own: &HostPath) -> std::path::PathBuf {
    own.as_path().join(format!(".new-{}", std::process::id()))
}
