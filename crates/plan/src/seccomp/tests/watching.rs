//! The filters that hand over allowed calls as well: they refuse what the profile refuses, and nothing else.

use super::super::{Watch, observer};
use super::*;

const WATCHES: [Watch; 3] = [Watch::Writes, Watch::Lookups, Watch::Uses];

/// K292: for every call and many arguments a watching filter answers as the profile's own does, but that it may
/// hand over what is allowed.
#[test]
fn watching_changes_no_answer() {
    let arguments = [0, 1, 2, 3, 0o100, 0o101, 0o6755, 0x1000, u64::MAX];
    for (profile, arch) in
        Profile::ALL.into_iter().flat_map(|one| Arch::ALL.map(|arch| (one, arch)))
    {
        let plan = SeccompPlan::embedded(profile, arch);
        for watch in WATCHES {
            let watching = SeccompPlan::watching_for(profile, watch, arch).unwrap();
            for number in 0..arch.table_size() {
                for argument in arguments {
                    let data = SeccompData::of(arch, number, [argument; 6]);
                    let (seen, own) =
                        (interpret(&watching, &data), interpret(&plan.with_notify, &data));
                    let only_watched = seen == Action::Notify && plan.allows(&data);
                    assert!(seen == own || only_watched, "{number} {argument:x} {watch:?}");
                }
            }
        }
    }
}

/// K290: what only reads is not slower where writes alone are noted.
#[test]
fn reading_is_not_watched_with_writes() {
    let handed_over = |watch: Watch, call: &str, flags: u64| {
        let number = syscall_number(Arch::X86_64, call).unwrap();
        let data = SeccompData::of(Arch::X86_64, number, [0, 0, flags, flags, 0, 0]);
        let filter = SeccompPlan::watching_for(Profile::Default, watch, Arch::X86_64).unwrap();
        interpret(&filter, &data) == Action::Notify
    };
    for (call, flags, writes) in [
        ("openat", 0, false),
        ("openat", 0o1, true),
        ("openat", 0o102, true),
        ("newfstatat", 0, false),
        ("statx", 0, false),
        ("execve", 0, false),
        ("mkdirat", 0, true),
        ("unlinkat", 0, true),
        ("renameat2", 0, true),
    ] {
        assert_eq!(handed_over(Watch::Writes, call, flags), writes, "{call} {flags:o}");
        assert!(handed_over(Watch::Lookups, call, flags), "{call} {flags:o}");
    }
    for call in ["read", "write", "close", "fstat", "mmap", "clone", "futex"] {
        assert!(!handed_over(Watch::Uses, call, 0), "{call}");
    }
    // A status of what is open already is no look-up.
    assert!(!handed_over(Watch::Lookups, "newfstatat", 0x1000));
    assert!(SeccompPlan::native(Profile::Default).watching(Watch::Nothing).is_none());
}

/// The thread that notes calls opens nothing for writing and starts nothing.
#[test]
fn the_observer_only_looks() {
    let check = |call: &str, arguments: [u64; 6], expected: Action| {
        let number = syscall_number(Arch::NATIVE, call).unwrap();
        let data = SeccompData::of(Arch::NATIVE, number, arguments);
        assert_eq!(interpret(&observer(), &data), expected, "{call} {arguments:x?}");
    };
    for call in ["openat", "readlinkat", "pread64", "ppoll", "futex", "recvmsg", "exit"] {
        check(call, [0; 6], Action::Allow);
    }
    for flags in [0o1, 0o2, 0o100, 0o1000, 0o2102] {
        check("openat", [0, 0, flags, 0, 0, 0], Action::Errno(EPERM));
    }
    for call in
        ["unlinkat", "mkdirat", "renameat2", "socket", "connect", "openat2", "mount", "prctl"]
    {
        check(call, [0; 6], Action::Errno(EPERM));
    }
    for call in ["execve", "clone", "ptrace", "process_vm_writev"] {
        check(call, [0; 6], Action::KillProcess);
    }
    // Notifications of the listener, and no terminal.
    check("ioctl", [0, 0xc050_2100, 0, 0, 0, 0], Action::Allow);
    check("ioctl", [0, 0x5412, 0, 0, 0, 0], Action::Errno(EPERM));
}
