//! Mounting what this process serves: by `mount(2)` where that is allowed, as for root and in a user namespace of one's
//! own; else by `fusermount3`, which Debian's package `fuse3` installs setuid. Never mounts with device files or setuid
//! programs in effect.

use std::ffi::CString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};

/// Who may use the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Whoever mounted it.
    Refused,
    /// Every user, as modes and owners say. Without root it is up to `/etc/fuse.conf`.
    Served,
}

/// Whether it can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It can.
    Write,
    /// Nobody can, whatever the engine allows.
    Read,
}

/// A mount, which ends with this value.
#[derive(Debug)]
pub struct Mounted {
    directory: PathBuf,
    by: Mechanism,
}

#[derive(Debug)]
enum Mechanism {
    Kernel,
    Program(PathBuf),
}

/// Why nothing was mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The place is not there, or no directory.
    #[error("cannot mount on `{}`", directory.display())]
    Directory {
        /// The place.
        directory: PathBuf,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// This kernel has no FUSE, or this user may not use it.
    #[error("cannot open `/dev/fuse`")]
    Device(#[source] std::io::Error),
    /// Not allowed, and nobody is there who could be asked.
    #[error("only root can mount where others see it, and `fusermount3` is not installed")]
    NotAllowed,
    /// `fusermount3` refused.
    #[error("`{}` did not mount on `{}`: {said}", program.display(), directory.display())]
    Program {
        /// Where it is.
        program: PathBuf,
        /// The place.
        directory: PathBuf,
        /// What it said.
        said: String,
    },
    /// The kernel refused.
    #[error("mount on `{}`", directory.display())]
    Mount {
        /// The place.
        directory: PathBuf,
        /// What it says.
        source: std::io::Error,
    },
}

/// Mounts on a directory, and returns the descriptor on which the kernel asks.
pub fn mount(
    directory: &Path,
    name: &str,
    access: Access,
    others: Others,
) -> Result<(Mounted, OwnedFd), MountError> {
    let not_there = |source| MountError::Directory { directory: directory.to_owned(), source };
    let directory = std::fs::canonicalize(directory).map_err(not_there)?;
    match by_kernel(&directory, name, access, others) {
        Err(MountError::Mount { source, .. })
            if source.raw_os_error() == Some(Errno::PERM.raw_os_error()) =>
        {
            by_program(&directory, name, access, others)
        }
        mounted => mounted,
    }
}

impl Mounted {
    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes the mount away. What is open in it stays usable as long as it is served.
    pub fn unmount(&self) -> std::io::Result<()> {
        match &self.by {
            Mechanism::Kernel => Ok(rustix::mount::unmount(&self.directory, UnmountFlags::DETACH)?),
            Mechanism::Program(program) => {
                let mut command = Command::new(program);
                let status = command.args(["-u", "-z", "--"]).arg(&self.directory).status()?;
                if status.success() { Ok(()) } else { Err(Errno::BUSY.into()) }
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // It may have been unmounted by somebody else.
        let _gone = self.unmount();
    }
}

fn by_kernel(
    directory: &Path,
    name: &str,
    access: Access,
    others: Others,
) -> Result<(Mounted, OwnedFd), MountError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/fuse", flags, Mode::empty());
    let device = device.map_err(|errno| MountError::Device(errno.into()))?;
    let refused =
        |errno: Errno| MountError::Mount { directory: directory.to_owned(), source: errno.into() };
    // By a descriptor: the name may lead elsewhere by now.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = rustix::fs::open(directory, flags, Mode::empty()).map_err(refused)?;
    let target = format!("/proc/self/fd/{}", place.as_raw_fd());
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let others = if others == Others::Served { ",allow_other" } else { "" };
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions{others}",
        device.as_raw_fd(),
        uid.as_raw(),
        gid.as_raw(),
    );
    let options = CString::new(options).map_err(|_| refused(Errno::INVAL))?;
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::RDONLY, access == Access::Read);
    rustix::mount::mount(name, target, "fuse.stockade", flags, options.as_c_str())
        .map_err(refused)?;
    Ok((Mounted { directory: directory.to_owned(), by: Mechanism::Kernel }, device))
}

/// Has the setuid program mount, which hands the descriptor back over a socket.
fn by_program(
    directory: &Path,
    name: &str,
    access: Access,
    others: Others,
) -> Result<(Mounted, OwnedFd), MountError> {
    let places = PROGRAMS.iter().map(Path::new);
    let program = places.into_iter().find(|path| path.is_file()).ok_or(MountError::NotAllowed)?;
    let said = |said: String| MountError::Program {
        program: program.to_owned(),
        directory: directory.to_owned(),
        said,
    };
    let failed = |errno: Errno| said(std::io::Error::from(errno).to_string());
    let pair = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    );
    let (ours, theirs) = pair.map_err(failed)?;
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(failed)?;
    // A comma would begin another option.
    let name: String = name.chars().filter(|letter| !",\\".contains(*letter)).collect();
    let access = if access == Access::Read { ",ro" } else { "" };
    let others = if others == Others::Served { ",allow_other" } else { "" };
    let options =
        format!("nosuid,nodev,default_permissions,fsname={name},subtype=stockade{access}{others}");
    let mut command = Command::new(program);
    command.args(["-o", &options, "--"]).arg(directory);
    command.env(CHANNEL, theirs.as_raw_fd().to_string());
    let output = command.output().map_err(|error| said(error.to_string()))?;
    drop(theirs);
    if !output.status.success() {
        return Err(said(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let device = received(&ours).map_err(failed)?;
    let device = device.ok_or_else(|| said("it handed nothing over".to_owned()))?;
    let by = Mechanism::Program(program.to_owned());
    Ok((Mounted { directory: directory.to_owned(), by }, device))
}

fn received(socket: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    rustix::net::recvmsg(socket.as_fd(), &mut slices, &mut control, flags)?;
    let mut all = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(all.next())
}

/// The program is found in the system's own directories alone.
const PROGRAMS: &[&str] = &["/usr/bin/fusermount3", "/bin/fusermount3"];
const CHANNEL: &str = "_FUSE_COMMFD";
