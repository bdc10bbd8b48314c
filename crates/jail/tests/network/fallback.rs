//! Cages where the kernel offers no nf_tables: it is taken away from these tests by a filter of
//! system calls, as a container's would.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use jail::{NetworkState, StartError, Step};
use plan::network::{Family, SocketKind};
use rustix::io::Errno;
use sys::clone::{Forked, Namespaces, fork_into};
use sys::seccomp::Instruction;

use crate::held::{network, prepare, spawn, start};

/// Runs `body` in a process that gets no nfnetlink socket.
fn without_nf_tables(body: impl FnOnce()) {
    match fork_into(Namespaces::NONE, None).unwrap() {
        Forked::Child => {
            rustix::thread::set_no_new_privs(true).unwrap();
            sys::seccomp::install(&filter()).unwrap();
            body();
            sys::exec::exit_now(0);
        }
        Forked::Parent { pidfd, .. } => {
            let id = rustix::process::WaitId::PidFd(pidfd.as_fd());
            let options = rustix::process::WaitIdOptions::EXITED;
            let status = rustix::process::waitid(id, options).unwrap().unwrap();
            assert_eq!(status.exit_status(), Some(0), "the child's assertions failed");
        }
    }
}

/// `socket(AF_NETLINK, …, NETLINK_NETFILTER)` fails with `EPROTONOSUPPORT`.
fn filter() -> Vec<Instruction> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let socket = u32::try_from(libc::SYS_socket).unwrap();
    let refused = 0x0005_0000 | u32::try_from(libc::EPROTONOSUPPORT).unwrap();
    let line = |code, jt, jf, k| Instruction { code, jt, jf, k };
    vec![
        line(LOAD, 0, 0, 0),
        line(JUMP_IF_EQUAL, 0, 5, socket),
        line(LOAD, 0, 0, 16),
        line(JUMP_IF_EQUAL, 0, 3, 16),
        line(LOAD, 0, 0, 32),
        line(JUMP_IF_EQUAL, 0, 1, 12),
        line(RETURN, 0, 0, refused),
        line(RETURN, 0, 0, 0x7fff_0000),
    ]
}

/// K67, K81, K82, K112, K116
pub(crate) fn ports_are_listened_on_without_nf_tables() {
    without_nf_tables(|| {
        let actions = [
            "talk 203.0.113.9:443",
            "talk [2001:db8::1]:443",
            "connect-all 203.0.113.9:80 [2001:db8::1]:80",
            "send 203.0.113.9:443",
        ];
        let held = start(network(&["a.example:443"]), &actions);
        let table = [(Family::V4, "203.0.113.9:443"), (Family::V6, "[2001:db8::1]:443")];
        for (family, to) in table {
            let mut stream = held.accept(SocketKind::PerPort { family, port: 443 });
            assert_eq!(stream.local_addr().unwrap().to_string(), to);
            stream.read_exact(&mut [0; 5]).unwrap();
            stream.write_all(b"gate").unwrap();
        }
        assert!(!held.kinds().contains(&SocketKind::DeniedUdp));
        let done = held.finish().unwrap();
        assert_eq!(done.layers.network, NetworkState::PerPort);
        assert_eq!(done.lines[0], "gate from 203.0.113.9:443");
        assert_eq!(done.lines[1], "gate from [2001:db8::1]:443");
        assert_eq!(done.lines[2], ["ConnectionRefused"; 2].join(" "));
        assert!(done.lines[3].ends_with("Err(ConnectionRefused)"), "{done:?}");
    });
}

/// K181: what a trial finds is what a cage gets.
pub(crate) fn a_trial_finds_the_same() {
    let found = jail::probe_network().unwrap();
    assert_eq!((found.state, found.refusal), (NetworkState::Tproxy, None));
    without_nf_tables(|| {
        let found = jail::probe_network().unwrap();
        let expected = (NetworkState::PerPort, Some(libc::EPROTONOSUPPORT));
        assert_eq!((found.state, found.refusal), expected);
    });
}

/// K181: what the cage found wrong is told, even if it is gone before it has all of its mounts.
pub(crate) fn what_cannot_be_held_is_refused() {
    without_nf_tables(|| {
        let mut prepared = prepare(network(&["a.example"]), &["sleep 0"]);
        let bind = prepared.plan.walls.mounts.iter().find(|mount| mount.bind().is_some());
        let many = vec![bind.unwrap().clone(); 2000];
        prepared.plan.walls.mounts.extend(many);
        let refused = spawn(&prepared);
        let Err(StartError::Setup(failure)) = refused.map(drop) else { panic!("it started") };
        assert_eq!(failure.step, Step::Network);
        assert_eq!(failure.errno(), Some(Errno::PROTONOSUPPORT));
        let text = failure.to_string();
        assert!(text.contains("nf_tables") && text.contains("`a.example:443`"), "{text}");
    });
}
