//! Packets between a supervisor and its gatekeeper.

use std::os::fd::AsFd;

use plan::network::{GatekeeperPlan, SocketKind};
use rustix::io::Errno;

use super::{CageOrder, Channel, Order, Registration, Waiting, read_plan, write_plan};
use crate::settings::Settings;

/// K48, K83: what a supervisor sends arrives as it was, with its descriptors in order.
#[test]
fn an_order_arrives_with_its_descriptors() {
    let (one, other) = Channel::pair().unwrap();
    let order = Order::Register(Box::new(Registration {
        invocation: "01HZX".to_owned(),
        project: "/work".to_owned(),
        settings: Settings { proxy: None, log_allowed: 0.5 },
        kinds: vec![SocketKind::Socks, SocketKind::HttpProxy],
        published: vec![8080],
    }));
    let plan = GatekeeperPlan {
        allow: (0..20_000).map(|i| format!("host{i}.example.com:443").parse().unwrap()).collect(),
        ..GatekeeperPlan::default()
    };
    let file = write_plan(&plan).unwrap();
    one.send(&order, &[file.as_fd()], Waiting::Allowed).unwrap();
    let (received, descriptors) = other.receive::<Order>(Waiting::Refused).unwrap().unwrap();
    assert_eq!(received, order);
    assert_eq!(read_plan(descriptors[0].as_fd()), Ok(plan));
}

#[test]
fn what_is_no_order_is_refused() {
    let (one, other) = Channel::pair().unwrap();
    one.send(&"hello", &[], Waiting::Allowed).unwrap();
    assert_eq!(other.receive::<CageOrder>(Waiting::Allowed).unwrap_err(), Errno::BADMSG);
    let long = "x".repeat(super::MAX_PACKET);
    assert_eq!(one.send(&long, &[], Waiting::Allowed), Err(Errno::MSGSIZE));
}
