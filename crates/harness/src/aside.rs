//! Takes keys out of our own environment before anything is forked: what a process was started with is in the memory of
//! everything that it forks, also of a cage's first process. A key goes into a file in memory, and this program begins
//! anew without it. Those that start cages close the file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use advice::Failure;
use cage::Kind;
use cage::prepare::agents::NO_KEY;
use model::{Key, KeyError};
use rustix::fs::MemfdFlags;
use zeroize::Zeroizing;

/// What the variable holds from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Nothing: it is not set.
    Nothing,
    /// A word that is no key: programs that go by whether it is set still do.
    NoKey,
}

/// Whether the value of a variable was set aside.
pub(crate) fn is_aside(name: &str) -> bool {
    number_of(name).is_some()
}

/// The descriptors of all files with keys.
pub(crate) fn descriptors() -> Vec<u32> {
    list().into_iter().map(|(number, _)| number).collect()
}

/// Begins anew without the values of variables, as far as they are set. Returns where none is.
pub(crate) fn set(names: &[&str], leaving: Leaving) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Kind::CannotBuild, format!("the key cannot be set aside: {error}"))
    };
    let mut aside = list();
    let (mut again, mut files) = (Command::new("/proc/self/exe"), Vec::new());
    for name in names {
        let Some(value) = std::env::var_os(name).filter(|value| is_key(value)) else { continue };
        // Inherited: it has to outlive this program's image.
        let file = rustix::fs::memfd_create(c"key", MemfdFlags::empty())
            .map_err(|errno| failed(errno.into()))?;
        let mut file = File::from(file);
        file.write_all(value.as_encoded_bytes()).map_err(failed)?;
        aside.push((file.as_raw_fd().unsigned_abs(), (*name).to_owned()));
        files.push(file);
        match leaving {
            Leaving::Nothing => again.env_remove(name),
            Leaving::NoKey => again.env(name, NO_KEY),
        };
    }
    if files.is_empty() {
        return Ok(());
    }
    let aside: Vec<String> =
        aside.iter().map(|(number, name)| format!("{number}:{name}")).collect();
    let mut words = std::env::args_os();
    if let Some(word) = words.next() {
        again.arg0(word);
    }
    Err(failed(again.args(words).env(VARIABLE, aside.join(",")).exec()))
}

/// A key that was set aside. Nobody reads it a second time.
pub(crate) fn take(name: &str) -> Result<Key, KeyError> {
    let (key, file) = open(name)?;
    let failed = |source| KeyError::File { path: path_of(name), source };
    file.set_len(0).map_err(failed)?;
    Ok(key)
}

/// The same for a process that is started for each cage.
pub(crate) fn read(name: &str) -> Result<Key, KeyError> {
    open(name).map(|(key, _)| key)
}

fn open(name: &str) -> Result<(Key, File), KeyError> {
    let path = path_of(name);
    let failed = |source| KeyError::File { path: path.clone(), source };
    let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
    let mut bytes = Zeroizing::new(vec![0; MOST]);
    let mut length = 0;
    while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read_at(room, length as u64).map_err(failed)? {
            0 => break,
            count => length += count,
        }
    }
    bytes.truncate(length);
    Ok((Key::new(bytes)?, file))
}

fn path_of(name: &str) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", number_of(name).unwrap_or(u32::MAX)).into()
}

fn number_of(name: &str) -> Option<u32> {
    list().into_iter().find(|(_, of)| of == name).map(|(number, _)| number)
}

/// What was set aside: the descriptor of each file, and the variable that its content was the value of.
fn list() -> Vec<(u32, String)> {
    let written = std::env::var(VARIABLE).unwrap_or_default();
    let entry = |entry: &str| {
        let (number, name) = entry.split_once(':')?;
        Some((number.parse().ok()?, name.to_owned()))
    };
    written.split(',').filter_map(entry).collect()
}

fn is_key(value: &OsStr) -> bool {
    !value.is_empty() && value != NO_KEY
}

/// Where it says which descriptors hold the keys.
pub(crate) const VARIABLE: &str = "STOCKADE_KEY_SET_ASIDE";
const MOST: usize = 16 << 10;
