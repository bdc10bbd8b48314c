//! The filters of processes that serve mounts: what each needs, and what none has.

use super::*;

#[track_caller]
fn check(helper: Helper, calls: &str, arguments: &[u64], expected: Action) {
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(arguments);
    for arch in Arch::ALL {
        for call in calls.split_whitespace() {
            if let Some(number) = syscall_number(arch, call) {
                let data = SeccompData::of(arch, number, six);
                let found = interpret(&helper.filter_for(arch), &data);
                assert_eq!(found, expected, "{helper:?} {call} on {}", arch.name());
            }
        }
    }
}

/// A17: who has a credential makes no socket and opens nothing; who dials starts nothing and writes nothing.
#[test]
fn who_serves_has_what_it_needs() {
    let (store, remote, dialer) = (Helper::StoreServer, Helper::RemoteServer, Helper::Dialer);
    let refused = Action::Errno(EPERM);
    check(remote, "read writev sendto recvfrom recvmsg futex exit_group", &[], Action::Allow);
    check(remote, "socket connect bind listen accept4 openat unlinkat flock", &[], refused);
    check(store, "openat pwrite64 fsync ftruncate unlinkat linkat flock fcntl", &[], Action::Allow);
    check(store, "socket connect bind listen accept4 renameat2 mkdirat", &[], refused);
    let layers = Helper::LayerServer;
    check(layers, "openat2 mknodat renameat2 setxattr fchmodat getdents64", &[], Action::Allow);
    check(
        layers,
        "socket connect bind listen accept4 fchownat chroot open_by_handle_at",
        &[],
        refused,
    );
    check(dialer, "socket", &[2], Action::Allow);
    check(dialer, "connect openat sendmsg", &[], Action::Allow);
    check(dialer, "socket", &[1], refused);
    check(dialer, "openat", &[0, 0, 0o1], refused);
    check(dialer, "clone clone3", &[0x0001_0000], Action::KillProcess);
    for helper in [store, remote, layers] {
        check(helper, "clone", &[0x0001_0000], Action::Allow);
        check(helper, "clone", &[0], refused);
        check(helper, "clone3", &[], Action::Errno(38));
    }
    for helper in [store, remote, layers, dialer] {
        check(helper, "mount setns unshare chdir kill bpf pidfd_open prctl", &[], refused);
    }
}
