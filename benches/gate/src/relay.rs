//! The least that a relay in user space can be: a thread for each direction of a connection, which
//! moves bytes from socket to socket through a pipe and does nothing else. It decides nothing, so what
//! it loses against a router is what any relay loses on this machine.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, pipe, splice};

use crate::server::{BULK_PORT, ECHO_PORT, SINK_PORT};
use crate::world::FAR;

/// The word that makes this program the relay.
pub(crate) const ROLE: &str = "__relay";

/// Relays the far side's ports on loopback until it is killed.
pub(crate) fn relay() -> io::Result<()> {
    let mut threads = Vec::new();
    for port in [BULK_PORT, ECHO_PORT, SINK_PORT] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        rustix::net::sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER)?;
        threads.push(std::thread::spawn(move || {
            for inside in listener.incoming().flatten() {
                // A client whose connection cannot be made sees it closed.
                let _closed = join(inside, port);
            }
        }));
    }
    for thread in threads {
        let _never = thread.join();
    }
    Ok(())
}

fn join(inside: TcpStream, port: u16) -> io::Result<()> {
    let outside = TcpStream::connect((FAR, port))?;
    inside.set_nodelay(true)?;
    outside.set_nodelay(true)?;
    let (inside_too, outside_too) = (inside.try_clone()?, outside.try_clone()?);
    let small = || std::thread::Builder::new().stack_size(128 * 1024);
    small().spawn(move || pass(&inside, &outside))?;
    small().spawn(move || pass(&outside_too, &inside_too))?;
    Ok(())
}

/// Moves everything one way.
fn pass(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (read, write) = pipe()?;
    fcntl_setpipe_size(&write, PIPE)?;
    let end = loop {
        let mut left = match splice(from, None, &write, None, CHUNK, SpliceFlags::MOVE) {
            Ok(0) => break Ok(()),
            Ok(length) => length,
            Err(errno) => break Err(errno.into()),
        };
        while left > 0 {
            left -= splice(&read, None, to, None, left, SpliceFlags::MOVE)?;
        }
    };
    to.shutdown(Shutdown::Write)?;
    end
}

const PIPE: usize = 512 * 1024;
const CHUNK: usize = 8 * 65_463;
/// As the gatekeeper's: what is read soon after it was written is read faster.
const SEND_BUFFER: usize = 256 * 1024;
