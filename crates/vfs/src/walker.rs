//! From a path to a file, for every engine alike: one name at a time, links before `..`, never above the guest's root.
//! The only reader of paths in this crate. A5

use std::borrow::Cow;

use rustix::io::Errno;

use crate::attributes::{Attributes, Kind};
use crate::caller::Caller;
use crate::engine::{Engine, Entry, Inode};
use crate::error::{Error, Result};
use crate::limits::Setting;
use crate::name::{LONGEST_NAME, LONGEST_PATH, Name};
use crate::rules::{self, Wish};

#[cfg(test)]
mod tests;

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is.
    Yes,
    /// The link itself is meant, unless a slash comes after it.
    No,
}

/// An inode that is held as long as this exists.
pub(crate) struct Held<'a> {
    engine: &'a dyn Engine,
    entry: Entry,
    is_counted: bool,
}

impl<'a> Held<'a> {
    /// What an engine has handed out.
    pub(crate) const fn new(engine: &'a dyn Engine, entry: Entry) -> Self {
        Self { engine, entry, is_counted: true }
    }

    /// Something that somebody else holds meanwhile.
    pub(crate) fn borrowed(engine: &'a dyn Engine, caller: &Caller, inode: Inode) -> Result<Self> {
        let attributes = engine.attributes(caller, inode)?;
        let entry = Entry { inode, generation: 0, attributes };
        Ok(Self { engine, entry, is_counted: false })
    }

    pub(crate) const fn inode(&self) -> Inode {
        self.entry.inode
    }

    /// As they were when it was found.
    pub(crate) const fn attributes(&self) -> &Attributes {
        &self.entry.attributes
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.entry.attributes.kind == kind
    }

    /// Lets somebody else give it back.
    pub(crate) fn keep(mut self) -> Entry {
        self.is_counted = false;
        self.entry
    }

    pub(crate) const fn is_counted(&self) -> bool {
        self.is_counted
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            self.engine.forget(self.entry.inode, 1);
        }
    }
}

/// The last name of a path, which may lead nowhere yet. It lies on the stack for the length of one operation.
#[allow(
    clippy::large_enum_variant,
    reason = "a name in a box would be an allocation for every path"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// A name in the directory that the walk has come to.
    Name(NameBuffer),
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// There is none: the path is a slash, or a link leads to one.
    Root,
}

/// A name by itself. One that is too long is an error only where it is used: others come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameBuffer {
    bytes: [u8; LONGEST_NAME],
    length: Option<u8>,
}

impl NameBuffer {
    fn of(name: &[u8]) -> Self {
        let mut bytes = [0; LONGEST_NAME];
        let length = u8::try_from(name.len()).ok();
        if let Some(bytes) = bytes.get_mut(..name.len()) {
            bytes.copy_from_slice(name);
        }
        Self { bytes, length }
    }

    pub(crate) fn name(&self) -> Result<Name<'_>> {
        let length = self.length.ok_or(Errno::NAMETOOLONG)?;
        Name::new(self.bytes.get(..usize::from(length)).unwrap_or_default())
    }
}

/// Where a walk takes place.
pub(crate) struct Ground<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) caller: &'a Caller,
    /// What `/` is, and what is never left.
    pub(crate) root: Inode,
    /// Where a path begins that has no slash in front.
    pub(crate) start: Inode,
    /// What becomes of a path that would lead out of the root.
    pub(crate) outside: Outside,
    pub(crate) most_names: u64,
}

/// What becomes of a path that would lead out of a walk's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It stays at the root, as in the root of a process.
    Clamped,
    /// It is `EXDEV`, as with `RESOLVE_BENEATH`.
    Refused,
    /// The same, but a link may name something from the root on.
    RefusedButLinks,
}

/// A walk along one path.
pub(crate) struct Walker<'a> {
    ground: Ground<'a>,
    at: Held<'a>,
    /// What is still to be walked: the path, and above it the texts of links on the way.
    texts: Vec<Text<'a>>,
    links: u32,
    names: u64,
    /// A slash comes after the last name.
    needs_directory: bool,
}

struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    done: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(ground: Ground<'a>, path: &'a [u8]) -> Result<Self> {
        if path.contains(&0) {
            return Err(Errno::INVAL.into());
        }
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if path.len() > LONGEST_PATH {
            return Err(Errno::NAMETOOLONG.into());
        }
        let is_absolute = path.starts_with(b"/");
        if is_absolute && ground.outside != Outside::Clamped {
            return Err(Errno::XDEV.into());
        }
        let start = if is_absolute { ground.root } else { ground.start };
        let at = Held::borrowed(ground.engine, ground.caller, start)?;
        let mut texts = Vec::with_capacity(2);
        texts.push(Text { bytes: Cow::Borrowed(path), done: 0 });
        Ok(Self { ground, at, texts, links: 0, names: 0, needs_directory: false })
    }

    /// Walks to the directory of the last name.
    pub(crate) fn last(&mut self) -> Result<Last> {
        while let Some((from, to, is_last)) = self.component() {
            self.names += 1;
            if self.names > self.ground.most_names {
                return Err(Error::of_setting(Errno::NAMETOOLONG, Setting::Depth));
            }
            self.enter()?;
            let Some(text) = self.texts.last() else { break };
            let name = text.bytes.get(from..to).unwrap_or_default();
            if is_last {
                return match name {
                    b"." => Ok(Last::Dot),
                    b".." => Ok(Last::DotDot),
                    name => Ok(Last::Name(NameBuffer::of(name))),
                };
            }
            match name {
                b"." => {}
                b".." => self.up()?,
                name => {
                    let found = self.lookup(Name::new(name)?)?;
                    if found.is(Kind::Link) { self.follow(&found)? } else { self.at = found }
                }
            }
        }
        Ok(Last::Root)
    }

    /// Walks to the end, which must exist.
    pub(crate) fn end(mut self, follow: Follow) -> Result<Held<'a>> {
        loop {
            match self.last()? {
                Last::Root | Last::Dot => return Ok(self.at),
                Last::DotDot => {
                    self.up()?;
                    return Ok(self.at);
                }
                Last::Name(name) => {
                    let found = self.lookup(name.name()?)?;
                    if found.is(Kind::Link) && (follow == Follow::Yes || self.needs_directory) {
                        self.follow(&found)?;
                        continue;
                    }
                    if self.needs_directory && !found.is(Kind::Directory) {
                        return Err(Errno::NOTDIR.into());
                    }
                    return Ok(found);
                }
            }
        }
    }

    /// What a name in the present directory leads to.
    pub(crate) fn lookup(&self, name: Name<'_>) -> Result<Held<'a>> {
        let Ground { engine, caller, .. } = self.ground;
        Ok(Held::new(engine, engine.lookup(caller, self.at.inode(), name)?))
    }

    /// Goes on where a link leads. What is left of the path comes after that.
    pub(crate) fn follow(&mut self, link: &Held<'a>) -> Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let Ground { engine, caller, root, outside, .. } = self.ground;
        let target = engine.read_link(caller, link.inode())?;
        if target.is_empty() {
            return Err(Errno::NOENT.into());
        }
        if target.contains(&0) {
            return Err(Errno::INVAL.into());
        }
        if target.starts_with(b"/") {
            if outside == Outside::Refused {
                return Err(Errno::XDEV.into());
            }
            self.at = Held::borrowed(engine, caller, root)?;
        }
        self.texts.push(Text { bytes: Cow::Owned(target), done: 0 });
        Ok(())
    }

    /// The present directory.
    pub(crate) const fn at(&self) -> &Held<'a> {
        &self.at
    }

    pub(crate) fn into_at(self) -> Held<'a> {
        self.at
    }

    /// Whether a slash comes after the last name.
    pub(crate) const fn needs_directory(&self) -> bool {
        self.needs_directory
    }

    /// One directory up; from the root nowhere, or it is refused.
    pub(crate) fn up(&mut self) -> Result<()> {
        let Ground { engine, caller, root, outside, .. } = self.ground;
        if self.at.inode() != root {
            self.at = Held::new(engine, engine.lookup_parent(caller, self.at.inode())?);
        } else if outside != Outside::Clamped {
            return Err(Errno::XDEV.into());
        }
        Ok(())
    }

    /// Whether names may be looked up in what the walk has come to.
    fn enter(&self) -> Result<()> {
        if !self.at.is(Kind::Directory) {
            return Err(Errno::NOTDIR.into());
        }
        rules::may(self.ground.caller, self.at.attributes(), Wish::EXECUTE)
    }

    /// The next name: from where to where it is in the uppermost text, and whether none comes after it.
    fn component(&mut self) -> Option<(usize, usize, bool)> {
        loop {
            let text = self.texts.last_mut()?;
            let rest = text.bytes.get(text.done..).unwrap_or_default();
            let Some(skipped) = rest.iter().position(|byte| *byte != b'/') else {
                // A text that is all slashes is the root; the one below is what comes after it.
                self.texts.pop();
                continue;
            };
            let from = text.done + skipped;
            let rest = rest.get(skipped..).unwrap_or_default();
            let length = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            text.done = from + length;
            let mut left = self.texts.iter().flat_map(|text| text.bytes.get(text.done..));
            let is_last = left.all(|rest| rest.iter().all(|byte| *byte == b'/'));
            if is_last {
                let mut left = self.texts.iter();
                self.needs_directory |= left.any(|text| text.done < text.bytes.len());
            }
            return Some((from, from + length, is_last));
        }
    }
}

/// How many links one path may lead over. A5
const MOST_LINKS: u32 = 40;
