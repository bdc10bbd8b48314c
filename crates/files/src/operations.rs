//! What can be done with one path of a tree: list, look, read, write, make and remove. Each is the operation of its name in
//! `vfs`, with the words for what is refused.

use std::io::{Read, Write};

use rustix::io::Errno;
use vfs::{At, Attributes, Batch, Done, Follow, Kind, New, OpenFile, OpenFlags, Removal};

use crate::copy::Existing;
use crate::entry::{Entry, word};
use crate::error::FilesError;
use crate::tree::{Tree, is_within, text};

impl Tree {
    /// What a path leads to; of a link the link itself.
    ///
    /// # Errors
    /// There is nothing.
    pub fn stat(&self, path: &[u8]) -> Result<Entry, FilesError> {
        let path = self.whole(path)?;
        let found = self.look(&path)?;
        self.entry(path.clone(), &path, &found)
    }

    /// What is in a directory, by name, so many levels deep: names, or paths below it where there are several levels. Of
    /// anything else the one entry that it is.
    ///
    /// # Errors
    /// There is nothing, or it cannot be read.
    pub fn list(&self, path: &[u8], levels: usize) -> Result<Vec<Entry>, FilesError> {
        let path = self.whole(path)?;
        let found = self.look_through(&path)?;
        if found.kind != Kind::Directory {
            return Ok(vec![self.entry(path.clone(), &path, &found)?]);
        }
        let mut all = Vec::new();
        // Without recursion, from the last on: a tree may be deeper than a stack.
        let mut left = vec![(Vec::new(), levels)];
        while let Some((below, levels)) = left.pop() {
            if !below.is_empty() {
                let whole = [&path[..], b"/", &below].concat();
                let found = self.look(&whole)?;
                all.push(self.entry(below.clone(), &whole, &found)?);
                if found.kind != Kind::Directory || levels == 0 {
                    continue;
                }
            }
            let whole = [&path[..], b"/", &below].concat();
            let mut names: Vec<Vec<u8>> =
                self.names(&whole)?.into_iter().map(|listed| listed.name).collect();
            names.sort_unstable_by(|one, other| other.cmp(one));
            let slash: &[u8] = if below.is_empty() { b"" } else { b"/" };
            left.extend(
                names.into_iter().map(|name| ([&below, slash, &name].concat(), levels - 1)),
            );
            if all.len() > MOST_LISTED {
                let message = format!(
                    "`{}` of {} has more than {MOST_LISTED} files: list a part of it",
                    text(&path),
                    self.title
                );
                return Err(FilesError::Usage(message));
            }
        }
        Ok(all)
    }

    /// The contents of a file, from somewhere on, at most so many bytes.
    ///
    /// # Errors
    /// It is no file, or cannot be read.
    pub fn read(&self, path: &[u8], from: u64, most: usize) -> Result<Vec<u8>, FilesError> {
        let path = self.whole(path)?;
        let file = self.open_file(&path, OpenFlags::READ, 0)?;
        let mut contents = Vec::new();
        while contents.len() < most {
            let at = contents.len();
            contents.resize(most.min(at + BUFFER), 0);
            let room = contents.get_mut(at..).unwrap_or_default();
            let count = file.read_at(from + at as u64, room).map_err(self.failed("read", &path))?;
            contents.truncate(at + count);
            if count == 0 {
                break;
            }
        }
        Ok(contents)
    }

    /// Gives the contents of a file to somebody.
    ///
    /// # Errors
    /// It is no file, cannot be read, or nobody takes it.
    pub fn read_to(&self, path: &[u8], to: &mut dyn Write) -> Result<(), FilesError> {
        let path = self.whole(path)?;
        let file = self.open_file(&path, OpenFlags::READ, 0)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = file.read(&mut buffer).map_err(self.failed("read", &path))?;
            if count == 0 {
                return to.flush().map_err(FilesError::Output);
            }
            to.write_all(buffer.get(..count).unwrap_or_default()).map_err(FilesError::Output)?;
        }
    }

    /// Writes a file with what comes from somewhere. Returns how much that was.
    ///
    /// # Errors
    /// Something is there already and is not to be replaced, or it cannot be written. A file that was begun is removed.
    pub fn write_from(
        &self,
        path: &[u8],
        from: &mut dyn Read,
        existing: Existing,
    ) -> Result<u64, FilesError> {
        let path = self.whole(path)?;
        self.make_place(&path)?;
        let (file, is_new) = self.create(&path, 0o644, existing)?;
        let written = (|| {
            let mut buffer = vec![0; BUFFER];
            let mut total = 0;
            loop {
                let count = match from.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(FilesError::Input(error)),
                };
                self.put(&file, &path, buffer.get(..count).unwrap_or_default())?;
                total += count as u64;
            }
            Ok(total)
        })();
        let closed = file.close(&self.caller(&path)).map_err(self.failed("write", &path));
        let written = written.and_then(|total| closed.map(|()| total));
        if written.is_err() && is_new {
            self.take_back(&path);
        }
        written
    }

    /// Makes a directory, and with `parents` those above it that are missing; then one that is there is no error.
    ///
    /// # Errors
    /// Something is there already, or it cannot be made.
    pub fn make_directory(&self, path: &[u8], parents: bool) -> Result<(), FilesError> {
        let path = self.whole(path)?;
        let caller = self.caller(&path);
        let made = if parents {
            self.files.make_directories(&caller, &path)
        } else {
            self.files.make(&caller, At::Root, &path, New::Directory, 0o777).map(drop)
        };
        made.map_err(self.failed("make", &path))
    }

    /// Removes a file or link, or an empty directory; with `recursive` one with everything in it.
    ///
    /// # Errors
    /// There is nothing, or it cannot be removed.
    pub fn remove(&self, path: &[u8], recursive: bool) -> Result<(), FilesError> {
        let path = self.whole(path)?;
        let caller = self.caller(&path);
        let named = without_detours(&path);
        if self.parts.iter().any(|part| is_within(trimmed(&part.at), &named)) {
            let message = format!(
                "`{}` is where {} begins, or lies around that, and stays: name what is in it",
                text(&path),
                self.title
            );
            return Err(FilesError::Usage(message));
        }
        let found = self.look(&path)?;
        let removed = match (found.kind, recursive) {
            (Kind::Directory, true) => self.files.remove_tree(&caller, &path),
            (Kind::Directory, false) => {
                self.files.remove(&caller, At::Root, &path, Removal::Directory)
            }
            _ => self.files.remove(&caller, At::Root, &path, Removal::File),
        };
        removed.map_err(|error| match error.errno {
            Errno::NOTEMPTY | Errno::EXIST => {
                FilesError::Directory { tree: self.title.clone(), path: text(&path) }
            }
            _ => self.failed("remove", &path)(error),
        })
    }

    /// Does several things, one after the other. One that fails does not stop the rest.
    pub fn batch(&self, all: &[Batch], most: u64) -> Vec<Result<Done, FilesError>> {
        all.iter().map(|one| self.one_of_batch(one, most)).collect()
    }

    fn one_of_batch(&self, one: &Batch, most: u64) -> Result<Done, FilesError> {
        let (action, path) = match one {
            Batch::Read(path) => ("read", path),
            Batch::Write(path, _) => ("write", path),
            Batch::Stat(path) => ("look at", path),
            Batch::List(path) => ("list", path),
            Batch::Remove(path) => return self.remove(path, true).map(|()| Done::Nothing),
            Batch::MakeDirectories(path) => ("make", path),
        };
        let path = self.whole(path)?;
        let whole = match one {
            Batch::Read(_) => Batch::Read(path.clone()),
            Batch::Write(_, contents) => Batch::Write(path.clone(), contents.clone()),
            Batch::Stat(_) => Batch::Stat(path.clone()),
            Batch::List(_) => Batch::List(path.clone()),
            Batch::Remove(_) => Batch::Remove(path.clone()),
            Batch::MakeDirectories(_) => Batch::MakeDirectories(path.clone()),
        };
        let done = self.files.batch(&self.caller(&path), &[whole], most).pop();
        let done = done.unwrap_or_else(|| Err(Errno::IO.into()));
        done.map_err(|error| match error.errno {
            Errno::FBIG if action == "read" => {
                FilesError::TooLarge { tree: self.title.clone(), path: text(&path), most }
            }
            _ => self.failed(action, &path)(error),
        })
    }

    pub(crate) fn look(&self, path: &[u8]) -> Result<Attributes, FilesError> {
        let found = self.files.stat(&self.caller(path), At::Root, path, Follow::No);
        found.map_err(self.failed("look at", path))
    }

    pub(crate) fn look_through(&self, path: &[u8]) -> Result<Attributes, FilesError> {
        let found = self.files.stat(&self.caller(path), At::Root, path, Follow::Yes);
        found.map_err(self.failed("look at", path))
    }

    pub(crate) fn names(&self, path: &[u8]) -> Result<Vec<vfs::ListedName>, FilesError> {
        self.files.list(&self.caller(path), path).map_err(self.failed("list", path))
    }

    pub(crate) fn target(&self, path: &[u8]) -> Result<Vec<u8>, FilesError> {
        let target = self.files.read_link(&self.caller(path), At::Root, path);
        target.map_err(self.failed("read", path))
    }

    pub(crate) fn open_file(
        &self,
        path: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<OpenFile, FilesError> {
        let caller = self.caller(path);
        let file = self.files.open(&caller, At::Root, path, flags, mode);
        let file = file.map_err(self.failed("open", path))?;
        let found = file.attributes(&caller).map_err(self.failed("look at", path))?;
        if found.kind == Kind::Directory {
            return Err(FilesError::Directory { tree: self.title.clone(), path: text(path) });
        }
        Ok(file)
    }

    /// A file to be written from the start, and whether it was not there.
    pub(crate) fn create(
        &self,
        path: &[u8],
        mode: u32,
        existing: Existing,
    ) -> Result<(OpenFile, bool), FilesError> {
        let new = OpenFlags { create: true, exclusive: true, ..OpenFlags::WRITE };
        match self.open_file(path, new, mode) {
            Err(FilesError::Exists { .. }) if existing == Existing::Overwritten => {
                let there = OpenFlags { truncate: true, no_follow: true, ..OpenFlags::WRITE };
                let found = self.look(path)?;
                if found.kind != Kind::File {
                    return Err(self.other_kind(path, &found, Kind::File));
                }
                self.open_file(path, there, mode).map(|file| (file, false))
            }
            made => made.map(|file| (file, true)),
        }
    }

    pub(crate) fn put(&self, file: &OpenFile, path: &[u8], bytes: &[u8]) -> Result<(), FilesError> {
        let caller = self.caller(path);
        let mut left = bytes;
        while !left.is_empty() {
            let count = file.write(&caller, left).map_err(self.failed("write", path))?;
            left = left.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Makes the directories above a path where that is a server's, whose objects have no directories to be missing.
    pub(crate) fn make_place(&self, path: &[u8]) -> Result<(), FilesError> {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        match path.get(..end) {
            Some(above) if self.is_asked_by_others() && !above.is_empty() => {
                let made = self.files.make_directories(&self.caller(above), above);
                made.map_err(self.failed("make", above))
            }
            _ => Ok(()),
        }
    }

    /// Removes what was begun and did not come to its end.
    pub(crate) fn take_back(&self, path: &[u8]) {
        let _left = self.files.remove(&self.caller(path), At::Root, path, Removal::File);
    }

    pub(crate) fn other_kind(&self, path: &[u8], there: &Attributes, wanted: Kind) -> FilesError {
        FilesError::OtherKind {
            tree: self.title.clone(),
            path: text(path),
            there: word(there.kind),
            wanted: word(wanted),
        }
    }

    fn entry(&self, name: Vec<u8>, path: &[u8], found: &Attributes) -> Result<Entry, FilesError> {
        let target = (found.kind == Kind::Link).then(|| self.target(path)).transpose()?;
        Ok(Entry::new(name, found, target))
    }
}

/// The path in its shortest form, by its words alone.
fn without_detours(path: &[u8]) -> Vec<u8> {
    let mut words: Vec<&[u8]> = Vec::new();
    for word in path.split(|byte| *byte == b'/') {
        match word {
            b"" | b"." => {}
            b".." => drop(words.pop()),
            word => words.push(word),
        }
    }
    words.iter().flat_map(|word| [&b"/"[..], word]).flatten().copied().collect()
}

fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

pub(crate) const BUFFER: usize = 256 << 10;

/// More than anybody reads.
const MOST_LISTED: usize = 1_000_000;
