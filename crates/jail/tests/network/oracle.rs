//! Routes and rules as the system's own tools read them back. Where a tool is missing, the test says
//! so and is skipped, or fails where everything is required.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;

use sys::clone::{Forked, Namespaces, fork_into};
use sys::nftables::{Delivery, LeadingRules};
use sys::route::Reach;

/// Runs `body` with all power over a network namespace of its own.
fn in_own_network(body: impl FnOnce()) {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    match fork_into(Namespaces::USER.and(Namespaces::NET), None).unwrap() {
        Forked::Child => {
            std::fs::write("/proc/self/setgroups", "deny").unwrap();
            std::fs::write("/proc/self/uid_map", format!("0 {} 1", uid.as_raw())).unwrap();
            std::fs::write("/proc/self/gid_map", format!("0 {} 1", gid.as_raw())).unwrap();
            sys::loopback::bring_up().unwrap();
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

/// The output of a tool, without indentation.
fn tool(words: &[&str]) -> Vec<String> {
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    let output = Command::new(words[0]).args(&words[1..]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

const OWN: [&str; 4] = [
    "ip daddr 127.0.0.0/8 accept",
    "ip daddr 192.0.0.8 accept",
    "ip6 daddr ::1 accept",
    "ip6 daddr 100:0:0:1::1 accept",
];

/// The rules that lead connections, and after them those about datagrams.
fn assert_listed(delivery: Delivery, leading: &[&str]) {
    in_own_network(|| {
        sys::nftables::install(LeadingRules { delivery, ..RULES }).unwrap();
        let lines = tool(&["nft", "list", "ruleset"]);
        let mut expected = vec!["table inet stockade {"];
        expected.extend(leading);
        expected.extend(["}", "chain audit {"]);
        expected.push("type filter hook output priority filter; policy accept;");
        expected.extend(["meta l4proto != udp accept", "th dport 53 accept"]);
        expected.extend(OWN);
        expected.extend(["log group 1 snaplen 64", "reject", "}", "}"]);
        // Versions of the tool differ in how they name some things.
        let names = [
            ("priority -100", "priority dstnat"),
            ("priority -150", "priority mangle"),
            ("reject with icmpx port-unreachable", "reject"),
        ];
        let same = |line: &String| {
            names.iter().fold(line.clone(), |line, (one, other)| line.replace(one, other))
        };
        assert_eq!(lines.iter().map(same).collect::<Vec<_>>(), expected);
    });
}

/// K81, K82, K116
pub(crate) fn nft_reads_the_rules_as_they_are_meant() {
    if !testing::has("nft") {
        return;
    }
    let mut leading = vec![
        "chain arrivals {",
        "type filter hook prerouting priority mangle; policy accept;",
        "meta l4proto != tcp accept",
        "@th,104,8 & 0x17 != 0x2 accept",
    ];
    leading.extend(OWN);
    leading.extend(["th dport 53 accept", "tproxy ip to 127.0.0.1:15001"]);
    leading.push("tproxy ip6 to [::1]:15001");
    assert_listed(Delivery::Assigned, &leading);
    let mut leading =
        vec!["chain output {", "type nat hook output priority dstnat; policy accept;"];
    leading.extend(OWN);
    leading.extend(["tcp dport 53 accept", "meta l4proto tcp redirect to :15001"]);
    assert_listed(Delivery::Translated, &leading);
}

/// K67, K81: where connections can only be translated, the kernel tells what they were made to.
pub(crate) fn translated_connections_tell_their_destination() {
    in_own_network(|| {
        sys::route::make_every_address_own(Reach::V4AndV6).unwrap();
        sys::nftables::install(LeadingRules { delivery: Delivery::Translated, ..RULES }).unwrap();
        for (listener, to) in
            [("127.0.0.1:15001", "203.0.113.9:443"), ("[::1]:15001", "[2001:db8::1]:8443")]
        {
            let listener = TcpListener::bind(listener).unwrap();
            let to: SocketAddr = to.parse().unwrap();
            let _client = TcpStream::connect(to).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let meant: SocketAddr = match to {
                SocketAddr::V4(_) => rustix::net::sockopt::ip_original_dst(&stream).unwrap().into(),
                SocketAddr::V6(_) => {
                    rustix::net::sockopt::ipv6_original_dst(&stream).unwrap().into()
                }
            };
            assert_eq!(meant, to);
        }
    });
}

const RULES: LeadingRules =
    LeadingRules { delivery: Delivery::Assigned, transparent_port: 15001, log_group: 1 };

/// K47, K82
pub(crate) fn ip_reads_the_routes_as_they_are_meant() {
    if !testing::has("ip") {
        return;
    }
    in_own_network(|| {
        sys::route::make_every_address_own(Reach::V4AndV6).unwrap();
        let routes = tool(&["ip", "route", "show", "table", "local", "default"]);
        let is_local = |line: &String| line.starts_with("local default dev lo");
        assert!(routes.len() == 1 && routes.iter().all(is_local), "{routes:?}");
        let routes = tool(&["ip", "-6", "route", "show", "table", "local", "default"]);
        assert!(routes.len() == 1 && routes.iter().all(is_local), "{routes:?}");
        let main = tool(&["ip", "route", "show", "table", "main"]);
        assert!(main.is_empty(), "{main:?}");
        let links = tool(&["ip", "-o", "link"]);
        assert_eq!(links.len(), 1, "{links:?}");
        let again = sys::route::make_every_address_own(Reach::V4AndV6).unwrap_err();
        assert_eq!(again.errno, rustix::io::Errno::EXIST);
    });
}
