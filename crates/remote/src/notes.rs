//! What is noted of an entry beside its name and its contents: mode, owner, times, kind, extended attributes, how many
//! names it has. One text, which the other side keeps. Pure.
//!
//! Whoever else can write there may have written it: a text is taken only if it is exactly what these notes are encoded
//! as. It never makes a device, and never says where a link leads: that is in the contents.

use std::collections::BTreeMap;

use vfs::{ALL_MODE_BITS, Timestamp};

use crate::backend::MetaKind;
use crate::hash::{base64, from_base64};
use crate::objects::Linked;

/// What is noted of an entry. What is not noted is as the mount has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What an entry is that has contents there.
    pub kind: NotedKind,
    /// The low twelve bits of its mode.
    pub mode: Option<u32>,
    /// Its owner; see [`crate::Owners`].
    pub uid: Option<u32>,
    /// Its group.
    pub gid: Option<u32>,
    /// When it was read.
    pub accessed: Option<Timestamp>,
    /// When its contents changed.
    pub modified: Option<Timestamp>,
    /// When anything of it changed.
    pub changed: Option<Timestamp>,
    /// How many names it has beside the first.
    pub further_names: u32,
    /// The length of a file that ends in a hole, which is not there.
    pub length: Option<u64>,
    /// Extended attributes.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Its names, where objects have one each. No part of the text.
    pub linked: Linked,
}

/// What an entry is to us that is a file to the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotedKind {
    /// A file.
    #[default]
    File,
    /// A symbolic link to what its contents say.
    Link,
    /// A named pipe.
    Fifo,
    /// The name of a socket.
    Socket,
}

impl Notes {
    /// The only text of these notes.
    pub(crate) fn encode(&self) -> String {
        let mut text = VERSION.to_owned();
        let mut put = |key: char, value: String| {
            text.push(';');
            text.push(key);
            text.push_str(&value);
        };
        match self.kind {
            NotedKind::File => {}
            NotedKind::Link => put('k', "link".into()),
            NotedKind::Fifo => put('k', "fifo".into()),
            NotedKind::Socket => put('k', "socket".into()),
        }
        if let Some(mode) = self.mode {
            put('m', format!("{mode:o}"));
        }
        for (key, id) in [('u', self.uid), ('g', self.gid)] {
            if let Some(id) = id {
                put(key, id.to_string());
            }
        }
        for (key, time) in [('a', self.accessed), ('w', self.modified), ('c', self.changed)] {
            if let Some(Timestamp { seconds, nanoseconds }) = time {
                put(key, format!("{seconds}.{nanoseconds}"));
            }
        }
        if self.further_names > 0 {
            put('n', self.further_names.to_string());
        }
        if let Some(length) = self.length {
            put('l', length.to_string());
        }
        for (name, value) in &self.xattrs {
            put('x', format!("{}:{}", base64(name), base64(value)));
        }
        text
    }

    /// What holds of something of this kind and size: a link leads somewhere, a pipe or a socket has no contents.
    pub(crate) fn of(self, kind: MetaKind, size: u64) -> Self {
        let mut notes = self;
        let is_file = kind == MetaKind::File;
        let holds = match notes.kind {
            NotedKind::File => true,
            NotedKind::Link => is_file && (1..=vfs::LONGEST_PATH as u64).contains(&size),
            NotedKind::Fifo | NotedKind::Socket => is_file && size == 0,
        };
        if !holds {
            notes.kind = NotedKind::File;
        }
        if notes.kind != NotedKind::File || !is_file {
            notes.length = None;
        }
        notes
    }

    /// The notes of a text; none if it is not the text of any.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MOST_TEXT {
            return None;
        }
        let mut notes = Self::default();
        let mut fields = text.split(';');
        if fields.next()? != VERSION {
            return None;
        }
        for field in fields {
            let mut letters = field.chars();
            let key = letters.next()?;
            notes.take(key, letters.as_str())?;
        }
        // Each field at most once, in this order and written in one way.
        (notes.encode() == text).then_some(notes)
    }

    fn take(&mut self, key: char, value: &str) -> Option<()> {
        match key {
            'k' => {
                self.kind = match value {
                    "link" => NotedKind::Link,
                    "fifo" => NotedKind::Fifo,
                    "socket" => NotedKind::Socket,
                    _ => return None,
                }
            }
            'm' => {
                let mode = u32::from_str_radix(value, 8).ok();
                self.mode = Some(mode.filter(|mode| *mode <= ALL_MODE_BITS)?);
            }
            'u' => self.uid = Some(id(value)?),
            'g' => self.gid = Some(id(value)?),
            'a' => self.accessed = Some(time(value)?),
            'w' => self.modified = Some(time(value)?),
            'c' => self.changed = Some(time(value)?),
            'n' => {
                let names = value.parse().ok();
                self.further_names = names.filter(|names| *names < MOST_NAMES)?;
            }
            'l' => {
                let length = value.parse().ok();
                self.length = Some(length.filter(|length| *length <= i64::MAX.unsigned_abs())?);
            }
            'x' => {
                let (name, value) = value.split_once(':')?;
                let (name, value) = (from_base64(name)?, from_base64(value)?);
                let is_name = name.len() <= LONGEST_XATTR && !name.contains(&0);
                let is_known = name.starts_with(b"user.") || name.starts_with(b"trusted.");
                if !is_name || !is_known {
                    return None;
                }
                self.xattrs.insert(name, value);
            }
            _ => return None,
        }
        Some(())
    }
}

fn id(text: &str) -> Option<u32> {
    // The largest number means nobody to a kernel.
    text.parse().ok().filter(|id| *id != u32::MAX)
}

fn time(text: &str) -> Option<Timestamp> {
    let (seconds, nanoseconds) = text.split_once('.')?;
    let nanoseconds = nanoseconds.parse().ok().filter(|it| *it < 1_000_000_000)?;
    Some(Timestamp { seconds: seconds.parse().ok()?, nanoseconds })
}

/// How many names a file may have, as the kernel's own file systems have it.
pub(crate) const MOST_NAMES: u32 = 65_000;
const VERSION: &str = "1";
/// More than any other side keeps.
const MOST_TEXT: usize = 1 << 20;
const LONGEST_XATTR: usize = 255;

#[cfg(test)]
mod tests;
