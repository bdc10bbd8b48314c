//! The two processor architectures that filters are built for, and their system call tables.
//! Never asks the running kernel.

/// A processor architecture, as system call filters tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86, without the i386 and x32 entry points.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// Every architecture.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The architecture that this program was compiled for.
    #[cfg(target_arch = "x86_64")]
    pub const NATIVE: Self = Self::X86_64;

    /// The architecture that this program was compiled for.
    #[cfg(target_arch = "aarch64")]
    pub const NATIVE: Self = Self::Aarch64;

    /// What the kernel puts into `seccomp_data.arch` (`AUDIT_ARCH_*` of `linux/audit.h`).
    pub const fn audit_number(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    /// The name that profile lists use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// One more than the highest system call number of the table.
    pub fn table_size(self) -> u32 {
        let last = match self {
            Self::X86_64 => syscalls::x86_64::Sysno::last().id(),
            Self::Aarch64 => syscalls::aarch64::Sysno::last().id(),
        };
        last.unsigned_abs() + 1
    }
}

/// The name of a system call; none for a number that the table does not have.
pub fn syscall_name(arch: Arch, number: u32) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    match arch {
        Arch::X86_64 => syscalls::x86_64::Sysno::new(number).map(|call| call.name()),
        Arch::Aarch64 => syscalls::aarch64::Sysno::new(number).map(|call| call.name()),
    }
}

/// The number of a system call; none for a name that this architecture does not have.
pub fn syscall_number(arch: Arch, name: &str) -> Option<u32> {
    let number = match arch {
        Arch::X86_64 => name.parse::<syscalls::x86_64::Sysno>().ok()?.id(),
        Arch::Aarch64 => name.parse::<syscalls::aarch64::Sysno>().ok()?.id(),
    };
    u32::try_from(number).ok()
}
