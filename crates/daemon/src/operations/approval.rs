//! The user's approval of one text of one project's file. What is approved is the text whose hash
//! the client has seen, or nothing.

use cage::Kind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use advice::Failure;
use cage::prepare::PolicyFiles;
use cage::prepare::project::PROJECT_FILE_NAME;
use hyper::Request;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::blocking;
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;

/// What a project's file asks for, and whether that is approved.
pub(super) async fn show(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    let project = project_in(request)?;
    let daemon = Arc::clone(daemon);
    let shown = blocking(move || describe(&read(&daemon, &project)?)).await?;
    answer::json(&shown)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Give {
    project: PathBuf,
    sha256: String,
}

/// Approves a text.
pub(super) async fn give(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let Give { project, sha256 } = crate::request::json(request).await?;
    let daemon = Arc::clone(daemon);
    let shown = blocking(move || {
        let files = read(&daemon, &project)?;
        let Some(file) = &files.project.file else { return Err(no_file(&files)) };
        if hash(&file.text) != sha256.to_ascii_lowercase() {
            return Err(Problem::new(Code::Conflict, "the file has another text by now")
                .help("read it again, then approve the `sha256` of what you read"));
        }
        let Some(trust) = files.trust() else {
            return Err(Problem::new(
                Code::Start(Kind::CannotBuild),
                "there is no place to keep approvals",
            ));
        };
        trust.allow(&file.path, file.text.as_bytes()).map_err(Failure::from)?;
        describe(&files)
    })
    .await?;
    answer::json(&shown)
}

/// Takes an approval back.
pub(super) async fn take_back(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
) -> Result<Answer, Problem> {
    let project = project_in(request)?;
    let daemon = Arc::clone(daemon);
    let removed = blocking(move || {
        let files = read(&daemon, &project)?;
        let path = files.project.root.join(PROJECT_FILE_NAME);
        let path = path.map_err(|error| Problem::new(Code::BadRequest, error.to_string()))?;
        match files.trust() {
            Some(trust) => Ok(trust.deny(&path).map_err(Failure::from)?),
            None => Ok(false),
        }
    })
    .await?;
    answer::json(&json!({ "removed": removed }))
}

fn project_in(request: &Request<Incoming>) -> Result<PathBuf, Problem> {
    let query = Query::read(request.uri().query(), &["project"])?;
    query.text("project").map(PathBuf::from).ok_or_else(|| {
        Problem::new(Code::BadRequest, "`project` is missing")
            .help("give the project's directory: `?project=/path`")
    })
}

fn read(daemon: &Daemon, project: &Path) -> Result<PolicyFiles, Problem> {
    if !project.is_absolute() {
        return Err(Problem::new(Code::BadRequest, "`project` is not an absolute path"));
    }
    Ok(PolicyFiles::read(&daemon.caller, Some(project)).map_err(Failure::from)?)
}

fn describe(files: &PolicyFiles) -> Result<Value, Problem> {
    let Some(file) = &files.project.file else { return Err(no_file(files)) };
    let asked = files.asked_beyond_ceiling().map_err(Failure::from)?;
    Ok(json!({
        "file": file.path.to_string(),
        "sha256": hash(&file.text),
        "needed": !asked.is_empty(),
        "approved": files.is_approved().map_err(Failure::from)?,
        "asked_beyond_ceiling": asked,
    }))
}

fn no_file(files: &PolicyFiles) -> Problem {
    let root = policy::shown::shown(&files.project.root);
    Problem::new(Code::NotFound, format!("there is no `{PROJECT_FILE_NAME}` in `{root}`"))
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
