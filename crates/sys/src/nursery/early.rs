//! A maker that begins before the program itself: while the C library still relocates and asks the
//! processor what it can do, another processor makes the namespaces of the cage that `run` will need.
//!
//! The first part is in assembler, because it runs before anything is relocated and before there is
//! anything of the C library. The maker uses no stack there and no memory but [`EARLY`], and waits to be
//! adopted. It decides nothing but whether the program was called as `NAME run`; one that nobody adopts
//! ends with the program. Never starts where a standard stream is missing: its handle would take the
//! stream's number.

use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use rustix::process::Pid;
use rustix::thread::futex;

use super::maker::{MAKER, make_early};
use super::slate::{GONE, MAKING, Setting, Slate};
use super::{Meanwhile, Nursery, ROOM, STACK};
use crate::clone::Namespaces;
use crate::stack::Stack;

/// What such a maker shares with its owner from the first instruction on.
static EARLY: Slate = Slate::new();

/// What the assembler below reads and writes, by its offset.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Beginning {
    /// Whether the owner has written the rest.
    adopted: AtomicU32,
    /// What making the namespaces came to: zero, or an error number below it.
    pub(super) outcome: AtomicI32,
    /// A handle on the maker, for the owner.
    pidfd: AtomicI32,
    /// The maker; zero where there is none, or none any more to adopt.
    maker: AtomicI32,
    /// Who started it.
    parent: AtomicI32,
    /// Where the maker goes on: on this stack,
    stack: AtomicU64,
    /// with the thread's own memory that the C library has given to the owner.
    thread_pointer: AtomicU64,
}

impl Beginning {
    pub(super) const fn new() -> Self {
        Self {
            adopted: AtomicU32::new(0),
            outcome: AtomicI32::new(0),
            pidfd: AtomicI32::new(-1),
            maker: AtomicI32::new(0),
            parent: AtomicI32::new(0),
            stack: AtomicU64::new(0),
            thread_pointer: AtomicU64::new(0),
        }
    }
}

/// The nursery that this process began with, if it did and nobody has it yet.
pub(super) fn adopt(namespaces: Namespaces, meanwhile: Meanwhile) -> Option<Nursery> {
    let beginning = &EARLY.beginning;
    if namespaces != Namespaces::AHEAD {
        return None;
    }
    let own = rustix::process::getpid();
    if beginning.parent.load(Ordering::Acquire) != own.as_raw_nonzero().get() {
        return None;
    }
    let maker = Pid::from_raw(beginning.maker.swap(0, Ordering::AcqRel).max(0))?;
    // SAFETY: the descriptor must be open and owned by nobody else: CLONE_PIDFD made the kernel store
    // a fresh one there, the maker closes none, and the swap above gives it out once.
    let pidfd = unsafe { OwnedFd::from_raw_fd(beginning.pidfd.load(Ordering::Acquire)) };
    let stack = Stack::new(STACK).ok()?;
    // SAFETY: the record must not be in use elsewhere: the maker reads this part once it is adopted.
    unsafe {
        *EARLY.setting.get() = Setting {
            processors: rustix::thread::sched_getaffinity(None).ok(),
            namespaces,
            parent: Some(own),
        };
    }
    beginning.stack.store(stack.top() as u64, Ordering::Relaxed);
    beginning.thread_pointer.store(thread_pointer(), Ordering::Relaxed);
    let shared = NonNull::from(&EARLY);
    let is_apart = false;
    let mut nursery = Nursery { maker, pidfd, shared, is_boxed: false, is_apart, _stack: stack };
    nursery.place(meanwhile);
    beginning.adopted.store(1, Ordering::Release);
    let _woken = futex::wake(&beginning.adopted, futex::Flags::empty(), 1);
    (EARLY.state.load(Ordering::Acquire) != GONE).then_some(nursery)
}

/// Where the C library keeps what belongs to this thread.
fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the word must be readable: the ABI has the thread pointer's own value there.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

std::arch::global_asm!(
    ".pushsection .text.stockade_begin, \"ax\", @progbits",
    ".globl stockade_begin",
    ".type stockade_begin, @function",
    // Called with the place of the argument count in rdi; keeps r12.
    "stockade_begin:",
    "cmp qword ptr [rdi], 2",
    "jb 9f",
    "mov rax, [rdi + 16]",
    "cmp dword ptr [rax], {run}",
    "jne 9f",
    "sub rsp, 40",
    "lea rbx, [rip + {early}]",
    // All three standard streams are open.
    "mov ebp, 2",
    "2:",
    "mov edi, ebp",
    "mov esi, {get_flags}",
    "mov eax, {fcntl}",
    "syscall",
    "test eax, eax",
    "js 8f",
    "dec ebp",
    "jns 2b",
    // The table of descriptors grows while it is this process's alone, as in
    // `make_room_for_descriptors`: the limit is at rsp, a raised one behind it.
    "xor edi, edi",
    "mov esi, {limit_of_descriptors}",
    "xor edx, edx",
    "mov r10, rsp",
    "mov eax, {prlimit}",
    "syscall",
    "test eax, eax",
    "js 8f",
    "mov rax, [rsp + 8]",
    "mov ebp, {room}",
    "cmp rbp, rax",
    "cmova rbp, rax",
    "mov [rsp + 16], rbp",
    "mov [rsp + 24], rax",
    "xor r13d, r13d",
    "cmp [rsp], rbp",
    "jae 3f",
    "inc r13d",
    "lea rdx, [rsp + 16]",
    "call 7f",
    "test eax, eax",
    "js 4f",
    "3:",
    "xor edi, edi",
    "mov esi, {duplicate}",
    "lea rdx, [rbp - 1]",
    "mov eax, {fcntl}",
    "syscall",
    "test eax, eax",
    "js 4f",
    "mov edi, eax",
    "mov eax, {close}",
    "syscall",
    "4:",
    "test r13d, r13d",
    "jz 5f",
    "mov rdx, rsp",
    "call 7f",
    "5:",
    // The maker must not be ended by what a user sends to the whole group.
    "mov eax, {getpid}",
    "syscall",
    "mov [rbx + {parent}], eax",
    "mov qword ptr [rsp], -1",
    "mov edi, {set_mask}",
    "mov rsi, rsp",
    "lea rdx, [rsp + 8]",
    "mov r10d, 8",
    "mov eax, {sigprocmask}",
    "syscall",
    "test eax, eax",
    "js 8f",
    "mov dword ptr [rbx], {making}",
    "mov edi, {maker_flags}",
    "xor esi, esi",
    "lea rdx, [rbx + {pidfd}]",
    "mov r10, rbx",
    "xor r8d, r8d",
    "mov eax, {clone}",
    "syscall",
    "test eax, eax",
    "jz stockade_early_maker",
    "mov [rbx + {maker}], eax",
    "mov edi, {set_mask}",
    "lea rsi, [rsp + 8]",
    "xor edx, edx",
    "mov r10d, 8",
    "mov eax, {sigprocmask}",
    "syscall",
    "8:",
    "add rsp, 40",
    "9:",
    "ret",
    // Sets the limit of descriptors to what rdx leads to.
    "7:",
    "xor edi, edi",
    "mov esi, {limit_of_descriptors}",
    "xor r10d, r10d",
    "mov eax, {prlimit}",
    "syscall",
    "ret",
    ".size stockade_begin, . - stockade_begin",
    // The maker: has the owner's stack pointer and must not use it.
    ".type stockade_early_maker, @function",
    "stockade_early_maker:",
    "mov edi, {set_death_signal}",
    "mov esi, {kill}",
    "mov eax, {prctl}",
    "syscall",
    "test eax, eax",
    "js 6f",
    // An owner that was gone before is not noticed otherwise, and would be waited for.
    "mov eax, {getppid}",
    "syscall",
    "cmp eax, [rbx + {parent}]",
    "jne 6f",
    "mov edi, {user}",
    "mov eax, {unshare}",
    "syscall",
    "test eax, eax",
    "js 3f",
    "mov dword ptr [rbx + {mappable}], 1",
    "mov edi, {others}",
    "mov eax, {unshare}",
    "syscall",
    "3:",
    "mov [rbx + {outcome}], eax",
    "4:",
    "cmp dword ptr [rbx + {adopted}], 0",
    "jne 5f",
    "lea rdi, [rbx + {adopted}]",
    "xor esi, esi",
    "xor edx, edx",
    "xor r10d, r10d",
    "mov eax, {futex}",
    "syscall",
    "jmp 4b",
    "5:",
    "mov edi, {set_thread_pointer}",
    "mov rsi, [rbx + {thread_pointer}]",
    "mov eax, {arch_prctl}",
    "syscall",
    "mov rsp, [rbx + {stack}]",
    "xor ebp, ebp",
    "mov rdi, rbx",
    "call {go_on}",
    "mov edi, eax",
    "jmp 7f",
    "6:",
    "mov edi, 1",
    "7:",
    "mov eax, {exit}",
    "syscall",
    "ud2",
    ".size stockade_early_maker, . - stockade_early_maker",
    ".popsection",
    // "run" and the zero behind it.
    run = const u32::from_le_bytes(*b"run\0"),
    early = sym EARLY,
    go_on = sym make_early,
    parent = const BEGINNING + std::mem::offset_of!(Beginning, parent),
    pidfd = const BEGINNING + std::mem::offset_of!(Beginning, pidfd),
    maker = const BEGINNING + std::mem::offset_of!(Beginning, maker),
    outcome = const BEGINNING + std::mem::offset_of!(Beginning, outcome),
    adopted = const BEGINNING + std::mem::offset_of!(Beginning, adopted),
    stack = const BEGINNING + std::mem::offset_of!(Beginning, stack),
    thread_pointer = const BEGINNING + std::mem::offset_of!(Beginning, thread_pointer),
    making = const MAKING,
    room = const ROOM,
    maker_flags = const MAKER,
    mappable = const std::mem::offset_of!(Slate, mappable),
    user = const Namespaces::USER.bits(),
    others = const Namespaces::AHEAD.without(Namespaces::USER).bits(),
    get_flags = const libc::F_GETFD,
    duplicate = const libc::F_DUPFD_CLOEXEC,
    limit_of_descriptors = const libc::RLIMIT_NOFILE,
    set_mask = const libc::SIG_SETMASK,
    set_death_signal = const libc::PR_SET_PDEATHSIG,
    kill = const libc::SIGKILL,
    set_thread_pointer = const 0x1002,
    fcntl = const libc::SYS_fcntl,
    prlimit = const libc::SYS_prlimit64,
    close = const libc::SYS_close,
    getpid = const libc::SYS_getpid,
    getppid = const libc::SYS_getppid,
    sigprocmask = const libc::SYS_rt_sigprocmask,
    clone = const libc::SYS_clone,
    prctl = const libc::SYS_prctl,
    unshare = const libc::SYS_unshare,
    futex = const libc::SYS_futex,
    arch_prctl = const libc::SYS_arch_prctl,
    exit = const libc::SYS_exit,
);

const BEGINNING: usize = std::mem::offset_of!(Slate, beginning);
