//! What arrives at the gatekeeper's sockets, and as what.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use jail::NetworkState;
use plan::GatekeeperPlan;
use plan::network::{Family, SocketKind, Transport};

use crate::held::{FAMILIES, Held, network, start, wait_for};
use crate::support::guest;

fn answer(mut stream: std::net::TcpStream, text: &str) {
    let mut said = [0; 5];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"hello");
    stream.write_all(text.as_bytes()).unwrap();
}

fn family_of(address: &SocketAddr) -> Family {
    if address.is_ipv6() { Family::V6 } else { Family::V4 }
}

/// K67, K81, K112, K117, T36
pub(crate) fn tcp_arrives_with_its_destination() {
    let destinations = [
        "203.0.113.9:443",
        "198.18.0.7:80",
        "10.0.0.1:22",
        "169.254.169.254:80",
        "192.0.0.9:40000",
        "[2001:db8::1]:443",
        "[100::7]:8443",
        "[fd00:ec2::254]:80",
        "[::ffff:203.0.113.9]:443",
    ];
    let actions: Vec<String> = destinations.iter().map(|to| format!("talk {to}")).collect();
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let held = start(network(&["a.example:443"]), &actions);
    for to in destinations {
        let to: SocketAddr = to.parse().unwrap();
        // An address that stands for one of IPv4 goes the way of IPv4.
        let to = SocketAddr::new(to.ip().to_canonical(), to.port());
        let family = family_of(&to);
        let stream = held.accept(SocketKind::Transparent { family });
        assert_eq!(stream.local_addr().unwrap(), to);
        answer(stream, "gate");
    }
    let done = held.finish().unwrap();
    let expected: Vec<String> = destinations.iter().map(|to| format!("gate from {to}")).collect();
    assert_eq!(done.lines, expected);
    assert_eq!(done.layers.network, NetworkState::Tproxy);
}

/// K68, K80, K111
pub(crate) fn questions_arrive_with_their_server() {
    let servers = ["127.0.0.1:53", "8.8.8.8:53", "192.0.2.1:53", "[::1]:53", "[2001:db8::53]:53"];
    let mut actions: Vec<String> = servers.iter().map(|to| format!("ask {to}")).collect();
    actions.extend(servers.iter().map(|to| format!("talk {to}")));
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let held = start(network(&["a.example:443"]), &actions);
    for server in servers {
        let server: SocketAddr = server.parse().unwrap();
        let kind = SocketKind::Dns { family: family_of(&server), transport: Transport::Udp };
        let socket = held.socket(kind);
        wait_for(socket, "a question");
        let mut buffer = [0; 512];
        let question = sys::datagrams::receive(socket, &mut buffer).unwrap();
        assert_eq!(
            (&buffer[..question.length], question.destination),
            (&b"question"[..], server.ip())
        );
        sys::datagrams::send(socket, b"answer", question.destination, question.peer).unwrap();
    }
    for server in servers {
        let server: SocketAddr = server.parse().unwrap();
        let kind = SocketKind::Dns { family: family_of(&server), transport: Transport::Tcp };
        let stream = held.accept(kind);
        assert_eq!(stream.local_addr().unwrap(), server);
        answer(stream, "answer");
    }
    let done = held.finish().unwrap();
    let expected: Vec<String> = servers.iter().map(|to| format!("answer from {to}")).collect();
    assert_eq!(done.lines, [expected.clone(), expected].concat());
}

/// K113
pub(crate) fn proxies_and_host_ports_are_on_loopback() {
    let plan = GatekeeperPlan { host_ports: vec![5432], ..network(&["a.example:443"]) };
    let table = [
        ("127.0.0.1:1080", SocketKind::Socks),
        ("127.0.0.1:3128", SocketKind::HttpProxy),
        ("127.0.0.1:5432", SocketKind::HostPort { family: Family::V4, port: 5432 }),
        ("[::1]:5432", SocketKind::HostPort { family: Family::V6, port: 5432 }),
    ];
    let actions: Vec<String> = table.iter().map(|(to, _)| format!("talk {to}")).collect();
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let held = start(plan, &actions);
    for (to, kind) in table {
        let stream = held.accept(kind);
        assert_eq!(stream.local_addr().unwrap().to_string(), to);
        answer(stream, "gate");
    }
    assert_eq!(held.finish().unwrap().lines.len(), table.len());
}

/// K47
pub(crate) fn loopback_is_all_there_is() {
    let done = start(network(&["a.example:443"]), &["interfaces"]).finish().unwrap();
    assert_eq!(done.lines, ["lo"]);
}

/// K113, T45
pub(crate) fn own_addresses_stay_own() {
    let addresses = ["127.0.0.1", "127.1.2.3", "192.0.0.8", "::1", "100:0:0:1::1"];
    let actions: Vec<String> = addresses.iter().map(|address| format!("own {address}")).collect();
    let mut actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    actions.push("connect-all 127.0.0.1:9 [::1]:9 0.0.0.0:9 [::]:9 192.0.0.8:9");
    let held = start(network(&["a.example:443"]), &actions);
    let sockets: Vec<_> = held.sockets.iter().map(|(_, socket)| socket.try_clone()).collect();
    let done = held.finish().unwrap();
    let refused = ["ConnectionRefused"; 5].join(" ");
    let expected = addresses.iter().map(|address| format!("own {address}")).chain([refused]);
    assert_eq!(done.lines, expected.collect::<Vec<_>>());
    for socket in sockets {
        let readable = crate::held::is_readable(socket.unwrap().as_fd(), std::time::Duration::ZERO);
        assert!(!readable, "what stays inside was seen outside");
    }
}

/// K68: a resolver that leaves out families without an address asks for both.
pub(crate) fn names_of_either_family_can_be_asked_for() {
    let mut prepared = crate::held::prepare(network(&["name.example:443"]), &["resolve-hints"]);
    prepared.plan.walls.mounts.push(plan::MountOp::Directory { at: guest("/etc"), mode: 0o755 });
    prepared.plan.walls.mounts.push(plan::MountOp::File {
        at: guest("/etc/resolv.conf"),
        mode: 0o644,
        contents: "nameserver 127.0.0.1\n".into(),
    });
    let held = crate::held::spawn(&prepared).unwrap();
    held.let_go();
    let kind = SocketKind::Dns { family: Family::V4, transport: Transport::Udp };
    let mut kinds_asked = Vec::new();
    for _ in 0..2 {
        wait_for(held.socket(kind), "a question");
        let mut buffer = [0; 512];
        let question = sys::datagrams::receive(held.socket(kind), &mut buffer).unwrap();
        let bytes = &buffer[..question.length];
        let record = bytes[12 + 14..12 + 16].to_vec();
        let mut reply = bytes[..12 + 18].to_vec();
        (reply[2], reply[3]) = (0x81, 0x80);
        reply[10..12].copy_from_slice(&[0, 0]);
        reply[7] = 1;
        let address: IpAddr = if record == [0, 1] {
            "198.18.0.1".parse().unwrap()
        } else {
            "100::1".parse().unwrap()
        };
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        reply.extend([0xc0, 12, record[0], record[1], 0, 1, 0, 0, 0, 60, 0]);
        reply.push(u8::try_from(octets.len()).unwrap());
        reply.extend(octets);
        sys::datagrams::send(held.socket(kind), &reply, question.destination, question.peer)
            .unwrap();
        kinds_asked.push(record);
    }
    kinds_asked.sort();
    assert_eq!(kinds_asked, [[0, 1], [0, 28]]);
    let done = held.finish().unwrap();
    assert!(done.lines[0].contains("198.18.0.1") && done.lines[0].contains("100::1"), "{done:?}");
}

/// K67, K83: every kind is there once, and nobody in the cage has one.
pub(crate) fn sockets_are_none_of_pid_1s() {
    let held = start(network(&["a.example:443"]), &["sleep 300"]);
    let mut expected = vec![SocketKind::Socks, SocketKind::HttpProxy, SocketKind::DeniedUdp];
    for family in FAMILIES {
        expected.push(SocketKind::Transparent { family });
        expected.push(SocketKind::Dns { family, transport: Transport::Udp });
        expected.push(SocketKind::Dns { family, transport: Transport::Tcp });
    }
    let mut kinds = held.kinds();
    let order = |kind: &SocketKind| format!("{kind:?}");
    kinds.sort_by_key(order);
    expected.sort_by_key(order);
    assert_eq!(kinds, expected);
    assert_flags(&held);
    if rustix::process::getuid().is_root() {
        let descriptors = std::path::PathBuf::from(format!("/proc/{}/fd", held.child.pid()));
        std::thread::sleep(std::time::Duration::from_millis(150));
        // The control channel, the signals of children, the filter's listener and what takes hold
        // of the mounts when pid 1 ends: their namespace and the two ends of a channel to itself.
        assert_eq!(std::fs::read_dir(descriptors).unwrap().count(), 6);
    }
    held.finish().unwrap();
}

fn assert_flags(held: &Held) {
    for (kind, socket) in &held.sockets {
        let flags = rustix::fs::fcntl_getfl(socket).unwrap();
        assert!(flags.contains(rustix::fs::OFlags::NONBLOCK), "{kind:?} would block");
        let flags = rustix::io::fcntl_getfd(socket).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "{kind:?} would be inherited");
    }
}
