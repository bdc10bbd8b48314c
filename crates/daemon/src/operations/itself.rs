//! The daemon itself: whether it is well, what it does, what it can do here, its document, its end.

use std::sync::Arc;

use cage::prepare::prepare;
use cage::runner::Request as Start;
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use probe::{Subject, probe};
use serde::Deserialize;
use serde_json::json;

use super::blocking;
use crate::answer::{self, Answer, JSON};
use crate::body::Body;
use crate::daemon::Daemon;
use crate::phase::Phase;
use crate::problem::Problem;
use crate::query::Query;
use crate::shown::moment;

/// Whether the daemon serves.
pub(super) fn health(daemon: &Daemon, request: &Request<Incoming>) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    match daemon.phase.now() {
        Phase::Serving => answer::json(&json!({ "status": "ok" })),
        Phase::Draining | Phase::Ending => {
            answer::json_with(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "draining" }))
        }
    }
}

/// What it is and what it has to do.
pub(super) fn status(daemon: &Daemon, request: &Request<Incoming>) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let (running, ended) = daemon.cages.count();
    let phase = match daemon.phase.now() {
        Phase::Serving => "serving",
        Phase::Draining | Phase::Ending => "draining",
    };
    answer::json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "api": "v1",
        "phase": phase,
        "mode": daemon.settings.mode.word(),
        "sandbox": !daemon.settings.no_sandbox,
        "pid": std::process::id(),
        "uid": rustix::process::geteuid().as_raw(),
        "started_at": moment(daemon.started),
        "socket": daemon.settings.socket.display().to_string(),
        "listen": daemon.listening.map(|address| address.to_string()),
        "state_directory": daemon.state.path().to_string(),
        "cages": { "running": running, "ended": ended, "most": daemon.settings.most_cages },
        "connections": daemon.admission.count(),
        "swept": daemon.swept.iter().map(|swept| json!({
            "what": swept.what.word(),
            "subject": swept.subject,
            "killed": swept.killed,
            "left": swept.left,
        })).collect::<Vec<_>>(),
        "untracked": daemon.untracked(),
    }))
}

/// The description of this API.
pub(super) fn document(request: &Request<Incoming>) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    Ok(answer::with_type(StatusCode::OK, JSON, Body::whole(crate::DOCUMENT.as_bytes())))
}

/// Which layers of isolation hold here.
pub(super) async fn doctor(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let daemon = Arc::clone(daemon);
    let report = blocking(move || {
        let binary = advice::doctor::own_executable()?;
        let project = daemon.caller.working_directory.as_path().to_owned();
        let subject = Subject { binary: binary.as_path().to_owned(), project };
        let view = || build_view(&daemon, &binary);
        Ok(probe(&subject, || build_cage(&daemon, &binary), view))
    })
    .await?;
    answer::json(&json!({
        "can_build_cages": report.can_build_cages(),
        "layers": report.layers,
        "notes": report.notes,
    }))
}

/// The same with a view of an empty directory, which goes again with its layer.
fn build_view(daemon: &Daemon, binary: &plan::HostPath) -> Result<(), (String, String)> {
    let no_view = |why: String| (why, advice::workspaces::NO_VIEW.to_owned());
    let place = std::env::temp_dir().join(format!("stockade-doctor-{}", std::process::id()));
    std::fs::create_dir(&place).map_err(|error| no_view(error.to_string()))?;
    let built = build_view_of(daemon, binary, &place).map_err(no_view);
    // What stays is empty.
    let _gone = std::fs::remove_dir(&place);
    built
}

fn build_view_of(
    daemon: &Daemon,
    binary: &plan::HostPath,
    place: &std::path::Path,
) -> Result<(), String> {
    let real = std::fs::canonicalize(place).map_err(|error| error.to_string())?;
    let directory =
        plan::HostPath::new(real.into_os_string()).map_err(|error| error.to_string())?;
    let mut probe = advice::doctor::view_cage(&daemon.caller, binary, &directory);
    let _look =
        daemon.sessions.for_a_look(&mut probe.selection).map_err(|problem| problem.message)?;
    let prepared = prepare(&probe.selection, &probe.argv)
        .map_err(|error| advice::Failure::from(error).text())?;
    let handle =
        daemon.runner.spawn(Start::from(prepared)).map_err(|error| advice::with_causes(&error))?;
    advice::doctor::judge(handle.wait().end)
}

/// Builds a real cage as clients get them.
fn build_cage(daemon: &Daemon, binary: &plan::HostPath) -> Result<(), String> {
    let probe = advice::doctor::probe_cage(&daemon.caller, binary);
    let prepared = prepare(&probe.selection, &probe.argv)
        .map_err(|error| advice::Failure::from(error).text())?;
    let handle =
        daemon.runner.spawn(Start::from(prepared)).map_err(|error| advice::with_causes(&error))?;
    advice::doctor::judge(handle.wait().end)
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Drain {}

/// Ends every cage and then the daemon, as SIGTERM does.
pub(super) async fn drain(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let Drain {} = crate::request::json(request).await?;
    daemon.ask_to_drain("a client asked for it");
    answer::json_with(StatusCode::ACCEPTED, &json!({ "status": "draining" }))
}
