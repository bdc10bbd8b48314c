//! `PATH` inside: the parts of the caller's that are shown, in the caller's order, so that the same
//! interpreter comes first as outside. A directory of the project stays in it and is shown as a part of
//! the project alone. What a link in a shown directory leads to is shown too, file by file.

use plan::HostPath;

use crate::draft::{Draft, Word};
use crate::host::{Host, path};

/// Shows the directories of the caller's `PATH`, after the tool chains that were recognised, and sets
/// `PATH`.
pub(crate) fn show(draft: &mut Draft, host: &Host) {
    let mut inside: Vec<String> = Vec::new();
    for entry in host.search_path() {
        let Some(place) = entry_inside(draft, host, entry) else { continue };
        if !inside.contains(&place) {
            inside.push(place);
        }
    }
    if inside.is_empty() {
        return;
    }
    draft.set("The parts of your `PATH` that are shown", "PATH", &inside.join(":"));
}

/// One part of `PATH`, and the rules that show it.
fn entry_inside(draft: &mut Draft, host: &Host, entry: &str) -> Option<String> {
    if !entry.starts_with('/') {
        // Below wherever the program is; a relative one that climbs could mean anything.
        let climbs = entry.split('/').any(|part| part == "..");
        return (!climbs).then(|| entry.to_owned());
    }
    let place = path(entry)?;
    if place.is_within(&host.project) {
        return text(&place);
    }
    if !host.is_directory(&place) {
        return None;
    }
    let real = host.real(&place)?;
    if is_of_system(&place) && is_of_system(&real) {
        return text(&place);
    }
    if real.is_within(&host.project) {
        draft.left_out(format!("`{entry}` of `PATH` leads into the project from outside"));
        return None;
    }
    // One that only this session has, such as a link below `/run`, is shown by where it leads.
    let place = if host.is_ungrantable(&place) { real.clone() } else { place };
    if !draft.shows(&place) {
        if host.is_ungrantable(&place) || host.is_broad(&place) || host.is_broad(&real) {
            draft.left_out(format!("`{entry}` of `PATH` holds more than programs"));
            return None;
        }
        match prefix_of(host, &place) {
            Some(prefix) if is_environment(host, &prefix) && host.is_own_directory(&prefix) => {
                draft.path(host, "An environment that you are in", Word::Cache, &prefix);
            }
            Some(prefix) => draft.path(host, WITH_PREFIX, Word::Read, &prefix),
            None => draft.path(host, "Programs on your `PATH`", Word::Read, &place),
        }
    }
    show_links(draft, host, &place);
    draft.shows(&place).then(|| text(&place)).flatten()
}

/// The directory that programs in `bin` were installed into with all that they need, if it is one for that
/// alone: an environment of Python, or one with libraries beside and no repository.
fn prefix_of(host: &Host, programs: &HostPath) -> Option<HostPath> {
    if programs.file_name() != Some(b"bin") {
        return None;
    }
    let prefix = programs.parent()?;
    let has = |name: &str| prefix.join(name).is_ok_and(|path| host.exists(&path));
    let is_shared = host.in_home(".local").is_some_and(|shared| shared == prefix);
    let has_libraries = (has("lib") || has("libexec")) && !has(".git");
    let is_prefix = has_libraries || is_environment(host, &prefix);
    (is_prefix && !is_shared && !host.is_broad(&prefix)).then_some(prefix)
}

/// Whether packages of Python are installed there by whoever works in it.
fn is_environment(host: &Host, prefix: &HostPath) -> bool {
    let mut marks = ["pyvenv.cfg", "conda-meta"].into_iter();
    marks.any(|name| prefix.join(name).is_ok_and(|path| host.exists(&path)))
}

/// Shows what links in a directory of programs lead to, if nothing shows it yet: `~/.local/bin` is full of
/// them.
fn show_links(draft: &mut Draft, host: &Host, directory: &HostPath) {
    let mut shown = 0;
    for name in host.names(directory) {
        let Ok(link) = directory.join(&name) else { continue };
        let Some(real) = host.real(&link).filter(|real| *real != link) else { continue };
        let is_elsewhere =
            !real.is_within(directory) && !is_of_system(&real) && !draft.shows(&real);
        if !is_elsewhere || real.is_within(&host.project) || !host.is_file(&real) {
            continue;
        }
        if host.is_broad(&real) || host.is_ungrantable(&real) {
            continue;
        }
        if shown == MOST_LINKS {
            draft.left_out(format!("more than {MOST_LINKS} links in `{directory}`"));
            return;
        }
        shown += 1;
        draft.path(host, "What links on your `PATH` lead to", Word::Read, &real);
    }
}

/// Whether every cage has it: the system's own programs.
pub(crate) fn is_of_system(path: &HostPath) -> bool {
    let bytes = path.as_bytes();
    let is_below = |top: &str| {
        let rest = bytes.strip_prefix(top.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    SYSTEM.iter().any(|top| is_below(top))
}

fn text(path: &HostPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    (!text.contains(':') && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

const WITH_PREFIX: &str = "Programs on your `PATH`, with what they are installed with";

/// What the base layer of every cage shows.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Each is a mount of its own.
const MOST_LINKS: usize = 64;
