//! The cages of `stockade run` in the list that `ps` and `kill` read: what is shown of one, and the one that an id means.

use audit::Timestamp;
use cage::session::SessionId;
use cage::state::Locations;
pub(crate) use cage::state::runs::{Registered, Running, list};
use plan::Plan;
use policy::shown::shown;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;

/// Puts a run of this process into the list.
pub(crate) fn register(
    locations: &Locations,
    plan: &Plan,
    project: &str,
    session: Option<&SessionId>,
) -> Option<Registered> {
    let id = &plan.start.invocation;
    let argv: Vec<String> = plan.start.argv.iter().map(ToString::to_string).collect();
    let shown = json!({
        "id": id,
        "state": "running",
        "caged": true,
        "cage": plan.walls.cage,
        "pid": std::process::id(),
        "project": project,
        "argv": argv,
        "summary": plan.start.summary,
        "session": session.map(SessionId::as_str),
        "started_at": Timestamp::now().to_string(),
        "attached_to": "the terminal or the program that started it",
    });
    Registered::new(locations, id, &shown)
}

/// The run with this id, or whose id alone begins so.
pub(crate) fn find(locations: &Locations, id: &str) -> Result<Option<Running>, Failure> {
    let mut found = cage::state::runs::find(locations, id);
    match found.len() {
        0 | 1 => Ok(found.pop()),
        count => Err(Failure::new(
            Exit::No,
            format!("{count} cages have ids that begin with `{}`", shown(id)),
        )
        .help("give more of it: `stockade ps`")),
    }
}
