//! Where an agent is installed, and what of that place it needs. Never looks into the project: what a project brings
//! is not what the user means by an agent's name.

use std::ffi::OsString;
use std::sync::Arc;

use plan::HostPath;

use crate::draft::{Draft, Word};
use crate::host::Host;
use crate::search_path::is_of_system;

/// An agent's program.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// As it was found.
    pub(super) program: HostPath,
    /// Where it really is.
    real: HostPath,
    /// The host, with the program's directory on `PATH`.
    pub(super) host: Host,
}

/// Looks along `PATH`, then where installers put programs, then where this agent's own does.
pub(super) fn find(host: &Host, program: &str, places: &[&str]) -> Option<Found> {
    if let Some(found) = found_on(host.clone(), program) {
        return Some(found);
    }
    let of_npm = npm_prefix(host).and_then(|prefix| prefix.join("bin").ok());
    let in_home = places.iter().chain(PLACES).flat_map(|place| expand(host, place));
    let in_system = SYSTEM_PLACES.iter().filter_map(|place| host.in_system(place));
    of_npm
        .into_iter()
        .chain(in_home)
        .chain(in_system)
        .find_map(|directory| found_on(with_directory(host, &directory)?, program))
}

fn found_on(host: Host, program: &str) -> Option<Found> {
    let program = host.program(program)?;
    let real = host.real(&program).filter(|real| !real.is_within(&host.project))?;
    Some(Found { program, real, host })
}

/// Shows what the program was installed with, as far as nothing shows it yet.
pub(super) fn show(draft: &mut Draft, found: &Found, title: &str) {
    let Found { real, host, .. } = found;
    let why = format!("{title} itself, read-only");
    for path in installed_with(host, real) {
        if !is_of_system(&path) && !draft.shows(&path) {
            draft.path(host, &why, Word::Read, &path);
        }
    }
}

impl Found {
    /// How the program is called: as it was found, where the cage has it there. Some programs are links that go by
    /// their own name.
    pub(super) fn command(&self, draft: &Draft) -> String {
        let is_there = |path: &HostPath| is_of_system(path) || draft.shows(path);
        let path = if is_there(&self.program) { &self.program } else { &self.real };
        path.to_string()
    }
}

/// The package, the environment of Python with its interpreter, or the file alone.
fn installed_with(host: &Host, real: &HostPath) -> Vec<HostPath> {
    let above = real.ancestors_from_root();
    // The first one holds what the packages in it depend on.
    if let Some(modules) = above.iter().find(|path| path.file_name() == Some(b"node_modules")) {
        return vec![modules.clone()];
    }
    let environment = real.parent().and_then(|programs| programs.parent());
    let settings = environment.as_ref().and_then(|place| place.join("pyvenv.cfg").ok());
    if let (Some(environment), Some(settings)) = (environment, settings)
        && let Some(text) = host.text(&settings)
    {
        let home = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| crate::host::path(value.trim()))?
        });
        // The interpreter's `bin` lies in what it was installed with.
        let interpreter =
            home.and_then(|programs| host.real(&programs)).and_then(|real| real.parent());
        let interpreter = interpreter.filter(|prefix| !host.is_broad(prefix));
        return [Some(environment), interpreter].into_iter().flatten().collect();
    }
    vec![real.clone()]
}

/// The prefix that the user's npm installs programs into, if a setting moves it.
fn npm_prefix(host: &Host) -> Option<HostPath> {
    let named = host.path_in("NPM_CONFIG_PREFIX").or_else(|| host.path_in("npm_config_prefix"));
    named.or_else(|| {
        let text = host.text(&host.in_home(".npmrc")?)?;
        let value = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "prefix").then(|| value.trim().to_owned())
        })?;
        let below_home = ["~/", "${HOME}/"].iter().find_map(|home| value.strip_prefix(home));
        match below_home {
            Some(below) => host.in_home(below),
            None => crate::host::path(&value),
        }
    })
}

/// The directories below the home that a place means: `*` stands for each name there, the latest version first.
fn expand(host: &Host, place: &str) -> Vec<HostPath> {
    let Some((before, after)) = place.split_once("/*/") else {
        return host.in_home(place).into_iter().collect();
    };
    let Some(versions) = host.in_home(before) else { return Vec::new() };
    let mut names = host.names(&versions);
    names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
    names.iter().filter_map(|name| versions.join(format!("{name}/{after}")).ok()).collect()
}

/// The numbers in a version, by which it is compared.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|character: char| !character.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The same host with one directory more at the end of `PATH`.
fn with_directory(host: &Host, directory: &HostPath) -> Option<Host> {
    let is_plain = !directory.as_bytes().contains(&b':') && host.is_directory(directory);
    let directory = is_plain.then(|| std::str::from_utf8(directory.as_bytes()).ok())??;
    let entries = host.search_path().into_iter().chain([directory]);
    let search_path = entries.collect::<Vec<_>>().join(":");
    let others = host.environment.iter().filter(|(name, _)| name != "PATH").cloned();
    let path = (OsString::from("PATH"), OsString::from(search_path));
    let environment: Arc<[(OsString, OsString)]> = others.chain([path]).collect();
    Some(Host { environment, ..host.clone() })
}

/// Where installers put programs, below the home.
const PLACES: &[&str] = &[
    ".local/bin",
    ".npm-global/bin",
    ".npm-packages/bin",
    ".volta/bin",
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".fnm/node-versions/*/installation/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".local/share/pnpm",
    ".bun/bin",
    ".pyenv/shims",
];

const SYSTEM_PLACES: &[&str] =
    &["usr/local/bin", "usr/bin", "opt/homebrew/bin", "home/linuxbrew/.linuxbrew/bin"];
