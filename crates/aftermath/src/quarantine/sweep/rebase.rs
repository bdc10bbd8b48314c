//! The state of a rebase or cherry-pick that a run left unfinished. Whoever continues it on the host
//! runs the commands in it, and there need not be any: a list without them is the program's own work
//! and stays. Reads the file, within a bound; what cannot be read is not harmless.

use policy::protected::Entry;
use rustix::fs::{FileType, Mode, OFlags};

use super::judge::Suspect;
use super::{Listing, Sweep};

#[cfg(test)]
mod tests;

impl Sweep<'_> {
    /// Whether it is such a file and runs nothing.
    pub(super) fn is_harmless_rebase(
        &mut self,
        listing: &Listing<'_>,
        suspect: &Suspect<'_>,
    ) -> bool {
        let Suspect { name, path, entry, .. } = *suspect;
        let Some(kind) = kind(entry) else { return false };
        if name.file_type != FileType::RegularFile {
            return false;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(listing.descriptor, &*name.bytes, flags, Mode::empty());
        let Ok(object) = opened else { return false };
        let Ok(status) = rustix::fs::fstat(&object) else { return false };
        let key = (status.st_dev, status.st_ino, kind);
        if let Some(known) = self.rebases.get(&key) {
            return *known;
        }
        let text = self.reader.object(path, &object, MOST_BYTES).ok().flatten();
        let is_harmless =
            text.is_some_and(|text| text.len() < MOST_BYTES && !runs_something(kind, &text));
        self.rebases.insert(key, is_harmless);
        is_harmless
    }
}

/// What such a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// One command of Git on each line, of which one runs a shell.
    List,
    /// Options that can name a merge strategy, which is a program.
    Options,
}

fn kind(entry: &Entry) -> Option<Kind> {
    let (above, name) = entry.pattern.rsplit_once('/')?;
    if !above.starts_with(".git") {
        return None;
    }
    match name {
        "git-rebase-todo" | "todo" => Some(Kind::List),
        "strategy" | "opts" => Some(Kind::Options),
        _ => None,
    }
}

fn runs_something(kind: Kind, text: &[u8]) -> bool {
    match kind {
        Kind::List => text.split(|byte| *byte == b'\n').any(|line| {
            let command = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty());
            matches!(command, Some(b"exec" | b"x"))
        }),
        // The strategy `a/b` is the program `git-merge-a/b` of the work tree; one without a slash is
        // looked for in `PATH`.
        Kind::Options => text.contains(&b'/'),
    }
}

/// A list of ten thousand commits has less.
const MOST_BYTES: usize = 1024 * 1024;
