//! WASM modules that were compiled: made in a cage of their own, kept for the next run of the same module. The code lies in
//! the user's cache directory, and its digest in the state directory, which no cage is ever given. So what runs guests
//! loads no code but what came out of the compiler, whoever may write to the cache.
//!
//! Never loads or runs code. Whatever goes wrong here costs time and nothing else: the module is compiled where it runs.
#![forbid(unsafe_code)]

mod compile;
mod shelf;

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use sha2::{Digest as _, Sha256};
use state::{Directory, Locations};

pub use shelf::{Bounds, Shelf};

#[cfg(test)]
mod tests;

/// Code that is kept, as what runs guests is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256, in digits.
    pub digest: String,
    /// That of the module that it was compiled from.
    pub module: String,
}

/// What compiles a module.
#[derive(Clone, Copy, Debug)]
pub struct Compiler<'a> {
    /// What builds the cage around it.
    pub stockade: &'a Path,
    /// What runs guests, and has the compiler.
    pub engine: &'a Path,
    /// The version that it must be of.
    pub version: &'a str,
    /// What the run that it is compiled for may take, in MiB.
    pub memory_mb: Option<u64>,
    /// And how long.
    pub seconds: Option<u64>,
}

/// The code of a module, compiled now if it is not kept yet. None for what is small, what is reached by a link, what cannot be
/// compiled within the bounds, and where nothing can be kept.
pub fn code_of(module: &Path, compiler: &Compiler<'_>) -> Option<Code> {
    let bytes = read(module)?;
    let locations = Locations::of_this_process();
    let shelf = Shelf::open(&Directory::open(locations.state.as_ref()?).ok()?, &cache()?).ok()?;
    let module = digits(&Sha256::digest(&bytes));
    let key = key(&module, compiler.engine)?;
    if let Some((path, digest)) = shelf.find(&key) {
        return Some(Code { path, digest, module });
    }
    let code = compile::in_a_cage(&bytes, compiler, &shelf.workplace())?;
    let (path, digest) = shelf.keep(&key, &code).ok()?;
    Some(Code { path, digest, module })
}

/// The module's bytes, if compiling it takes long enough to be worth it. By no link: that would lead to what the run for which
/// it is compiled may not have.
fn read(module: &Path) -> Option<Vec<u8>> {
    // Opening a pipe would wait for somebody to write.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(openat2(CWD, module, flags, Mode::empty(), how).ok()?);
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    if !(SMALLEST_MODULE..=LARGEST_MODULE).contains(&size) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_MODULE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What the code of a module by an engine is kept as. An engine is its file: another build compiles in another way,
/// whatever its version says.
fn key(module: &str, engine: &Path) -> Option<String> {
    let file = std::fs::metadata(engine).ok()?;
    let own = [file.dev(), file.ino(), file.size(), file.mtime().cast_unsigned()];
    let mut hash = Sha256::new_with_prefix(LAYOUT);
    hash.update(module);
    for number in own.iter().chain(&[file.mtime_nsec().cast_unsigned()]) {
        hash.update(number.to_le_bytes());
    }
    Some(digits(&hash.finalize()))
}

/// The user's cache directory; root's is the system's, as its state is.
fn cache() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = match absolute("XDG_CACHE_HOME") {
        Some(cache) => cache,
        None if rustix::process::geteuid().is_root() => PathBuf::from("/var/cache"),
        None => absolute("HOME")?.join(".cache"),
    };
    Some(cache.join("stockade").join("modules"))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Changes whenever what is kept does.
const LAYOUT: &str = "stockade compiled module 1\n";
/// A module below this is compiled faster than its code is found.
const SMALLEST_MODULE: u64 = 64 << 10;
const LARGEST_MODULE: u64 = 256 << 20;
