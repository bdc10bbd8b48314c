//! The routes to the far side that are compared, and how a client is started on each.

use std::io;
use std::process::{Command, Stdio};

use crate::client::{Measured, ROLE};
use crate::world::{FAR, NAME, Place, World, installed};

/// One route to the far side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) name: &'static str,
    start: Start,
    host: &'static str,
    socks: &'static str,
    name_server: Option<&'static str>,
    needs: Option<&'static str>,
}

/// Where its client runs.
#[derive(Clone, Copy, Debug)]
enum Start {
    In(Place),
    Caged,
}

/// All routes, the measure of all first.
pub(crate) const ROUTES: &[Route] = &[
    Route { name: LOOPBACK, start: Start::In(Place::Far), host: "127.0.0.1", ..PLAIN },
    Route { name: "veth", name_server: Some("203.0.113.2:53"), ..PLAIN },
    Route { name: NAT, start: Start::In(Place::Inner), needs: Some("nft"), ..PLAIN },
    Route { name: RELAY, host: "127.0.0.1", ..PLAIN },
    Route { name: SOCKS, socks: "127.0.0.1:1081", needs: Some("microsocks"), ..PLAIN },
    Route { name: GATEKEEPER, name_server: Some("127.0.0.1:53"), ..CAGED },
    Route { name: "gatekeeper, SOCKS", socks: "127.0.0.1:1080", ..CAGED },
];

/// What else answers questions about names.
pub(crate) const RESOLVER: Route =
    Route { name: DNSMASQ, name_server: Some("127.0.0.1:5300"), needs: Some("dnsmasq"), ..PLAIN };

impl Route {
    /// Whether its programs are installed.
    pub(crate) fn is_here(&self) -> bool {
        self.needs.is_none_or(installed)
    }

    /// Where it asks for names, if that is compared.
    pub(crate) fn name_server(&self) -> Option<&'static str> {
        self.name_server
    }

    /// Runs a client to its end: the kind of work, and the words after the host.
    pub(crate) fn run(&self, world: &World, work: &str, rest: &[&str]) -> io::Result<Measured> {
        let words = [&[work, self.host, self.socks], rest].concat();
        finish(self.command(world, &words), self.name)
    }

    /// The command of a client with these words, on one processor.
    pub(crate) fn pinned(&self, world: &World, words: &[&str]) -> Command {
        let free = self.command(world, words);
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]).arg(free.get_program()).args(free.get_args());
        for (name, value) in free.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = free.get_current_dir() {
            command.current_dir(directory);
        }
        command
    }

    /// The command of a client with these words.
    pub(crate) fn command(&self, world: &World, words: &[&str]) -> Command {
        let program = world.program();
        let mut command = match self.start {
            Start::In(place) => world.enter(place, &program),
            Start::Caged => {
                let mut command = world.caged(&["--net", NAME]);
                command.arg(program);
                command
            }
        };
        command.arg(ROLE).args(words);
        command
    }
}

/// Waits for a client and reads its last line.
pub(crate) fn finish(mut command: Command, name: &str) -> io::Result<Measured> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("{name}: {}: {text}{said}", output.status))
    })
}

const PLAIN: Route = Route {
    name: "",
    start: Start::In(Place::Near),
    host: FAR,
    socks: "-",
    name_server: None,
    needs: None,
};
const CAGED: Route = Route { start: Start::Caged, host: NAME, ..PLAIN };
pub(crate) const LOOPBACK: &str = "loopback";
pub(crate) const NAT: &str = "veth with NAT";
pub(crate) const RELAY: &str = "bare splice relay";
pub(crate) const SOCKS: &str = "microsocks";
pub(crate) const DNSMASQ: &str = "dnsmasq";
pub(crate) const GATEKEEPER: &str = "gatekeeper";
