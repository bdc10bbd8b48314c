//! Ways past the gatekeeper to the host that it runs on: its loopback, its own address, its sockets
//! without a path. The cage has network, with a destination that leads nowhere. Attacks that need
//! names and servers of their own are tests of the command. T18, T36, T44, T45, T46

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::Arena;
use crate::arena::Services;
use crate::attack::{Outcome, Refused};
use crate::siege::{Siege, SiegeScene};

pub(crate) const SIEGES: &[Siege] = &[
    Siege::new("T36", "direct-connection", "connects to an address of the host itself", |scene| {
        reach(scene, "tcp", own)
    }),
    Siege::new(
        "T44",
        "mapped-connection",
        "connects to an IPv4 address written as IPv6",
        |scene| reach(scene, "tcp-mapped", own),
    ),
    Siege::new("T44", "datagram-to-host", "sends a datagram to the host's own address", |scene| {
        reach(scene, "udp", own)
    }),
    Siege::new("T44", "datagram-to-loopback", "sends a datagram to the host's loopback", |scene| {
        reach(scene, "udp", loopback)
    }),
    Siege::new("T45", "host-loopback", "connects to a service on the host's loopback", |scene| {
        reach(scene, "tcp", loopback)
    }),
    Siege::new("T45", "host-loopback-v6", "the same by IPv6", |scene| {
        reach(scene, "tcp", loopback_v6)
    }),
    Siege::new("T45", "host-loopback-by-name", "the same by the name `localhost`", |scene| {
        reach(scene, "tcp-by-name", loopback)
    }),
    Siege::new("T46", "connection-by-child", "lets a child without variables connect", |scene| {
        reach(scene, "tcp-from-child", own)
    }),
    Siege::new(
        "T18",
        "listed-abstract-sockets",
        "speaks to the abstract sockets that the kernel lists",
        |scene| {
            let name = scene.name;
            let wanted = scene.arena().names.abstract_stream.clone();
            run(scene, &["listed", name, &wanted])
        },
    ),
];

fn own(services: Services) -> Option<SocketAddr> {
    services.own
}

fn loopback(services: Services) -> Option<SocketAddr> {
    Some(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), services.loopback))
}

fn loopback_v6(services: Services) -> Option<SocketAddr> {
    services.loopback_v6.map(|port| SocketAddr::new(IpAddr::from(Ipv6Addr::LOCALHOST), port))
}

fn reach(
    scene: &mut SiegeScene<'_>,
    way: &str,
    target: fn(Services) -> Option<SocketAddr>,
) -> Result<Outcome, Refused> {
    let Some(address) = target(scene.arena().services) else {
        return Ok(Outcome::NotApplicable("the host has no such address".to_owned()));
    };
    let name = scene.name;
    run(scene, &["reach", way, &address.to_string(), name])
}

fn run(scene: &mut SiegeScene<'_>, words: &[&str]) -> Result<Outcome, Refused> {
    let attacker = Arena::attacker(&scene.arena().project);
    let head = [attacker.into_os_string(), "__attack".into()];
    let mut request = scene.request(head.into_iter().chain(words.iter().map(Into::into)));
    request.flags = vec!["--net".into(), NOWHERE.into()];
    scene.run_and_judge(&request)
}

/// A name that never leads anywhere (RFC 2606).
const NOWHERE: &str = "nowhere.invalid";
