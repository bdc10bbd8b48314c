//! Finds libraries where the program's own loader would: the GNU loader by its cache and the
//! directories that objects name, musl's by its own short list. Never asks the caller's
//! environment: `LD_LIBRARY_PATH` does not reach into a cage.

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use plan::HostPath;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::elf::Elf;
use super::library_cache::LibraryCache;

#[cfg(test)]
mod tests;

/// Where the loaders of this host look.
pub(super) struct Libraries {
    cache: LibraryCache,
}

/// One library that one object asks for.
pub(super) struct Search<'a> {
    /// Its name, or its path where it has a slash.
    pub(super) library: &'a [u8],
    /// Who asks.
    pub(super) needed_by: &'a HostPath,
    /// What the asking object says about itself.
    pub(super) elf: &'a Elf,
    /// See [`Libraries::inherited_directories`].
    pub(super) inherited: &'a [Vec<u8>],
    /// The loader that will do the search.
    pub(super) interpreter: &'a [u8],
}

/// What a search comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The loader itself is the library.
    BuiltIn,
    /// The paths that the loader may choose between, by what the processor can do.
    At(Vec<Vec<u8>>),
    /// The program would not start.
    Nowhere,
}

impl Libraries {
    pub(super) fn of_this_host() -> Self {
        let bytes = read_bounded(b"/etc/ld.so.cache", MOST_CACHE_BYTES).unwrap_or_default();
        Self { cache: LibraryCache::new(bytes) }
    }

    pub(super) fn find(&self, search: &Search<'_>) -> Answer {
        if search.library.contains(&b'/') {
            return found(vec![search.library.to_vec()], search);
        }
        if let Some(architecture) = musl_architecture(search.interpreter) {
            if MUSL_ITSELF.contains(&search.library) {
                return Answer::BuiltIn;
            }
            let own = named_directories(search.needed_by, search.elf);
            let system = musl_directories(architecture);
            let directories = own.into_iter().chain(search.inherited.iter().cloned()).chain(system);
            return first_in(directories, search);
        }
        match first_in(named_before_cache(search), search) {
            Answer::At(paths) => return Answer::At(paths),
            Answer::BuiltIn | Answer::Nowhere => {}
        }
        // All that the cache has: the loader picks the best for the processor, and must find it.
        let cached: Vec<_> = self
            .cache
            .paths(search.library)
            .filter(|path| is_library_for(path, search.elf.machine))
            .map(<[u8]>::to_vec)
            .collect();
        if !cached.is_empty() {
            return Answer::At(cached);
        }
        first_in(standard_directories(search.elf.machine), search)
    }

    /// Directories that count for everything an object loads: those of the old kind (`RPATH`), its
    /// own and of those who loaded it.
    pub(super) fn inherited_directories(
        &self,
        object: &HostPath,
        elf: &Elf,
        above: &[Vec<u8>],
    ) -> Vec<Vec<u8>> {
        let own = match (&elf.rpath, &elf.runpath) {
            (Some(rpath), None) => expand(rpath, object),
            _ => Vec::new(),
        };
        let new: Vec<_> = own.into_iter().filter(|directory| !above.contains(directory)).collect();
        above.iter().cloned().chain(new).collect()
    }

    /// Files that a loader reads to know where to look.
    pub(super) fn loader_configuration(&self, interpreter: &[u8]) -> Vec<String> {
        musl_architecture(interpreter)
            .map(musl_path_file)
            .filter(|path| Path::new(path).is_file())
            .into_iter()
            .collect()
    }
}

/// The first directory that has the library, as a loader searches.
fn first_in(directories: impl IntoIterator<Item = Vec<u8>>, search: &Search<'_>) -> Answer {
    directories
        .into_iter()
        .map(|directory| [directory.as_slice(), b"/", search.library].concat())
        .find(|path| is_library_for(path, search.elf.machine))
        .map_or(Answer::Nowhere, |path| Answer::At(vec![path]))
}

fn found(paths: Vec<Vec<u8>>, search: &Search<'_>) -> Answer {
    if paths.iter().all(|path| is_library_for(path, search.elf.machine)) {
        Answer::At(paths)
    } else {
        Answer::Nowhere
    }
}

/// `RUNPATH` of the object itself, which switches `RPATH` off; else the inherited ones.
fn named_before_cache(search: &Search<'_>) -> Vec<Vec<u8>> {
    match &search.elf.runpath {
        Some(runpath) => expand(runpath, search.needed_by),
        None => search.inherited.to_vec(),
    }
}

fn named_directories(object: &HostPath, elf: &Elf) -> Vec<Vec<u8>> {
    let lists = [&elf.runpath, &elf.rpath];
    lists.into_iter().flatten().flat_map(|list| expand(list, object)).collect()
}

/// The directories of a search path. Those with a variable other than the object's own directory
/// are left out: the library is then looked for in the usual places or reported as missing.
fn expand(list: &[u8], object: &HostPath) -> Vec<Vec<u8>> {
    let origin = object.parent().unwrap_or_else(HostPath::root);
    let expand_one = |directory: &[u8]| {
        let rest = [b"$ORIGIN".as_slice(), b"${ORIGIN}"]
            .into_iter()
            .find_map(|variable| directory.strip_prefix(variable));
        match rest {
            Some(rest) => [origin.as_bytes(), rest].concat(),
            None => directory.to_vec(),
        }
    };
    list.split(|byte| *byte == b':')
        .map(expand_one)
        .filter(|directory| directory.starts_with(b"/") && !directory.contains(&b'$'))
        .collect()
}

/// Loaders pass over files of another word size or processor.
fn is_library_for(path: &[u8], machine: u16) -> bool {
    let Ok(file) = open_for_reading(path) else {
        return false;
    };
    Elf::read(&file).is_ok_and(|elf| elf.machine == machine)
}

fn open_for_reading(path: &[u8]) -> rustix::io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).map(std::fs::File::from)
}

fn read_bounded(path: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_for_reading(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn musl_architecture(interpreter: &[u8]) -> Option<String> {
    let name = Path::new(std::ffi::OsStr::from_bytes(interpreter)).file_name()?.to_str()?;
    let architecture = name.strip_prefix("ld-musl-")?.strip_suffix(".so.1")?;
    Some(architecture.to_owned())
}

fn musl_path_file(architecture: String) -> String {
    format!("/etc/ld-musl-{architecture}.path")
}

fn musl_directories(architecture: String) -> Vec<Vec<u8>> {
    let configured = read_bounded(musl_path_file(architecture).as_bytes(), MOST_CACHE_BYTES);
    let Some(list) = configured else {
        return MUSL_DIRECTORIES.iter().map(|directory| directory.as_bytes().to_vec()).collect();
    };
    list.split(|byte| matches!(byte, b':' | b'\n'))
        .filter(|directory| directory.starts_with(b"/"))
        .map(<[u8]>::to_vec)
        .collect()
}

/// The GNU loader's built-in directories, as the larger distributions build it.
fn standard_directories(machine: u16) -> Vec<Vec<u8>> {
    let triplet = match machine {
        EM_AARCH64 => "aarch64-linux-gnu",
        _ => "x86_64-linux-gnu",
    };
    let multiarch = [format!("/lib/{triplet}"), format!("/usr/lib/{triplet}")];
    let plain = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned);
    multiarch.into_iter().chain(plain).map(String::into_bytes).collect()
}

const EM_AARCH64: u16 = 183;

/// Names that musl's loader takes to mean itself.
const MUSL_ITSELF: [&[u8]; 7] = [
    b"libc.so",
    b"libpthread.so",
    b"librt.so",
    b"libm.so",
    b"libdl.so",
    b"libutil.so",
    b"libxnet.so",
];

const MUSL_DIRECTORIES: [&str; 3] = ["/lib", "/usr/local/lib", "/usr/lib"];

const MOST_CACHE_BYTES: u64 = 16 * 1024 * 1024;
