//! Signals as file descriptors and masks. Never installs a handler.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;

use crate::clone::last_errno;

#[cfg(test)]
mod tests;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl std::fmt::Debug for SignalSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SignalSet")
    }
}

impl SignalSet {
    /// No signal.
    pub fn empty() -> Self {
        let mut set = std::mem::MaybeUninit::uninit();
        // SAFETY: sigemptyset writes a whole `sigset_t` to the pointer: `set` has room for one.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: the value must be initialised: the call above wrote all of it.
        Self(unsafe { set.assume_init() })
    }

    /// The set, for as long as this value lives.
    pub(crate) fn as_ptr(&self) -> *const libc::sigset_t {
        &raw const self.0
    }

    /// Every signal.
    pub fn full() -> Self {
        let mut set = Self::empty();
        // SAFETY: sigfillset writes to a valid `sigset_t`: `set.0` is one.
        unsafe { libc::sigfillset(&raw mut set.0) };
        set
    }

    /// These signals.
    pub fn of(signals: &[i32]) -> Self {
        let mut set = Self::empty();
        for signal in signals {
            // SAFETY: sigaddset writes to a valid `sigset_t` and refuses numbers out of range.
            unsafe { libc::sigaddset(&raw mut set.0, *signal) };
        }
        set
    }
}

/// Makes `set` the signals that this thread does not receive; returns those it did not before.
pub fn set_mask(set: &SignalSet) -> Result<SignalSet, Errno> {
    let mut old = SignalSet::empty();
    // SAFETY: reads one valid `sigset_t` and writes another: both are references to such values.
    let result = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set.0, &raw mut old.0) };
    if result == -1 { Err(last_errno()) } else { Ok(old) }
}

/// A descriptor from which the (blocked) signals of `set` are read.
pub fn descriptor(set: &SignalSet) -> Result<OwnedFd, Errno> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: reads a valid `sigset_t`: `set` is a reference to one.
    let descriptor = unsafe { libc::signalfd(-1, &raw const set.0, flags) };
    if descriptor == -1 {
        return Err(last_errno());
    }
    // SAFETY: the descriptor must be open and owned by nobody else: signalfd returned a fresh one.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The next signal on a descriptor made by [`descriptor`]; none if there is none waiting.
pub fn read(descriptor: BorrowedFd<'_>) -> Result<Option<i32>, Errno> {
    let mut info = [0_u8; 128];
    match rustix::io::read(descriptor, &mut info) {
        Ok(_) => {
            let [a, b, c, d, ..] = info;
            Ok(i32::try_from(u32::from_ne_bytes([a, b, c, d])).ok())
        }
        Err(Errno::AGAIN) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// A signal, and the word that came with it if its sender gave one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The signal's number.
    pub signal: i32,
    /// The word of [`send_by_handle_with_word`].
    pub word: Option<i32>,
}

/// As [`read`], with the word of the sender.
pub fn read_with_word(descriptor: BorrowedFd<'_>) -> Result<Option<Received>, Errno> {
    let mut info = [0_u8; 128];
    match rustix::io::read(descriptor, &mut info) {
        Ok(_) => {}
        Err(Errno::AGAIN) => return Ok(None),
        Err(errno) => return Err(errno),
    }
    let number = |at: usize| {
        let bytes = info.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| i32::from_ne_bytes(*bytes)).unwrap_or_default()
    };
    // `ssi_signo`, `ssi_code` and `ssi_int` of signalfd(2).
    let (signal, code, word) = (number(0), number(8), number(44));
    Ok(Some(Received { signal, word: (code == libc::SI_QUEUE).then_some(word) }))
}

/// Gives a signal its default effect. Rust's start-up code ignores SIGPIPE, and an ignored signal
/// stays ignored in a started program.
pub fn restore_default(signal: i32) -> Result<(), Errno> {
    // SAFETY: SIG_DFL is a valid disposition; the kernel refuses a number out of range.
    let result = unsafe { libc::signal(signal, libc::SIG_DFL) };
    if result == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}

/// Gives every signal its default effect, those too that the C library keeps to itself.
pub fn restore_all_defaults() -> Result<(), Errno> {
    // `struct sigaction` as the kernel has it: SIG_DFL, no flags, no restorer, an empty mask.
    let default = [0_u64; 4];
    let nothing = std::ptr::null_mut::<libc::c_void>();
    for signal in 1..=LAST_SIGNAL {
        let result =
            // SAFETY: the kernel must be able to read an action with a mask of the given size: four
            // words hold one on every architecture that this is built for, and it stores none.
            unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const default, nothing, 8) };
        // SIGKILL and SIGSTOP have no other effect, and cannot be given any.
        if result == -1 && last_errno() != Errno::INVAL {
            return Err(last_errno());
        }
    }
    Ok(())
}

/// Has a command's program begin with the default effect of every signal, and none held back. What a caller
/// ignores, as shells and `nohup` have it, or holds back, is so in every program that it starts.
pub fn restore_all_defaults_in(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec nothing may take a lock or allocate: this makes system calls alone, and an error
    // is made from a number.
    unsafe {
        command.pre_exec(|| {
            restore_all_defaults()?;
            set_mask(&SignalSet::empty())?;
            Ok(())
        })
    }
}

/// The kernel's highest number of a signal.
const LAST_SIGNAL: libc::c_int = 64;

/// Sends a signal to a process group of which the caller knows that it is its own descendant's.
pub fn send_to_group(group: rustix::process::Pid, signal: i32) -> Result<(), Errno> {
    // SAFETY: kill takes two integers and touches no memory.
    let result = unsafe { libc::kill(-group.as_raw_nonzero().get(), signal) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends a signal to a process.
pub fn send(process: rustix::process::Pid, signal: i32) -> Result<(), Errno> {
    // SAFETY: kill takes two integers and touches no memory.
    let result = unsafe { libc::kill(process.as_raw_nonzero().get(), signal) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends a signal to every process that this one may signal, except itself. In the first process
/// of a namespace those are all others in it.
pub fn send_to_all_others(signal: i32) -> Result<(), Errno> {
    // SAFETY: kill takes two integers and touches no memory.
    let result = unsafe { libc::kill(-1, signal) };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Sends a signal through a process handle.
pub fn send_by_handle(pidfd: BorrowedFd<'_>, signal: i32) -> Result<(), Errno> {
    // SAFETY: pidfd_send_signal with a null siginfo reads no memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// The part of `siginfo_t` that a sender can fill in, on machines with 64 bits.
#[repr(C)]
struct QueuedInfo {
    signal: i32,
    errno: i32,
    code: i32,
    _align: i32,
    process: i32,
    user: u32,
    word: i32,
    _rest: [i32; 25],
}

const _: () = assert!(size_of::<QueuedInfo>() == size_of::<libc::siginfo_t>());

/// Sends a signal through a process handle, with a word by which the receiver tells it from the same
/// signal for another reason.
pub fn send_by_handle_with_word(
    pidfd: BorrowedFd<'_>,
    signal: i32,
    word: i32,
) -> Result<(), Errno> {
    let info = QueuedInfo {
        signal,
        errno: 0,
        code: libc::SI_QUEUE,
        _align: 0,
        process: rustix::process::getpid().as_raw_nonzero().get(),
        user: rustix::process::getuid().as_raw(),
        word,
        _rest: [0; 25],
    };
    // SAFETY: pidfd_send_signal reads a whole `siginfo_t`: `info` has its size and lives.
    let result = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, &raw const info, 0)
    };
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

/// Ignores a signal. An ignored `SIGCHLD` lets the kernel reap children by itself.
pub fn ignore(signal: i32) -> Result<(), Errno> {
    // SAFETY: SIG_IGN is a valid disposition; the kernel refuses a number out of range.
    let result = unsafe { libc::signal(signal, libc::SIG_IGN) };
    if result == libc::SIG_ERR { Err(last_errno()) } else { Ok(()) }
}

/// Adds `set` to the signals that this thread does not receive; returns those it did not before.
pub fn block(set: &SignalSet) -> Result<SignalSet, Errno> {
    let mut old = SignalSet::empty();
    // SAFETY: reads one valid `sigset_t` and writes another: both are references to such values.
    let result = unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set.0, &raw mut old.0) };
    if result == -1 { Err(last_errno()) } else { Ok(old) }
}
