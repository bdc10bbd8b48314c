//! One name in a directory: bytes of any encoding. Never a path.

use rustix::io::Errno;

use crate::error::Result;

/// A name that a directory may have: 1 to 255 bytes, without a slash or NUL, and neither `.` nor `..`. A5
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks a name.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        if bytes.contains(&0) || bytes.contains(&b'/') {
            return Err(Errno::INVAL.into());
        }
        match bytes {
            b"" => Err(Errno::NOENT.into()),
            b"." | b".." => Err(Errno::EXIST.into()),
            _ if bytes.len() > LONGEST_NAME => Err(Errno::NAMETOOLONG.into()),
            _ => Ok(Self(bytes)),
        }
    }

    /// Its bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 255;

/// The longest path, in bytes, without the NUL that C ends it with.
pub const LONGEST_PATH: usize = 4095;
