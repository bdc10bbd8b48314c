//! Which versions of protected files only programs in cages have committed: a later run may not bring them back by a
//! checkout as if they had always been there. One list for all repositories, in the state directory, which no cage
//! can write. What the host has in a protected place when a run begins is accepted by that.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use resolve::commits::Id;
use rustix::fs::{Mode, OFlags};

/// The list.
#[derive(Debug, Default)]
pub struct Unreviewed {
    /// None where nothing is kept.
    path: Option<PathBuf>,
    ids: BTreeSet<Id>,
}

impl Unreviewed {
    /// Reads the list below a state directory; one that is not there is empty.
    pub fn read(state: Option<&Path>) -> Self {
        let path = state.map(|state| state.join(NAME));
        let text = path.as_deref().and_then(read_end).unwrap_or_default();
        let mut ids = BTreeSet::new();
        for line in text.split(|byte| *byte == b'\n') {
            match line.split_first() {
                Some((b'+', id)) => ids.extend(Id::parse(id)),
                Some((b'-', id)) => {
                    let accepted = Id::parse(id);
                    ids.retain(|id| Some(*id) != accepted);
                }
                _ => {}
            }
        }
        Self { path, ids }
    }

    /// Whether only a program in a cage has committed this.
    pub fn holds(&self, id: Id) -> bool {
        self.ids.contains(&id)
    }

    /// Takes out what the host has accepted.
    pub fn accept(&mut self, ids: impl Iterator<Item = Id>) -> std::io::Result<()> {
        let accepted = ids.filter(|id| self.ids.contains(id)).collect::<BTreeSet<_>>();
        self.append(b'-', &accepted)?;
        self.ids.retain(|id| !accepted.contains(id));
        Ok(())
    }

    /// Adds what a run has committed.
    pub fn add(&mut self, ids: BTreeSet<Id>) -> std::io::Result<()> {
        let new = ids.difference(&self.ids).copied().collect::<BTreeSet<_>>();
        self.append(b'+', &new)?;
        self.ids.extend(new);
        Ok(())
    }

    fn append(&self, sign: u8, ids: &BTreeSet<Id>) -> std::io::Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| !ids.is_empty()) else { return Ok(()) };
        let lines = ids.iter().flat_map(|id| {
            let text = id.text().into_bytes();
            [vec![sign], text, vec![b'\n']].concat()
        });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        // In one piece, so that two runs that end at once do not mix their lines.
        File::from(file).write_all(&lines.collect::<Vec<u8>>())
    }
}

/// The end of the list, from the first whole line on: more than anybody looks back to.
fn read_end(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES))).ok()?;
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

const NAME: &str = "committed-in-cages";

/// A hundred thousand versions.
const MOST_BYTES: u64 = 4 << 20;

#[cfg(test)]
mod tests;
