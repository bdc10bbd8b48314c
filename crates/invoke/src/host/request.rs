//! A call on its way to the host: the words that `stockade run --sealed` would get, and what that process would have
//! from its caller. Words that end in NUL, as the kernel passes them on, so that no name is changed on the way.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use cage::prepare::Caller;
use cage::state::{Account, Locations};
use plan::HostPath;

#[cfg(test)]
mod tests;

/// What a call asks the host for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// What the program may do, sealed.
    pub(super) sealed: String,
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
    /// The caller's file mode creation mask.
    pub(super) umask: u32,
    /// The caller's environment at this call.
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Request {
    /// The request as it is sent; none where a word has a NUL in it, which no command line can have either.
    pub(super) fn write(sealed: &str, command: &[OsString], caller: &Caller) -> Option<Vec<u8>> {
        let (umask, count) = (caller.umask.to_string(), command.len().to_string());
        let first = [sealed.as_bytes(), umask.as_bytes(), count.as_bytes()];
        let words = first.into_iter().chain(command.iter().map(|word| word.as_bytes()));
        let mut text = Vec::with_capacity(sealed.len() + USUALLY);
        for word in words {
            put(&mut text, &[word])?;
        }
        for (name, value) in caller.environment.iter() {
            put(&mut text, &[name.as_bytes(), b"=", value.as_bytes()])?;
        }
        Some(text)
    }

    /// Reads such a request; none of what is not one.
    pub(super) fn read(from: OwnedFd) -> Option<Self> {
        let file = File::from(from);
        let length = usize::try_from(file.metadata().ok()?.len().min(MOST_BYTES)).ok()?;
        // With room for the read that finds the end.
        let mut text = Vec::with_capacity(length.checked_add(1)?);
        file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
        Self::parse(&text)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // Whatever was cut ends in no NUL.
        let mut words = text.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let sealed = String::from_utf8(words.next()?.to_vec()).ok()?;
        let mut number = || std::str::from_utf8(words.next()?).ok();
        let umask = number()?.parse().ok()?;
        let count = number()?.parse().ok()?;
        let mut command = Vec::new();
        for _ in 0_usize..count {
            command.push(OsString::from_vec(words.next()?.to_vec()));
        }
        let environment = words
            .map(|variable| {
                // The first byte belongs to the name: so does the C library read it.
                let rest = variable.get(1..)?;
                let end = rest.iter().position(|byte| *byte == b'=')?.checked_add(1)?;
                let (name, value) = (variable.get(..end)?, variable.get(end.checked_add(1)?..)?);
                Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
            })
            .collect::<Option<_>>()?;
        Some(Self { sealed, command, umask, environment })
    }

    /// Whose call it is, standing in a directory.
    pub(super) fn caller(&self, working_directory: HostPath) -> Caller {
        let variable = |wanted: &'static str| {
            let mut set = self.environment.iter();
            set.find(|(name, _)| name.as_bytes() == wanted.as_bytes())
                .map(|(_, value)| value.clone())
        };
        let is_root = rustix::process::geteuid().is_root();
        let account = if is_root { Account::Root } else { Account::User };
        Caller {
            working_directory,
            environment: self.environment.clone().into(),
            umask: self.umask,
            locations: Locations::from_environment(variable, account),
        }
    }
}

fn put(text: &mut Vec<u8>, word: &[&[u8]]) -> Option<()> {
    for part in word {
        if part.contains(&0) {
            return None;
        }
        text.extend_from_slice(part);
    }
    text.push(0);
    Some(())
}

/// The most of a command line and an environment that a kernel takes is less.
const MOST_BYTES: u64 = 16 << 20;

const USUALLY: usize = 8 << 10;
