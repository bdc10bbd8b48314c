//! Makes a world around a program: forks into the near network namespace, and from there into the far
//! one, connects them, starts the servers of both and then the program. Root needs no more than
//! network namespaces for that; anyone else gets them in a user namespace in which they stay who they
//! are, with no privilege left when the program starts.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Pid, WaitOptions, waitpid};
use sys::cable;
use sys::clone::{Forked, Namespaces, fork_into};

use super::marks::print;
use super::servers::{Role, Servers, anywhere};
use super::{WorldReport, zone};
use crate::inside::map_ids;

/// Runs a program in a world of its own and ends as it does. Where there can be no world, says so
/// and starts nothing.
pub(crate) fn world_main(program: &str, arguments: &[&str]) -> ExitCode {
    match fork_near(program, arguments) {
        Ok(code) => code,
        Err(error) => {
            print(&WorldReport::NoWorld { reason: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn fork_near(program: &str, arguments: &[&str]) -> io::Result<ExitCode> {
    let (mut gate, mut opener) = io::pipe()?;
    let (namespaces, forked) = match fork_into(Namespaces::NET, None) {
        Err(Errno::PERM) => {
            let namespaces = Namespaces::USER.and(Namespaces::NET);
            (namespaces, fork_into(namespaces, None))
        }
        forked => (Namespaces::NET, forked),
    };
    match forked.map_err(|errno| said("no network namespace", errno))? {
        Forked::Parent { pid, pidfd: _ } => {
            drop(gate);
            if namespaces.contains(Namespaces::USER) {
                let uid = rustix::process::geteuid().as_raw();
                let gid = rustix::process::getegid().as_raw();
                map_ids(pid, (uid, uid), (gid, gid))
                    .map_err(|error| said("no user namespace", error))?;
            }
            opener.write_all(b"!")?;
            Ok(code_of(wait_for(pid)?))
        }
        Forked::Child => {
            drop(opener);
            // Nobody opens the gate where the ids could not be mapped.
            if gate.read(&mut [0])? == 0 {
                std::process::exit(1);
            }
            let code = near(program, arguments).unwrap_or_else(|error| {
                print(&WorldReport::NoWorld { reason: error.to_string() });
                1
            });
            std::process::exit(code)
        }
    }
}

/// The near side's whole life; returns the program's exit code.
fn near(program: &str, arguments: &[&str]) -> io::Result<i32> {
    let (line, far_line) = UnixStream::pair()?;
    let far = match fork_into(Namespaces::NET, None)? {
        Forked::Parent { pid, pidfd: _ } => pid,
        Forked::Child => {
            drop(line);
            std::process::exit(i32::from(far(far_line).is_err()));
        }
    };
    drop(far_line);
    cable::lay(NEAR_END, FAR_END, far).map_err(|errno| said("no cable", errno))?;
    set_up(NEAR_END, zone::NEAR)?;
    cable::add_default_route(zone::ALLOWED.into()).map_err(|errno| said("no route", errno))?;
    // Not everybody's kernel lets users send echo requests; then there is nothing to attack there.
    let group = rustix::process::getegid();
    let _optional = std::fs::write(PING_GROUPS, format!("{group} {group}"));
    (&line).write_all(b"cabled\n")?;
    let mut answer = String::new();
    BufReader::new(&line).read_line(&mut answer)?;
    if answer != READY {
        return Err(io::Error::other(answer));
    }
    let servers = near_servers()?;
    let (stop, running) = io::pipe()?;
    let status = std::thread::scope(|scope| {
        scope.spawn(|| servers.serve(stop.as_fd()));
        let status = Command::new(program).args(arguments).status();
        drop(running);
        status
    });
    drop(line);
    wait_for(far)?;
    let status = status.map_err(|error| said(program, error))?;
    Ok(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

/// The far side's whole life: from the cable to the end of the line.
fn far(line: UnixStream) -> io::Result<()> {
    let mut word = String::new();
    BufReader::new(&line).read_line(&mut word)?;
    match far_servers() {
        Ok(servers) => {
            (&line).write_all(READY.as_bytes())?;
            servers.serve(line.as_fd())
        }
        Err(error) => (&line).write_all(format!("{error}\n").as_bytes()),
    }
}

/// Brings loopback and one end of the cable up.
fn set_up(end: &str, addresses: &[(std::net::IpAddr, u8)]) -> io::Result<()> {
    sys::loopback::bring_up().map_err(|errno| said("no loopback", errno))?;
    if has_v6() {
        for which in ["all", "default", "lo", end] {
            // Mostly as it is already, and without the file there is no such switch.
            let _optional =
                std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "0");
        }
    }
    for (address, length) in addresses.iter().filter(|(address, _)| address.is_ipv4() || has_v6()) {
        cable::add_address(end, *address, *length)
            .map_err(|errno| said(&format!("no address {address}"), errno))?;
    }
    cable::bring_up(end).map_err(|errno| said("the cable is dead", errno))
}

/// The host's own services, and proxies that let everybody through.
fn near_servers() -> io::Result<Servers> {
    let mut servers = Servers::default();
    for port in [zone::INWARD_PORT, zone::NAMED_PORT] {
        servers.listen(Role::Web, anywhere(has_v6(), port))?;
        servers.take_datagrams(Role::Web, anywhere(has_v6(), port))?;
    }
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    servers.listen(Role::Socks, local(zone::SOCKS_PORT))?;
    servers.listen(Role::HttpProxy, local(zone::PROXY_PORT))?;
    Ok(servers)
}

/// The internet, and machines that are not part of it.
fn far_servers() -> io::Result<Servers> {
    set_up(FAR_END, &[zone::FAR, zone::INWARD].concat())?;
    let mut servers = Servers::default();
    for port in [zone::HTTP_PORT, zone::TLS_PORT, zone::DNS_TLS_PORT, zone::OTHER_PORT] {
        servers.listen(Role::Web, anywhere(has_v6(), port))?;
    }
    servers.listen(Role::Names, anywhere(has_v6(), zone::DNS_PORT))?;
    let usable = |(address, _): &&(std::net::IpAddr, u8)| address.is_ipv4() || has_v6();
    for (address, _) in zone::FAR.iter().filter(usable) {
        // An answer has to come from the very address that was asked.
        servers.take_datagrams(Role::Names, SocketAddr::new(*address, zone::DNS_PORT))?;
        for port in zone::DATAGRAM_PORTS {
            servers.take_datagrams(Role::Web, SocketAddr::new(*address, port))?;
        }
    }
    for (address, _) in zone::INWARD.iter().filter(usable) {
        servers.listen(Role::Web, SocketAddr::new(*address, zone::INWARD_PORT))?;
    }
    servers
        .take_datagrams(Role::Web, SocketAddr::from((zone::NEIGHBOURS, zone::MULTICAST_PORT)))?;
    if let Some(socket) = servers.last_datagrams() {
        socket.join_multicast_v4(&zone::NEIGHBOURS, &zone::ALLOWED)?;
    }
    Ok(servers)
}

fn has_v6() -> bool {
    rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None).is_ok()
}

fn wait_for(process: Pid) -> io::Result<ExitStatus> {
    let status = waitpid(Some(process), WaitOptions::empty())?;
    let (_, status) = status.ok_or(io::ErrorKind::NotFound)?;
    Ok(ExitStatus::from_raw(status.as_raw()))
}

fn code_of(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn said(what: &str, source: impl Into<io::Error>) -> io::Error {
    io::Error::other(format!("{what}: {}", source.into()))
}

const NEAR_END: &str = "near0";
const FAR_END: &str = "far0";
const READY: &str = "ready\n";
const PING_GROUPS: &str = "/proc/sys/net/ipv4/ping_group_range";
