//! `stockade mcp serve`: the tools of a cage for a client of the Model Context Protocol, which is on standard streams, or on HTTP.
//! Each call is on record before it runs. Whatever the client is, it has what the cage has.

use std::collections::HashMap;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use advice::Failure;
use agent::{CallId, Hands};
use cage::Kind;
use cage::state::{Directory, Locations, StateError};
use mcp::serve::{Asked, Offered, Server, result};
use mcp::{Id, MOST_LINE, Message, failure};
use model::Cancel;
use serde_json::{Map, Value};
use tools::Needs;

use crate::Tell;
use crate::arguments::ServeArguments;
use crate::caged::{self, Caged};
use crate::mcp_http::{self, Answer, Token};
use crate::record::Record;
use crate::selection;
use crate::stop::Stop;
use crate::work::{Finish, end};

/// What all calls share.
struct Shared<'a> {
    hands: &'a Hands,
    record: Record,
    calls: AtomicU64,
    open: Mutex<HashMap<Id, Cancel>>,
}

pub(crate) fn serve(arguments: &ServeArguments, tell: &dyn Tell) -> Result<Finish, Failure> {
    let names: Vec<String> = match arguments.tools.is_empty() {
        true => tools::NAMES.iter().map(|name| (*name).to_owned()).collect(),
        false => arguments.tools.clone(),
    };
    let granted = tools::granted(&names).map_err(|error| Failure::new(Kind::Usage, error.text))?;
    let changes = |needs: Needs| matches!(needs, Needs::Write | Needs::Run);
    let needs_write = granted.iter().any(|tool| changes(tool.needs()));
    let mut selection = selection::find(&arguments.cage, needs_write, None)?;
    for warning in tools::warnings(&selection.policy, &selection.place, &granted) {
        tell.warning(&warning.to_string());
    }
    let locations = Locations::of_this_process();
    // What can be refused is, before anything runs.
    let listening = arguments.listen.map(|address| listening(arguments, address, &locations));
    let listening = listening.transpose()?;
    let stop = listening.is_some().then(Stop::take).transpose()?;
    let runner = caged::runner(&selection, &locations)?;
    let cancel = Cancel::new();
    stop.map(|stop| stop.watch(cancel.clone())).transpose()?;
    let session = arguments.cage.session.as_deref();
    let caged = Caged::start(&runner, &mut selection, session, (&names, &locations, tell))?;
    let offered = granted.iter().map(|tool| Offered {
        name: tool.name().to_owned(),
        description: tool.doc().to_owned(),
        schema: tool.schema(),
        // Who sends a request may change something elsewhere.
        is_read_only: !changes(tool.needs()) && tool.needs() != Needs::Network,
    });
    let server = Server::new(offered.collect());
    let shared = Shared {
        hands: &caged.hands,
        record: Record::new(runner.log(), caged.invocation()),
        calls: AtomicU64::new(0),
        open: Mutex::default(),
    };
    if let Some((listener, token)) = listening {
        let address = listener.local_addr().map_or_else(|_| String::new(), |at| at.to_string());
        tell.note(&format!("serving `http://{address}{}`", mcp_http::PATH));
        let take = |message| asked(&server, &shared, message, &cancel);
        let stop_all = || lock(&shared.open).values().for_each(Cancel::cancel);
        mcp_http::serve(&listener, &token, &cancel, &take, &stop_all);
        end(caged, tell);
        return Ok(Finish::Done);
    }
    // Every call has ended before the cage does.
    std::thread::scope(|scope| {
        let mut input = std::io::stdin().lock();
        while let Some(line) = next_line(&mut input) {
            let asked = match Message::read(&line) {
                Ok(message) => server.take(message),
                Err(error) => Asked::Answer(failure(None, PARSE, error.to_string())),
            };
            match asked {
                Asked::Answer(message) => say(&message),
                Asked::Cancel(id) => {
                    lock(&shared.open).get(&id).into_iter().for_each(Cancel::cancel)
                }
                Asked::Nothing => {}
                Asked::Call { id, tool, arguments } => {
                    let cancel = Cancel::new();
                    let mut open = lock(&shared.open);
                    if open.len() >= MOST_OPEN || open.contains_key(&id) {
                        say(&failure(
                            Some(id),
                            BUSY,
                            format!("at most {MOST_OPEN} calls at one time"),
                        ));
                        continue;
                    }
                    open.insert(id.clone(), cancel.clone());
                    drop(open);
                    let shared = &shared;
                    scope.spawn(move || {
                        let answer = call(shared, &id, &tool, &arguments, &cancel);
                        lock(&shared.open).remove(&id);
                        say(&answer);
                    });
                }
            }
        }
        lock(&shared.open).values().for_each(Cancel::cancel);
    });
    end(caged, tell);
    Ok(Finish::Done)
}

/// Where HTTP is served, and the token for it.
fn listening(
    arguments: &ServeArguments,
    address: SocketAddr,
    locations: &Locations,
) -> Result<(TcpListener, Token), Failure> {
    let token = match &arguments.token_file {
        Some(file) => Token::of_file(file)?,
        None => {
            let state = locations.state.as_ref().ok_or(StateError::NoPlace)?;
            Token::of_file(&Directory::open(state)?.path().as_path().join(TOKEN))?
        }
    };
    Ok((mcp_http::listen(address)?, token))
}

/// Answers one message that came by itself.
fn asked(server: &Server, shared: &Shared<'_>, message: Message, all: &Cancel) -> Answer {
    match server.take(message) {
        Asked::Answer(message) => Answer::of(message),
        Asked::Nothing => Answer::taken(),
        Asked::Cancel(id) => {
            lock(&shared.open).get(&id).into_iter().for_each(Cancel::cancel);
            Answer::taken()
        }
        Asked::Call { id, tool, arguments } => {
            let cancel = Cancel::new();
            let mut open = lock(&shared.open);
            if open.len() >= MOST_OPEN || all.is_cancelled() {
                return Answer::of(failure(
                    Some(id),
                    BUSY,
                    format!("at most {MOST_OPEN} calls at one time"),
                ));
            }
            // Several clients may count alike: only the last one of a number can be stopped by it.
            open.insert(id.clone(), cancel.clone());
            drop(open);
            let answer = call(shared, &id, &tool, &arguments, &cancel);
            lock(&shared.open).remove(&id);
            Answer::of(answer)
        }
    }
}

fn call(
    shared: &Shared<'_>,
    id: &Id,
    tool: &str,
    arguments: &Map<String, Value>,
    cancel: &Cancel,
) -> Message {
    let number = shared.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let text = serde_json::to_vec(arguments).unwrap_or_default();
    if let Err(error) = shared.record.calls(CallId::outermost(number), tool, &text) {
        return failure(Some(id.clone()), BUSY, format!("the call cannot be recorded: {error}"));
    }
    let ran = shared.hands.run(tool, arguments, CALL_TIME, cancel);
    shared.record.called(number, ran.text.as_bytes(), ran.is_error);
    result(id.clone(), &ran.text, ran.is_error)
}

/// A line without its end; none when the other side is gone, or sends more than any message has.
pub(crate) fn next_line(input: &mut impl std::io::BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let count = input.take(MOST_LINE as u64 + 1).read_until(b'\n', &mut line).ok()?;
    (count > 0 && count <= MOST_LINE).then_some(line)
}

/// To the client. One that is gone is heard of by the end of its input.
pub(crate) fn say(message: &Message) {
    let mut output = std::io::stdout().lock();
    let _gone = writeln!(output, "{}", message.to_line()).and_then(|()| output.flush());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const CALL_TIME: Duration = Duration::from_secs(1200);
const MOST_OPEN: usize = 32;
const TOKEN: &str = "mcp-token";
const PARSE: i32 = -32700;
const BUSY: i32 = -32000;
