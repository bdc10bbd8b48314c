//! The descriptors of a module: numbers that stand for open files of its world, and for nothing of this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use vfs::OpenFile;

use super::refusal::{Outcome, Refusal};
use super::rights::Rights;
use crate::streams::Stream;

/// What a number stands for. It can be held while the number is given away.
#[derive(Clone, Debug)]
pub(super) enum Opened {
    Stream(Stream),
    File(Arc<OpenFile>),
    Directory(Arc<OpenFile>),
}

/// One descriptor.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    pub(super) opened: Opened,
    pub(super) rights: Rights,
    /// What is opened through it has at most these.
    pub(super) inheriting: Rights,
    /// `fdflags`
    pub(super) flags: u16,
    /// The name of a directory that the module began with.
    pub(super) preopened: Option<Arc<[u8]>>,
}

impl Descriptor {
    /// The file behind it, if it may be used so.
    pub(super) fn file(&self, rights: Rights) -> Outcome<&Arc<OpenFile>> {
        match &self.opened {
            Opened::File(file) => self.rights.require(rights).map(|()| file),
            Opened::Directory(_) => Err(Refusal::BADF),
            Opened::Stream(_) => Err(Refusal::SPIPE),
        }
    }

    /// The directory behind it, if it may be used so.
    pub(super) fn directory(&self, rights: Rights) -> Outcome<&Arc<OpenFile>> {
        match &self.opened {
            Opened::Directory(directory) => self.rights.require(rights).map(|()| directory),
            Opened::File(_) | Opened::Stream(_) => Err(Refusal::NOTDIR),
        }
    }

    /// Whatever of a file system is behind it.
    pub(super) fn either(&self, rights: Rights) -> Outcome<&Arc<OpenFile>> {
        match &self.opened {
            Opened::Directory(opened) | Opened::File(opened) => {
                self.rights.require(rights).map(|()| opened)
            }
            Opened::Stream(_) => Err(Refusal::INVAL),
        }
    }
}

/// All descriptors of one module.
#[derive(Debug)]
pub(super) struct Table {
    descriptors: BTreeMap<u32, Descriptor>,
    most: usize,
}

impl Table {
    pub(super) fn new(most: u32) -> Self {
        Self { descriptors: BTreeMap::new(), most: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    pub(super) fn find(&self, number: u32) -> Outcome<&Descriptor> {
        self.descriptors.get(&number).ok_or(Refusal::BADF)
    }

    pub(super) fn find_mut(&mut self, number: u32) -> Outcome<&mut Descriptor> {
        self.descriptors.get_mut(&number).ok_or(Refusal::BADF)
    }

    /// Whether there is room for one more: asked before a file is made that nobody could be given.
    pub(super) fn has_room(&self) -> Outcome<()> {
        if self.descriptors.len() < self.most { Ok(()) } else { Err(Refusal::MFILE) }
    }

    /// Gives it the lowest number that is free.
    pub(super) fn add(&mut self, descriptor: Descriptor) -> Outcome<u32> {
        self.has_room()?;
        let mut free: u32 = 0;
        for number in self.descriptors.keys() {
            if *number != free {
                break;
            }
            free = free.checked_add(1).ok_or(Refusal::MFILE)?;
        }
        self.descriptors.insert(free, descriptor);
        Ok(free)
    }

    pub(super) fn remove(&mut self, number: u32) -> Outcome<Descriptor> {
        self.descriptors.remove(&number).ok_or(Refusal::BADF)
    }

    /// Gives what one number stands for to another one that is taken; what that stood for is closed.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Outcome<Option<Descriptor>> {
        self.find(from)?;
        self.find(to)?;
        if from == to {
            return Ok(None);
        }
        let moved = self.remove(from)?;
        Ok(self.descriptors.insert(to, moved))
    }
}
