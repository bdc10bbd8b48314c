//! The exit codes of `stockade`, in one place; `--help`, the manual and `docs/cli.md` list them from
//! here. Never decides which one holds.

use std::process::ExitCode;

use cage::EndReason;

/// How this process ends when it is not by the caged program's own status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for was done.
    Success,
    /// What was asked for was done, and the answer is no.
    No,
    /// The command line makes no sense.
    Usage,
    /// A cage cannot be built here.
    CannotBuild,
    /// The policy is wrong, or names what does not exist.
    BadPolicy,
    /// The policy asks for more than it may have.
    Refused,
    /// The program's time was over.
    TimeExceeded,
    /// The program was found and cannot be executed.
    NotExecutable,
    /// The program was not found.
    NotFound,
    /// The program was killed because its record could not be kept up.
    RecordLost,
    /// The caged program's own status, or 128 and the number of the signal that ended it.
    Program(u8),
}

impl Exit {
    /// The number that the caller sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::CannotBuild => 122,
            Self::BadPolicy => 123,
            Self::TimeExceeded => 124,
            Self::Refused => 125,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::RecordLost => KILLED,
            Self::Program(status) => status,
        }
    }

    /// Why nothing ran, or not to its end, in a word for a program to compare.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::BadPolicy => "bad_policy",
            Self::NotFound => "not_found",
            Self::NotExecutable => "not_executable",
            Self::Usage => "usage",
            Self::TimeExceeded => "walltime_exceeded",
            Self::RecordLost => "record_lost",
            Self::Success | Self::No | Self::CannotBuild | Self::Program(_) => "cannot_build",
        }
    }

    /// How a run ended: as its program did, unless its time was over.
    pub(crate) fn of_run(end: jail::End, reason: EndReason) -> Self {
        match reason {
            EndReason::WalltimeExceeded => Self::TimeExceeded,
            // Also where the kernel killed one process of several and the others went on for a moment.
            EndReason::Oom | EndReason::WorkspaceFull => {
                Self::of_program(jail::End::Signalled(libc::SIGKILL))
            }
            EndReason::Exited
            | EndReason::Signalled
            | EndReason::Seccomp
            | EndReason::SessionEnded
            | EndReason::Cancelled
            | EndReason::SupervisorLost => Self::of_program(end),
        }
    }

    /// The status of a program that ended, as a shell would tell it.
    pub(crate) fn of_program(end: jail::End) -> Self {
        let status = match end {
            jail::End::Exited(status) => status,
            jail::End::Signalled(signal) => signal.saturating_add(SIGNAL_BASE),
        };
        Self::Program(u8::try_from(status).unwrap_or(u8::MAX))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// What every help page says about exit codes.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  the program's own   it ran; 128 + n if signal n ended it
  1                   the answer is no: the program would not have it (why), a wall did not hold
                      (prove), nothing was approved (allow), the log was changed (audit verify),
                      an executor's output is no answer (invoke), something was left (apply)
  2                   the command line makes no sense
  122                 a cage cannot be built here; `stockade doctor` says why
  123                 the policy is wrong: it does not parse, or a path that it names does not exist
  124                 the program's time was over, and it was ended
  125                 refused: the policy asks for more than it may have; see `stockade allow`
  126                 the program was found and cannot be executed
  127                 the program was not found";

const SIGNAL_BASE: i32 = 128;

/// What a shell tells of a program that SIGKILL ended.
const KILLED: u8 = 137;
