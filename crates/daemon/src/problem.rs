//! Why a request was not done, as every client sees it: a status, a stable code, one sentence and
//! what to do about it. One shape for all, `{"code": …, "message": …, "help": […]}`; one about the text
//! of a policy has its `diagnostics` as well.

use cage::{Fault, Kind};
use hyper::StatusCode;
use policy::text::Diagnostics;
use serde::Serialize;

/// A request that was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whose fault it is, in the words of HTTP.
    pub status: StatusCode,
    /// What a program tells it by.
    pub code: Code,
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub help: Vec<String>,
    /// Every error of a policy text with its place.
    pub diagnostics: Option<Box<Diagnostics>>,
}

/// Every code. The OpenAPI document lists them; a test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The request cannot be understood.
    BadRequest,
    /// The token is missing or wrong.
    Unauthorized,
    /// The caller is not one that this daemon serves.
    WrongPeer,
    /// There is no such thing, or no such path.
    NotFound,
    /// The path has no such method.
    MethodNotAllowed,
    /// The thing is not in a state in which that can be done.
    Conflict,
    /// The body is larger than the daemon takes.
    TooLarge,
    /// The request came too slowly.
    TooSlow,
    /// There are too many connections, or too many of something else.
    TooMany,
    /// The daemon ends and takes no new work.
    Draining,
    /// A start, or a question about one, failed: the kind says how.
    Start(Kind),
    /// The daemon failed.
    Internal,
}

impl Code {
    /// All that are not of a start.
    pub const ALL: [Self; 11] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::WrongPeer,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::TooLarge,
        Self::TooSlow,
        Self::TooMany,
        Self::Draining,
        Self::Internal,
    ];

    /// Its word, which does not change.
    pub fn word(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
            Self::WrongPeer => "wrong_peer",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::TooMany => "too_many",
            Self::Draining => "draining",
            Self::Start(kind) => kind.word(),
            Self::Internal => "internal",
        }
    }

    /// The status that goes with a code.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::WrongPeer => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Draining => StatusCode::SERVICE_UNAVAILABLE,
            Self::Start(kind) => match kind.fault() {
                Fault::Usage => StatusCode::BAD_REQUEST,
                Fault::Refused => StatusCode::FORBIDDEN,
                Fault::BadPolicy | Fault::NotFound | Fault::NotExecutable => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                Fault::CannotBuild | Fault::RecordLost => StatusCode::SERVICE_UNAVAILABLE,
            },
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A problem as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    code: &'static str,
    message: &'a str,
    help: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a Diagnostics>,
}

impl Problem {
    /// A problem with the status of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            status: code.status(),
            code,
            message: message.into(),
            help: Vec::new(),
            diagnostics: None,
        }
    }

    /// The same with one more line of help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Something of this name does not exist.
    pub(crate) fn no_such(what: &str, name: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} `{}`", policy::shown::shown(name)))
    }

    /// The bytes that are sent.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let Self { code, message, help, diagnostics, .. } = self;
        let sent = Sent { code: code.word(), message, help, diagnostics: diagnostics.as_deref() };
        // Strings always serialize; an empty body is still an answer with a status.
        serde_json::to_vec(&sent).unwrap_or_default()
    }
}

impl From<advice::Failure> for Problem {
    fn from(failure: advice::Failure) -> Self {
        // A request that makes no sense is one, whatever it asks for.
        let code = match failure.kind {
            Kind::Usage => Code::BadRequest,
            kind => Code::Start(kind),
        };
        let diagnostics = failure.message.diagnostics().cloned().map(Box::new);
        Self { help: failure.help.clone(), diagnostics, ..Self::new(code, failure.text()) }
    }
}
