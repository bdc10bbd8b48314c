//! Takes a key out of our own environment before anything is forked: what a process was started with is in the memory of
//! everything that it forks, also of a cage's first process. The key goes into a file in memory, and this program begins
//! anew without the variable. Those that start cages close the file; it is emptied when the key has been read.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use advice::Failure;
use cage::Kind;
use model::{Key, KeyError};
use rustix::fs::MemfdFlags;
use zeroize::Zeroizing;

/// The variable whose value was set aside, if this program has begun anew.
pub(crate) fn name() -> Option<String> {
    let value = std::env::var(VARIABLE).ok()?;
    value.split_once(':').map(|(_, name)| name.to_owned())
}

/// Begins anew without a variable, if it is set. Returns where it is not.
pub(crate) fn set(name: &str) -> Result<(), Failure> {
    let Some(value) = std::env::var_os(name) else { return Ok(()) };
    let failed = |error: std::io::Error| {
        Failure::new(Kind::CannotBuild, format!("the key cannot be set aside: {error}"))
    };
    // Inherited: it has to outlive this program's image.
    let file = rustix::fs::memfd_create(c"key", MemfdFlags::empty())
        .map_err(|errno| failed(errno.into()))?;
    let mut file = File::from(file);
    file.write_all(value.as_encoded_bytes()).map_err(failed)?;
    let mut words = std::env::args_os();
    let mut again = Command::new("/proc/self/exe");
    if let Some(word) = words.next() {
        again.arg0(word);
    }
    again.args(words).env_remove(name).env(VARIABLE, format!("{}:{name}", file.as_raw_fd()));
    Err(failed(again.exec()))
}

/// The key that was set aside. Nobody reads it a second time.
pub(crate) fn take() -> Result<Key, KeyError> {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    let number = value.split_once(':').map_or("", |(number, _)| number);
    let path = std::path::PathBuf::from(format!(
        "/proc/self/fd/{}",
        number.parse::<u16>().unwrap_or(u16::MAX)
    ));
    let failed = |source| KeyError::File { path: path.clone(), source };
    let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST));
    (&file).take(MOST as u64).read_to_end(&mut bytes).map_err(failed)?;
    file.set_len(0).map_err(failed)?;
    Key::new(bytes)
}

const VARIABLE: &str = "STOCKADE_KEY_SET_ASIDE";
const MOST: usize = 16 << 10;
