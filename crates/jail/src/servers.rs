//! Processes inside of the cage that serve calls as files: our own program, which the cage shows, with the descriptor on
//! which the kernel asks as its input. They are under everything that the cage's program is under, and end with the cage;
//! what they are asked to do they do with its authority.

use std::os::fd::{AsFd as _, OwnedFd};

use plan::{INSIDE_PROGRAM, Plan};
use rustix::fs::{CWD, Mode, OFlags};

use crate::program::{Prepared, Streams, c_string};
use crate::tree::Unserved;
use crate::{SetupFailure, Step};

/// Those of one cage, to be started before its program.
pub(crate) struct Servers(Vec<Server>);

struct Server {
    program: Prepared,
    device: OwnedFd,
    nothing: OwnedFd,
}

impl Servers {
    /// Lays out everything that they need.
    pub(crate) fn prepare(plan: &Plan, unserved: Vec<Unserved>) -> Result<Self, SetupFailure> {
        unserved
            .into_iter()
            .map(|Unserved { at, device, inside }| {
                let failed = |errno| SetupFailure::kernel(Step::Serve, at.to_string(), errno);
                let calls = inside.map(|inside| inside.to_string()).unwrap_or_default();
                let words = ["stockade", INSIDE_WORD, &calls].map(Into::into);
                let candidates = vec![c_string(INSIDE_PROGRAM.as_bytes())?];
                let flags = OFlags::RDWR | OFlags::CLOEXEC;
                let nothing = rustix::fs::openat(CWD, c"/dev/null", flags, Mode::empty());
                Ok(Server {
                    program: Prepared::new(plan, candidates, &words)?,
                    device,
                    nothing: nothing.map_err(failed)?,
                })
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Starts them. Whoever uses their files waits until they serve.
    pub(crate) fn start(self) -> Result<(), SetupFailure> {
        self.0.iter().try_for_each(|server| {
            let nothing = server.nothing.as_fd();
            let descriptors = [server.device.as_fd(), nothing, nothing];
            server.program.start(&Streams { descriptors, terminal: None }).map(drop)
        })
    }
}

/// By which our own program knows what it is to do, in a cage.
pub const INSIDE_WORD: &str = "__serve-inside";
