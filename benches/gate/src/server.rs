//! The servers of the far side: one that sends as much as it is asked for, one that takes as much as it is
//! sent, one that answers one byte with one byte, one that ends what comes, and one that knows every
//! name. Keep nothing.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

/// The word that makes this program the servers.
pub(crate) const ROLE: &str = "__serve";
/// Sends bytes: a client says how many, in eight bytes, big end first.
pub(crate) const BULK_PORT: u16 = 5001;
/// Answers each byte with a byte.
pub(crate) const ECHO_PORT: u16 = 5002;
/// Takes bytes and keeps none.
pub(crate) const SINK_PORT: u16 = 5003;
/// Takes connections and ends them at once.
pub(crate) const FLOOD_PORT: u16 = 5004;
/// Where names are asked.
pub(crate) const DNS_PORT: u16 = 53;

/// Serves until it is killed.
pub(crate) fn serve() -> io::Result<()> {
    let bulk = TcpListener::bind(("::", BULK_PORT))?;
    let echo = TcpListener::bind(("::", ECHO_PORT))?;
    let sink = TcpListener::bind(("::", SINK_PORT))?;
    let flood = TcpListener::bind(("::", FLOOD_PORT))?;
    let names = UdpSocket::bind(("::", DNS_PORT))?;
    let threads = [
        std::thread::spawn(move || accept(&bulk, send)),
        std::thread::spawn(move || accept(&echo, answer)),
        std::thread::spawn(move || accept(&sink, take)),
        std::thread::spawn(move || flood.incoming().for_each(drop)),
        std::thread::spawn(move || tell_names(&names)),
    ];
    println!("ready");
    for thread in threads {
        let _never = thread.join();
    }
    Ok(())
}

fn accept(listener: &TcpListener, serve: fn(TcpStream) -> io::Result<()>) {
    for connection in listener.incoming().flatten() {
        let small = std::thread::Builder::new().stack_size(128 * 1024);
        // A client that goes away early is its own business.
        let _served = small.spawn(move || serve(connection));
    }
}

fn send(mut connection: TcpStream) -> io::Result<()> {
    let block = vec![0_u8; BLOCK];
    let mut wanted = [0; 8];
    connection.read_exact(&mut wanted)?;
    let mut left = u64::from_be_bytes(wanted);
    while left > 0 {
        let size = left.min(BLOCK as u64);
        let part = block.get(..usize::try_from(size).unwrap_or(BLOCK)).unwrap_or(&block);
        connection.write_all(part)?;
        left -= size;
    }
    Ok(())
}

fn take(mut connection: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0_u8; BLOCK];
    while connection.read(&mut buffer)? > 0 {}
    Ok(())
}

fn answer(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut byte = [0];
    while connection.read(&mut byte)? == 1 {
        connection.write_all(&byte)?;
    }
    Ok(())
}

/// Every name has the far side's address, and no other record.
fn tell_names(socket: &UdpSocket) {
    let mut buffer = [0_u8; 512];
    while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
        let query = buffer.get(..length).unwrap_or_default();
        if let Some(answer) = answer_to(query) {
            let _sent = socket.send_to(&answer, peer);
        }
    }
}

fn answer_to(query: &[u8]) -> Option<Vec<u8>> {
    let name_end = 12 + query.get(12..)?.iter().position(|byte| *byte == 0)?;
    let question = query.get(12..name_end + 5)?;
    let is_address = question.get(question.len() - 4..question.len() - 2)? == [0, 1];
    let mut answer = query.get(..2)?.to_vec();
    answer.extend([0x85, 0x80, 0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
    answer.extend(question);
    if is_address {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 2]);
    }
    Some(answer)
}

const BLOCK: usize = 256 * 1024;
