//! Sockets inside grants. Builds no cage.

use std::os::unix::net::UnixListener;

use policy::FsAccess;
use rustix::process::{Resource, Rlimit};

use super::super::fixture::{Host, directory, file, own_rule, runs_alone};

/// T31, T57
#[test]
fn a_socket_in_a_grant_is_hidden() {
    let host = Host::new();
    file(host.project("notes"), "");
    directory(host.outside("run"));
    let _own = UnixListener::bind(host.project("agent.sock")).unwrap();
    let _other = UnixListener::bind(host.outside("run/service")).unwrap();
    let other = own_rule(FsAccess::ReadWrite, host.outside("run"));
    let resolved = host.resolve(vec![host.readable(""), other]).unwrap();
    let mut hidden = resolved.secret_paths();
    hidden.sort();
    assert_eq!(hidden, [host.project("agent.sock"), host.outside("run/service")]);
}

/// T57
#[test]
fn a_socket_that_a_rule_hides_is_left_to_it() {
    let host = Host::new();
    let _own = UnixListener::bind(host.project("agent.sock")).unwrap();
    let rules = vec![host.readable(""), host.hidden("agent.sock")];
    let resolved = host.resolve(rules).unwrap();
    assert!(resolved.secret_paths().is_empty());
}

/// T31, T57
#[test]
fn a_socket_deep_in_a_grant_is_hidden() {
    let host = Host::new();
    directory(host.project("tmp/sockets/a/b/c"));
    let _deep = UnixListener::bind(host.project("tmp/sockets/a/b/c/s")).unwrap();
    directory(host.project(".git"));
    let _git = UnixListener::bind(host.project(".git/fsmonitor--daemon.ipc")).unwrap();
    let resolved = host.resolve(vec![host.readable("")]).unwrap();
    let mut hidden = resolved.secret_paths();
    hidden.sort();
    let expected =
        [host.project(".git/fsmonitor--daemon.ipc"), host.project("tmp/sockets/a/b/c/s")];
    assert_eq!(hidden, expected);
}

/// T31, T57: who runs out of descriptors while looking is refused, and not shown what was not looked at.
/// The limit belongs to the whole process, so the test runs in one of its own.
#[test]
fn a_socket_is_hidden_or_nothing_is_granted() {
    if !runs_alone("resolve::sockets::tests::a_socket_is_hidden_or_nothing_is_granted") {
        return;
    }
    let host = Host::new();
    directory(host.project("a/b"));
    let _deep = UnixListener::bind(host.project("a/b/s")).unwrap();
    let (mut granted, mut refused) = (0, 0);
    for limit in (8..160).rev() {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
        match host.resolve(vec![host.readable("")]) {
            Ok(resolved) => {
                assert_eq!(resolved.secret_paths(), [host.project("a/b/s")], "{limit:?}");
                granted += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(granted > 10 && refused > 3, "{granted} {refused}");
}
