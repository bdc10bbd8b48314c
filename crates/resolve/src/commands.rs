//! Finds what a `commands` list needs: the shell, each program, the loader, libraries and
//! interpreters that they ask for, and the links on the way. Looks in the system's own directories
//! only, never in the caller's `PATH`, and runs nothing.

use std::collections::{BTreeSet, HashSet, VecDeque};

use plan::{ByteString, GuestPath, HostPath};
use policy::facts::CommandFile;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::ResolveError;
use super::elf::{Elf, ReadAt as _};
use super::error::{CommandProblem, CommandReason, PathProblem};
use super::libraries::Libraries;
use super::open::{OpenFailure, Opener};
use super::similar::{most_similar, names_in};
use super::sources::Sources;

#[cfg(test)]
mod tests;

/// Everything that the listed commands need, the shell included, each file and link once.
pub(super) fn resolve(
    names: &BTreeSet<String>,
    opener: &Opener,
    sources: &mut Sources,
) -> Result<Vec<CommandFile>, ResolveError> {
    let mut collection = Collection {
        opener,
        sources,
        libraries: Libraries::of_this_host(),
        files: Vec::new(),
        shown: HashSet::new(),
        plain_directories: HashSet::new(),
    };
    let mut problems = Vec::new();
    let shell = collection.program(SHELL.as_bytes());
    let listed = names.iter().map(|name| (name.as_str(), name.as_bytes()));
    if let Err(reason) = shell {
        problems.push(CommandProblem { command: SHELL.to_owned(), reason });
    }
    for (name, bytes) in listed {
        if let Err(reason) = collection.named(bytes) {
            problems.push(CommandProblem { command: name.to_owned(), reason });
        }
    }
    if problems.is_empty() { Ok(collection.files) } else { Err(ResolveError::Commands(problems)) }
}

/// What has been found so far.
struct Collection<'a> {
    opener: &'a Opener,
    sources: &'a mut Sources,
    libraries: Libraries,
    files: Vec<CommandFile>,
    /// Where something is shown already: a file whose needs are met, or a link.
    shown: HashSet<HostPath>,
    /// Known not to be links.
    plain_directories: HashSet<HostPath>,
}

impl Collection<'_> {
    /// Provides a command by its name.
    fn named(&mut self, name: &[u8]) -> Result<(), CommandReason> {
        for directory in DIRECTORIES_FOR_PROGRAMS {
            let path = [directory.as_bytes(), b"/", name].concat();
            if is_executable_file(&path) {
                return self.program(&path);
            }
        }
        let known = DIRECTORIES_FOR_PROGRAMS.iter().flat_map(|directory| names_in(*directory));
        let similar = most_similar(name, known).and_then(|name| String::from_utf8(name).ok());
        Err(CommandReason::NotFound { similar })
    }

    /// Provides a program, and what it needs in turn, without recursion: a script's interpreter can
    /// be a script, and a library needs libraries.
    fn program(&mut self, path: &[u8]) -> Result<(), CommandReason> {
        let mut waiting = VecDeque::from([Wanted::program(path)]);
        while let Some(wanted) = waiting.pop_front() {
            let Some((real, file)) = self.show(&wanted.path)? else {
                continue;
            };
            if self.files.len() > MOST_FILES {
                return Err(CommandReason::TooManyFiles);
            }
            if let Some(interpreter) = script_interpreter(&file) {
                waiting.extend(interpreter_files(&interpreter).map(|path| Wanted::program(&path)));
                continue;
            }
            let elf = Elf::read(&file).map_err(|error| not_a_program(&real, error))?;
            let wanted_next = self.needs(&real, &elf, &wanted)?;
            waiting.extend(wanted_next);
        }
        Ok(())
    }

    /// The loader and the libraries that an object asks for.
    fn needs(
        &mut self,
        real: &HostPath,
        elf: &Elf,
        wanted: &Wanted,
    ) -> Result<Vec<Wanted>, CommandReason> {
        let mut next = Vec::new();
        let interpreter = elf.interpreter.clone().or_else(|| wanted.interpreter.clone());
        if let Some(interpreter) = &elf.interpreter {
            next.push(Wanted::program(interpreter));
            for data in self.libraries.loader_configuration(interpreter) {
                self.show(data.as_bytes())?;
            }
        }
        let inherited = self.libraries.inherited_directories(real, elf, &wanted.inherited);
        for library in &elf.needed {
            let search = super::libraries::Search {
                library,
                needed_by: real,
                elf,
                inherited: &inherited,
                interpreter: interpreter.as_deref().unwrap_or_default(),
            };
            match self.libraries.find(&search) {
                super::libraries::Answer::BuiltIn => {}
                super::libraries::Answer::At(paths) => {
                    next.extend(paths.into_iter().map(|path| Wanted {
                        path,
                        inherited: inherited.clone(),
                        interpreter: interpreter.clone(),
                    }));
                }
                super::libraries::Answer::Nowhere => {
                    return Err(CommandReason::LibraryMissing {
                        needed_by: real.clone(),
                        library: ByteString::from(library.clone()),
                    });
                }
            }
        }
        Ok(next)
    }

    /// Shows a path and the links on the way to it. Gives the file to read, unless it is shown
    /// already.
    fn show(&mut self, path: &[u8]) -> Result<Option<(HostPath, std::fs::File)>, CommandReason> {
        let real = self.follow(path)?;
        if self.shown.contains(&real) {
            return Ok(None);
        }
        let unusable = |problem| CommandReason::Unusable { path: real.clone(), problem };
        let opened =
            self.opener.without_links(&real).map_err(|failure| unusable(failure.into()))?;
        if !opened.status.is_regular_file() {
            return Err(unusable(PathProblem::WrongKind { kind: "not a regular file" }));
        }
        let readable = rustix::fs::openat2(
            CWD,
            real.as_path(),
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        )
        .map_err(|errno| match errno {
            Errno::ACCESS => unusable(PathProblem::PermissionDenied),
            errno => unusable(PathProblem::Kernel { call: "open", errno }),
        })?;
        let source = self.sources.add(opened).map_err(|_| CommandReason::TooManyFiles)?;
        self.files.push(CommandFile::File { at: GuestPath::same_as(&real), source });
        self.shown.insert(real.clone());
        Ok(Some((real, std::fs::File::from(readable))))
    }

    /// Walks a path as the kernel does and notes every link on the way.
    fn follow(&mut self, path: &[u8]) -> Result<HostPath, CommandReason> {
        let mut steps: VecDeque<Vec<u8>> = components(path);
        let mut at = HostPath::root();
        let mut links = 0;
        while let Some(step) = steps.pop_front() {
            if step == b".." {
                at = at.parent().unwrap_or_else(HostPath::root);
                continue;
            }
            let next = at.join(&step).map_err(|_| unusable(&at, PathProblem::TooLong))?;
            if self.plain_directories.contains(&next) {
                at = next;
                continue;
            }
            match rustix::fs::readlinkat(CWD, next.as_path(), Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(unusable(&next, PathProblem::SymlinkLoop));
                    }
                    let target = target.into_bytes();
                    if target.starts_with(b"/") {
                        at = HostPath::root();
                    }
                    let mut further = components(&target);
                    further.append(&mut steps);
                    steps = further;
                    self.note_link(&next, target);
                }
                // Not a link.
                Err(Errno::INVAL) => {
                    if !steps.is_empty() {
                        self.plain_directories.insert(next.clone());
                    }
                    at = next;
                }
                Err(errno) => return Err(unusable(&next, link_problem(errno))),
            }
        }
        Ok(at)
    }

    fn note_link(&mut self, at: &HostPath, target: Vec<u8>) {
        if self.shown.insert(at.clone()) {
            let target = ByteString::from(target);
            self.files.push(CommandFile::Symlink { at: GuestPath::same_as(at), target });
        }
    }
}

/// A file that something needs.
struct Wanted {
    path: Vec<u8>,
    /// Directories that those who load it look in, by the old kind of search path.
    inherited: Vec<Vec<u8>>,
    /// The loader of the program that needs it.
    interpreter: Option<Vec<u8>>,
}

impl Wanted {
    fn program(path: &[u8]) -> Self {
        Self { path: path.to_vec(), inherited: Vec::new(), interpreter: None }
    }
}

/// The steps of a path; `.` and empty ones are no steps.
fn components(path: &[u8]) -> VecDeque<Vec<u8>> {
    path.split(|byte| *byte == b'/')
        .filter(|step| !matches!(*step, b"" | b"."))
        .map(<[u8]>::to_vec)
        .collect()
}

fn is_executable_file(path: &[u8]) -> bool {
    let status = rustix::fs::stat(path);
    status.is_ok_and(|status| {
        let status = super::open::Status::from(&status);
        status.is_regular_file() && status.permissions & 0o111 != 0
    })
}

/// The words of a script's first line, without the `#!`.
fn script_interpreter(file: &std::fs::File) -> Option<Vec<Vec<u8>>> {
    let mut buffer = [0; MOST_SCRIPT_LINE_BYTES];
    let length = file.read_at_most(&mut buffer, 0).ok()?;
    let line = buffer.get(..length)?.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(<[u8]>::to_vec).collect();
    (!words.is_empty()).then_some(words)
}

/// The programs that a script's first line starts: the interpreter, and where that is `env`, the
/// program that `env` looks up.
fn interpreter_files(words: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    let interpreter = words.first().cloned();
    let is_env = interpreter.as_ref().is_some_and(|path| path.ends_with(b"/env"));
    let looked_up =
        words.iter().skip(1).find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    let looked_up = looked_up.filter(|_| is_env).map(|name| {
        let in_directory = |directory: &&str| [directory.as_bytes(), b"/", name].concat();
        let found =
            DIRECTORIES_FOR_PROGRAMS.iter().map(in_directory).find(|path| is_executable_file(path));
        found.unwrap_or_else(|| [b"/usr/bin/".as_slice(), name].concat())
    });
    interpreter.into_iter().chain(looked_up)
}

fn not_a_program(path: &HostPath, error: super::elf::ElfError) -> CommandReason {
    use super::elf::ElfError;
    let why = match error {
        ElfError::NotElf => "it is neither a program nor a script with a `#!` line",
        ElfError::ThirtyTwoBit => "it is a 32-bit program, and those are not run in a cage",
        ElfError::ForeignByteOrder => "it is a program for another kind of processor",
        ElfError::Truncated => "its headers point outside the file",
        ElfError::OutOfBounds => "its headers have impossible sizes",
    };
    CommandReason::NotAProgram { path: path.clone(), why }
}

fn unusable(path: &HostPath, problem: PathProblem) -> CommandReason {
    CommandReason::Unusable { path: path.clone(), problem }
}

fn link_problem(errno: Errno) -> PathProblem {
    match errno {
        Errno::NOENT => OpenFailure::Missing.into(),
        Errno::NOTDIR => OpenFailure::NotADirectory.into(),
        Errno::ACCESS => OpenFailure::Denied.into(),
        errno => PathProblem::Kernel { call: "readlink", errno },
    }
}

/// Always there when any command is: programs start others through it.
const SHELL: &str = "/bin/sh";

/// Where programs of the system are, in the order of the usual `PATH`.
const DIRECTORIES_FOR_PROGRAMS: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/// As the kernel bounds them: MAXSYMLINKS, BINPRM_BUF_SIZE.
const MOST_LINKS: usize = 40;
const MOST_SCRIPT_LINE_BYTES: usize = 256;

/// Above what any set of programs of a policy needs; a Plan with more mounts would not be built.
const MOST_FILES: usize = 8192;
