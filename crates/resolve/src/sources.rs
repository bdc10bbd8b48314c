//! Collects the opened objects in the order of their descriptors. Never holds the same path twice:
//! a second mention gets the first one's index.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use plan::{FileKind, HostPath, Source, SourceIndex};

use super::ResolveError;
use super::open::Opened;

/// The descriptors so far, and what the Plan will say about each.
#[derive(Default)]
pub(super) struct Sources {
    descriptors: Vec<OwnedFd>,
    described: Vec<Source>,
    by_path: HashMap<HostPath, SourceIndex>,
}

impl Sources {
    /// Takes an opened object in. Of two objects found at one path at different moments the first
    /// one counts: all that the cage shows at a path is then the same thing.
    pub(super) fn add(&mut self, opened: Opened) -> Result<SourceIndex, ResolveError> {
        if let Some(known) = self.by_path.get(&opened.path) {
            return Ok(*known);
        }
        let position =
            u32::try_from(self.described.len()).map_err(|_| ResolveError::TooManyObjects)?;
        let index = SourceIndex(position);
        self.by_path.insert(opened.path.clone(), index);
        self.described.push(opened.described());
        self.descriptors.push(opened.descriptor);
        Ok(index)
    }

    /// What kind of object has an index.
    pub(super) fn kind(&self, index: SourceIndex) -> Option<FileKind> {
        let position = usize::try_from(index.0).ok()?;
        self.described.get(position).map(|source| source.kind)
    }

    /// The descriptors and their descriptions, in the same order.
    pub(super) fn into_parts(self) -> (Vec<OwnedFd>, Vec<Source>) {
        (self.descriptors, self.described)
    }
}
