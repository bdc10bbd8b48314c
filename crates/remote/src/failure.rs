//! Why a request failed: for a guest a number, for whoever looks a sentence, in which there is no credential.

use rustix::io::Errno;

/// A request that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {why}")]
pub struct Failure {
    /// What was tried, and with what.
    pub action: String,
    /// Why not.
    pub why: Why,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// There is nothing of this name.
    #[error("there is no such file")]
    Missing,
    /// There is no such bucket, container or folder.
    #[error("there is no {0}")]
    NoPlace(String),
    /// There is something of this name.
    #[error("there is one already")]
    Exists,
    /// It is another one by now.
    #[error("it has changed meanwhile")]
    Changed,
    /// The credential does not suffice, or is wrong.
    #[error("the other side refuses the credential (status {0})")]
    Refused(u16),
    /// Too many requests, also after some time.
    #[error("the other side wants fewer requests")]
    RateLimited,
    /// The other side is broken, also after some time.
    #[error("the other side failed (status {0})")]
    Server(u16),
    /// No answer in time.
    #[error("there was no answer in time")]
    TimedOut,
    /// No connection, or a lost one.
    #[error("no connection: {0}")]
    Connection(String),
    /// An answer that is not as long as it says, or as was asked for.
    #[error("the answer is {found} bytes long instead of {expected}")]
    Length {
        /// As it should be.
        expected: u64,
        /// As it is.
        found: u64,
    },
    /// An answer whose bytes are not what they should be.
    #[error("the bytes are not those of their checksum")]
    Checksum,
    /// An answer that nobody understands.
    #[error("the answer is not valid: {0}")]
    Answer(&'static str),
    /// More than may be.
    #[error("it is too large")]
    TooLarge,
    /// There is no room there.
    #[error("there is no room on the other side")]
    NoRoom,
    /// The other side cannot do this.
    #[error("the other side cannot do that")]
    Unable,
    /// More notes than are kept there, extended attributes among them.
    #[error("there is no room for all that is noted of it")]
    TooMuchNoted,
    /// It has as many names as one may have.
    #[error("it has too many names")]
    TooManyNames,
    /// A directory with more in it than is renamed.
    #[error("there is too much in it to be renamed")]
    TooMuchInside,
    /// A name that the other side cannot have.
    #[error("a name that the other side cannot have")]
    Name,
    /// A credential could not be read.
    #[error("{0}")]
    Credential(String),
}

impl Why {
    /// Whether another attempt may do better.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Server(_)
                | Self::TimedOut
                | Self::Connection(_)
                | Self::Length { .. }
                | Self::Checksum
        )
    }

    /// What a guest is told.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Missing | Self::NoPlace(_) => Errno::NOENT,
            Self::Exists => Errno::EXIST,
            Self::Changed => Errno::STALE,
            Self::Refused(_) | Self::Credential(_) => Errno::ACCESS,
            Self::RateLimited => Errno::AGAIN,
            Self::TimedOut => Errno::TIMEDOUT,
            Self::Connection(_) => Errno::HOSTUNREACH,
            Self::Server(_) | Self::Length { .. } | Self::Checksum | Self::Answer(_) => Errno::IO,
            Self::TooLarge => Errno::FBIG,
            Self::NoRoom | Self::TooMuchNoted => Errno::NOSPC,
            Self::TooManyNames => Errno::MLINK,
            Self::TooMuchInside => Errno::XDEV,
            Self::Unable => Errno::OPNOTSUPP,
            Self::Name => Errno::ILSEQ,
        }
    }
}

/// A failure as it is kept for whoever looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What failed and why.
    pub text: String,
    /// What the guest was told.
    pub errno: Errno,
}
