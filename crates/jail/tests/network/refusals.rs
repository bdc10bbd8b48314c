//! What goes nowhere, and how a program hears of it.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use plan::network::SocketKind;
use sys::packet_log::PacketLog;

use crate::held::{is_readable, network, prepare, spawn, start, wait_for};

/// K116, T44
pub(crate) fn other_datagrams_are_refused_and_told() {
    let destinations = ["203.0.113.9:443", "10.0.0.1:123", "[2001:db8::1]:443"];
    let actions: Vec<String> = destinations.iter().map(|to| format!("send {to}")).collect();
    let mut actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    // Nobody answers these with an error of the network's.
    let silent = ["224.0.0.251:5353", "255.255.255.255:67", "[ff02::fb]:5353"];
    let silent: Vec<String> = silent.iter().map(|to| format!("ask {to}")).collect();
    actions.extend(silent.iter().map(String::as_str));
    let held = start(network(&["a.example:443"]), &actions);
    let log = PacketLog::from_fd(held.socket(SocketKind::DeniedUdp).try_clone_to_owned().unwrap());
    for to in destinations {
        let to: SocketAddr = to.parse().unwrap();
        // Once from an unconnected socket, once from a connected one.
        let mut told = Vec::new();
        while told.len() < 2 {
            wait_for(held.socket(SocketKind::DeniedUdp), "word of a datagram");
            told.extend(log.receive().unwrap().unwrap_or_default());
        }
        assert!(told.iter().all(|datagram| datagram.destination == to), "{told:?}");
    }
    let done = held.finish().unwrap();
    for line in &done.lines[..destinations.len()] {
        assert!(line.contains("Err(ConnectionRefused)") && !line.contains("slowly"), "{line}");
    }
    for line in &done.lines[destinations.len()..] {
        assert!(["PermissionDenied", "NetworkUnreachable"].contains(&line.as_str()), "{line}");
    }
}

/// K115, T44
pub(crate) fn raw_sockets_are_refused() {
    let done = start(network(&["a.example:443"]), &["raw"]).finish().unwrap();
    assert_eq!(done.lines, ["0 sockets"]);
}

/// K82, K84
pub(crate) fn the_network_cannot_be_changed() {
    let held = start(network(&["a.example:443"]), &["change", "connect-all 127.0.0.1:9"]);
    let done = held.finish().unwrap();
    // Rules cannot even be asked for: the filter knows route sockets alone.
    let (refused, unknown) = (libc::EPERM, libc::EPROTONOSUPPORT);
    assert_eq!(done.lines[0], format!("[{refused}, {unknown}, {unknown}, {refused}]"));
}

/// K113, K114, T45
pub(crate) fn the_hosts_loopback_is_another() {
    let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
    let v6 = TcpListener::bind("[::1]:0").unwrap();
    let other = start(network(&["a.example:443"]), &["sleep 400"]);
    let action = format!(
        "connect-all {} {} {}",
        v4.local_addr().unwrap(),
        v6.local_addr().unwrap(),
        "127.0.0.1:15002"
    );
    let held = start(network(&["a.example:443"]), &[&action]);
    assert_eq!(held.finish().unwrap().lines, [["ConnectionRefused"; 3].join(" ")]);
    for listener in [&v4, &v6] {
        assert!(!is_readable(std::os::fd::AsFd::as_fd(listener), Duration::ZERO));
    }
    for (kind, socket) in &other.sockets {
        let readable = is_readable(std::os::fd::AsFd::as_fd(socket), Duration::ZERO);
        assert!(!readable, "another cage's {kind:?} heard of it");
    }
    other.finish().unwrap();
}

/// K48, K66
pub(crate) fn a_cage_whose_sockets_nobody_takes_never_starts() {
    let prepared = prepare(network(&["a.example:443"]), &["sleep 0"]);
    let streams = jail::ProgramStreams::null();
    let mut child =
        jail::start(&prepared.plan, &prepared.sources, streams, jail::LimitsHolder::Nobody)
            .unwrap();
    assert_eq!(child.open_gate(), Err(rustix::io::Errno::NOTCONN));
    assert!(!child.take_network().unwrap().is_empty());
    assert!(child.take_network().unwrap().is_empty());
    assert_eq!(child.open_gate(), Err(rustix::io::Errno::BUSY));
    child.verify_when_built().unwrap();
    assert_eq!(child.open_gate(), Ok(()));
}

/// K82: the routes alone hold what leaves; with every rule gone, a connection meets nobody.
pub(crate) fn nothing_is_open_without_rules() {
    if !testing::is_root() {
        return testing::skip("only root can enter the cage's network");
    }
    if !testing::has_all(&["nsenter", "nft"]) {
        return;
    }
    let actions = ["connect-all 203.0.113.9:443 [2001:db8::1]:443 10.0.0.1:22", "raw"];
    let held = spawn(&prepare(network(&["a.example:443"]), &actions)).unwrap();
    let process = format!("--target={}", held.child.pid());
    let flushed = std::process::Command::new("nsenter")
        .args([&process, "--net"])
        .args(["nft", "flush", "ruleset"])
        .output()
        .unwrap();
    assert!(flushed.status.success(), "{}", String::from_utf8_lossy(&flushed.stderr));
    held.let_go();
    let done = held.finish().unwrap();
    assert_eq!(done.lines, [["ConnectionRefused"; 3].join(" ").as_str(), "0 sockets"]);
}
