//! Why a request was not done, as every client sees it: a status, a stable code, one sentence and
//! what to do about it. One shape for all, `{"code": …, "message": …, "help": […]}`; one about the text
//! of a policy has its `diagnostics` as well.

use counsel::Fault;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// The policy does not parse, or a path that it names does not exist or cannot be granted.
    BadPolicy,
    /// The policy asks for more than it may have.
    Refused,
    /// A cage cannot be built here.
    CannotBuild,
    /// The program is not in the cage.
    ProgramNotFound,
    /// The program is there and cannot be executed.
    ProgramNotExecutable,
    /// The record of what happens cannot be kept, so nothing is done.
    AuditFailed,
    /// The daemon failed.
    Internal,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 17] = [
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
        Self::BadPolicy,
        Self::Refused,
        Self::CannotBuild,
        Self::ProgramNotFound,
        Self::ProgramNotExecutable,
        Self::AuditFailed,
        Self::Internal,
    ];

    /// The status that goes with a code.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::WrongPeer | Self::Refused => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::BadPolicy | Self::ProgramNotFound | Self::ProgramNotExecutable => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::Draining | Self::CannotBuild | Self::AuditFailed => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A problem as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    code: Code,
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
        let sent = Sent { code: *code, message, help, diagnostics: diagnostics.as_deref() };
        // Strings always serialize; an empty body is still an answer with a status.
        serde_json::to_vec(&sent).unwrap_or_default()
    }
}

impl From<counsel::Failure> for Problem {
    fn from(failure: counsel::Failure) -> Self {
        let code = match failure.fault {
            Fault::Usage => Code::BadRequest,
            Fault::BadPolicy => Code::BadPolicy,
            Fault::Refused => Code::Refused,
            Fault::CannotBuild => Code::CannotBuild,
            Fault::NotExecutable => Code::ProgramNotExecutable,
            Fault::NotFound => Code::ProgramNotFound,
            Fault::RecordLost => Code::AuditFailed,
        };
        let diagnostics = failure.message.diagnostics().cloned().map(Box::new);
        Self { help: failure.help.clone(), diagnostics, ..Self::new(code, failure.text()) }
    }
}
