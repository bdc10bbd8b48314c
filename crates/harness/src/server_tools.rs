//! Servers of others as tools of our agent: each in a cage of its own, behind the filter that `mcp wrap` has too, with its
//! tools as they were approved. What a server answers is the word of its cage.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use advice::Failure;
use agent::{CallId, During, Elsewhere, Ran};
use cage::Kind;
use cage::runner::{Handle, OutputReader};
use mcp::filter::{Filter, Notice, Step};
use mcp::{Id, Message};
use model::{Cancel, ToolSpec};
use policy::shown::shown;
use serde_json::{Map, Value, json};

use crate::Tell;
use crate::caged::last_words;
use crate::mcp_serve::next_line;
use crate::mcp_wrap::{pins_path, read_pins, start, write_pins};
use crate::record::Record;
use crate::selection;
use crate::servers::Wanted;
use crate::work::Work;

/// A server in its cage.
pub(crate) struct Server {
    name: String,
    tools: Vec<ToolSpec>,
    /// What each is called at the server, by what the model calls it.
    names: HashMap<String, String>,
    shared: Arc<Mutex<Shared>>,
    handle: Handle,
}

/// What calls and the thread that listens share.
struct Shared {
    filter: Filter,
    to_server: File,
    /// None when the server is gone.
    waiting: Option<HashMap<Id, Sender<Result<Value, Value>>>>,
    next: i64,
    record: Record,
    pins: PathBuf,
    notices: Vec<Notice>,
}

impl Server {
    /// Starts a server, and asks it which tools it has.
    pub(crate) fn start(
        wanted: &Wanted,
        work: &Work,
        (project, approves): (Option<PathBuf>, bool),
        tell: &dyn Tell,
    ) -> Result<Self, Failure> {
        let cage = wanted.cage(project);
        let mut selection = selection::for_server(&cage)?;
        let pins = pins_path(&wanted.command, &selection, &work.locations)?;
        let filter = Filter::new(wanted.tools.clone(), read_pins(&pins)?, approves);
        let started =
            start((&wanted.command, &cage), &work.runner, &mut selection, &work.locations, tell);
        let handle = started.map_err(|failure| failure.help(OWN_CAGE))?;
        let (Some(stdin), Some(stdout)) = (handle.take_stdin(), handle.stdout()) else {
            return Err(Failure::new(Kind::CannotBuild, "the server in the cage has no pipe"));
        };
        let shared = Arc::new(Mutex::new(Shared {
            filter,
            to_server: File::from(stdin),
            waiting: Some(HashMap::new()),
            next: 0,
            record: Record::new(work.runner.log(), handle.invocation_id()),
            pins,
            notices: Vec::new(),
        }));
        let (of_thread, reader) = (Arc::clone(&shared), stdout.reader());
        let builder = std::thread::Builder::new().name(format!("server {}", wanted.name));
        builder
            .spawn(move || listen(reader, &of_thread))
            .map_err(|error| Failure::new(Kind::CannotBuild, format!("no thread: {error}")))?;
        let mut server = Self {
            name: wanted.name.clone(),
            tools: Vec::new(),
            names: HashMap::new(),
            shared,
            handle,
        };
        let listed = server.list(&work.cancel);
        server.tell(tell);
        if let Err(why) = listed {
            let said = server.handle.stderr().map(|output| last_words(output.reader()));
            let failure = Failure::new(
                Kind::CannotBuild,
                format!("server `{}` cannot be used: {}", server.name, shown(why)),
            );
            server.handle.kill();
            return Err(match said.filter(|said| !said.is_empty()) {
                Some(said) => failure.help(format!("it said: {}", shown(said))),
                None => failure,
            });
        }
        if server.tools.is_empty() {
            tell.warning(&format!("server `{}` offers none of the named tools", server.name));
        }
        Ok(server)
    }

    fn list(&mut self, cancel: &Cancel) -> Result<(), String> {
        let hello = json!({
            "protocolVersion": VERSION, "capabilities": {},
            "clientInfo": { "name": "stockade", "version": env!("CARGO_PKG_VERSION") },
        });
        self.ask("initialize", hello, BEGIN, cancel)?;
        self.send(Message::Notification {
            method: "notifications/initialized".to_owned(),
            params: Map::new(),
        });
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let list = self.ask("tools/list", params, BEGIN, cancel)?;
            for tool in list.get("tools").and_then(Value::as_array).into_iter().flatten() {
                self.offer(tool);
            }
            match list.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        Ok(())
    }

    fn offer(&mut self, tool: &Value) {
        let text = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default();
        let real = text("name").to_owned();
        let plain: String = real
            .chars()
            .map(
                |letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' },
            )
            .collect();
        // As long as providers take it.
        let name: String = format!("{}__{plain}", self.name).chars().take(64).collect();
        if self.names.contains_key(&name) {
            return;
        }
        self.tools.push(ToolSpec {
            name: name.clone(),
            description: text("description").chars().take(MOST_DOC).collect(),
            schema: tool.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" })),
        });
        self.names.insert(name, real);
    }

    /// Asks, and waits for the answer.
    fn ask(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Value, String> {
        let (sender, receiver) = channel();
        let id = {
            let mut shared = lock(&self.shared);
            shared.next += 1;
            let id = Id::Number(shared.next);
            shared.waiting.as_mut().ok_or(GONE)?.insert(id.clone(), sender);
            let params = params.as_object().cloned().unwrap_or_default();
            let request = Message::Request { id: id.clone(), method: method.to_owned(), params };
            let steps = shared.filter.from_client(request);
            shared.take(steps);
            id
        };
        let until = Instant::now() + limit;
        let why = loop {
            match receiver.recv_timeout(SLICE) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(error)) => {
                    let text = error.get("message").and_then(Value::as_str);
                    return Err(text.unwrap_or("it answered by an error").to_owned());
                }
                Err(RecvTimeoutError::Disconnected) => return Err(GONE.to_owned()),
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    break "the person stopped this call";
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    break "it does not answer";
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if let Some(waiting) = &mut lock(&self.shared).waiting {
            waiting.remove(&id);
        }
        let params = Map::from_iter([("requestId".to_owned(), id.to_value())]);
        let method = "notifications/cancelled".to_owned();
        self.send(Message::Notification { method, params });
        Err(why.to_owned())
    }

    fn send(&self, message: Message) {
        let mut shared = lock(&self.shared);
        let steps = shared.filter.from_client(message);
        shared.take(steps);
    }

    fn tell(&self, tell: &dyn Tell) {
        for notice in std::mem::take(&mut lock(&self.shared).notices) {
            crate::mcp_wrap::tell_notice(&notice, tell);
        }
    }
}

impl Elsewhere for Server {
    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn call(&self, tool: &str, arguments: &Map<String, Value>, during: &During<'_>) -> Ran {
        let Some(real) = self.names.get(tool) else {
            return Ran::failed("error: the server has no such tool");
        };
        let params = json!({ "name": real, "arguments": arguments });
        match self.ask("tools/call", params, during.limit, during.cancel) {
            Ok(result) => Ran {
                text: bounded(text_of(&result)),
                is_error: result.get("isError").and_then(Value::as_bool).unwrap_or_default(),
            },
            Err(why) => {
                Ran::failed(format!("error: {}", why.chars().take(2000).collect::<String>()))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.handle.begin_close(cage::EndReason::Cancelled);
        self.handle.wait();
    }
}

impl Shared {
    fn take(&mut self, steps: Vec<Step>) {
        let mut unrecorded = None;
        for step in steps {
            match (step, &unrecorded) {
                (Step::Call { call, tool, arguments }, _) => {
                    let text = serde_json::to_vec(&arguments).unwrap_or_default();
                    unrecorded = self.record.calls(CallId::outermost(call), &tool, &text).err();
                }
                (Step::ToServer(Message::Request { id, .. }), Some(error)) => {
                    let why = format!("the call cannot be recorded: {error}");
                    self.answer(&id, Err(json!({ "message": why })));
                }
                (Step::ToServer(message), _) => {
                    // One that is gone is heard of by the end of its output.
                    let _gone = writeln!(self.to_server, "{}", message.to_line());
                }
                (Step::ToClient(Message::Answer { id: Some(id), outcome }), _) => {
                    self.answer(&id, outcome);
                }
                (Step::ToClient(_), _) => {}
                (Step::Result { call, result, is_error }, _) => {
                    let text = serde_json::to_vec(&result).unwrap_or_default();
                    self.record.called(call, &text, is_error);
                }
                (Step::Notice(notice), _) => self.notices.push(notice),
            }
        }
    }

    fn answer(&mut self, id: &Id, outcome: Result<Value, Value>) {
        let waits = self.waiting.as_mut().and_then(|waiting| waiting.remove(id));
        // Whoever gave up does not wait any more.
        let _given_up = waits.map(|waits| waits.send(outcome));
    }

    fn hear(&mut self, message: Message) -> Result<(), ()> {
        let before = self.filter.pins().clone();
        let steps = self.filter.from_server(message);
        // What was pinned is kept before the model sees the tool.
        if *self.filter.pins() != before {
            write_pins(&self.pins, self.filter.pins()).map_err(drop)?;
        }
        self.take(steps);
        Ok(())
    }
}

/// Reads the server to its end.
fn listen(from_server: OutputReader, shared: &Mutex<Shared>) {
    let mut input = BufReader::new(from_server);
    while let Some(line) = next_line(&mut input) {
        if let Ok(message) = Message::read(&line)
            && lock(shared).hear(message).is_err()
        {
            break;
        }
    }
    lock(shared).waiting = None;
}

/// The texts of a result; of anything else its kind.
fn text_of(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array);
    let texts = parts.into_iter().flatten().map(|part| {
        match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => text.to_owned(),
            (kind, _) => {
                format!("[{} that cannot be shown here]", shown(kind.unwrap_or("something")))
            }
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub(crate) fn bounded(text: String) -> String {
    if text.len() <= MOST_RESULT {
        return text;
    }
    let end = text.floor_char_boundary(MOST_RESULT);
    let shown = text.get(..end).unwrap_or_default();
    format!("{shown}\n[{} more bytes are left out: ask for less at once]", text.len() - end)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is beside the flags that a failed start proposes.
const OWN_CAGE: &str = "flags show files to the agent, and a server has a cage of its own: name what it is shown as `ro` of \
                        `[server.NAME]` in `mcp.toml` beside your configuration, and the server by `--mcp NAME`";
const VERSION: &str = "2025-06-18";
const GONE: &str = "the server has ended";
/// A server may be installed at its first start.
const BEGIN: Duration = Duration::from_secs(120);
const SLICE: Duration = Duration::from_millis(20);
const MOST_PAGES: usize = 100;
const MOST_DOC: usize = 4000;
const MOST_RESULT: usize = 30_000;
