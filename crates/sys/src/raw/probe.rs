//! Calls with fixed arguments that show whether a system call reaches the kernel's own code: where
//! nothing filters it, the kernel answers with something other than EPERM and ENOSYS.
//!
//! Never passes an address that the kernel could write to, and never arguments that are complete
//! enough to do what the call is for.

use rustix::io::Errno;

use crate::clone::last_errno;

macro_rules! probes {
    ($($(#[$attribute:meta])* $variant:ident = $call:ident $arguments:expr, $about:literal;)*) => {
        /// One system call with arguments that cannot do harm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Probe {
            $($(#[$attribute])* #[doc = $about] $variant,)*
        }

        impl Probe {
            /// Every probe that this architecture has.
            pub const ALL: &'static [Self] = &[$($(#[$attribute])* Self::$variant,)*];

            /// The call's name in the manual.
            pub fn call_name(self) -> &'static str {
                match self {
                    $($(#[$attribute])* Self::$variant => {
                        stringify!($call).trim_start_matches("SYS_")
                    })*
                }
            }

            fn number_and_arguments(self) -> (libc::c_long, [usize; 6]) {
                match self {
                    $($(#[$attribute])* Self::$variant => (libc::$call, $arguments),)*
                }
            }
        }
    };
}

probes! {
    Acct = SYS_acct [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable path";
    AddKey = SYS_add_key [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable key type";
    Adjtimex = SYS_adjtimex [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable structure";
    Bpf = SYS_bpf [NO_FLAG, 0, 0x10_0000, 0, 0, 0], "a structure larger than a page";
    Chroot = SYS_chroot [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable path";
    ClockSettime = SYS_clock_settime [0, BAD_ADDRESS, 0, 0, 0, 0], "an unreadable time";
    Clone3 = SYS_clone3 [0, 0, 0, 0, 0, 0], "a structure of no size";
    DeleteModule = SYS_delete_module [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable name";
    FinitModule = SYS_finit_module [NO_DESCRIPTOR, BAD_ADDRESS, 0, 0, 0, 0], "no descriptor";
    Fsconfig = SYS_fsconfig [NO_DESCRIPTOR, NO_FLAG, 0, 0, 0, 0], "no descriptor";
    Fsmount = SYS_fsmount [NO_DESCRIPTOR, NO_FLAG, 0, 0, 0, 0], "no descriptor";
    Fsopen = SYS_fsopen [BAD_ADDRESS, NO_FLAG, 0, 0, 0, 0], "an unknown flag";
    Fspick = SYS_fspick [NO_DESCRIPTOR, BAD_ADDRESS, NO_FLAG, 0, 0, 0], "an unknown flag";
    InitModule = SYS_init_module [0, 0, 0, 0, 0, 0], "an image of no size";
    IoUringEnter = SYS_io_uring_enter [NO_DESCRIPTOR, 0, 0, 0, 0, 0], "no descriptor";
    IoUringRegister = SYS_io_uring_register [NO_DESCRIPTOR, 0, 0, 0, 0, 0], "no descriptor";
    IoUringSetup = SYS_io_uring_setup [1, 0, 0, 0, 0, 0], "an unreadable structure";
    #[cfg(target_arch = "x86_64")]
    Ioperm = SYS_ioperm [0x10_0000, 1, 1, 0, 0, 0], "ports beyond the last one";
    #[cfg(target_arch = "x86_64")]
    Iopl = SYS_iopl [4, 0, 0, 0, 0, 0], "a level beyond the last one";
    Kcmp = SYS_kcmp [NO_PROCESS, NO_PROCESS, 0, 0, 0, 0], "a process that cannot exist";
    KexecFileLoad = SYS_kexec_file_load
        [NO_DESCRIPTOR, NO_DESCRIPTOR, 0, 0, NO_FLAG, 0], "an unknown flag";
    KexecLoad = SYS_kexec_load [0, 0, 0, NO_FLAG, 0, 0], "an unknown flag";
    Keyctl = SYS_keyctl [0, PROCESS_KEYRING, 0, 0, 0, 0], "asks for a keyring's number";
    MigratePages = SYS_migrate_pages [NO_PROCESS, 0, 0, 0, 0, 0], "a process that cannot exist";
    Mount = SYS_mount [0, BAD_ADDRESS, 0, 0, 0, 0], "an unreadable path";
    MountSetattr = SYS_mount_setattr [NO_DESCRIPTOR, 0, NO_FLAG, 0, 0, 0], "an unknown flag";
    MoveMount = SYS_move_mount
        [NO_DESCRIPTOR, 0, NO_DESCRIPTOR, 0, NO_FLAG, 0], "an unknown flag";
    MovePages = SYS_move_pages [0, 0, 0, 0, 0, NO_FLAG], "an unknown flag";
    OpenTree = SYS_open_tree [NO_DESCRIPTOR, 0, NO_FLAG, 0, 0, 0], "an unknown flag";
    PerfEventOpen = SYS_perf_event_open [0, 0, 0, NO_DESCRIPTOR, NO_FLAG, 0], "an unknown flag";
    Personality = SYS_personality [0x004_0000, 0, 0, 0, 0, 0], "no address randomisation";
    PidfdGetfd = SYS_pidfd_getfd [NO_DESCRIPTOR, 0, 0, 0, 0, 0], "no descriptor";
    PivotRoot = SYS_pivot_root [BAD_ADDRESS, BAD_ADDRESS, 0, 0, 0, 0], "unreadable paths";
    ProcessVmReadv = SYS_process_vm_readv [1, 0, 0, 0, 0, NO_FLAG], "an unknown flag";
    ProcessVmWritev = SYS_process_vm_writev [1, 0, 0, 0, 0, NO_FLAG], "an unknown flag";
    Ptrace = SYS_ptrace [PTRACE_SEIZE, NO_PROCESS, 0, 0, 0, 0], "a process that cannot exist";
    Quotactl = SYS_quotactl [0xff, 0, 0, 0, 0, 0], "an unknown kind of quota";
    Reboot = SYS_reboot [0, 0, 0, 0, 0, 0], "neither magic number";
    RequestKey = SYS_request_key [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable key type";
    Setns = SYS_setns [NO_DESCRIPTOR, 0, 0, 0, 0, 0], "no descriptor";
    Settimeofday = SYS_settimeofday [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable time";
    Swapoff = SYS_swapoff [BAD_ADDRESS, 0, 0, 0, 0, 0], "an unreadable path";
    Swapon = SYS_swapon [BAD_ADDRESS, NO_FLAG, 0, 0, 0, 0], "an unknown flag";
    Syslog = SYS_syslog [10, 0, 0, 0, 0, 0], "asks for the size of the kernel's log";
    Umount2 = SYS_umount2 [BAD_ADDRESS, NO_FLAG, 0, 0, 0, 0], "an unknown flag";
    Unshare = SYS_unshare [0x8002_0000, 0, 0, 0, 0, 0], "a namespace and an unknown flag";
    Userfaultfd = SYS_userfaultfd [NO_FLAG | 1, 0, 0, 0, 0, 0], "an unknown flag";
    Vmsplice = SYS_vmsplice [NO_DESCRIPTOR, 0, 0, 0, 0, 0], "no descriptor";
}

impl Probe {
    /// Makes the call and says what came back.
    pub fn call(self) -> Result<i64, Errno> {
        let (number, [a, b, c, d, e, f]) = self.number_and_arguments();
        // SAFETY: the kernel must not write to memory that this process uses, and nothing that the
        // process relies on may change: each row of the table has null or unmapped addresses, no
        // valid descriptor or process, or a flag that makes the kernel refuse the call. The two
        // that can succeed (keyctl, personality) take numbers and change later programs at most.
        let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
        if result == -1 { Err(last_errno()) } else { Ok(result) }
    }
}

/// The version of the kernel's landlock; 0 where it has none.
pub fn landlock_version() -> u32 {
    const ASK_FOR_VERSION: u32 = 1;
    let nothing = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads nothing and makes nothing.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, ASK_FOR_VERSION)
    };
    u32::try_from(version).unwrap_or(0)
}

/// In the first page, which is never mapped.
const BAD_ADDRESS: usize = 1;
/// A flag word that no call knows.
const NO_FLAG: usize = 0x7fff_fff0;
/// `-1` as a descriptor.
const NO_DESCRIPTOR: usize = usize::MAX;
/// Beyond the largest process id that the kernel can be set to give (2^22).
const NO_PROCESS: usize = 0x7fff_fff0;
/// `PTRACE_SEIZE`.
const PTRACE_SEIZE: usize = 0x4206;
/// `KEY_SPEC_PROCESS_KEYRING`.
const PROCESS_KEYRING: usize = -2_isize as usize;
