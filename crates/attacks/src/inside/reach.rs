//! The program that network sieges start: tries one way to a service of the host and leaves a mark
//! there.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use super::fail;

/// Sends the mark to an address: `tcp`, `tcp-mapped`, `tcp-by-name`, `tcp-from-child` or `udp`.
pub(super) fn reach(way: &str, address: &str, mark: &str) -> ExitCode {
    let Ok(address) = address.parse::<SocketAddr>() else {
        return fail("not an address");
    };
    let mark = format!("{mark};");
    let sent = match way {
        "tcp" => connect(address, &mark),
        "tcp-mapped" => connect(mapped(address), &mark),
        "tcp-by-name" => by_name(address.port(), &mark),
        "tcp-from-child" => from_child(address, mark.trim_end_matches(';')),
        "udp" => datagram(address, &mark),
        _ => Err(io::Error::other("no such way")),
    };
    match sent {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

/// Speaks to an abstract socket if the kernel's own list names it. To no other: beside this one there
/// may be arenas of other provers.
pub(super) fn speak_to_listed(mark: &str, wanted: &str) -> ExitCode {
    let list = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = list.lines().filter_map(|line| line.split_once('@'));
    let mut spoken = false;
    for (_, name) in names.filter(|(_, name)| name.trim_end() == wanted) {
        let name = name.trim_end();
        let connected = std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes())
            .and_then(|address| UnixStream::connect_addr(&address));
        let sent = connected.and_then(|mut stream| stream.write_all(format!("{mark};").as_bytes()));
        spoken |= sent.is_ok();
    }
    if spoken { ExitCode::SUCCESS } else { fail("no socket in the list") }
}

fn connect(address: SocketAddr, mark: &str) -> io::Result<()> {
    TcpStream::connect_timeout(&address, PATIENCE)?.write_all(mark.as_bytes())
}

fn mapped(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        IpAddr::V6(ip) => IpAddr::V6(ip),
    };
    SocketAddr::new(ip, address.port())
}

fn by_name(port: u16, mark: &str) -> io::Result<()> {
    let addresses = ("localhost", port).to_socket_addrs()?;
    let mut last = Err(io::ErrorKind::NotFound.into());
    for address in addresses {
        last = connect(address, mark);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// A child with no variable of its parent tries it.
fn from_child(address: SocketAddr, mark: &str) -> io::Result<()> {
    let program = std::env::current_exe()?;
    let words = ["__attack", "reach", "tcp", &address.to_string(), mark];
    let status = Command::new(program).args(words).env_clear().status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
}

fn datagram(address: SocketAddr, mark: &str) -> io::Result<()> {
    let any: IpAddr = match address.ip() {
        IpAddr::V4(_) => IpAddr::from([0, 0, 0, 0]),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.send_to(mark.as_bytes(), address)?;
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(3);
