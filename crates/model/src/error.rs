//! What can go wrong when a model is asked, and whether it may go better the next time. Never has a key in it: what a
//! provider says is cut and searched before it is kept.

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::http::HttpError;
use crate::protocol::StreamError;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ModelError {
    /// Nothing was asked: the request, or where it would go, makes no sense.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The provider cannot be reached.
    #[error("`{address}` cannot be reached")]
    Connect {
        /// Where it is.
        address: String,
        /// What was tried last came to this.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to the model broke")]
    Broken(#[source] io::Error),
    /// What arrived is no HTTP.
    #[error("the model's server answers wrongly")]
    Http(#[from] HttpError),
    /// What arrived is not what the protocol says.
    #[error("the model's server streams wrongly")]
    Stream(#[from] StreamError),
    /// The provider says no.
    #[error("the model's server says {status}: {message}")]
    Status {
        /// Such as 401.
        status: u16,
        /// In its words.
        message: String,
        /// When it may be asked again, if it says so.
        retry_after: Option<Duration>,
        /// Whether it says that asking again is of no use.
        is_final: bool,
    },
    /// Nothing came for so long.
    #[error("nothing came from the model for {} seconds", .0.as_secs())]
    Silent(Duration),
    /// The answer took too long as a whole.
    #[error("the model's answer took longer than {} seconds", .0.as_secs())]
    Slow(Duration),
    /// The provider may be asked again, but only after longer than anybody waits.
    #[error("the model's server wants to be asked again in {} seconds at the earliest: {message}", .after.as_secs())]
    Busy {
        /// So long.
        after: Duration,
        /// In its words.
        message: String,
    },
    /// Somebody stopped it.
    #[error("it was cancelled")]
    Cancelled,
}

impl ModelError {
    /// Whether the same request may be answered the next time.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Status { is_final: true, .. } => false,
            Self::Status { status, .. } => {
                matches!(status, 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
            }
            Self::Connect { .. } | Self::Broken(_) | Self::Http(_) | Self::Silent(_) => true,
            Self::Stream(error) => error.may_pass(),
            Self::Refused(_) | Self::Slow(_) | Self::Busy { .. } | Self::Cancelled => false,
        }
    }

    /// When the provider may be asked again, if it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the conversation is longer than the model takes, as far as a provider's words tell.
    pub fn is_of_length(&self) -> bool {
        let Self::Status { status: 400 | 413, message, .. } = self else { return false };
        let message = message.to_ascii_lowercase();
        [
            "too long",
            "context length",
            "context window",
            "context_length",
            "too many tokens",
            "maximum context",
        ]
        .iter()
        .any(|words| message.contains(words))
    }
}

/// Why nothing was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A key would be sent for everybody to read.
    #[error("`{0}` is reached without TLS: a key is sent there only on this machine")]
    KeyInTheOpen(String),
    /// No authority is known by which to know the provider.
    #[error(
        "no certificates of authorities are installed: install `ca-certificates`, or name a file in `SSL_CERT_FILE`"
    )]
    NoAuthorities,
    /// The processor lacks what TLS needs.
    #[error(
        "this processor lacks instructions that TLS is built on: only models on this machine can be asked"
    )]
    Processor,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The provider's host is no name for TLS.
    #[error("`{0}` is no name that a certificate could have")]
    Name(String),
    /// The request is too large.
    #[error("the request has {bytes} bytes, and {most} are the most")]
    TooLarge {
        /// So many.
        bytes: usize,
        /// And no more.
        most: usize,
    },
}
