//! Files of sessions: listed, read, written, made and removed from outside of their cages, as `stockade fs` does. A view
//! that a cage has mounted is read and not written. A9

use std::sync::Arc;

use files::{Existing, FilesError, Purpose, Tree};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use plan::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocking;
use crate::answer::{self, Answer, BYTES};
use crate::body::Body;
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::request::next_bytes;
use crate::sessions::id;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Make {
    path: ByteString,
    #[serde(default)]
    parents: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct All {
    operations: Vec<One>,
}

/// One of several things that are done together.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum One {
    Read { path: ByteString },
    Write { path: ByteString, contents: ByteString },
    Stat { path: ByteString },
    List { path: ByteString },
    Remove { path: ByteString },
    MakeDirectories { path: ByteString },
}

/// What is in a directory.
pub(super) async fn list(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["path", "levels"])?;
    let path = path(&query)?.unwrap_or_else(|| b"/".to_vec());
    let levels = query.number("levels", MOST_LEVELS)?.unwrap_or(1).max(1);
    let levels = usize::try_from(levels).unwrap_or(1);
    let listed = with_tree(daemon, name, Purpose::Read, move |tree| {
        Ok(json!({ "in_use": tree.is_in_use(), "entries": tree.list(&path, levels)? }))
    });
    answer::json(&listed.await?)
}

/// What is known of one file.
pub(super) async fn stat(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["path"])?;
    let path = needed(path(&query)?)?;
    let found = with_tree(daemon, name, Purpose::Read, move |tree| {
        serde_json::to_value(tree.stat(&path)?).map_err(|error| FilesError::Output(error.into()))
    });
    answer::json(&found.await?)
}

/// The bytes of a file, all or a part.
pub(super) async fn read(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["path", "offset", "limit"])?;
    let path = needed(path(&query)?)?;
    let offset = query.number("offset", i64::MAX.unsigned_abs())?.unwrap_or(0);
    let limit = query.number("limit", u64::MAX)?;
    let most = usize::try_from(limit.unwrap_or(MOST_BYTES).min(MOST_BYTES)).unwrap_or(0);
    let bytes = with_tree(daemon, name, Purpose::Read, move |tree| {
        // Whoever says no limit wants the whole file, and gets it or an error.
        let more = usize::from(limit.is_none());
        let bytes = tree.read(&path, offset, most + more)?;
        if bytes.len() > most {
            let path = ByteString::from(path).to_string();
            let tree = tree.title().to_owned();
            return Err(FilesError::TooLarge { tree, path, most: MOST_BYTES });
        }
        Ok(bytes)
    });
    Ok(answer::with_type(StatusCode::OK, BYTES, Body::whole(bytes.await?)))
}

/// Writes a whole file.
pub(super) async fn write(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["path", "overwrite"])?;
    let path = needed(path(&query)?)?;
    let existing = if query.flag("overwrite")? { Existing::Overwritten } else { Existing::Kept };
    let contents = contents(request).await?;
    let written = with_tree(daemon, name, Purpose::Write, move |tree| {
        tree.write_from(&path, &mut contents.as_slice(), existing)
    });
    answer::json(&json!({ "bytes": written.await? }))
}

/// Removes a file or directory.
pub(super) async fn remove(
    daemon: &Arc<Daemon>,
    request: &Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["path", "recursive"])?;
    let path = needed(path(&query)?)?;
    let recursive = query.flag("recursive")?;
    with_tree(daemon, name, Purpose::Write, move |tree| tree.remove(&path, recursive)).await?;
    answer::json(&json!({}))
}

/// Makes a directory.
pub(super) async fn make_directory(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let Make { path, parents } = crate::request::json(request).await?;
    let made = with_tree(daemon, name, Purpose::Write, move |tree| {
        tree.make_directory(path.as_bytes(), parents)
    });
    made.await?;
    answer::json(&json!({}))
}

/// Does several things, each of which has its own answer.
pub(super) async fn batch(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
    name: String,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let All { operations } = crate::request::json(request).await?;
    let purpose = match operations.iter().any(One::changes) {
        true => Purpose::Write,
        false => Purpose::Read,
    };
    let done = with_tree(daemon, name, purpose, move |tree| {
        let mut left = MOST_BYTES;
        let each = operations.into_iter().map(|one| {
            let done = one.done(tree, left);
            // All answers together are one body.
            if let Ok(value) = &done
                && let Some(text) = value.get("contents").and_then(Value::as_str)
            {
                left = left.saturating_sub(text.len() as u64);
            }
            match done {
                Ok(value) => value,
                Err(error) => {
                    let problem = Problem::from(error);
                    let told: Value =
                        serde_json::from_slice(&problem.to_json()).unwrap_or_default();
                    json!({ "problem": told })
                }
            }
        });
        Ok(each.collect::<Vec<Value>>())
    });
    answer::json(&json!({ "results": done.await? }))
}

impl One {
    const fn changes(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Remove { .. } | Self::MakeDirectories { .. } => true,
            Self::Read { .. } | Self::Stat { .. } | Self::List { .. } => false,
        }
    }

    fn done(self, tree: &Tree, most: u64) -> Result<Value, FilesError> {
        match self {
            Self::Read { path } => {
                let most_now = usize::try_from(most).unwrap_or(0);
                let contents = tree.read(path.as_bytes(), 0, most_now + 1)?;
                if contents.len() > most_now {
                    let tree = tree.title().to_owned();
                    return Err(FilesError::TooLarge { tree, path: path.to_string(), most });
                }
                Ok(json!({ "contents": ByteString::from(contents) }))
            }
            Self::Write { path, contents } => {
                let mut contents = contents.as_bytes();
                let bytes =
                    tree.write_from(path.as_bytes(), &mut contents, Existing::Overwritten)?;
                Ok(json!({ "bytes": bytes }))
            }
            Self::Stat { path } => Ok(json!({ "entry": tree.stat(path.as_bytes())? })),
            Self::List { path } => Ok(json!({ "entries": tree.list(path.as_bytes(), 1)? })),
            Self::Remove { path } => tree.remove(path.as_bytes(), true).map(|()| json!({})),
            Self::MakeDirectories { path } => {
                tree.make_directory(path.as_bytes(), true).map(|()| json!({}))
            }
        }
    }
}

/// Opens a session's files and does something with them, on a thread where that holds up nobody.
async fn with_tree<T: Send + 'static>(
    daemon: &Arc<Daemon>,
    name: String,
    purpose: Purpose,
    work: impl FnOnce(&Tree) -> Result<T, FilesError> + Send + 'static,
) -> Result<T, Problem> {
    let daemon = Arc::clone(daemon);
    blocking(move || {
        let tree = Tree::of_session(daemon.sessions.store(), &id(&name)?, purpose)?;
        Ok(work(&tree)?)
    })
    .await
}

fn path(query: &Query) -> Result<Option<Vec<u8>>, Problem> {
    let Some(text) = query.text("path") else { return Ok(None) };
    // As paths are written in answers.
    let path: ByteString = serde_json::from_value(Value::from(text))
        .map_err(|error| Problem::new(Code::BadRequest, format!("`path`: {error}")))?;
    Ok(Some(path.as_bytes().to_vec()))
}

fn needed(path: Option<Vec<u8>>) -> Result<Vec<u8>, Problem> {
    path.ok_or_else(|| Problem::new(Code::BadRequest, "`path` is missing"))
}

async fn contents(request: Request<Incoming>) -> Result<Vec<u8>, Problem> {
    let mut body = request.into_body();
    let mut contents = Vec::new();
    while let Some(bytes) = next_bytes(&mut body).await? {
        if contents.len() as u64 + bytes.len() as u64 > MOST_BYTES {
            let message = format!("the file is larger than {MOST_BYTES} bytes");
            return Err(Problem::new(Code::TooLarge, message)
                .help("`stockade fs put` copies files of any size"));
        }
        contents.extend_from_slice(&bytes);
    }
    Ok(contents)
}

impl From<FilesError> for Problem {
    fn from(error: FilesError) -> Self {
        let help = error.help();
        let code = match error {
            FilesError::Session(error) => return error.into(),
            FilesError::Address(_)
            | FilesError::NotKept(_)
            | FilesError::Source { .. }
            | FilesError::Usage(_) => Code::BadRequest,
            FilesError::Missing { .. } => Code::NotFound,
            FilesError::Exists { .. }
            | FilesError::OtherKind { .. }
            | FilesError::Directory { .. }
            | FilesError::NotADirectory { .. }
            | FilesError::LinkOut { .. }
            | FilesError::InUse { .. }
            | FilesError::ReadOnly { .. }
            | FilesError::Host { .. }
            | FilesError::Failed { .. } => Code::Conflict,
            FilesError::TooLarge { .. } => Code::TooLarge,
            FilesError::Workspace(_) | FilesError::Store(_) | FilesError::FarAway { .. } => {
                Code::Start(cage::Kind::CannotBuild)
            }
            FilesError::Output(_) | FilesError::Input(_) => Code::Internal,
        };
        let problem = Self::new(code, advice::with_causes(&error));
        // Flags of the command are fields here.
        let help = help.into_iter().map(|line| {
            line.replace("`--overwrite`", "`overwrite`").replace("`-r`", "`recursive`")
        });
        help.fold(problem, Self::help)
    }
}

/// Most bytes of a file in one answer or one request.
const MOST_BYTES: u64 = 16 << 20;
const MOST_LEVELS: u64 = 1_000;
