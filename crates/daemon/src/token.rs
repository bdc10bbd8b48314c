//! The secret that a client on TCP shows: 256 random bits in a file that only its owner can read.
//! Never told in a message, never compared byte by byte.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// A token. What is kept is its hash, which is all that a comparison needs.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    hash: [u8; 32],
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The kernel did not do it.
    #[error("{call} `{path}`: {}", std::io::Error::from(*errno))]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// With which file.
        path: String,
        /// The answer.
        errno: Errno,
    },
    /// Others could read or replace it.
    #[error("`{path}` {problem}")]
    Unsafe {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

impl Token {
    /// The token in a file, which is made if it does not exist.
    pub fn read_or_make(path: &Path) -> Result<Self, TokenError> {
        match Self::read(path) {
            Err(TokenError::Kernel { errno: Errno::NOENT, .. }) => Self::make(path),
            other => other,
        }
    }

    /// The text in a token file, for a client that shows it.
    pub fn text_in(path: &Path) -> Result<String, TokenError> {
        let failed = |call, errno| failed(call, path, errno);
        let refused = |problem| TokenError::Unsafe { path: shown(path), problem };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let file = File::from(opened.map_err(|errno| failed("open", errno))?);
        let metadata = file.metadata().map_err(|error| failed("stat", errno_of(&error)))?;
        if !metadata.is_file() {
            return Err(refused("is not a regular file"));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("belongs to somebody else"));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(refused("can be read by others; take that away with `chmod 600`"));
        }
        let mut text = String::new();
        file.take(LONGEST)
            .read_to_string(&mut text)
            .map_err(|error| failed("read", errno_of(&error)))?;
        let token = text.trim();
        let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.len() < SHORTEST || !is_plain {
            return Err(refused("holds no token: at least 32 letters or digits on one line"));
        }
        Ok(token.to_owned())
    }

    fn read(path: &Path) -> Result<Self, TokenError> {
        Self::text_in(path).map(|text| Self::of(text.as_bytes()))
    }

    fn make(path: &Path) -> Result<Self, TokenError> {
        let failed = |call, errno| failed(call, path, errno);
        let mut random = [0_u8; 32];
        let flags = rustix::rand::GetRandomFlags::empty();
        rustix::rand::getrandom(&mut random, flags).map_err(|errno| failed("getrandom", errno))?;
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = rustix::fs::open(path, flags, mode);
        let mut file = File::from(opened.map_err(|errno| failed("create", errno))?);
        file.write_all(format!("{text}\n").as_bytes())
            .map_err(|error| failed("write", errno_of(&error)))?;
        Ok(Self::of(text.as_bytes()))
    }

    fn of(text: &[u8]) -> Self {
        Self { hash: Sha256::digest(text).into() }
    }

    /// Whether a client showed this token. How long it takes depends on the length of what was shown
    /// alone: the hashes tell nothing about how much of it was right.
    pub(crate) fn is_shown_by(&self, shown: &[u8]) -> bool {
        let shown = Self::of(shown);
        let pairs = self.hash.iter().zip(&shown.hash);
        pairs.fold(0, |different, (ours, theirs)| different | (ours ^ theirs)) == 0
    }
}

fn failed(call: &'static str, path: &Path, errno: Errno) -> TokenError {
    TokenError::Kernel { call, path: shown(path), errno }
}

fn shown(path: &Path) -> String {
    policy::shown::shown(path.display())
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

const SHORTEST: usize = 32;
const LONGEST: u64 = 4096;
