//! Questions about policies: the compiled cage, why it has what it has, the schema of the text.
//! Starts nothing.

use cage::{Egress, Kind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use advice::Failure;
use advice::why::Question;
use cage::prepare::{TooBroad, prepare};
use hyper::Request;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocking;
use crate::answer::{self, Answer};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::subject::split;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Check {
    argv: Vec<String>,
    /// Tells the cage as a command line of bubblewrap too.
    bwrap: bool,
}

/// The compiled cage, or what is wrong.
pub(super) async fn check(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let fields: Map<String, Value> = crate::request::json(request).await?;
    let (subject, Check { argv, bwrap }) = split(fields)?;
    let daemon = Arc::clone(daemon);
    let checked = blocking(move || {
        let caller = subject.caller(&daemon.caller)?;
        let mut selection = subject.select_cage(&caller, TooBroad::Refuse)?;
        let _look = daemon.sessions.for_a_look(&mut selection)?;
        let argv: Vec<OsString> = match (argv.as_slice(), selection.agent_command.as_slice()) {
            ([], []) => vec![OsString::from(PLACEHOLDER)],
            ([], command) => command.iter().map(OsString::from).collect(),
            (argv, _) => argv.iter().map(OsString::from).collect(),
        };
        let prepared = prepare(&selection, &argv).map_err(Failure::from)?;
        let mut notes = advice::notes::of_flags(&selection);
        notes.extend(advice::notes::of(&prepared));
        let plan = prepared.plan;
        let bwrap = bwrap.then(|| {
            let (text, gaps) =
                (plan::render::bwrap_for_shell(&plan), plan::render::bwrap_gaps(&plan));
            json!({ "text": text, "gaps": gaps })
        });
        let egress = Egress::new(&selection.network, |name| caller.variable(name).map(Into::into))
            .map_err(Failure::from)?;
        let proxy = egress.settings.proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port));
        let failed = |error: serde_json::Error| Problem::new(Code::Internal, error.to_string());
        Ok(json!({
            "hash": plan.hash().as_str(),
            "summary": plan.start.summary,
            "reduced_isolation": plan.walls.reduced_isolation,
            "notes": notes,
            "text": plan::render::person(&plan),
            "bwrap": bwrap,
            "proxy": proxy,
            "resolvers": egress.resolvers,
            "plan": serde_json::to_value(&*plan).map_err(failed)?,
        }))
    })
    .await?;
    answer::json(&checked)
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Why {
    path: Option<PathBuf>,
    host: Option<String>,
    syscall: Option<String>,
    variable: Option<String>,
}

impl Why {
    fn question(self) -> Result<Question, Failure> {
        match self {
            Self { path: Some(path), host: None, syscall: None, variable: None } => {
                Ok(Question::Path(path))
            }
            Self { path: None, host: Some(host), syscall: None, variable: None } => {
                Question::about_host(&host)
            }
            Self { path: None, host: None, syscall: Some(name), variable: None } => {
                Ok(Question::Syscall(name))
            }
            Self { path: None, host: None, syscall: None, variable: Some(name) } => {
                Ok(Question::Variable(name))
            }
            _ => Err(Failure::new(Kind::Usage, "there is not exactly one question")
                .help("ask about one of `path`, `host`, `syscall` and `variable`")),
        }
    }
}

/// What the cage makes of a path, a host, a system call or a variable.
pub(super) async fn explain(
    daemon: &Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Answer, Problem> {
    Query::read(request.uri().query(), &[])?;
    let fields: Map<String, Value> = crate::request::json(request).await?;
    let (subject, why) = split::<Why>(fields)?;
    let daemon = Arc::clone(daemon);
    let answer = blocking(move || {
        let question = why.question()?;
        let caller = subject.caller(&daemon.caller)?;
        let mut selection = subject.select_cage(&caller, question.too_broad())?;
        let _look = daemon.sessions.for_a_look(&mut selection)?;
        Ok(advice::why::why(&selection, &question)?)
    })
    .await?;
    answer::json(&json!({ "yes": answer.yes, "text": answer.text, "answer": answer.data }))
}

/// The schema of a policy file.
pub(super) fn schema(request: &Request<Incoming>) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["user"])?;
    let schema =
        if query.flag("user")? { policy::schema::user() } else { policy::schema::project() };
    answer::json(&schema)
}

/// Stands for a program where none is given.
const PLACEHOLDER: &str = "PROGRAM";
