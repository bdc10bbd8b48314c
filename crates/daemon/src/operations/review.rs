//! Reviews of sessions: what programs changed in their view of a directory, and bringing that to the host, throwing it
//! away and taking it back. The same as `stockade diff`, `apply`, `discard` and `undo`; nobody is asked anything, so
//! what runs code is applied only where it is named.

use std::collections::BTreeSet;
use std::sync::Arc;

use audit::AuditError;
use hyper::Request;
use hyper::body::Incoming;
use plan::HostPath;
use policy::shown::shown;
use review::{
    AppliedReport, DiscardedReport, Merging, Overview, Place, ReviewError, Selection, Text,
    TreePath, UndoneReport, WorkspaceError,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocking;
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::log;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::sessions::id;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Apply {
    workspace: Option<HostPath>,
    paths: Vec<TreePath>,
    overwrite: Vec<TreePath>,
    confirm: Vec<TreePath>,
    merge: bool,
    dry_run: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Discard {
    workspace: Option<HostPath>,
    paths: Vec<TreePath>,
    all: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Undo {
    workspace: Option<HostPath>,
    #[serde(default)]
    overwrite: Vec<TreePath>,
}

/// The workspaces of a session, with what they hold.
pub(super) async fn workspaces(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let daemon = Arc::clone(daemon);
    let listed = blocking(move || {
        let id = id(&name)?;
        // A session that does not exist has no workspaces, and is not an empty list.
        daemon.sessions.store().look(&id)?;
        let overviews = review::overviews(daemon.sessions.store(), &id)?;
        let listed = overviews.iter().map(|(path, overview)| described(path, overview));
        listed.collect::<Result<Vec<Value>, Problem>>()
    })
    .await?;
    answer::json(&json!({ "workspaces": listed }))
}

/// What programs have changed.
pub(super) async fn changes(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["workspace", "path", "diff"])?;
    let wanted = query.text("workspace").map(host_path).transpose()?;
    let path = query.text("path").map(tree_path).transpose()?;
    let text = if query.flag("diff")? { Text::UpTo(MOST_TEXT) } else { Text::LeftOut };
    let daemon = Arc::clone(daemon);
    let shown = blocking(move || {
        let places = Place::all(daemon.sessions.store(), &id(&name)?)?;
        let mut workspaces = Vec::new();
        for place in &places {
            if wanted.as_ref().is_some_and(|wanted| wanted != place.path()) {
                continue;
            }
            let looked = place.look(&daemon.log)?;
            let changes = looked.changes.named_by(path.as_slice());
            let report = review::report_changes(place.workspace(), &changes, text);
            let mut value = to_value(&report.map_err(ReviewError::from)?)?;
            if let Value::Object(fields) = &mut value {
                fields.insert("path".to_owned(), json!(place.path()));
                fields.insert("in_use".to_owned(), json!(looked.in_use));
            }
            workspaces.push(value);
        }
        if workspaces.is_empty()
            && let Some(wanted) = &wanted
        {
            return Err(no_such(wanted, &places));
        }
        Ok(json!({ "session": name, "workspaces": workspaces }))
    })
    .await?;
    answer::json(&shown)
}

/// Brings changes to the host.
pub(super) async fn apply(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let asked: Apply = crate::request::json(request).await?;
    let daemon = Arc::clone(daemon);
    let done = blocking(move || {
        let places = Place::all(daemon.sessions.store(), &id(&name)?)?;
        let place = only(&places, asked.workspace.as_ref())?;
        let Apply { paths, overwrite, confirm, merge, dry_run, .. } = asked;
        let confirmed: BTreeSet<TreePath> =
            paths.iter().chain(&overwrite).chain(&confirm).cloned().collect();
        let request = review::Request {
            selection: if paths.is_empty() { Selection::All } else { Selection::Paths(paths) },
            force: overwrite,
            merging: if merge { Merging::WhereCertain } else { Merging::Never },
            confirmed,
        };
        let changes = place.changes(&daemon.log)?;
        let report = if dry_run {
            AppliedReport::new(place.path(), &changes, place.preview(&changes, &request)?)
        } else {
            let done = place.apply(&changes, &request, &daemon.log)?;
            told(done.unrecorded.as_ref(), place);
            done.value
        };
        Ok(json!({ "session": name, "dry_run": dry_run, "workspaces": [to_value(&report)?] }))
    })
    .await?;
    answer::json(&done)
}

/// Throws changes away.
pub(super) async fn discard(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let asked: Discard = crate::request::json(request).await?;
    if asked.all != asked.paths.is_empty() {
        let problem = Problem::new(Code::BadRequest, "it is not said what is thrown away");
        return Err(problem.help("give `paths`, or `\"all\": true` without them"));
    }
    let daemon = Arc::clone(daemon);
    let done = blocking(move || {
        let places = Place::all(daemon.sessions.store(), &id(&name)?)?;
        let place = only(&places, asked.workspace.as_ref())?;
        let some = (!asked.all).then_some(asked.paths.as_slice());
        let done = place.discard(some, &daemon.log)?;
        told(done.unrecorded.as_ref(), place);
        let path = place.path().clone();
        let report = DiscardedReport { path, discarded: asked.paths, all: asked.all };
        Ok(json!({ "session": name, "workspaces": [to_value(&report)?] }))
    })
    .await?;
    answer::json(&done)
}

/// Takes the last apply back.
pub(super) async fn undo(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let asked: Undo = crate::request::json(request).await?;
    let daemon = Arc::clone(daemon);
    let done = blocking(move || {
        let places = Place::all(daemon.sessions.store(), &id(&name)?)?;
        let place = only(&places, asked.workspace.as_ref())?;
        let done = place.undo(&asked.overwrite, &daemon.log)?;
        told(done.unrecorded.as_ref(), place);
        let report = UndoneReport { path: place.path().clone(), undone: done.value };
        Ok(json!({ "session": name, "workspaces": [to_value(&report)?] }))
    })
    .await?;
    answer::json(&done)
}

/// The workspace that is meant.
fn only<'places>(
    places: &'places [Place],
    wanted: Option<&HostPath>,
) -> Result<&'places Place, Problem> {
    match (wanted, places) {
        (Some(wanted), places) => places
            .iter()
            .find(|place| place.path() == wanted)
            .ok_or_else(|| no_such(wanted, places)),
        (None, [only]) => Ok(only),
        (None, several) => {
            let problem = Problem::new(Code::BadRequest, "the session has several workspaces");
            Err(problem.help(format!("say which is meant as `workspace`: {}", listed(several))))
        }
    }
}

fn no_such(wanted: &HostPath, places: &[Place]) -> Problem {
    Problem::no_such("workspace", &wanted.to_string()).help(format!("there is: {}", listed(places)))
}

fn listed(places: &[Place]) -> String {
    places.iter().map(|place| format!("`{}`", shown(place.path()))).collect::<Vec<_>>().join(", ")
}

fn described(path: &HostPath, overview: &Result<Overview, ReviewError>) -> Result<Value, Problem> {
    match overview {
        Ok(overview) => to_value(overview),
        Err(error) => Ok(json!({ "path": path, "error": advice::with_causes(error) })),
    }
}

fn host_path(text: &str) -> Result<HostPath, Problem> {
    HostPath::new(text.as_bytes())
        .map_err(|error| Problem::new(Code::BadRequest, format!("`workspace`: {error}")))
}

/// As paths are written in answers.
fn tree_path(text: &str) -> Result<TreePath, Problem> {
    serde_json::from_value(Value::from(text))
        .map_err(|error| Problem::new(Code::BadRequest, format!("`path`: {error}")))
}

fn to_value(value: &impl serde::Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

/// It was done, whatever can be written about it.
fn told(unrecorded: Option<&AuditError>, place: &Place) {
    if let Some(why) = unrecorded {
        log::warning(&format!(
            "what came of a review of `{}` is not on record: {}",
            shown(place.path()),
            advice::with_causes(why)
        ));
    }
}

impl From<ReviewError> for Problem {
    fn from(error: ReviewError) -> Self {
        let code = match error {
            ReviewError::Session(error) => return error.into(),
            ReviewError::Record(error) => return error.into(),
            ReviewError::NoWorkspace(_) | ReviewError::NothingCovers { .. } => Code::NotFound,
            ReviewError::Host { .. } | ReviewError::InUse { .. } => Code::Conflict,
            ReviewError::Outside(_) | ReviewError::BadPath { .. } => Code::BadRequest,
            ReviewError::Workspace(
                WorkspaceError::NothingToUndo | WorkspaceError::NotAChange(_),
            ) => Code::NotFound,
            ReviewError::Workspace(
                WorkspaceError::Busy
                | WorkspaceError::WritableInCage
                | WorkspaceError::ApplyAtWork(_)
                | WorkspaceError::CannotUndo(_)
                | WorkspaceError::ChangedSinceReview(_)
                | WorkspaceError::HostChanged(_)
                | WorkspaceError::InTheWay(_)
                | WorkspaceError::PartOf { .. }
                | WorkspaceError::TooLarge { .. },
            ) => Code::Conflict,
            ReviewError::Workspace(
                WorkspaceError::Kernel { .. }
                | WorkspaceError::Malformed { .. }
                | WorkspaceError::Unfinished(_)
                | WorkspaceError::Output(_),
            ) => Code::Start(cage::Kind::CannotBuild),
        };
        Self::new(code, advice::with_causes(&error))
    }
}

/// Most bytes of diffs in one answer.
const MOST_TEXT: usize = 8 << 20;
