//! Programs that know no proxy.

use tokio::net::TcpStream;

use super::support::{Gate, ask, echo_server, is_reset, listener};
use crate::settings::Settings;
use plan::network::{Family, GatekeeperPlan, SocketKind};

/// K81, K200: a connection that may not be made is reset at once, and on record.
#[tokio::test]
async fn a_refused_connection_is_reset_at_once() {
    let gate = Gate::start().await;
    let cage = gate.cage(&["a.test"]).await;
    let mut stream = TcpStream::connect(cage.any).await.unwrap();
    assert!(is_reset(&mut stream).await);
    let (target, port, _) = cage.denied().await;
    assert_eq!((target.as_str(), port), ("127.0.0.1", cage.any.port()));
}

/// A listener of the host's loopback is reached through `host_ports` and nothing else.
#[tokio::test]
async fn a_host_port_leads_to_the_hosts_loopback() {
    let gate = Gate::start().await;
    let port = echo_server().await;
    let plan = GatekeeperPlan { host_ports: vec![port], ..GatekeeperPlan::default() };
    let (socket, address) = listener();
    let sockets = vec![(SocketKind::HostPort { family: Family::V4, port }, socket)];
    let _channel = gate.register(&plan, Settings::default(), sockets).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    assert_eq!(ask(&mut stream, b"hello", 5).await, b"hello");
}
