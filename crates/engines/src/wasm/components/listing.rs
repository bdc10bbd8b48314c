//! What is in a directory, entry by entry. A few are read ahead, so that a listing is small however large its directory is.

use std::collections::VecDeque;

use vfs::{Kind, SeekTo};
use wasmtime::component::Resource;

use super::bindings::wasi::filesystem::types::{
    DescriptorType, DirectoryEntry, ErrorCode, HostDirectoryEntryStream,
};
use super::codes::FileFault;
use super::host::{File, Host, Place};
use crate::world::World;

/// A directory that is being listed. It counts as a descriptor for what it has read ahead.
#[derive(Debug)]
pub struct Listing {
    directory: File,
    _place: Place,
    ahead: VecDeque<(Kind, Vec<u8>)>,
    next: u64,
    is_done: bool,
}

impl Listing {
    pub(super) const fn of(directory: File, place: Place) -> Self {
        Self { directory, _place: place, ahead: VecDeque::new(), next: 0, is_done: false }
    }

    /// Reads the next few.
    fn fill(&mut self, world: &World) -> Result<(), FileFault> {
        let directory = &self.directory.open;
        directory.seek(&world.caller, SeekTo::Start(self.next))?;
        let (ahead, next) = (&mut self.ahead, &mut self.next);
        let mut count = 0;
        directory.list(|listed| {
            if count == MOST_AHEAD {
                return false;
            }
            count += 1;
            *next = listed.cookie;
            if !matches!(listed.name, b"." | b"..") {
                ahead.push_back((listed.kind, listed.name.to_vec()));
            }
            true
        })?;
        self.is_done = count == 0;
        Ok(())
    }
}

impl HostDirectoryEntryStream for Host {
    fn read_directory_entry(
        &mut self,
        listing: Resource<Listing>,
    ) -> Result<Option<DirectoryEntry>, FileFault> {
        let listing = self.table.get_mut(&listing)?;
        while listing.ahead.is_empty() && !listing.is_done {
            listing.fill(&self.world)?;
        }
        let Some((kind, name)) = listing.ahead.pop_front() else { return Ok(None) };
        let name = String::from_utf8(name).map_err(|_| ErrorCode::IllegalByteSequence)?;
        Ok(Some(DirectoryEntry { type_: type_of(kind), name }))
    }

    fn drop(&mut self, listing: Resource<Listing>) -> wasmtime::Result<()> {
        self.table.delete(listing)?;
        Ok(())
    }
}

pub(super) const fn type_of(kind: Kind) -> DescriptorType {
    match kind {
        Kind::File => DescriptorType::RegularFile,
        Kind::Directory => DescriptorType::Directory,
        Kind::Link => DescriptorType::SymbolicLink,
        Kind::Fifo => DescriptorType::Fifo,
        Kind::Socket => DescriptorType::Socket,
        Kind::CharacterDevice => DescriptorType::CharacterDevice,
        Kind::BlockDevice => DescriptorType::BlockDevice,
    }
}

const MOST_AHEAD: usize = 32;
