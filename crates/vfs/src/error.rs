//! Why an operation of a guest failed: the kernel's number for it, and the setting that it ran into, if it was one of
//! ours. Never text: whoever shows it makes that.

use rustix::io::Errno;

use crate::limits::Setting;

/// What every operation returns.
pub type Result<T> = core::result::Result<T, Error>;

/// A refused operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What a program sees.
    pub errno: Errno,
    /// The setting that is too small, if that is why. A21
    pub setting: Option<Setting>,
}

impl Error {
    /// A bound of ours was reached.
    pub const fn of_setting(errno: Errno, setting: Setting) -> Self {
        Self { errno, setting: Some(setting) }
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self { errno, setting: None }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = std::io::Error::from(self.errno);
        match self.setting {
            None => write!(formatter, "{text}"),
            Some(setting) => write!(formatter, "{text}: `{}` is reached", setting.name()),
        }
    }
}

impl core::error::Error for Error {}
