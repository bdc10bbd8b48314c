//! `wasi:filesystem`: the directories that a component begins with, and what it opens below them. What may be changed is the
//! file system's word: a directory passes on all that it has. A path is a text, so that a name that is none cannot be said.

use std::sync::Arc;

use rustix::io::Errno;
use vfs::{Attributes, Follow, Kind, New, NewTime, OpenFlags, Removal, Times, Timestamp};
use wasmtime::component::Resource;

use super::super::files;
use super::bindings::wasi::clocks::wall_clock::Datetime;
use super::bindings::wasi::filesystem::{preopens, types};
use super::codes::{Failed, FileFault, file_code};
use super::host::{File, Host};
use super::listing::{Listing, type_of};
use super::streams::{InputStream, OutputStream};
use types::{DescriptorFlags, ErrorCode};

/// An open file or directory.
#[derive(Clone, Debug)]
pub struct Descriptor {
    pub(super) file: File,
    kind: Kind,
    flags: DescriptorFlags,
}

type Outcome<T> = Result<T, FileFault>;
type Handle = Resource<Descriptor>;

impl Host {
    /// The directory that a path begins in, and the path, which the walker alone looks at.
    fn directory(&self, handle: &Handle) -> Outcome<File> {
        let descriptor = self.table.get(handle)?;
        match descriptor.kind {
            Kind::Directory => Ok(descriptor.file.clone()),
            _ => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file(&self, handle: &Handle) -> Outcome<File> {
        let descriptor = self.table.get(handle)?;
        match descriptor.kind {
            Kind::Directory => Err(ErrorCode::IsDirectory.into()),
            _ => Ok(descriptor.file.clone()),
        }
    }

    /// The attributes of what a path leads to.
    fn find(&self, at: &Handle, flags: types::PathFlags, path: &str) -> Outcome<Attributes> {
        let at = self.directory(at)?;
        Ok(files::stat(&self.world, &at.open, checked(path)?, follow(flags))?)
    }

    fn attributes(&self, handle: &Handle) -> Outcome<Attributes> {
        Ok(self.table.get(handle)?.file.open.attributes(&self.world.caller)?)
    }

    /// One more open file. There is no code for too many.
    fn open_place(&mut self) -> Outcome<super::host::Place> {
        self.place().ok_or(ErrorCode::InsufficientMemory.into())
    }
}

/// What the walker takes.
fn checked(path: &str) -> Outcome<&[u8]> {
    match path.len() > vfs::LONGEST_PATH {
        true => Err(ErrorCode::NameTooLong.into()),
        false => Ok(path.as_bytes()),
    }
}

fn follow(flags: types::PathFlags) -> Follow {
    if flags.contains(types::PathFlags::SYMLINK_FOLLOW) { Follow::Yes } else { Follow::No }
}

/// How a file is opened.
fn opening(follow: Follow, open: types::OpenFlags, flags: DescriptorFlags) -> OpenFlags {
    let directory = open.contains(types::OpenFlags::DIRECTORY);
    let write = flags.contains(DescriptorFlags::WRITE);
    OpenFlags {
        read: directory || !write || flags.contains(DescriptorFlags::READ),
        // A directory is changed by its names and never written.
        write: write && !directory,
        create: open.contains(types::OpenFlags::CREATE),
        exclusive: open.contains(types::OpenFlags::EXCLUSIVE),
        truncate: open.contains(types::OpenFlags::TRUNCATE),
        directory,
        no_follow: follow == Follow::No,
        ..OpenFlags::NOTHING
    }
}

/// Whether each write is to last.
fn lasts(flags: DescriptorFlags) -> bool {
    flags.contains(DescriptorFlags::FILE_INTEGRITY_SYNC)
        || flags.contains(DescriptorFlags::DATA_INTEGRITY_SYNC)
}

fn stat(found: &Attributes) -> types::DescriptorStat {
    types::DescriptorStat {
        type_: type_of(found.kind),
        link_count: found.links.into(),
        size: found.size,
        data_access_timestamp: Some(datetime(found.accessed)),
        data_modification_timestamp: Some(datetime(found.modified)),
        status_change_timestamp: Some(datetime(found.changed)),
    }
}

/// A moment since 1970; what was before is its beginning, since WASI has no sign.
fn datetime(time: Timestamp) -> Datetime {
    let seconds = u64::try_from(time.seconds).unwrap_or_default();
    Datetime { seconds, nanoseconds: time.nanoseconds }
}

fn times(accessed: types::NewTimestamp, modified: types::NewTimestamp) -> Outcome<Times> {
    let one = |new: types::NewTimestamp| match new {
        types::NewTimestamp::NoChange => Ok(None),
        types::NewTimestamp::Now => Ok(Some(NewTime::Now)),
        types::NewTimestamp::Timestamp(Datetime { nanoseconds: MOST_NANOSECONDS.., .. }) => {
            Err(ErrorCode::Invalid)
        }
        types::NewTimestamp::Timestamp(Datetime { seconds, nanoseconds }) => {
            let seconds = i64::try_from(seconds).map_err(|_| ErrorCode::Overflow)?;
            Ok(Some(NewTime::At(Timestamp { seconds, nanoseconds })))
        }
    };
    Ok(Times { accessed: one(accessed)?, modified: one(modified)? })
}

/// What tells files apart. There is one file system, and its numbers are not used twice.
const fn hash(found: &Attributes) -> types::MetadataHashValue {
    types::MetadataHashValue { lower: found.number, upper: 1 }
}

impl preopens::Host for Host {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let mut given = Vec::new();
        for (file, name) in self.preopens.clone() {
            let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
            given.push((self.push(Descriptor { file, kind: Kind::Directory, flags })?, name));
        }
        Ok(given)
    }
}

impl types::Host for Host {
    fn convert_error_code(&mut self, fault: FileFault) -> wasmtime::Result<ErrorCode> {
        fault.code()
    }

    fn filesystem_error_code(
        &mut self,
        failed: Resource<Failed>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(match self.table.get(&failed)? {
            Failed::System(errno) => Some(file_code(*errno)),
            Failed::Request(_) => None,
        })
    }
}

impl types::HostDescriptor for Host {
    fn read_via_stream(&mut self, handle: Handle, at: u64) -> Outcome<Resource<InputStream>> {
        let file = self.file(&handle)?;
        if !self.table.get(&handle)?.flags.contains(DescriptorFlags::READ) {
            return Err(ErrorCode::BadDescriptor.into());
        }
        Ok(self.push(InputStream::File(file, at))?)
    }

    fn write_via_stream(&mut self, handle: Handle, at: u64) -> Outcome<Resource<OutputStream>> {
        let file = self.file(&handle)?;
        if !self.table.get(&handle)?.flags.contains(DescriptorFlags::WRITE) {
            return Err(ErrorCode::BadDescriptor.into());
        }
        Ok(self.push(OutputStream::File(file, Some(at)))?)
    }

    fn append_via_stream(&mut self, handle: Handle) -> Outcome<Resource<OutputStream>> {
        let file = self.file(&handle)?;
        if !self.table.get(&handle)?.flags.contains(DescriptorFlags::WRITE) {
            return Err(ErrorCode::BadDescriptor.into());
        }
        let place = self.open_place()?;
        let how = OpenFlags { append: true, ..OpenFlags::WRITE };
        let again = files::open_again(&self.world, &file.open, how)?;
        let again = File::new(Arc::new(again), place).synchronous(file.is_synchronous);
        Ok(self.push(OutputStream::File(again, None))?)
    }

    fn advise(
        &mut self,
        handle: Handle,
        _offset: u64,
        length: u64,
        _advice: types::Advice,
    ) -> Outcome<()> {
        self.file(&handle)?;
        // Nothing is read ahead; what means nothing is refused all the same.
        i64::try_from(length).map(drop).map_err(|_| ErrorCode::Invalid.into())
    }

    fn sync_data(&mut self, handle: Handle) -> Outcome<()> {
        Ok(self.table.get(&handle)?.file.open.sync()?)
    }

    fn sync(&mut self, handle: Handle) -> Outcome<()> {
        Ok(self.table.get(&handle)?.file.open.sync()?)
    }

    fn get_flags(&mut self, handle: Handle) -> Outcome<DescriptorFlags> {
        Ok(self.table.get(&handle)?.flags)
    }

    fn get_type(&mut self, handle: Handle) -> Outcome<types::DescriptorType> {
        Ok(type_of(self.table.get(&handle)?.kind))
    }

    fn set_size(&mut self, handle: Handle, size: u64) -> Outcome<()> {
        Ok(self.file(&handle)?.open.set_size(&self.world.caller, size)?)
    }

    fn set_times(
        &mut self,
        handle: Handle,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> Outcome<()> {
        let times = times(accessed, modified)?;
        let opened = &self.table.get(&handle)?.file.open;
        Ok(self.world.files.set_times_of(&self.world.caller, opened, times)?)
    }

    fn read(&mut self, handle: Handle, length: u64, at: u64) -> Outcome<(Vec<u8>, bool)> {
        let file = self.file(&handle)?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(MOST_READ).min(MOST_READ)];
        let count = file.open.read_at(at, &mut bytes)?;
        bytes.truncate(count);
        Ok((bytes, count == 0 && length > 0))
    }

    fn write(&mut self, handle: Handle, bytes: Vec<u8>, at: u64) -> Outcome<u64> {
        let file = self.file(&handle)?;
        let count = file.open.write_at(&self.world.caller, at, &bytes)?;
        file.sync_if_asked()?;
        Ok(count as u64)
    }

    fn read_directory(&mut self, handle: Handle) -> Outcome<Resource<Listing>> {
        let directory = self.directory(&handle)?;
        let place = self.open_place()?;
        Ok(self.push(Listing::of(directory, place))?)
    }

    fn create_directory_at(&mut self, handle: Handle, path: String) -> Outcome<()> {
        let at = self.directory(&handle)?;
        Ok(files::make(&self.world, &at.open, checked(&path)?, New::Directory)?)
    }

    fn stat(&mut self, handle: Handle) -> Outcome<types::DescriptorStat> {
        Ok(stat(&self.attributes(&handle)?))
    }

    fn stat_at(
        &mut self,
        handle: Handle,
        flags: types::PathFlags,
        path: String,
    ) -> Outcome<types::DescriptorStat> {
        Ok(stat(&self.find(&handle, flags, &path)?))
    }

    fn set_times_at(
        &mut self,
        handle: Handle,
        flags: types::PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> Outcome<()> {
        let (times, at) = (times(accessed, modified)?, self.directory(&handle)?);
        Ok(files::set_times(&self.world, &at.open, checked(&path)?, follow(flags), times)?)
    }

    fn link_at(
        &mut self,
        handle: Handle,
        flags: types::PathFlags,
        path: String,
        to: Handle,
        new_path: String,
    ) -> Outcome<()> {
        let (from, to) = (self.directory(&handle)?, self.directory(&to)?);
        let linked = (&*from.open, checked(&path)?, follow(flags));
        Ok(files::link(&self.world, linked, (&to.open, checked(&new_path)?))?)
    }

    fn open_at(
        &mut self,
        handle: Handle,
        path_flags: types::PathFlags,
        path: String,
        open: types::OpenFlags,
        flags: DescriptorFlags,
    ) -> Outcome<Handle> {
        let at = self.directory(&handle)?;
        let place = self.open_place()?;
        let how = opening(follow(path_flags), open, flags);
        let (opened, kind) = files::open(&self.world, &at.open, checked(&path)?, how)?;
        let flags = match kind {
            Kind::Directory => DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY,
            _ if how.read => flags | DescriptorFlags::READ,
            _ => flags,
        };
        let file = File::new(opened, place).synchronous(lasts(flags));
        Ok(self.push(Descriptor { file, kind, flags })?)
    }

    fn readlink_at(&mut self, handle: Handle, path: String) -> Outcome<String> {
        let at = self.directory(&handle)?;
        let target = files::read_link(&self.world, &at.open, checked(&path)?)?;
        String::from_utf8(target).map_err(|_| Errno::ILSEQ.into())
    }

    fn remove_directory_at(&mut self, handle: Handle, path: String) -> Outcome<()> {
        let at = self.directory(&handle)?;
        Ok(files::remove(&self.world, &at.open, checked(&path)?, Removal::Directory)?)
    }

    fn unlink_file_at(&mut self, handle: Handle, path: String) -> Outcome<()> {
        let at = self.directory(&handle)?;
        Ok(files::remove(&self.world, &at.open, checked(&path)?, Removal::File)?)
    }

    fn rename_at(
        &mut self,
        handle: Handle,
        path: String,
        to: Handle,
        new_path: String,
    ) -> Outcome<()> {
        let (from, to) = (self.directory(&handle)?, self.directory(&to)?);
        let ends = ((&*from.open, checked(&path)?), (&*to.open, checked(&new_path)?));
        Ok(files::rename(&self.world, ends.0, ends.1)?)
    }

    fn symlink_at(&mut self, handle: Handle, target: String, path: String) -> Outcome<()> {
        let (at, target) = (self.directory(&handle)?, checked(&target)?);
        Ok(files::make(&self.world, &at.open, checked(&path)?, New::Link(target))?)
    }

    fn is_same_object(&mut self, handle: Handle, other: Handle) -> wasmtime::Result<bool> {
        let number = |handle: &Handle| -> wasmtime::Result<Option<u64>> {
            Ok(self.attributes(handle).ok().map(|found| found.number))
        };
        let (one, other) = (number(&handle)?, number(&other)?);
        Ok(one.is_some() && one == other)
    }

    fn metadata_hash(&mut self, handle: Handle) -> Outcome<types::MetadataHashValue> {
        Ok(hash(&self.attributes(&handle)?))
    }

    fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: types::PathFlags,
        path: String,
    ) -> Outcome<types::MetadataHashValue> {
        Ok(hash(&self.find(&handle, flags, &path)?))
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        let closed = self.table.delete(handle)?;
        // There is nobody to tell what an error of closing would say.
        let _closed = files::close(&self.world, closed.file.open);
        Ok(())
    }
}

/// What one call reads.
const MOST_READ: usize = 1 << 20;
const MOST_NANOSECONDS: u32 = 1_000_000_000;
