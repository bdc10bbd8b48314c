//! Connections of programs that know nothing of a gatekeeper: where they were meant to go is what the
//! kernel says, and the only thing that a refused one sees is a reset.

use std::net::SocketAddr;
use std::sync::Arc;

use rustix::net::sockopt;
use tokio::net::TcpStream;

use super::inspected::{Conversation, converse};
use crate::cage::Cage;
use crate::event::Route;
use crate::relay::reset;

/// A connection that was redirected to the listener.
pub(super) async fn serve_redirected(cage: Arc<Cage>, stream: TcpStream) {
    let v4 = sockopt::ip_original_dst(&stream).map(SocketAddr::V4);
    let meant = v4.or_else(|_| sockopt::ipv6_original_dst(&stream).map(SocketAddr::V6));
    match meant {
        Ok(meant) => serve(cage, stream, meant).await,
        // It was made to the listener itself, and so to nothing.
        Err(_) => reset(stream),
    }
}

/// A connection that arrived at the address which it was made to.
pub(super) async fn serve_as_addressed(cage: Arc<Cage>, stream: TcpStream) {
    match stream.local_addr() {
        Ok(meant) => serve(cage, stream, meant).await,
        Err(_) => reset(stream),
    }
}

async fn serve(cage: Arc<Cage>, stream: TcpStream, meant: SocketAddr) {
    let port = meant.port();
    let target = match cage.target_of(meant.ip()) {
        Ok(target) => target,
        Err(denial) => {
            cage.deny(&meant.ip().to_canonical(), port, denial, Route::Transparent);
            return reset(stream);
        }
    };
    let way = Route::Transparent;
    match cage.reach(&target, port, way).await {
        Ok(outside) => {
            let early = Vec::new();
            converse(&cage, Conversation { stream, outside, target, port, way, early }).await;
        }
        Err(_) => reset(stream),
    }
}
