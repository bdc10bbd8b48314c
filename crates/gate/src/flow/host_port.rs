//! Connections to a port of the cage's loopback that the Plan lets lead to the host's. What is spoken
//! there is the business of the two ends.

use std::sync::Arc;

use tokio::net::TcpStream;

use crate::cage::Cage;
use crate::relay::{relay, reset};

/// Relays one connection.
pub(super) async fn serve(cage: Arc<Cage>, stream: TcpStream, port: u16) {
    let outside = match cage.reach_host_port(port).await {
        Ok(outside) => outside,
        Err(_) => return reset(stream),
    };
    if relay(&stream, &outside, &cage.meter()).await.is_err() {
        reset(stream);
        reset(outside);
    }
}
