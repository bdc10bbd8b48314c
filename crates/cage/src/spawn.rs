//! From a Plan to a running program and to its end. Undoes everything when a step fails: a cage
//! that is dropped is killed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use gate::settings::Settings;
use jail::{Born, Denial, End, Layers, LimitsHolder, ProgramStreams, Report, StartError};
use plan::Plan;
use rustix::io::Errno;

use crate::gatekeeper::{Gatekeeper, NetworkOutcome, Prepared, Registration};
use crate::outcome::{DeniedCall, EndReason, Outcome, SpawnError};

/// A cage whose program runs. Dropping it ends the cage.
#[derive(Debug)]
pub struct Running {
    born: Born,
    layers: Layers,
    started: Instant,
    terminal: Option<OwnedFd>,
    network: Option<Registration>,
    /// A gatekeeper that serves this cage alone.
    own_gatekeeper: Option<Gatekeeper>,
}

/// What a running cage says.
#[derive(Debug)]
pub enum Event {
    /// The program stopped on a terminal signal.
    Stopped,
    /// The program ended and nothing that it started is left. Pid 1 may still be ending, which
    /// [`Running::wait_until_gone`] waits for, and dropping as well.
    Ended(Box<Outcome>),
}

/// Starts the Plan's program in a cage, from a process with a single thread. `sources` are the
/// descriptors that `resolve` opened, in order. A Plan with a network gets a gatekeeper of its own,
/// which asks the host's resolvers.
pub fn spawn(
    plan: &Plan,
    sources: &[OwnedFd],
    streams: ProgramStreams,
) -> Result<Running, SpawnError> {
    let prepared = Gatekeeper::prepare(plan)?;
    // Forked first, so that it jails itself while the cage is born.
    let gatekeeper = match prepared.needs_gatekeeper() {
        true => Some(Gatekeeper::start(&[], Settings::default())?),
        false => None,
    };
    let mut born = jail::start(plan, sources, streams, LimitsHolder::Nobody)?;
    let network = connect(&mut born, &prepared, gatekeeper.as_ref())?;
    let mut running = Running::begin(born, network)?;
    running.keep(gatekeeper);
    Ok(running)
}

/// As [`spawn`], with a gatekeeper that may serve others as well.
pub fn spawn_through(
    gatekeeper: &Gatekeeper,
    plan: &Plan,
    sources: &[OwnedFd],
    streams: ProgramStreams,
) -> Result<Running, SpawnError> {
    let prepared = Gatekeeper::prepare(plan)?;
    let mut born = jail::start(plan, sources, streams, LimitsHolder::Nobody)?;
    let network = connect(&mut born, &prepared, Some(gatekeeper))?;
    Running::begin(born, network)
}

/// Hands the sockets of a newborn cage to the gatekeeper, which has confirmed that it serves them when
/// this returns. Without a network there is nothing to do.
pub(crate) fn connect(
    born: &mut Born,
    prepared: &Prepared<'_>,
    gatekeeper: Option<&Gatekeeper>,
) -> Result<Option<Registration>, SpawnError> {
    if !prepared.needs_gatekeeper() {
        return Ok(None);
    }
    let gatekeeper = gatekeeper.ok_or_else(|| {
        let reason =
            "the cage's policy allows network destinations, and it was given no gatekeeper";
        StartError::Unsupported(reason.to_owned())
    })?;
    let sockets = born.take_network()?;
    gatekeeper.register(prepared, &sockets).map(Some)
}

impl Running {
    /// Opens the gate of a cage and waits until its program runs.
    pub(crate) fn begin(born: Born, network: Option<Registration>) -> Result<Self, SpawnError> {
        Self::begin_with(born, network, || {})
    }

    /// As [`Self::begin`], with something to do while the program starts.
    pub(crate) fn begin_with(
        mut born: Born,
        network: Option<Registration>,
        meanwhile: impl FnOnce(),
    ) -> Result<Self, SpawnError> {
        let mut terminal = None;
        let mut meanwhile = Some(meanwhile);
        loop {
            let report = match born.next_report() {
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET) => None,
                report => report.map_err(SpawnError::Supervise)?,
            };
            match report {
                Some((Report::Terminal, mut descriptors)) => terminal = descriptors.pop(),
                Some((Report::Built, table)) => {
                    born.verify(&table)?;
                    drop(table);
                    let Some(meanwhile) = meanwhile.take() else {
                        return Err(SpawnError::Supervise(Errno::PROTO));
                    };
                    // They would count against a limit on processes.
                    born.reap_leftovers();
                    // One that ended in the meantime says why.
                    let _gone = born.open_gate();
                    meanwhile();
                }
                Some((Report::Started(layers), _)) => {
                    let (started, own_gatekeeper) = (Instant::now(), None);
                    return Ok(Self { born, layers, started, terminal, network, own_gatekeeper });
                }
                Some((Report::Failed(failure), _)) => return Err(failure.into()),
                Some((Report::Network(_), _)) => return Err(no_gatekeeper()),
                Some((Report::Stopped | Report::Ended { .. }, _)) => {
                    return Err(SpawnError::Supervise(Errno::PROTO));
                }
                None => return Err(StartError::Vanished.into()),
            }
        }
    }

    /// As [`Self::begin_with`], but the gate stays shut until `set_up` has had the program's terminal:
    /// a program asks for the size of its window in its first instructions.
    pub(crate) fn begin_on_terminal(
        born: Born,
        network: Option<Registration>,
        set_up: impl FnOnce(OwnedFd) -> Result<(), Errno>,
        meanwhile: impl FnOnce(),
    ) -> Result<Self, SpawnError> {
        match born.next_report().map_err(SpawnError::Supervise)? {
            Some((Report::Terminal, mut descriptors)) => {
                let terminal = descriptors.pop().ok_or(SpawnError::Supervise(Errno::PROTO))?;
                set_up(terminal).map_err(SpawnError::Supervise)?;
                Self::begin_with(born, network, meanwhile)
            }
            Some((Report::Failed(failure), _)) => Err(failure.into()),
            Some(_) => Err(SpawnError::Supervise(Errno::PROTO)),
            None => Err(StartError::Vanished.into()),
        }
    }

    /// The supervisor's end of the program's terminal, once.
    pub fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.terminal.take()
    }

    /// Pid 1 of the cage, as the host counts.
    pub fn pid(&self) -> rustix::process::Pid {
        self.born.pid()
    }

    /// Which of the layers that a kernel may lack are around the program.
    pub fn layers(&self) -> Layers {
        self.layers
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: i32) -> Result<(), Errno> {
        self.born.signal(signal)
    }

    /// Lets a stopped program go on.
    pub fn resume(&self) -> Result<(), Errno> {
        self.born.resume()
    }

    /// Lets the cage's first process go where it stays until its usage is known.
    pub(crate) fn dismiss(&self) {
        self.born.dismiss();
    }

    /// Kills everything in the cage.
    pub fn kill(&self) {
        self.born.kill();
    }

    /// Readable when [`Self::next_event`] will not wait.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.born.reports()
    }

    /// The cage at its gatekeeper, if it has a network.
    pub fn network(&self) -> Option<&Registration> {
        self.network.as_ref()
    }

    /// Lets the cage have a gatekeeper of its own.
    pub(crate) fn keep(&mut self, gatekeeper: Option<Gatekeeper>) {
        self.own_gatekeeper = gatekeeper;
    }

    /// The gatekeeper that serves this cage alone, if there is one.
    pub(crate) fn own_gatekeeper(&self) -> Option<&Gatekeeper> {
        self.own_gatekeeper.as_ref()
    }

    /// Waits for the next event. After [`Event::Ended`] there is none.
    pub fn next_event(&self) -> Result<Event, SpawnError> {
        loop {
            return match self.born.next_report() {
                Ok(Some((Report::Stopped, _))) => Ok(Event::Stopped),
                Ok(Some((Report::Ended { end, denials, lookups }, _))) => {
                    let mut outcome = self.outcome(end, &denials);
                    let asked = || NetworkOutcome::of_lookups(&lookups);
                    outcome.network = outcome.network.or_else(asked);
                    Ok(Event::Ended(outcome))
                }
                Ok(Some((Report::Failed(failure), _))) => Err(failure.into()),
                Ok(Some((
                    Report::Network(_) | Report::Terminal | Report::Built | Report::Started(_),
                    _,
                ))) => continue,
                // Pid 1 was killed from outside, and everything in the cage with it.
                Ok(None) | Err(Errno::CONNRESET) => {
                    self.wait_until_gone()?;
                    Ok(Event::Ended(self.outcome(End::Signalled(libc::SIGKILL), &[])))
                }
                Err(Errno::INTR) => continue,
                Err(errno) => Err(SpawnError::Supervise(errno)),
            };
        }
    }

    fn outcome(&self, end: End, denials: &[Denial]) -> Box<Outcome> {
        let (layers, duration) = (self.layers, self.started.elapsed());
        let denials: Vec<DeniedCall> = denials.iter().map(DeniedCall::from).collect();
        let reason = EndReason::of(end, &denials);
        let network = self.finish_network();
        Box::new(Outcome { end, reason, layers, denials, duration, network, usage: None })
    }

    fn finish_network(&self) -> Option<NetworkOutcome> {
        let outcome = self.network.as_ref().map(Registration::finish);
        // It goes while this process tells what happened.
        if let Some(gatekeeper) = &self.own_gatekeeper {
            gatekeeper.end();
        }
        outcome
    }

    /// Waits until nothing of the cage is left running. Its mounts go a moment later.
    pub fn wait_until_gone(&self) -> Result<(), SpawnError> {
        self.born.wait_until_gone().map_err(SpawnError::Supervise)
    }

    /// Waits for the end of the program and of its cage.
    pub fn wait(&self) -> Result<Outcome, SpawnError> {
        loop {
            if let Event::Ended(outcome) = self.next_event()? {
                self.wait_until_gone()?;
                return Ok(*outcome);
            }
        }
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events()
    }
}

/// A cage that brings sockets for a gatekeeper where there is none.
fn no_gatekeeper() -> SpawnError {
    let reason = "the cage's policy allows network destinations, and there is no gatekeeper to hold \
                  it to them; remove `net.allow` or pass `--no-net`";
    StartError::Unsupported(reason.to_owned()).into()
}
