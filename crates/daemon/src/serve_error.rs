//! Why a daemon does not serve.

use cage::Kind;
use rustix::io::Errno;

use crate::instance::InstanceError;
use crate::problem::Problem;

/// Why a daemon does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its socket cannot be had.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// Its user's surroundings cannot be told.
    #[error(transparent)]
    Surroundings(#[from] cage::resolve::SurroundingsError),
    /// There is no place for its state.
    #[error(transparent)]
    State(#[from] cage::state::StateError),
    /// The record cannot be kept.
    #[error("the record cannot be kept")]
    Audit(#[from] audit::AuditError),
    /// Sessions cannot be kept.
    #[error("sessions cannot be kept")]
    Sessions(#[from] cage::session::SessionError),
    /// The user's configuration is wrong.
    #[error("the configuration cannot be used: {}", .0.text())]
    Configuration(Box<advice::Failure>),
    /// The processes that start cages do not start.
    #[error("no cages can be started")]
    Runner(#[from] cage::runner::RunError),
    /// An address cannot be had.
    #[error("cannot listen on `{address}`: {}", std::io::Error::from(*errno))]
    Listen {
        /// Which.
        address: std::net::SocketAddr,
        /// The kernel's answer.
        errno: Errno,
    },
    /// The kernel refused what a daemon needs.
    #[error("cannot {call}: {}", std::io::Error::from(*errno))]
    Kernel {
        /// What for.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
}

impl ServeError {
    pub(crate) fn kernel(call: &'static str, error: &std::io::Error) -> Self {
        Self::Kernel { call, errno: Errno::from_io_error(error).unwrap_or(Errno::IO) }
    }
}

impl From<advice::Failure> for ServeError {
    fn from(failure: advice::Failure) -> Self {
        Self::Configuration(Box::new(failure))
    }
}

impl From<audit::AuditError> for Problem {
    fn from(error: audit::AuditError) -> Self {
        use crate::problem::Code;
        Self::new(Code::Start(Kind::RecordUnavailable), advice::with_causes(&error))
            .help("nothing is started that cannot be recorded: make room, or mend the disk")
    }
}
