//! The filters against the lists they came from, against another assembler and against the ways
//! around a filter that are known.

mod against_seccompiler;
mod beside;
mod gatekeeper;
mod lists;
mod programs;
mod watching;

use super::list::{self, Answer, Rule, Term};
use super::{
    Action, Arch, Helper, Profile, Program, Refusal, SeccompData, SeccompPlan, Verdict, interpret,
    list_lines, syscall_name, syscall_number, verdict,
};

const EPERM: u16 = 1;
const ENOMEM: u16 = 12;
const ENOSYS: u16 = 38;
const EPROTONOSUPPORT: u16 = 93;
const EAFNOSUPPORT: u16 = 97;

fn refused() -> Verdict {
    Verdict::Refuse { errno: EPERM, reported: true }
}

fn answered(errno: u16) -> Verdict {
    Verdict::Refuse { errno, reported: false }
}

#[track_caller]
fn check(profile: Profile, call: &str, arguments: &[u64], expected: Verdict) {
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(arguments);
    for arch in Arch::ALL {
        if let Some(number) = syscall_number(arch, call) {
            let found = verdict(profile, arch, number, six);
            assert_eq!(found, expected, "{profile:?} {call} {arguments:x?} on {}", arch.name());
        }
    }
    assert!(syscall_number(Arch::X86_64, call).is_some(), "{call} is not a system call");
}

/// K119, K120, K121, K122, K123, K124, K125, K126, K127, K128, K129, K131, T10, T11, T24
#[test]
fn default_refuses_dangerous_calls() {
    let calls = "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp \
        kexec_load kexec_file_load init_module finit_module delete_module \
        keyctl request_key add_key mount umount2 pivot_root chroot \
        open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr \
        swapon swapoff reboot nfsservctl vmsplice migrate_pages move_pages \
        userfaultfd bpf perf_event_open open_by_handle_at quotactl quotactl_fd acct syslog \
        adjtimex clock_adjtime setns";
    for call in calls.split_whitespace() {
        check(Profile::Default, call, &[], refused());
        check(Profile::Default, call, &[u64::MAX; 6], refused());
    }
}

/// K130, T23
#[test]
fn namespaces_are_refused_in_both_profiles() {
    const NEW: [u64; 7] =
        [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
    const FORK: u64 = 17;
    const THREAD: u64 = 0x003d_0f00;
    for profile in Profile::ALL {
        check(profile, "clone", &[FORK], Verdict::Allow);
        check(profile, "clone", &[THREAD], Verdict::Allow);
        check(profile, "clone", &[THREAD | 1 << 40], Verdict::Allow);
        check(profile, "unshare", &[0x400], Verdict::Allow);
        check(profile, "unshare", &[0x80], refused());
        check(profile, "clone3", &[0, 88], answered(ENOSYS));
        for bit in NEW {
            check(profile, "clone", &[bit | FORK], refused());
            check(profile, "clone", &[bit | THREAD | 1 << 63], refused());
            check(profile, "unshare", &[bit], refused());
        }
    }
}

/// K131, K233, T10
#[test]
fn io_uring_looks_like_an_old_kernel() {
    for profile in Profile::ALL {
        for call in ["io_uring_setup", "io_uring_enter", "io_uring_register"] {
            check(profile, call, &[8], answered(ENOSYS));
        }
    }
}

/// K132, K133
#[test]
fn machine_control_kills() {
    for call in ["iopl", "ioperm", "clock_settime", "settimeofday"] {
        check(Profile::Default, call, &[3], Verdict::Kill { reported: true });
    }
    assert_eq!(syscall_number(Arch::Aarch64, "iopl"), None);
}

/// K131, T22, T24, T44
#[test]
fn socket_families_are_an_allow_list() {
    const UPPER: u64 = 1 << 32;
    for profile in Profile::ALL {
        for family in 0..=64_u64 {
            let expected = match family {
                1 | 2 | 10 | 16 => Verdict::Allow,
                _ => answered(EAFNOSUPPORT),
            };
            for upper in [0, UPPER, u64::from(u32::MAX) << 32] {
                check(profile, "socket", &[family | upper, 1, 0], expected);
                check(profile, "socket", &[family | upper, 1, UPPER], expected);
            }
            let pair = if family == 1 { Verdict::Allow } else { answered(EAFNOSUPPORT) };
            check(profile, "socketpair", &[family, 1, 0], pair);
            check(profile, "socketpair", &[family | UPPER, 1, 0], pair);
        }
        for protocol in 1..=30 {
            check(profile, "socket", &[16, 3, protocol], answered(EPROTONOSUPPORT));
            check(profile, "socket", &[16, 3, protocol | UPPER], answered(EPROTONOSUPPORT));
        }
        check(profile, "socket", &[16 | UPPER, 3, 9], answered(EPROTONOSUPPORT));
    }
}

/// K131, T20, T22
#[test]
fn terminal_injection_is_refused_with_any_upper_half() {
    for profile in Profile::ALL {
        for request in [0x5412, 0x541c, 0x5423_u64] {
            for upper in [0, 1 << 32, 0xffff_ffff_0000_0000] {
                check(profile, "ioctl", &[0, request | upper], refused());
            }
        }
        for request in [0x5401, 0x5413, 0x5414, 0x541b, 0x541d, 0x8000_5412] {
            check(profile, "ioctl", &[0, request], Verdict::Allow);
        }
    }
}

/// T72: the limit can be read by every way, and set by none; who sets it is not told so, because programs
/// that guard secrets set it to 0 and end where they cannot.
#[test]
fn the_limit_on_core_dumps_stays() {
    const CORE: u64 = 4;
    const UPPER: u64 = 1 << 32;
    for profile in Profile::ALL {
        for resource in [CORE, CORE | UPPER, CORE | u64::from(u32::MAX) << 32] {
            check(profile, "setrlimit", &[resource, 0x7fff_1000], Verdict::Ignore);
            check(profile, "getrlimit", &[resource, 0x7fff_1000], Verdict::Allow);
            for process in [0, 7, u64::MAX] {
                check(profile, "prlimit64", &[process, resource, 0, 0x7fff_1000], Verdict::Allow);
                // A structure can lie where half of its address is 0.
                for new in [0x7fff_1000, UPPER, u64::from(u32::MAX), 1 << 63, u64::MAX] {
                    check(profile, "prlimit64", &[process, resource, new, 0], Verdict::Ignore);
                    // Success would promise an old limit that nothing has written.
                    for old in [0x7fff_2000, UPPER, u64::MAX] {
                        let both = [process, resource, new, old];
                        check(profile, "prlimit64", &both, answered(EPERM));
                    }
                }
            }
        }
        for resource in (0..16).filter(|resource| *resource != CORE) {
            check(profile, "setrlimit", &[resource, 0x7fff_1000], Verdict::Allow);
            check(profile, "prlimit64", &[0, resource, 0x7fff_1000, 0], Verdict::Allow);
        }
    }
}

/// T75: pid 1 is of the program's user, and the only one in its own group.
#[test]
fn the_priority_of_pid_one_is_out_of_reach() {
    const UPPER: u64 = 1 << 32;
    for profile in Profile::ALL {
        for (call, [process, group, user]) in
            [("setpriority", [0, 1, 2]), ("ioprio_set", [1, 2, 3])]
        {
            for who in [0, 7, 1000] {
                check(profile, call, &[process, who, 5], Verdict::Allow);
                check(profile, call, &[group, who, 5], Verdict::Allow);
                check(profile, call, &[user, who, 5], refused());
                check(profile, call, &[user | UPPER, who, 5], refused());
            }
            for which in [process, group, user] {
                check(profile, call, &[which, 1, 5], refused());
                check(profile, call, &[which, 1 | UPPER, 5], refused());
            }
        }
        for process in [0, 7, u64::MAX] {
            check(profile, "setpgid", &[process, 1], refused());
            check(profile, "setpgid", &[process, 1 | UPPER], refused());
            check(profile, "setpgid", &[process, 0], Verdict::Allow);
            check(profile, "setpgid", &[process, 7], Verdict::Allow);
        }
        for call in ["getpriority", "ioprio_get"] {
            check(profile, call, &[2, 0], Verdict::Allow);
        }
    }
}

/// T30
#[test]
fn pages_of_the_machines_pool_are_out_of_reach() {
    for profile in [Profile::Default, Profile::Relaxed] {
        for (call, arguments, flag) in
            [("mmap", 3, 0x4_0000), ("memfd_create", 1, 4), ("shmget", 2, 0o4000)]
        {
            let mut with = vec![0; arguments + 1];
            check(profile, call, &with, Verdict::Allow);
            with[arguments] = flag;
            check(profile, call, &with, answered(ENOMEM));
            // The sizes that can be asked for, and other flags, change nothing.
            with[arguments] = flag | 21 << 26 | 0x22;
            check(profile, call, &with, answered(ENOMEM));
        }
    }
}

/// K131
#[test]
fn personality_can_be_asked_and_reset() {
    check(Profile::Default, "personality", &[0xffff_ffff], Verdict::Allow);
    check(Profile::Default, "personality", &[u64::MAX], Verdict::Allow);
    check(Profile::Default, "personality", &[0], Verdict::Allow);
    check(Profile::Default, "personality", &[0x0004_0000], answered(EPERM));
    check(Profile::Default, "personality", &[8], answered(EPERM));
}

/// K138, K139, K216
#[test]
fn relaxed_lets_debuggers_work_and_keeps_the_walls() {
    let allowed = "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp perf_event_open bpf \
        userfaultfd personality syslog acct quotactl adjtimex clock_settime settimeofday iopl \
        ioperm nfsservctl vmsplice migrate_pages move_pages open_by_handle_at";
    for call in allowed.split_whitespace() {
        check(Profile::Relaxed, call, &[7], Verdict::Allow);
    }
    let refused_calls = "reboot kexec_load kexec_file_load init_module finit_module delete_module \
        swapon swapoff mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen \
        fsconfig fsmount fspick mount_setattr setns";
    for call in refused_calls.split_whitespace() {
        check(Profile::Relaxed, call, &[7], refused());
    }
    // The keys of the caller's session are inherited, whatever the namespaces.
    for call in ["keyctl", "request_key", "add_key"] {
        check(Profile::Relaxed, call, &[0], refused());
    }
}

/// K134, K135
#[test]
fn everything_else_is_allowed() {
    for call in "read write execve munmap futex connect bind listen accept4 prctl seccomp \
        kill tgkill pidfd_open landlock_restrict_self rseq mbind statx umask \
        name_to_handle_at fanotify_init mseal set_mempolicy process_madvise"
        .split_whitespace()
    {
        for profile in Profile::ALL {
            check(profile, call, &[u64::MAX; 6], Verdict::Allow);
        }
    }
}

/// T12, T64
#[test]
fn no_call_makes_a_set_id_file() {
    const CREATE: u64 = 0o100;
    for profile in Profile::ALL {
        check(profile, "fchmod", &[3, 0o4755], refused());
        check(profile, "fchmod", &[3, 0o2755], refused());
        check(profile, "fchmod", &[3, 0o1777], Verdict::Allow);
        check(profile, "fchmodat", &[3, 0, 0o4755], refused());
        check(profile, "mknodat", &[3, 0, 0o104_755], refused());
        check(profile, "openat", &[3, 0, CREATE, 0o4755], refused());
        check(profile, "openat", &[3, 0, CREATE, 0o644], Verdict::Allow);
        // Without a file to make, the last argument is whatever was in its register.
        check(profile, "openat", &[3, 0, 0, u64::MAX], Verdict::Allow);
    }
}

/// K136, K232, T21
#[test]
fn foreign_entry_points_kill() {
    let foreign = [0x4000_0003, 0x4000_0028, 0, 1, 0xc000_00b7 ^ 0xc000_003e, u32::MAX];
    for profile in Profile::ALL {
        for arch in Arch::ALL {
            let plan = SeccompPlan::embedded(profile, arch);
            let others = Arch::ALL.iter().filter(|other| **other != arch);
            let others = others.map(|other| other.audit_number());
            for program in [&plan.with_notify, &plan.without_notify] {
                for audit_number in others.clone().chain(foreign) {
                    for number in [0, 1, 9, 20, 59, 221] {
                        let data = SeccompData {
                            arch: audit_number,
                            ..SeccompData::of(arch, number, [0; 6])
                        };
                        assert_eq!(interpret(program, &data), Action::KillProcess);
                    }
                }
            }
        }
        let plan = SeccompPlan::embedded(profile, Arch::X86_64);
        for program in [&plan.with_notify, &plan.without_notify] {
            for number in [0_u32, 1, 41, 59, 101, 512, 520, 547, 0x3fff_ffff] {
                let data = SeccompData::of(Arch::X86_64, number | 0x4000_0000, [0; 6]);
                assert_eq!(interpret(program, &data), Action::KillProcess, "{number}");
            }
            for number in [0x8000_0000, 0xbfff_ffff, 0xffff_fffe] {
                let data = SeccompData::of(Arch::X86_64, number, [0; 6]);
                assert_eq!(interpret(program, &data), Action::KillProcess, "{number}");
            }
        }
    }
}

/// K136
#[test]
fn calls_newer_than_the_tables_do_not_exist() {
    for profile in Profile::ALL {
        for arch in Arch::ALL {
            // 512 to 547 are the x32 calls, which old kernels took without the x32 bit as well.
            for number in [arch.table_size(), 500, 512, 520, 547, 1000, 0x3fff_ffff] {
                assert_eq!(verdict(profile, arch, number, [0; 6]), answered(ENOSYS));
            }
            // A tracer's way to skip a call: nothing runs, and its result must stay.
            assert_eq!(verdict(profile, arch, u32::MAX, [0; 6]), Verdict::Allow);
        }
        assert_eq!(verdict(profile, Arch::Aarch64, 0x4000_0000, [0; 6]), answered(ENOSYS));
    }
}

/// K50, K136: the list says one thing, the program does it, for every number and many arguments.
#[test]
fn programs_do_what_their_lists_say() {
    let values = [
        0,
        1,
        2,
        3,
        8,
        9,
        10,
        16,
        17,
        31,
        40,
        0x80,
        0x5412,
        0x541c,
        0x5423,
        0x1_0000,
        0x2_0000,
        0x3d_0f00,
        0x1000_0000,
        0x7e02_0000,
        0xffff_ffff,
        0x1_0000_0001,
        0x1_0000_0010,
        0x1_0000_5412,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];
    for profile in Profile::ALL {
        let rules = list::parse(profile.list()).unwrap().rules;
        for arch in Arch::ALL {
            let plan = SeccompPlan::embedded(profile, arch);
            for number in 0..=arch.table_size() + 50 {
                for first in values {
                    for second in [0, 4, 9, 0x5412, 0x541c, 0x5423, 0x1_0000_5412] {
                        let arguments = [first, second, second, 0, 0, 0];
                        let data = SeccompData::of(arch, number, arguments);
                        let (with, without) = expected(&rules, arch, number, arguments);
                        assert_eq!(interpret(&plan.with_notify, &data), with, "{data:x?}");
                        assert_eq!(interpret(&plan.without_notify, &data), without, "{data:x?}");
                    }
                }
            }
        }
    }
}

/// A second reading of the rules, as plain as can be.
fn expected(rules: &[Rule], arch: Arch, number: u32, arguments: [u64; 6]) -> (Action, Action) {
    let Some(name) = syscall_name(arch, number) else {
        return (Action::Errno(ENOSYS), Action::Errno(ENOSYS));
    };
    let low = |argument: u8| arguments[usize::from(argument)] as u32;
    let holds = |term: &Term| match term {
        Term::Is { argument, values } => values.contains(&low(*argument)),
        Term::Has { argument, bits } => low(*argument) & bits != 0,
        Term::Null { argument } => arguments[usize::from(*argument)] == 0,
    };
    for rule in rules {
        if rule.calls.iter().any(|call| call.name == name) && rule.terms.iter().all(holds) {
            return match rule.answer {
                Answer::Allow => (Action::Allow, Action::Allow),
                Answer::Refuse => (Action::Notify, Action::Errno(EPERM)),
                Answer::Kill => (Action::Notify, Action::KillProcess),
                Answer::Errno(errno) => (Action::Errno(errno), Action::Errno(errno)),
                Answer::Ignore => (Action::Errno(0), Action::Errno(0)),
                Answer::Watch => (Action::Notify, Action::Allow),
            };
        }
    }
    (Action::Allow, Action::Allow)
}

/// K119, K132: the answer of whoever holds the listener is that of the filter without one.
#[test]
fn notified_calls_are_answered_as_without_a_listener() {
    let plan = SeccompPlan::embedded(Profile::Default, Arch::X86_64);
    let answer = |name: &str, first: u64| {
        let number = syscall_number(Arch::X86_64, name).unwrap();
        plan.refusal(&SeccompData::of(Arch::X86_64, number, [first, 0, 0, 0, 0, 0]))
    };
    assert_eq!(answer("ptrace", 0), Refusal { errno: EPERM, kills: false });
    assert_eq!(answer("clock_settime", 0), Refusal { errno: EPERM, kills: true });
    assert_eq!(answer("clone3", 0), Refusal { errno: ENOSYS, kills: false });
    assert_eq!(answer("read", 0), Refusal { errno: EPERM, kills: false });
}

/// K50: every embedded program passes the checks that a decoded one must pass.
#[test]
fn embedded_programs_are_valid_and_short() {
    for profile in Profile::ALL {
        for arch in Arch::ALL {
            let plan = SeccompPlan::embedded(profile, arch);
            for program in [plan.with_notify, plan.without_notify] {
                assert_eq!(Program::from_bytes(&program.to_bytes()).as_ref(), Ok(&program));
                assert!(program.instructions().len() < 300, "{}", program.instructions().len());
            }
        }
    }
}
