//! A start that failed, in the words of the API.

use cage::RecordError;
use cage::runner::RunError;
use counsel::{Failure, with_causes};
use plan::Plan;

use crate::problem::{Code, Problem};

/// What a client is told. The plan of the cage, if there is one, helps to say why.
pub(crate) fn not_started(error: RunError, plan: Option<&Plan>) -> Problem {
    let (kind, sentence) = (error.kind(), with_causes(&error));
    match error {
        RunError::Selection(error) => Failure::from(error).into(),
        RunError::Prepare(error) => Failure::from(error).into(),
        RunError::Spawn(error) => match plan {
            Some(plan) => counsel::failed_start(error, plan).into(),
            None => Failure::from(error).into(),
        },
        RunError::Record(RecordError::Audit(error)) => error.into(),
        RunError::Duplicate { .. } => Problem::new(Code::Conflict, sentence),
        RunError::Unsupported(_) => Problem::new(Code::BadRequest, sentence),
        RunError::Closing => Problem::new(Code::Draining, sentence),
        RunError::Limits(_) => Problem::new(Code::Start(kind), sentence)
            .help("`\"degraded_limits\": true` starts it with as much as can be held here")
            .help("`/v1/doctor` tells what is missing here"),
        RunError::Kernel { .. } | RunError::LauncherGone => {
            Problem::new(Code::Start(kind), sentence)
                .help("`/v1/doctor` tells what is missing here")
        }
        RunError::Record(RecordError::State(_)) | RunError::UncagedNotAllowed => {
            Problem::new(Code::Start(kind), sentence)
        }
    }
}
