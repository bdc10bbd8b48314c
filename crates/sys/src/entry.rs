//! The first instructions of a program that starts cages, before those of the C library. A static
//! program that may be loaded anywhere begins by relocating its constants, and each page of them that
//! it writes to costs a fault; the kernel makes all of those pages at once in a third of the time.
//!
//! Runs before anything is relocated and before there is a stack guard, so it is in assembler, uses no
//! memory and hands on every register that means something. Never fails: a kernel that does not know the
//! advice (before 5.14) refuses it, and the pages are made one by one.
//!
//! `.cargo/link-static` makes it the entry of the programs that it links.

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.stockade_entry, \"ax\", @progbits",
    ".globl stockade_entry",
    ".type stockade_entry, @function",
    "stockade_entry:",
    // What the C library is to call at the end comes in this one.
    "mov r12, rdx",
    "lea rdi, [rip + __fini_array_start]",
    "and rdi, -4096",
    "lea rsi, [rip + _DYNAMIC]",
    "sub rsi, rdi",
    "jbe 2f",
    "mov edx, {populate_write}",
    "mov eax, {madvise}",
    "syscall",
    "mov rdx, r12",
    "2:",
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
