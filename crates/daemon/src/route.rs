//! Which operation an address and a method stand for: the one table of the API. The OpenAPI document
//! has the same paths, methods and names; a test compares.

use hyper::Method;

use crate::problem::{Code, Problem};
use crate::query::decoded;

#[cfg(test)]
mod tests;

/// Everything that can be asked for. The document has the same names, with a small first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Health,
    Status,
    Document,
    Doctor,
    Drain,
    BeginSession,
    ListSessions,
    ShowSession,
    EndSession,
    ListWorkspaces,
    ShowChanges,
    ApplyChanges,
    DiscardChanges,
    UndoApply,
    ListFiles,
    StatFile,
    ReadFile,
    WriteFile,
    RemoveFile,
    MakeDirectory,
    BatchFiles,
    SpawnCage,
    ListCages,
    ShowCage,
    CloseCage,
    ShowPlan,
    SignalCage,
    ResizeTerminal,
    WaitForCage,
    WriteInput,
    ReadOutput,
    AttachCage,
    CheckPolicy,
    ExplainPolicy,
    PolicySchema,
    ShowApproval,
    GiveApproval,
    TakeApprovalBack,
    ShowAudit,
    VerifyAudit,
    VerifyAuditAgainst,
    ExportAudit,
    AuditHead,
    AuditSchema,
    FollowEvents,
}

/// One line of the table.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// `{}` stands for one segment.
    pub(crate) path: &'static str,
    pub(crate) operation: Operation,
}

/// An operation and the segments that its path left open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) operation: Operation,
    pub(crate) segments: Vec<String>,
}

/// The operation that a request means.
pub(crate) fn find(method: &Method, path: &str) -> Result<Found, Problem> {
    for route in ROUTES.iter().filter(|route| route.method == *method) {
        let Some(segments) = segments_left_open(route.path, path) else { continue };
        let segments = segments.into_iter().map(decoded).collect::<Result<_, _>>()?;
        return Ok(Found { operation: route.operation, segments });
    }
    let allowed = methods_at(path);
    if allowed.is_empty() {
        let path = policy::shown::shown(path);
        return Err(Problem::new(Code::NotFound, format!("there is nothing at `{path}`"))
            .help("`/v1/openapi.json` lists everything that is"));
    }
    Err(Problem::new(Code::MethodNotAllowed, format!("`{method}` cannot be done here"))
        .help(format!("there is: {allowed}")))
}

/// The methods that a path has, as they are listed in a header; nothing for one that does not exist.
pub(crate) fn methods_at(path: &str) -> String {
    let there = ROUTES.iter().filter(|route| segments_left_open(route.path, path).is_some());
    there.map(|route| route.method.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a path has in the places that a pattern leaves open; none if it is another path.
fn segments_left_open<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    let mut open = Vec::new();
    let mut parts = path.split('/');
    for expected in pattern.split('/') {
        match (expected, parts.next()?) {
            ("{}", part) if !part.is_empty() => open.push(part),
            (expected, part) if expected == part => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(open)
}

const fn route(method: Method, path: &'static str, operation: Operation) -> Route {
    Route { method, path, operation }
}

/// The table.
pub(crate) static ROUTES: [Route; 45] = [
    route(Method::GET, "/v1/health", Operation::Health),
    route(Method::GET, "/v1/status", Operation::Status),
    route(Method::GET, "/v1/openapi.json", Operation::Document),
    route(Method::GET, "/v1/doctor", Operation::Doctor),
    route(Method::POST, "/v1/drain", Operation::Drain),
    route(Method::POST, "/v1/sessions", Operation::BeginSession),
    route(Method::GET, "/v1/sessions", Operation::ListSessions),
    route(Method::GET, "/v1/sessions/{}", Operation::ShowSession),
    route(Method::DELETE, "/v1/sessions/{}", Operation::EndSession),
    route(Method::GET, "/v1/sessions/{}/workspaces", Operation::ListWorkspaces),
    route(Method::GET, "/v1/sessions/{}/changes", Operation::ShowChanges),
    route(Method::POST, "/v1/sessions/{}/apply", Operation::ApplyChanges),
    route(Method::POST, "/v1/sessions/{}/discard", Operation::DiscardChanges),
    route(Method::POST, "/v1/sessions/{}/undo", Operation::UndoApply),
    route(Method::GET, "/v1/sessions/{}/files", Operation::ListFiles),
    route(Method::GET, "/v1/sessions/{}/stat", Operation::StatFile),
    route(Method::GET, "/v1/sessions/{}/file", Operation::ReadFile),
    route(Method::PUT, "/v1/sessions/{}/file", Operation::WriteFile),
    route(Method::DELETE, "/v1/sessions/{}/file", Operation::RemoveFile),
    route(Method::POST, "/v1/sessions/{}/directories", Operation::MakeDirectory),
    route(Method::POST, "/v1/sessions/{}/batch", Operation::BatchFiles),
    route(Method::POST, "/v1/cages", Operation::SpawnCage),
    route(Method::GET, "/v1/cages", Operation::ListCages),
    route(Method::GET, "/v1/cages/{}", Operation::ShowCage),
    route(Method::DELETE, "/v1/cages/{}", Operation::CloseCage),
    route(Method::GET, "/v1/cages/{}/plan", Operation::ShowPlan),
    route(Method::POST, "/v1/cages/{}/signal", Operation::SignalCage),
    route(Method::POST, "/v1/cages/{}/resize", Operation::ResizeTerminal),
    route(Method::GET, "/v1/cages/{}/wait", Operation::WaitForCage),
    route(Method::POST, "/v1/cages/{}/stdin", Operation::WriteInput),
    route(Method::GET, "/v1/cages/{}/logs/{}", Operation::ReadOutput),
    route(Method::GET, "/v1/cages/{}/attach", Operation::AttachCage),
    route(Method::POST, "/v1/policy/check", Operation::CheckPolicy),
    route(Method::POST, "/v1/policy/why", Operation::ExplainPolicy),
    route(Method::GET, "/v1/policy/schema", Operation::PolicySchema),
    route(Method::GET, "/v1/policy/approval", Operation::ShowApproval),
    route(Method::PUT, "/v1/policy/approval", Operation::GiveApproval),
    route(Method::DELETE, "/v1/policy/approval", Operation::TakeApprovalBack),
    route(Method::GET, "/v1/audit", Operation::ShowAudit),
    route(Method::GET, "/v1/audit/verify", Operation::VerifyAudit),
    route(Method::POST, "/v1/audit/verify", Operation::VerifyAuditAgainst),
    route(Method::GET, "/v1/audit/export", Operation::ExportAudit),
    route(Method::GET, "/v1/audit/head", Operation::AuditHead),
    route(Method::GET, "/v1/audit/schema", Operation::AuditSchema),
    route(Method::GET, "/v1/events", Operation::FollowEvents),
];
