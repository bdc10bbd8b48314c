//! Unix sockets of the host's services: by path, by abstract name, and by the variables that lead
//! to them. T31, T32, T33

use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack::new("T31", "socket-by-path", "connects to a service's socket", |scene| {
        speak(scene, UnixStream::connect(scene.outside.join("agent.sock"))?)
    })
    .harms(),
    Attack::new("T31", "socket-through-link", "connects through a link in the project", |scene| {
        speak(scene, UnixStream::connect(scene.project.join("links/outside/agent.sock"))?)
    })
    .harms(),
    Attack::new("T31", "socket-through-proc", "connects through `/proc/self/root`", |scene| {
        let socket = scene.outside.join("agent.sock");
        let below = socket.strip_prefix("/").unwrap_or(&socket);
        speak(scene, UnixStream::connect(Path::new("/proc/self/root").join(below))?)
    })
    .harms(),
    Attack::new(
        "T31",
        "agent-by-variable",
        "connects to the agent that a variable names",
        |scene| {
            let named = std::env::var_os("SSH_AUTH_SOCK");
            let Some(path) = named else {
                return Ok(Outcome::Failed("no such variable".to_owned()));
            };
            speak(scene, UnixStream::connect(path)?)
        },
    )
    .harms(),
    Attack::new("T31", "well-known-sockets", "looks for sockets of well-known services", |scene| {
        let own = scene.outside.join("agent.sock");
        let candidates = WELL_KNOWN.iter().map(Path::new).chain([own.as_path()]);
        match candidates.into_iter().find(|path| path.exists()) {
            Some(path) => Ok(Outcome::Succeeded(format!("{} is there", path.display()))),
            None => Ok(Outcome::Failed(format!("none of {}", WELL_KNOWN.len() + 1))),
        }
    }),
    Attack::new("T32", "abstract-stream", "connects to an abstract socket", |scene| {
        let address = SocketAddr::from_abstract_name(&scene.names.abstract_stream)?;
        speak(scene, UnixStream::connect_addr(&address)?)
    })
    .harms(),
    Attack::new("T32", "abstract-datagram", "sends to an abstract socket, unconnected", |scene| {
        let address = SocketAddr::from_abstract_name(&scene.names.abstract_datagram)?;
        let socket = UnixDatagram::unbound()?;
        socket.send_to_addr(format!("{};", scene.mark()).as_bytes(), &address)?;
        sent()
    })
    .harms(),
    Attack::new("T33", "bus-by-variable", "connects to the bus that a variable names", |scene| {
        let named = std::env::var("DBUS_SESSION_BUS_ADDRESS").unwrap_or_default();
        let Some(path) = named.strip_prefix("unix:path=") else {
            return Ok(Outcome::Failed("no such variable".to_owned()));
        };
        speak(scene, UnixStream::connect(path)?)
    })
    .harms(),
    Attack::new("T33", "bus-by-path", "connects to the bus where it is", |scene| {
        speak(scene, UnixStream::connect(scene.outside.join("bus"))?)
    })
    .harms(),
];

fn speak(scene: &Scene<'_>, mut stream: UnixStream) -> Result<Outcome, Refused> {
    stream.write_all(format!("{};", scene.mark()).as_bytes())?;
    sent()
}

fn sent() -> Result<Outcome, Refused> {
    Ok(Outcome::Attempted("connected and sent".to_owned()))
}

const WELL_KNOWN: &[&str] = &[
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/libvirt/libvirt-sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/nscd/socket",
    "/run/snapd.socket",
    "/run/cups/cups.sock",
    "/tmp/.X11-unix/X0",
    "/run/user/1000/bus",
    "/run/user/1000/systemd/private",
    "/run/user/1000/gnupg/S.gpg-agent",
    "/run/user/1000/keyring/control",
    "/run/user/1000/wayland-0",
    "/run/user/1000/pipewire-0",
];
