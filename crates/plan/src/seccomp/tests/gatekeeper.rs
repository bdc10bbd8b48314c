//! The gatekeeper's own filter: what it needs, and that nothing else is left.

use super::*;

#[track_caller]
fn check(call: &str, arguments: &[u64], expected: Action) {
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(arguments);
    for arch in Arch::ALL {
        if let Some(number) = syscall_number(arch, call) {
            let found = interpret(
                &Helper::Gatekeeper.filter_for(arch),
                &SeccompData::of(arch, number, six),
            );
            assert_eq!(found, expected, "{call} {arguments:x?} on {}", arch.name());
        }
    }
}

/// K72
#[test]
fn it_can_serve_and_dial_and_nothing_else() {
    let allowed = "read write readv writev close epoll_ctl epoll_pwait accept4 connect bind sendmsg \
        recvmsg splice pipe2 futex getrandom exit_group munmap getsockopt setsockopt shutdown \
        clock_nanosleep";
    for call in allowed.split_whitespace() {
        check(call, &[], Action::Allow);
    }
    let refused = "open openat openat2 creat unlinkat renameat2 mkdirat linkat chmod fchmodat chown \
        stat newfstatat statx readlinkat getdents64 inotify_init1 mount umount2 pivot_root chroot \
        chdir setns unshare clone clone3 kill tgkill tkill pidfd_open pidfd_send_signal \
        pidfd_getfd listen socketpair memfd_create bpf io_uring_setup keyctl perf_event_open \
        prctl setuid setresuid capset prlimit64 seccomp userfaultfd vmsplice tee shmget msgget";
    for call in refused.split_whitespace() {
        check(call, &[], Action::Errno(EPERM));
        check(call, &[u64::MAX; 6], Action::Errno(EPERM));
    }
    for call in ["execve", "execveat", "ptrace", "process_vm_writev"] {
        check(call, &[], Action::KillProcess);
    }
}

#[test]
fn arguments_are_bounded() {
    const UPPER: u64 = 1 << 32;
    for (call, argument, allowed) in [
        ("socket", 0, &[2, 10][..]),
        ("fcntl", 1, &[1, 2, 3, 4, 1030, 1031, 1032]),
        ("ioctl", 1, &[0x541b, 0x5421]),
    ] {
        for value in (0..1100).chain([0x5412, 0x541b, 0x5421, 0x8901]) {
            let expected =
                if allowed.contains(&value) { Action::Allow } else { Action::Errno(EPERM) };
            for upper in [0, UPPER] {
                let mut arguments = [0; 2];
                arguments[argument] = value | upper;
                check(call, &arguments, expected);
            }
        }
    }
    for call in ["mmap", "mprotect"] {
        check(call, &[0, 4096, 3], Action::Allow);
        for protection in [4, 5, 6, 7, 4 | UPPER] {
            check(call, &[0, 4096, protection], Action::KillProcess);
        }
    }
}

/// Calls of the kernel's future and of other entry points.
#[test]
fn what_is_not_known_is_not_there() {
    for arch in Arch::ALL {
        let program = Helper::Gatekeeper.filter_for(arch);
        let unknown = SeccompData::of(arch, 5000, [0; 6]);
        assert_eq!(interpret(&program, &unknown), Action::Errno(ENOSYS));
        let foreign = SeccompData { arch: 0x4000_0003, ..SeccompData::of(arch, 0, [0; 6]) };
        assert_eq!(interpret(&program, &foreign), Action::KillProcess);
    }
    let x32 = SeccompData::of(Arch::X86_64, 0x4000_0000, [0; 6]);
    assert_eq!(interpret(&Helper::Gatekeeper.filter_for(Arch::X86_64), &x32), Action::KillProcess);
}
