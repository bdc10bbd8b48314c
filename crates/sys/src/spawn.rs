//! Starting another program as a child, from a process with any number of threads. The standard
//! library does the same but for one thing: what it starts inherits the signals that this thread
//! holds back, and would never hear of them.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::exec::CStringArray;
use crate::signal::SignalSet;

// The one that takes a path cannot be used: the standard library refers to it weakly, and with
// link-time optimisation that makes every reference weak. A static binary then has nothing there.
// SAFETY: the declaration must be the C library's: it is that of `spawn.h`, of glibc since 2.29.
unsafe extern "C" {
    fn posix_spawn_file_actions_addfchdir_np(
        actions: *mut libc::posix_spawn_file_actions_t,
        directory: libc::c_int,
    ) -> libc::c_int;
}

/// A program to start.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its path; a name without a slash is looked up in this process's `PATH`.
    pub path: &'a CStr,
    /// Its arguments, with its name as the first.
    pub arguments: &'a CStringArray,
    /// Its whole environment.
    pub environment: &'a CStringArray,
    /// Where it starts.
    pub working_directory: &'a CStr,
    /// Its descriptors, from 0 on: standard input, output and error, and others that it is to have. Their
    /// own numbers must not be among those that they get.
    pub descriptors: &'a [BorrowedFd<'a>],
}

/// Starts a program in a process group of its own, with no signal held back and none ignored that
/// this process has not inherited as such.
pub fn spawn(program: &Program<'_>) -> Result<Pid, Errno> {
    let (mut attributes, mut actions) = (Attributes::new()?, FileActions::new()?);
    attributes.begin_afresh()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, program.working_directory, flags, Mode::empty())?;
    actions.enter(directory.as_fd())?;
    for (number, descriptor) in (0..).zip(program.descriptors) {
        actions.place(*descriptor, number)?;
    }
    let mut pid: libc::pid_t = 0;
    // SAFETY: posix_spawnp reads a C string, two NULL-terminated arrays of C strings and two
    // initialised objects, and writes a pid: `CStringArray` ends its array with NULL and owns the
    // strings, and both objects were initialised by their constructors and are still alive.
    let result = unsafe {
        libc::posix_spawnp(
            &raw mut pid,
            program.path.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            program.arguments.as_pointers().cast(),
            program.environment.as_pointers().cast(),
        )
    };
    told(result)?;
    Pid::from_raw(pid).ok_or(Errno::RANGE)
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Result<Self, Errno> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: posix_spawnattr_init initialises the object that it is given room for.
        told(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: the value must be initialised: the call above succeeded.
        Ok(Self(unsafe { attributes.assume_init() }))
    }

    /// A group of its own, no signal held back, and `SIGPIPE`, which Rust's start-up code ignores,
    /// as it is by default.
    fn begin_afresh(&mut self) -> Result<(), Errno> {
        let (none, pipe) = (SignalSet::empty(), SignalSet::of(&[libc::SIGPIPE]));
        // SAFETY: reads a valid `sigset_t` and changes an initialised object: both are references
        // to such values.
        told(unsafe { libc::posix_spawnattr_setsigmask(&raw mut self.0, none.as_ptr()) })?;
        // SAFETY: reads a valid `sigset_t` and changes an initialised object: `pipe` lives across
        // the call, and the constructor has initialised the object.
        told(unsafe { libc::posix_spawnattr_setsigdefault(&raw mut self.0, pipe.as_ptr()) })?;
        // SAFETY: changes an initialised object; 0 stands for the child itself.
        told(unsafe { libc::posix_spawnattr_setpgroup(&raw mut self.0, 0) })?;
        let flags = libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF
            | libc::POSIX_SPAWN_SETPGROUP;
        let flags = libc::c_short::try_from(flags).map_err(|_| Errno::RANGE)?;
        // SAFETY: changes an initialised object: the constructor has seen to that.
        told(unsafe { libc::posix_spawnattr_setflags(&raw mut self.0, flags) })
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: destroys an initialised object once: nobody can use it after its owner is gone.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct FileActions(libc::posix_spawn_file_actions_t);

impl FileActions {
    fn new() -> Result<Self, Errno> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: posix_spawn_file_actions_init initialises the object that it is given room for.
        told(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: the value must be initialised: the call above succeeded.
        Ok(Self(unsafe { actions.assume_init() }))
    }

    /// Has the child change its working directory.
    fn enter(&mut self, directory: BorrowedFd<'_>) -> Result<(), Errno> {
        let number = directory.as_raw_fd();
        // SAFETY: changes an initialised object; the descriptor is a number that the child looks at.
        told(unsafe { posix_spawn_file_actions_addfchdir_np(&raw mut self.0, number) })
    }

    /// Has the child take a descriptor under another number.
    fn place(&mut self, stream: BorrowedFd<'_>, number: i32) -> Result<(), Errno> {
        // SAFETY: changes an initialised object; the descriptors are numbers that the child looks at.
        told(unsafe {
            libc::posix_spawn_file_actions_adddup2(&raw mut self.0, stream.as_raw_fd(), number)
        })
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: destroys an initialised object once: nobody can use it after its owner is gone.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// These functions return their error instead of setting `errno`.
fn told(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(result)) }
}
