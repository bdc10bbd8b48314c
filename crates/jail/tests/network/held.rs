//! A cage with its network's sockets in the hands of a test.

use std::io::Read;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use jail::{
    Child, End, Layers, LimitsHolder, ProgramStreams, Report, SetupFailure, StartError, Stream,
};
use plan::network::{Family, SocketKind};
use plan::{Access, BindPurpose, GatekeeperPlan, MountOp, NetworkPlan};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::support::{Prepared, guest};

/// A cage that runs.
pub(crate) struct Held {
    pub(crate) child: Child,
    pub(crate) sockets: Vec<(SocketKind, OwnedFd)>,
    output: std::io::PipeReader,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) lines: Vec<String>,
    pub(crate) layers: Layers,
}

/// A network with one rule, and nothing else.
pub(crate) fn network(allow: &[&str]) -> GatekeeperPlan {
    GatekeeperPlan {
        allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..GatekeeperPlan::default()
    }
}

/// A cage with this network whose program does these things.
pub(crate) fn prepare(network: GatekeeperPlan, actions: &[&str]) -> Prepared {
    let mut argv = vec![PROGRAM, crate::inside::MARK];
    argv.extend(actions);
    let mut prepared = Prepared::new(&argv);
    let (at, contents) = (guest(PROGRAM), "".into());
    prepared.plan.walls.mounts.push(MountOp::File { at, mode: 0o755, contents });
    let own = std::env::current_exe().unwrap();
    prepared.bind(own.to_str().unwrap(), PROGRAM, Access::ReadOnly, BindPurpose::Grant);
    prepared.plan.walls.network = NetworkPlan::Gatekeeper(network);
    prepared
}

/// Starts the cage up to its gate.
pub(crate) fn spawn(prepared: &Prepared) -> Result<Held, StartError> {
    let (output, writer) = std::io::pipe().unwrap();
    let both = writer.try_clone().unwrap();
    let streams = ProgramStreams {
        stdin: Stream::Null,
        stdout: Stream::Descriptor(OwnedFd::from(writer)),
        stderr: Stream::Descriptor(OwnedFd::from(both)),
    };
    let mut child = jail::start(&prepared.plan, &prepared.sources, streams, LimitsHolder::Nobody)?;
    let sockets = child.take_network()?;
    Ok(Held { child, sockets, output })
}

/// A cage whose program is running.
pub(crate) fn start(network: GatekeeperPlan, actions: &[&str]) -> Held {
    let held = spawn(&prepare(network, actions)).unwrap();
    held.let_go();
    held
}

impl Held {
    /// Lets the program run.
    pub(crate) fn let_go(&self) {
        self.child.verify_when_built().unwrap();
        self.child.open_gate().unwrap();
    }

    /// The socket of this kind.
    pub(crate) fn socket(&self, kind: SocketKind) -> BorrowedFd<'_> {
        let found = self.sockets.iter().find(|(known, _)| *known == kind);
        found.unwrap_or_else(|| panic!("{kind:?} is not among {:?}", self.kinds())).1.as_fd()
    }

    pub(crate) fn kinds(&self) -> Vec<SocketKind> {
        self.sockets.iter().map(|(kind, _)| *kind).collect()
    }

    /// The listener of this kind.
    pub(crate) fn listener(&self, kind: SocketKind) -> TcpListener {
        TcpListener::from(self.socket(kind).try_clone_to_owned().unwrap())
    }

    /// Waits for one connection at this socket.
    pub(crate) fn accept(&self, kind: SocketKind) -> std::net::TcpStream {
        wait_for(self.socket(kind), "a connection");
        let (stream, _) = self.listener(kind).accept().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    }

    /// Waits for the end of the program.
    pub(crate) fn finish(mut self) -> Result<Done, SetupFailure> {
        let mut layers = None;
        let end = loop {
            match self.child.next_report().unwrap().expect("pid 1 says how it ends").0 {
                Report::Started(started) => layers = Some(started),
                Report::Ended { end, .. } => break end,
                Report::Failed(failure) => return Err(failure),
                other => panic!("{other:?}"),
            }
        };
        self.child.wait_until_gone().unwrap();
        let mut output = String::new();
        self.output.read_to_string(&mut output).unwrap();
        assert_eq!(end, End::Exited(0), "{output}");
        let lines = output.lines().map(str::to_owned).collect();
        Ok(Done { lines, layers: layers.expect("it started") })
    }
}

/// Waits until a descriptor is readable.
pub(crate) fn wait_for(descriptor: BorrowedFd<'_>, what: &str) {
    let mut one = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut one, Some(&limit)), Ok(1), "{what} did not come");
}

/// Whether a descriptor is readable, or becomes so within a moment.
pub(crate) fn is_readable(descriptor: BorrowedFd<'_>, within: Duration) -> bool {
    let mut one = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    rustix::event::poll(&mut one, Some(&limit)) == Ok(1)
}

pub(crate) const FAMILIES: [Family; 2] = [Family::V4, Family::V6];
const PROGRAM: &str = "/network-test";
