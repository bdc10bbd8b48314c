//! File systems of the kernel's memory, made and not mounted anywhere. Never allocates and never sets
//! `errno`, so that a process can make them in memory that another one is at work in.

use std::ffi::CStr;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

/// One of them, not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFs {
    /// One for files.
    Tmpfs {
        /// Of its root.
        mode: u32,
        /// The most bytes that it holds.
        bytes: u64,
        /// The most files and directories that it holds.
        inodes: u64,
        /// A union of the constants of [`crate::mount`].
        attributes: u64,
    },
    /// One for terminals.
    Devpts {
        /// As above.
        attributes: u64,
    },
}

impl MemoryFs {
    /// Makes it.
    pub fn make(self) -> Result<OwnedFd, Errno> {
        let open = |name: &CStr| rustix::mount::fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC);
        match self {
            Self::Tmpfs { mode, bytes, inodes, attributes } => {
                let context = open(c"tmpfs")?;
                let mut text = [0; LONGEST];
                let set = |name: &CStr, value: &CStr| {
                    rustix::mount::fsconfig_set_string(&context, name, value)
                };
                set(c"size", written(&mut text, format_args!("{bytes}"))?)?;
                set(c"nr_inodes", written(&mut text, format_args!("{inodes}"))?)?;
                set(c"mode", written(&mut text, format_args!("{mode:o}"))?)?;
                rustix::mount::fsconfig_create(&context)?;
                mount(&context, attributes)
            }
            Self::Devpts { attributes } => {
                let context = open(c"devpts")?;
                rustix::mount::fsconfig_set_string(&context, c"ptmxmode", c"0666")?;
                rustix::mount::fsconfig_set_string(&context, c"mode", c"0620")?;
                rustix::mount::fsconfig_create(&context)?;
                mount(&context, attributes)
            }
        }
    }
}

/// A text with the zero behind it that the kernel wants.
fn written<'a>(
    text: &'a mut [u8; LONGEST],
    value: std::fmt::Arguments<'_>,
) -> Result<&'a CStr, Errno> {
    let mut rest = text.as_mut_slice();
    write!(rest, "{value}\0").map_err(|_| Errno::TOOBIG)?;
    CStr::from_bytes_until_nul(text).map_err(|_| Errno::INVAL)
}

/// The mount of a file system that was just made.
pub fn mount(context: &OwnedFd, attributes: u64) -> Result<OwnedFd, Errno> {
    let attributes = u32::try_from(attributes).map_err(|_| Errno::INVAL)?;
    rustix::mount::fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::from_bits_retain(attributes),
    )
}

/// The longest number there is, and a zero.
const LONGEST: usize = 24;
