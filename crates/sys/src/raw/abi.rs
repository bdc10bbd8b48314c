//! System calls through the entry points of other ABIs. Only `getpid` is ever called through
//! them.

use rustix::io::Errno;

/// Calls `getpid` by its x32 number.
#[cfg(target_arch = "x86_64")]
pub fn call_through_x32() -> Result<i64, Errno> {
    const X32: libc::c_long = 0x4000_0000;
    // SAFETY: getpid takes no argument and touches no memory, and an unknown number is answered
    // with ENOSYS.
    let result = unsafe { libc::syscall(libc::SYS_getpid | X32) };
    if result == -1 { Err(crate::clone::last_errno()) } else { Ok(result) }
}

/// Calls `getpid` by the interrupt of 32-bit programs. A kernel without them ends the process with
/// SIGSEGV, so this is for a process of its own.
#[cfg(target_arch = "x86_64")]
pub fn call_through_i386() -> Result<i64, Errno> {
    const GETPID: i64 = 20;
    let result: i64;
    // SAFETY: the instruction must keep every register that the compiler relies on: the kernel
    // saves all but rax, and the ones it cleared on old versions (r8 to r11) are declared lost.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("rax") GETPID => result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            options(nostack),
        );
    }
    if result < 0 { Err(Errno::from_raw_os_error(-result as i32)) } else { Ok(result) }
}

/// There is no x32 on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn call_through_x32() -> Result<i64, Errno> {
    Err(Errno::NOSYS)
}

/// There is no i386 on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn call_through_i386() -> Result<i64, Errno> {
    Err(Errno::NOSYS)
}
