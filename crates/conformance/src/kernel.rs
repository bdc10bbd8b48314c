//! Operations on the kernel's tmpfs. The process has its root in an empty directory of one, so that `/`, `..` and links
//! mean there what they mean in ours.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, SeekFrom,
    Stat as KernelStat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
};
use rustix::io::Errno;
use vfs::{Allocate, Kind, Replace, Seek, SetXattr};

use crate::operation::{Answer, Call, Operation, Outcome, SLOTS, Stat, System};

/// Set in a process that has its mounts to itself.
const INSIDE: &str = "STOCKADE_VFS_INSIDE";

/// A process whose root is a directory of a tmpfs.
pub struct World(());

impl World {
    /// Enters it for good: each test has a process of its own.
    pub fn enter() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            testing::skip("only root can have another root directory");
            return None;
        }
        let protects = std::fs::read_to_string("/proc/sys/fs/protected_hardlinks");
        if !protects.is_ok_and(|text| text.trim() == "1") {
            testing::skip("this kernel lets everybody link every file");
            return None;
        }
        let directory = tempfile::tempdir_in("/dev/shm").unwrap().keep();
        Some(Self::enter_at(&directory))
    }

    /// The same with a `/proc`, for an engine that needs one, in a mount namespace that this process has to itself.
    /// None for the process that starts the one that has.
    pub fn enter_with_proc(test: &str) -> Option<Self> {
        if std::env::var_os(INSIDE).is_none() {
            if rustix::process::geteuid().is_root() && testing::has("unshare") {
                let mut command = std::process::Command::new("unshare");
                command.args(["--mount", "--propagation", "private", "--"]);
                command.arg(std::env::current_exe().unwrap()).args([
                    "--exact",
                    test,
                    "--nocapture",
                ]);
                assert!(command.env(INSIDE, "1").status().unwrap().success(), "{test}");
            } else {
                testing::skip("only root can have another root directory");
            }
            return None;
        }
        let directory = tempfile::tempdir_in("/dev/shm").unwrap().keep();
        std::fs::create_dir(directory.join("proc")).unwrap();
        rustix::mount::mount_bind("/proc", directory.join("proc")).unwrap();
        Some(Self::enter_at(&directory))
    }

    pub(crate) fn enter_at(directory: &Path) -> Self {
        rustix::process::chroot(directory).unwrap();
        rustix::process::chdir("/").unwrap();
        rustix::process::umask(Mode::from_raw_mode(0o022));
        Self(())
    }

    /// Nothing but an empty root directory.
    pub fn empty_kernel(&self) -> Kernel {
        for entry in std::fs::read_dir("/").unwrap() {
            let path = entry.unwrap().path();
            if path == Path::new("/proc") {
                continue;
            }
            let is_directory = path.symlink_metadata().unwrap().is_dir();
            if is_directory { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
                .unwrap();
        }
        rustix::fs::chmod("/", Mode::from_raw_mode(0o755)).unwrap();
        rustix::fs::chown("/", Some(Uid::ROOT), Some(Gid::ROOT)).unwrap();
        let _none = rustix::fs::removexattr("/", "user.a");
        let _none = rustix::fs::removexattr("/", "user.b");
        let _none = rustix::fs::removexattr("/", "trusted.a");
        Kernel { open: (0..SLOTS).map(|_| None).collect() }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The directory itself is out of reach; what is in it goes.
        drop(self.empty_kernel());
    }
}

pub struct Kernel {
    open: Vec<Option<OwnedFd>>,
}

impl System for Kernel {
    fn run(&mut self, operation: &Operation) -> Outcome {
        become_user(operation.who);
        let outcome = self.perform(&operation.call);
        become_user(0);
        outcome.map_err(Errno::raw_os_error)
    }
}

fn become_user(who: usize) {
    let set = |uid: u32, gid: u32, groups: &[u32]| {
        let groups: Vec<Gid> = groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).unwrap();
        rustix::thread::set_thread_groups(&groups).unwrap();
        rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::from_raw(gid), Gid::ROOT).unwrap();
        rustix::thread::set_thread_res_uid(Uid::ROOT, Uid::from_raw(uid), Uid::ROOT).unwrap();
    };
    match who {
        0 => set(0, 0, &[]),
        1 => set(1000, 1000, &[]),
        2 => set(1001, 1001, &[]),
        _ => set(1002, 1002, &[1000]),
    }
}

impl Kernel {
    fn perform(&mut self, call: &Call) -> Result<Answer, Errno> {
        let path = |path: &[u8]| Path::new(OsStr::from_bytes(path)).to_owned();
        let opened = |slot: usize| self.open[slot].as_ref().ok_or(Errno::BADF);
        let done = |(): ()| Answer::Nothing;
        let mode = |mode: &u32| Mode::from_raw_mode(*mode);
        let no_follow =
            |follow: &bool| if *follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        Ok(match call {
            Call::MakeDirectory(at, bits) => done(rustix::fs::mkdir(path(at), mode(bits))?),
            Call::MakeFifo(at, bits) => {
                done(rustix::fs::mknodat(CWD, path(at), FileType::Fifo, mode(bits), 0)?)
            }
            Call::Open { slot, path: at, flags, mode: bits } => {
                let mut all = match (flags.read, flags.write) {
                    (_, false) => OFlags::RDONLY,
                    (false, true) => OFlags::WRONLY,
                    (true, true) => OFlags::RDWR,
                };
                for (is_set, flag) in [
                    (flags.append, OFlags::APPEND),
                    (flags.create, OFlags::CREATE),
                    (flags.exclusive, OFlags::EXCL),
                    (flags.truncate, OFlags::TRUNC),
                    (flags.directory, OFlags::DIRECTORY),
                    (flags.no_follow, OFlags::NOFOLLOW),
                ] {
                    all.set(flag, is_set);
                }
                // Pipes are not opened here, where nobody is at their other end.
                if let Ok(found) = rustix::fs::open(path(at), all_but_effects(all), Mode::empty())
                    && FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) == FileType::Fifo
                    && !(flags.create && flags.exclusive)
                {
                    let probed = rustix::fs::open(path(at), all | OFlags::NONBLOCK, Mode::empty());
                    return Err(probed.err().unwrap_or(Errno::NXIO));
                }
                let file = rustix::fs::open(path(at), all | OFlags::CLOEXEC, mode(bits))?;
                self.open[*slot] = Some(file);
                Answer::Nothing
            }
            Call::Close(slot) => {
                drop(self.open[*slot].take().ok_or(Errno::BADF)?);
                Answer::Nothing
            }
            Call::Read { slot, offset, count } => {
                let mut bytes = vec![0xee; *count];
                let count = rustix::io::pread(opened(*slot)?, &mut bytes[..], *offset)?;
                bytes.truncate(count);
                Answer::Bytes(bytes)
            }
            Call::ReadOn { slot, count } => {
                let mut bytes = vec![0xee; *count];
                let count = rustix::io::read(opened(*slot)?, &mut bytes[..])?;
                bytes.truncate(count);
                Answer::Bytes(bytes)
            }
            Call::Write { slot, offset, bytes } => {
                Answer::Number(rustix::io::pwrite(opened(*slot)?, bytes, *offset)? as u64)
            }
            Call::WriteOn { slot, bytes } => {
                Answer::Number(rustix::io::write(opened(*slot)?, bytes)? as u64)
            }
            Call::SetSize(at, size) => {
                let size = i64::try_from(*size).unwrap();
                let c_path = std::ffi::CString::new(at.clone()).unwrap();
                done(truncate(&c_path, size)?)
            }
            Call::SetSizeOpen(slot, size) => done(rustix::fs::ftruncate(opened(*slot)?, *size)?),
            Call::Allocate { slot, how, offset, length } => {
                let flags = match how {
                    Allocate::Extend => FallocateFlags::empty(),
                    Allocate::KeepSize => FallocateFlags::KEEP_SIZE,
                    Allocate::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                };
                done(rustix::fs::fallocate(opened(*slot)?, flags, *offset, *length)?)
            }
            Call::Seek { slot, what, offset } => {
                let to = match what {
                    Seek::Data => SeekFrom::Data(*offset),
                    Seek::Hole => SeekFrom::Hole(*offset),
                };
                let file = opened(*slot)?;
                // Where a directory is in its listing is the kernel's own matter.
                if is_directory(&rustix::fs::fstat(file)?) {
                    return Err(Errno::ISDIR);
                }
                Answer::Number(rustix::fs::seek(file, to)?)
            }
            Call::StatOpen(slot) => stat(&rustix::fs::fstat(opened(*slot)?)?),
            Call::Stat(at, follow) => stat(&rustix::fs::statat(CWD, path(at), no_follow(follow))?),
            Call::Unlink(at) => done(rustix::fs::unlink(path(at))?),
            Call::RemoveDirectory(at) => done(rustix::fs::rmdir(path(at))?),
            Call::Rename(from, to, replace) => {
                let flags = match replace {
                    Replace::Yes => RenameFlags::empty(),
                    Replace::No => RenameFlags::NOREPLACE,
                    Replace::Exchange => RenameFlags::EXCHANGE,
                };
                done(rustix::fs::renameat_with(CWD, path(from), CWD, path(to), flags)?)
            }
            Call::Link(from, to) => done(rustix::fs::link(path(from), path(to))?),
            Call::Symlink(target, at) => done(rustix::fs::symlink(path(target), path(at))?),
            Call::ReadLink(at) => {
                Answer::Bytes(rustix::fs::readlink(path(at), Vec::new())?.into_bytes())
            }
            Call::SetMode(at, bits) => done(rustix::fs::chmod(path(at), mode(bits))?),
            Call::SetModeOpen(slot, bits) => done(rustix::fs::fchmod(opened(*slot)?, mode(bits))?),
            Call::SetOwner(at, uid, gid, follow) => {
                let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
                done(rustix::fs::chownat(CWD, path(at), uid, gid, no_follow(follow))?)
            }
            Call::SetTimes(at, accessed, modified, follow) => {
                let time = |seconds: &Option<i64>| match seconds {
                    Some(seconds) => Timespec { tv_sec: *seconds, tv_nsec: 17 },
                    None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
                };
                let times =
                    Timestamps { last_access: time(accessed), last_modification: time(modified) };
                done(rustix::fs::utimensat(CWD, path(at), &times, no_follow(follow))?)
            }
            Call::TouchNow(at) => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                done(rustix::fs::utimensat(CWD, path(at), &times, AtFlags::empty())?)
            }
            Call::List(at) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let directory = rustix::fs::open(path(at), flags, Mode::empty())?;
                let mut names = Vec::new();
                for entry in Dir::new(directory)? {
                    names.push(entry?.file_name().to_bytes().to_vec());
                }
                names.sort();
                Answer::Names(names)
            }
            Call::SetXattr(at, name, value, how) => {
                let flags = match how {
                    SetXattr::Any => XattrFlags::empty(),
                    SetXattr::Create => XattrFlags::CREATE,
                    SetXattr::Replace => XattrFlags::REPLACE,
                };
                done(rustix::fs::setxattr(path(at), &name[..], value, flags)?)
            }
            Call::Xattr(at, name) => {
                let mut value = vec![0; 100];
                let count = rustix::fs::getxattr(path(at), &name[..], &mut value[..])?;
                value.truncate(count);
                Answer::Bytes(value)
            }
            Call::Xattrs(at) => {
                let mut list = vec![0; 10_000];
                let count = rustix::fs::listxattr(path(at), &mut list[..])?;
                let names = list[..count].split(|byte| *byte == 0).filter(|name| !name.is_empty());
                let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
                names.sort();
                Answer::Names(names)
            }
            Call::RemoveXattr(at, name) => done(rustix::fs::removexattr(path(at), &name[..])?),
        })
    }
}

/// `truncate`, which rustix has not: opened for writing, with the answers that opening does not give.
fn truncate(path: &std::ffi::CStr, size: i64) -> Result<(), Errno> {
    // The same permission is asked for; what differs is what is no file.
    let held = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let found = rustix::fs::fstat(&held)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR),
        _ => return Err(Errno::INVAL),
    }
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::ftruncate(file, u64::try_from(size).unwrap())
}

fn all_but_effects(flags: OFlags) -> OFlags {
    (flags & OFlags::NOFOLLOW) | OFlags::PATH | OFlags::CLOEXEC
}

fn is_directory(found: &KernelStat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn stat(found: &KernelStat) -> Answer {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        other => panic!("{other:?}"),
    };
    Answer::Stat(Stat {
        kind,
        mode: found.st_mode & 0o7777,
        links: u32::try_from(found.st_nlink).unwrap(),
        uid: found.st_uid,
        gid: found.st_gid,
        size: if kind == Kind::Directory { 0 } else { u64::try_from(found.st_size).unwrap() },
        blocks: if kind == Kind::File { u64::try_from(found.st_blocks).unwrap() } else { 0 },
        modified: Stat::known(found.st_mtime),
    })
}
