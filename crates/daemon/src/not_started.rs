//! A start that failed, in the words of the API.

use advice::with_causes;
use cage::runner::RunError;
use cage::{RecordError, SpawnError};
use plan::Plan;

use crate::problem::{Code, Problem};

/// What a client is told. The plan of the cage, if there is one, helps to say why.
pub(crate) fn not_started(error: RunError, plan: Option<&Plan>) -> Problem {
    let (kind, sentence) = (error.kind(), with_causes(&error));
    match error {
        RunError::Spawn(SpawnError::Record(RecordError::Audit(error))) => error.into(),
        RunError::Spawn(SpawnError::Limits(_)) => Problem::new(Code::Start(kind), sentence)
            .help("`\"degraded_limits\": true` starts it with as much as can be held here")
            .help("`/v1/doctor` tells what is missing here"),
        RunError::Duplicate { .. } => Problem::new(Code::Conflict, sentence),
        RunError::Unsupported(_) => Problem::new(Code::BadRequest, sentence),
        RunError::Closing => Problem::new(Code::Draining, sentence),
        RunError::Kernel { .. } | RunError::LauncherGone => {
            Problem::new(Code::Start(kind), sentence)
                .help("`/v1/doctor` tells what is missing here")
        }
        RunError::Selection(_)
        | RunError::Prepare(_)
        | RunError::Spawn(_)
        | RunError::Workspace(_)
        | RunError::Begun { .. }
        | RunError::UncagedNotAllowed => advice::failed_start(error, plan).into(),
    }
}
