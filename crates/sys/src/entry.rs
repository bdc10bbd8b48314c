//! How a program that starts cages begins: [`program!`] and the first instructions of all, before those
//! of the C library. Never decides anything about a cage.
//!
//! A static program that may be loaded anywhere begins by relocating its constants, and each page of
//! them that it writes to costs a fault; the kernel makes all of those pages at once in a third of the
//! time. Before even that, another processor is given the namespaces of a cage to make. All of it runs before
//! anything is relocated and before there is a stack guard, so it is in
//! assembler and hands on every register that means something. It never fails: a kernel
//! that does not know the advice (before 5.14) refuses it, and the pages are made one by one.
//! `.cargo/link-static` makes it the entry of the programs that it links.

use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// Makes a function `fn() -> ExitCode` the `main` of a program that has `#![no_main]`.
///
/// What it does before is what the standard library does, but for one thing: that one also reads
/// `/proc/self/maps`, to be able to say of a fault that it was an overflow of the stack. A program
/// that is started for every cage pays that with every start; the overflow ends it either way.
#[macro_export]
macro_rules! program {
    ($live:path) => {
        // SAFETY: the symbol must be what the C library takes it for, and defined once: it has the
        // signature of `main`, and `#![no_main]` keeps the compiler from making another.
        #[unsafe(no_mangle)]
        extern "C" fn main(_count: i32, _words: *const *const u8) -> i32 {
            $crate::entry::run($live)
        }
    };
}

/// The life of a program: see [`program!`].
#[doc(hidden)]
pub fn run(live: fn() -> ExitCode) -> i32 {
    if open_missing_streams().is_err() || crate::signal::ignore(libc::SIGPIPE).is_err() {
        std::process::abort();
    }
    let ended = live();
    // The type does not tell its number, but it compares.
    let number = (0..=u8::MAX).find(|number| ExitCode::from(*number) == ended);
    // Also writes what is still in the buffer of standard output.
    std::process::exit(number.map_or(1, i32::from))
}

/// Keeps the numbers of the standard streams from what is opened next.
fn open_missing_streams() -> Result<(), Errno> {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let mut streams = streams.map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    while let Err(errno) = rustix::event::poll(&mut streams, Some(&now)) {
        if errno != Errno::INTR {
            return Err(errno);
        }
    }
    for stream in streams {
        if stream.revents().contains(PollFlags::NVAL) {
            // The lowest number that is free, which is this one; it stays open.
            std::mem::forget(rustix::fs::openat(CWD, c"/dev/null", OFlags::RDWR, Mode::empty())?);
        }
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.stockade_entry, \"ax\", @progbits",
    ".globl stockade_entry",
    ".type stockade_entry, @function",
    "stockade_entry:",
    // What the C library is to call at the end comes in this one.
    "mov r12, rdx",
    // See `nursery::early`.
    "mov rdi, rsp",
    "call stockade_begin",
    "lea rdi, [rip + __fini_array_start]",
    "and rdi, -4096",
    "lea rsi, [rip + _DYNAMIC]",
    "sub rsi, rdi",
    "jbe 2f",
    "mov edx, {populate_write}",
    "mov eax, {madvise}",
    "syscall",
    "2:",
    "mov rdx, r12",
    "jmp _start",
    ".size stockade_entry, . - stockade_entry",
    ".popsection",
    populate_write = const libc::MADV_POPULATE_WRITE,
    madvise = const libc::SYS_madvise,
);

#[cfg(not(target_arch = "x86_64"))]
std::arch::global_asm!(
    ".pushsection .text.stockade_entry, \"ax\", @progbits",
    ".globl stockade_entry",
    "stockade_entry:",
    "b _start",
    ".popsection",
);
