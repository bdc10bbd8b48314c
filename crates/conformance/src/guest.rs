//! Operations on one of our engines.

use std::sync::Arc;

use vfs::{
    At, Attributes, Caller, Engine, Existing, FileSystem, Follow, Kind, Limits, New, NewTime,
    OpenFile, OpenFlags, Owner, Removal, SeekTo, Times, Timestamp,
};

use crate::operation::{Answer, Call, Operation, Outcome, SLOTS, Stat, System};

pub struct Guest {
    files: FileSystem,
    open: Vec<Option<OpenFile>>,
    callers: [Caller; 4],
}

impl Guest {
    pub fn new(engine: Arc<dyn Engine>, limits: &Limits) -> Self {
        let member = Caller { groups: Arc::new([1000]), ..Caller::of(1002, 1002) };
        let callers = [Caller::root(), Caller::of(1000, 1000), Caller::of(1001, 1001), member];
        let open = (0..SLOTS).map(|_| None).collect();
        Self { files: FileSystem::new(engine, limits), open, callers }
    }

    fn perform(&mut self, operation: &Operation) -> vfs::Result<Answer> {
        let (caller, files) = (&self.callers[operation.who], &self.files);
        let opened = |slot: usize| self.open[slot].as_ref().ok_or(rustix::io::Errno::BADF);
        let follow = |follow: bool| if follow { Follow::Yes } else { Follow::No };
        let done = |(): ()| Answer::Nothing;
        Ok(match &operation.call {
            Call::MakeDirectory(path, mode) => {
                done(files.make(caller, At::Root, path, New::Directory, *mode)?)
            }
            Call::MakeFifo(path, mode) => {
                done(files.make(caller, At::Root, path, New::Fifo, *mode)?)
            }
            Call::Open { slot, path, flags, mode } => {
                let flags = OpenFlags {
                    read: flags.read,
                    write: flags.write,
                    append: flags.append,
                    create: flags.create,
                    exclusive: flags.exclusive,
                    truncate: flags.truncate,
                    directory: flags.directory,
                    no_follow: flags.no_follow,
                    path: false,
                };
                let file = files.open(caller, At::Root, path, flags, *mode)?;
                self.open[*slot] = Some(file);
                Answer::Nothing
            }
            Call::Close(slot) => {
                let file = self.open[*slot].take().ok_or(rustix::io::Errno::BADF)?;
                done(file.close(caller)?)
            }
            Call::Read { slot, offset, count } => {
                let mut bytes = vec![0xee; *count];
                let count = opened(*slot)?.read_at(*offset, &mut bytes)?;
                bytes.truncate(count);
                Answer::Bytes(bytes)
            }
            Call::ReadOn { slot, count } => {
                let mut bytes = vec![0xee; *count];
                let count = opened(*slot)?.read(&mut bytes)?;
                bytes.truncate(count);
                Answer::Bytes(bytes)
            }
            Call::Write { slot, offset, bytes } => {
                Answer::Number(opened(*slot)?.write_at(caller, *offset, bytes)? as u64)
            }
            Call::WriteOn { slot, bytes } => {
                Answer::Number(opened(*slot)?.write(caller, bytes)? as u64)
            }
            Call::SetSize(path, size) => done(files.set_size(caller, At::Root, path, *size)?),
            Call::SetSizeOpen(slot, size) => done(opened(*slot)?.set_size(caller, *size)?),
            Call::Allocate { slot, how, offset, length } => {
                done(opened(*slot)?.allocate(caller, *how, *offset, *length)?)
            }
            Call::Seek { slot, what, offset } => {
                Answer::Number(opened(*slot)?.seek(caller, SeekTo::Next(*what, *offset))?)
            }
            Call::StatOpen(slot) => stat(&opened(*slot)?.attributes(caller)?),
            Call::Stat(path, follows) => {
                stat(&files.stat(caller, At::Root, path, follow(*follows))?)
            }
            Call::Unlink(path) => done(files.remove(caller, At::Root, path, Removal::File)?),
            Call::RemoveDirectory(path) => {
                done(files.remove(caller, At::Root, path, Removal::Directory)?)
            }
            Call::Rename(from, to, replace) => {
                done(files.rename(caller, (At::Root, from), (At::Root, to), *replace)?)
            }
            Call::Link(from, to) => {
                done(files.link(caller, Existing::Path(from, Follow::No), At::Root, to)?)
            }
            Call::Symlink(target, path) => {
                done(files.make(caller, At::Root, path, New::Link(target), 0)?)
            }
            Call::ReadLink(path) => Answer::Bytes(files.read_link(caller, At::Root, path)?),
            Call::SetMode(path, mode) => done(files.set_mode(caller, At::Root, path, *mode)?),
            Call::SetModeOpen(slot, mode) => {
                done(files.set_mode_of(caller, opened(*slot)?, *mode)?)
            }
            Call::SetOwner(path, uid, gid, follows) => {
                let owner = Owner { uid: *uid, gid: *gid };
                done(files.set_owner(caller, At::Root, path, follow(*follows), owner)?)
            }
            Call::SetTimes(path, accessed, modified, follows) => {
                let at = |seconds: i64| NewTime::At(Timestamp { seconds, nanoseconds: 17 });
                let times = Times { accessed: accessed.map(at), modified: modified.map(at) };
                done(files.set_times(caller, At::Root, path, follow(*follows), times)?)
            }
            Call::TouchNow(path) => {
                let times = Times { accessed: Some(NewTime::Now), modified: Some(NewTime::Now) };
                done(files.set_times(caller, At::Root, path, Follow::Yes, times)?)
            }
            Call::List(path) => {
                let flags = OpenFlags { directory: true, ..OpenFlags::READ };
                let directory = files.open(caller, At::Root, path, flags, 0)?;
                let mut names = Vec::new();
                directory.list(|listed| {
                    names.push(listed.name.to_vec());
                    true
                })?;
                names.sort();
                Answer::Names(names)
            }
            Call::SetXattr(path, name, value, how) => {
                let target = (At::Root, &path[..], Follow::Yes);
                done(files.set_xattr(caller, target, (name, value), *how)?)
            }
            Call::Xattr(path, name) => {
                Answer::Bytes(files.xattr(caller, At::Root, path, Follow::Yes, name)?)
            }
            Call::Xattrs(path) => {
                let mut names = files.xattrs(caller, At::Root, path, Follow::Yes)?;
                names.sort();
                Answer::Names(names)
            }
            Call::RemoveXattr(path, name) => {
                done(files.remove_xattr(caller, At::Root, path, Follow::Yes, name)?)
            }
        })
    }
}

impl System for Guest {
    fn run(&mut self, operation: &Operation) -> Outcome {
        self.perform(operation).map_err(|error| error.errno.raw_os_error())
    }
}

fn stat(attributes: &Attributes) -> Answer {
    let is_file = attributes.kind == Kind::File;
    let is_directory = attributes.kind == Kind::Directory;
    Answer::Stat(Stat {
        kind: attributes.kind,
        mode: attributes.mode,
        links: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        size: if is_directory { 0 } else { attributes.size },
        blocks: if is_file { attributes.blocks } else { 0 },
        modified: Stat::known(attributes.modified.seconds),
    })
}
