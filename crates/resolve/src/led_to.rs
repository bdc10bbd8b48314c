//! What a project's own files make run or obey under other names: what the configuration of its Git repository names, and
//! where links with protected names lead. For whoever judges changes that are to be brought there. Reads small files
//! within bounds; what is too large or cannot be read names nothing.

use std::collections::BTreeSet;

use plan::HostPath;
use policy::protected::table;

use crate::protected_names::git::{self, CONFIGURATION, NamedPath, Role};
use crate::protected_names::reader::Reader;

#[cfg(test)]
mod tests;

/// Paths inside the project that something leads to, each where it is named and where it really is.
pub fn led_to(project: &HostPath, home: Option<&HostPath>) -> BTreeSet<HostPath> {
    let mut reader = Reader::new(MOST_BYTES);
    let mut found = by_links(project);
    for (repository, work_tree) in repositories(project, &mut reader) {
        for name in CONFIGURATION {
            let Ok(configuration) = repository.join(name) else { continue };
            found.extend(named(&configuration, &work_tree, home, &mut reader));
        }
        found.extend(repository.join("hooks").ok().iter().flat_map(by_hooks));
    }
    let work_tree = project;
    for name in USERS_CONFIGURATION {
        let Some(configuration) = home.and_then(|home| home.join(name).ok()) else { continue };
        found.extend(named(&configuration, work_tree, home, &mut reader));
    }
    let real: Vec<HostPath> = found.iter().filter_map(git::real).collect();
    found.extend(real);
    found.retain(|path| path.is_within(project) && path != project);
    found
}

/// The repository that a directory belongs to, in all its parts, each with its work tree.
fn repositories(project: &HostPath, reader: &mut Reader) -> Vec<(HostPath, HostPath)> {
    let mut directories = project.ancestors_from_root();
    directories.push(project.clone());
    for directory in directories.into_iter().rev() {
        let Ok(own) = directory.join(".git") else { continue };
        let Ok(status) = own.as_path().metadata() else { continue };
        let mut parts = match status.is_dir() {
            true => vec![own],
            false => git::pointed_to(&own, reader),
        };
        let shared: Vec<HostPath> =
            parts.iter().filter_map(|part| git::shared_by(part, reader)).collect();
        parts.extend(shared);
        return parts.into_iter().map(|part| (part, directory.clone())).collect();
    }
    Vec::new()
}

fn named(
    configuration: &HostPath,
    work_tree: &HostPath,
    home: Option<&HostPath>,
    reader: &mut Reader,
) -> Vec<HostPath> {
    // Read where it is: a link on the way leads to a file that counts as well.
    let Some(configuration) = git::real(configuration) else { return Vec::new() };
    let all = git::named_by(&configuration, Some(work_tree), home, &git::real, reader);
    let counts = |named: &NamedPath| match named.role {
        Role::Configuration | Role::Hooks | Role::Program => true,
        Role::PerhapsProgram => named.path.as_path().is_file(),
    };
    all.into_iter().filter(counts).map(|named| named.path).collect()
}

/// Where names of the table lead, if that is elsewhere.
fn by_links(project: &HostPath) -> BTreeSet<HostPath> {
    let probes = table().iter().filter_map(|entry| project.join(entry.probe_path()?).ok());
    let mut found = BTreeSet::new();
    for path in probes {
        match git::real(&path) {
            Some(real) if real != path => drop(found.insert(real)),
            Some(_) => {}
            None => found.extend(target(&path)),
        }
    }
    found
}

/// Where a link leads to nothing yet.
fn target(path: &HostPath) -> Option<HostPath> {
    let target = std::fs::read_link(path.as_path()).ok()?;
    git::resolve(&path.parent()?, std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str()))
}

fn by_hooks(hooks: &HostPath) -> Vec<HostPath> {
    let Ok(entries) = std::fs::read_dir(hooks.as_path()) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok).take(MOST_HOOKS);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let paths = links.filter_map(|link| HostPath::new(link.path().into_os_string()).ok());
    paths.filter_map(|path| git::real(&path).or_else(|| target(&path))).collect()
}

const USERS_CONFIGURATION: [&str; 2] = [".gitconfig", ".config/git/config"];
const MOST_BYTES: usize = 8 << 20;
const MOST_HOOKS: usize = 256;
