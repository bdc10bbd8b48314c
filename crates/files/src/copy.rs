//! Copies from one tree to another: files, directories with everything in them, and links that stay links. No link is
//! followed on either side, and none is made that leads out of what is copied: whoever follows it later would be led where
//! a program wanted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;
use vfs::{At, Attributes, Kind, New, OpenFlags};

use crate::error::FilesError;
use crate::operations::BUFFER;
use crate::tree::{Purpose, Tree, text};

/// What becomes of files that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and it is an error.
    Kept,
    /// Files take their contents, directories more files.
    Overwritten,
}

/// What becomes of links that lead out of what is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// They are an error.
    Refused,
    /// They are left out, and counted.
    LeftOut,
}

/// How something is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Whether directories are copied with everything in them, or are an error.
    pub recursive: bool,
    /// See there.
    pub existing: Existing,
    /// See there.
    pub links: Links,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Files.
    pub files: u64,
    /// Directories, also those that were there.
    pub directories: u64,
    /// Links.
    pub links: u64,
    /// What was left out: links that lead elsewhere, pipes and sockets.
    pub left_out: u64,
    /// The bytes of all files.
    pub bytes: u64,
}

/// A path of the host as a tree and a path in it.
#[derive(Debug)]
pub struct Local {
    /// The directory that it is in.
    pub tree: Tree,
    /// Its name there.
    pub path: Vec<u8>,
}

impl Local {
    /// Something to be copied. What is named is no link: in a project, somebody else may have put it there.
    ///
    /// # Errors
    /// There is no such thing, or it is a link.
    pub fn source(path: &Path) -> Result<Self, FilesError> {
        let Some(name) = path.file_name() else {
            return Self::of(&std::fs::canonicalize(path).map_err(on(path))?, Purpose::Read);
        };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = std::fs::canonicalize(above.unwrap_or(Path::new("."))).map_err(on(path))?;
        let found = Self::of(&above.join(name), Purpose::Read)?;
        if found.tree.look(&found.path)?.kind != Kind::Link {
            return Ok(found);
        }
        let (link, target) = (text(path.as_os_str().as_bytes()), found.tree.target(&found.path)?);
        let target = text(&target);
        Err(FilesError::Usage(format!("`{link}` is a link to `{target}`: name what it leads to")))
    }

    /// Where something is copied to: a directory that is there, or a name that is not, or a file.
    ///
    /// # Errors
    /// There is no directory that it would be in.
    pub fn destination(path: &Path) -> Result<Self, FilesError> {
        if path.is_dir() {
            let real = std::fs::canonicalize(path).map_err(on(path))?;
            let tree = Tree::of_directory(&real, Purpose::Write)?;
            return Ok(Self { tree, path: b"/".to_vec() });
        }
        let name = path.file_name().ok_or_else(|| {
            FilesError::Usage(format!("`{}` names no file", text(path.as_os_str().as_bytes())))
        })?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let real = std::fs::canonicalize(above).map_err(on(above))?;
        Self::of(&real.join(name), Purpose::Write)
    }

    fn of(real: &Path, purpose: Purpose) -> Result<Self, FilesError> {
        let (above, name) = match (real.parent(), real.file_name()) {
            (Some(above), Some(name)) => (above, name),
            _ => (real, OsStr::new("")),
        };
        let tree = Tree::of_directory(above, purpose)?;
        Ok(Self { tree, path: [b"/", name.as_bytes()].concat() })
    }
}

/// One thing that is still to be copied.
struct Step {
    from: Vec<u8>,
    to: Vec<u8>,
    /// How many directories below what was named it lies.
    depth: usize,
}

/// Copies what a path leads to. What is there as a directory gets it under its own name. `progress` hears how much has been
/// copied.
///
/// # Errors
/// What stands in the way. What was copied before it stays.
pub fn copy(
    (from, from_path): (&Tree, &[u8]),
    (to, to_path): (&Tree, &[u8]),
    wishes: &Wishes,
    progress: &mut dyn FnMut(&Copied),
) -> Result<Copied, FilesError> {
    let source = from.whole(from_path)?;
    // What is named may be a link; those below are not followed.
    let named = from.look_through(&source)?;
    let target = to.whole(to_path)?;
    let target = match to.look_through(&target) {
        Ok(found) if found.kind == Kind::Directory => match last_name(&source) {
            Some(name) => [&target[..], b"/", name].concat(),
            None => target,
        },
        Ok(_) | Err(FilesError::Missing { .. }) => target,
        Err(error) => return Err(error),
    };
    if named.kind == Kind::Directory && !wishes.recursive {
        return Err(FilesError::Directory { tree: from.title().to_owned(), path: text(&source) });
    }
    if named.kind == Kind::Directory && wishes.links == Links::Refused {
        refuse_links_out(from, &source)?;
    }
    to.make_place(&target)?;
    let mut copied = Copied::default();
    let mut left = vec![Step { from: source.clone(), to: target, depth: 0 }];
    let mut count = 0_u64;
    while let Some(step) = left.pop() {
        count += 1;
        if count > MOST_COPIED {
            let message = format!(
                "`{}` of {} has more than {MOST_COPIED} files: copy a part of it",
                text(&source),
                from.title()
            );
            return Err(FilesError::Usage(message));
        }
        let found = if step.depth == 0 { named } else { from.look(&step.from)? };
        match found.kind {
            Kind::Directory => {
                make_directory(to, &step.to, &found, wishes.existing)?;
                copied.directories += 1;
                for listed in from.names(&step.from)? {
                    let below = |above: &[u8]| [above, b"/", &listed.name].concat();
                    left.push(Step {
                        from: below(&step.from),
                        to: below(&step.to),
                        depth: step.depth + 1,
                    });
                }
            }
            Kind::File => {
                let before = copied;
                let bytes = copy_file(from, to, &step, &found, wishes.existing, &mut |bytes| {
                    progress(&Copied { bytes: before.bytes + bytes, ..before });
                })?;
                copied.files += 1;
                copied.bytes += bytes;
            }
            Kind::Link => {
                if copy_link(from, to, &step, wishes)? {
                    copied.links += 1;
                } else {
                    copied.left_out += 1;
                }
            }
            Kind::Fifo | Kind::Socket | Kind::CharacterDevice | Kind::BlockDevice => {
                copied.left_out += 1;
            }
        }
        progress(&copied);
    }
    to.finish()?;
    Ok(copied)
}

fn make_directory(
    to: &Tree,
    path: &[u8],
    found: &Attributes,
    existing: Existing,
) -> Result<(), FilesError> {
    let mode = found.mode & PERMISSIONS | OWN;
    let made = to.files.make(&to.caller(path), At::Root, path, New::Directory, mode);
    match made.map_err(to.failed("make", path)) {
        Err(error @ FilesError::Exists { .. }) => {
            let there = to.look(path)?;
            match (there.kind, existing) {
                (Kind::Directory, Existing::Overwritten) => Ok(()),
                (Kind::Directory, Existing::Kept) => Err(error),
                _ => Err(to.other_kind(path, &there, Kind::Directory)),
            }
        }
        made => made.map(drop),
    }
}

fn copy_file(
    from: &Tree,
    to: &Tree,
    step: &Step,
    found: &Attributes,
    existing: Existing,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FilesError> {
    // What was named may be a link; below it one may have been put in a file's place just now.
    let flags = OpenFlags { no_follow: step.depth > 0, ..OpenFlags::READ };
    let source = from.open_file(&step.from, flags, 0)?;
    let (file, is_new) = to.create(&step.to, found.mode & PERMISSIONS, existing)?;
    let copied = (|| {
        let mut buffer = vec![0; BUFFER];
        let mut at = 0;
        // Holes stay holes: one costs who made it nothing, and would fill a disk here.
        let keeps_holes = !to.is_asked_by_others();
        let mut may_be_hole = keeps_holes;
        loop {
            if may_be_hole {
                at = from.after_hole(&source, &step.from, at)?;
            }
            let read = source.read_at(at, &mut buffer).map_err(from.failed("read", &step.from))?;
            let bytes = buffer.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            may_be_hole = keeps_holes && bytes.iter().all(|byte| *byte == 0);
            if !may_be_hole {
                to.put_at(&file, &step.to, at, bytes)?;
            }
            at += read as u64;
            progress(at);
        }
        if may_be_hole {
            let sized = file.set_size(&to.caller(&step.to), at);
            sized.map_err(to.failed("write", &step.to))?;
        }
        Ok(at)
    })();
    let closed = file.close(&to.caller(&step.to)).map_err(to.failed("write", &step.to));
    let copied = copied.and_then(|total| closed.map(|()| total));
    if copied.is_err() && is_new {
        to.take_back(&step.to);
    }
    copied
}

/// Looks for them before anything is copied, so that what is refused leaves nothing half made. One that is put there later is
/// met by the copy itself.
fn refuse_links_out(from: &Tree, source: &[u8]) -> Result<(), FilesError> {
    let mut left = vec![(source.to_vec(), 1)];
    let mut count = 0_u64;
    while let Some((directory, depth)) = left.pop() {
        for listed in from.names(&directory)? {
            count += 1;
            let path = [&directory[..], b"/", &listed.name].concat();
            match listed.kind {
                Kind::Link => {
                    let target = from.target(&path)?;
                    if !stays_within(&target, depth) {
                        return Err(link_out(from, &path, &target));
                    }
                }
                // Of more than is copied at all the copy itself says so.
                Kind::Directory if count < MOST_COPIED => left.push((path, depth + 1)),
                _ => {}
            }
        }
    }
    Ok(())
}

fn link_out(from: &Tree, path: &[u8], target: &[u8]) -> FilesError {
    FilesError::LinkOut { tree: from.title().to_owned(), path: text(path), target: text(target) }
}

/// Returns whether it was copied, and not left out.
fn copy_link(from: &Tree, to: &Tree, step: &Step, wishes: &Wishes) -> Result<bool, FilesError> {
    let target = from.target(&step.from)?;
    if !stays_within(&target, step.depth) {
        return match wishes.links {
            Links::LeftOut => Ok(false),
            Links::Refused => Err(link_out(from, &step.from, &target)),
        };
    }
    let made = to.files.make(&to.caller(&step.to), At::Root, &step.to, New::Link(&target), 0o777);
    match made.map_err(to.failed("make", &step.to)) {
        Err(error @ FilesError::Exists { .. }) => {
            let there = to.look(&step.to)?;
            match (there.kind, wishes.existing) {
                (Kind::Link, Existing::Overwritten) if to.target(&step.to)? == target => Ok(true),
                (Kind::Link, _) => Err(error),
                _ => Err(to.other_kind(&step.to, &there, Kind::Link)),
            }
        }
        made => made.map(|_| true),
    }
}

/// Whether a link so many directories below what is copied leads to something in it, whatever other links there are: every
/// `..` comes first, where the directories are real ones.
fn stays_within(target: &[u8], depth: usize) -> bool {
    if target.starts_with(b"/") {
        return false;
    }
    let mut names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let ups = names.clone().take_while(|name| *name == b"..").count();
    ups < depth && !names.by_ref().skip(ups).any(|name| name == b"..")
}

/// The last name of a path; none for a root.
fn last_name(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/').find(|name| !name.is_empty())
}

fn on(path: &Path) -> impl Fn(std::io::Error) -> FilesError + '_ {
    move |source| FilesError::Host { path: path.to_owned(), source }
}

/// Set-id and sticky bits are not copied.
const PERMISSIONS: u32 = 0o777;
/// A tree that leads to the same files over and over ends here.
const MOST_COPIED: u64 = 10_000_000;
/// A directory that is copied is filled first.
const OWN: u32 = 0o700;

#[cfg(test)]
mod tests;
