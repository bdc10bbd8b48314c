//! Between a client and somebody else's server: the named tools pass, as they were approved, and their calls. Nothing
//! else does: no other method, nothing that a server asks a client for (a model, files, the person), no instructions, no
//! tool that changed since it was approved. What does not pass is answered here.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use crate::message::{BAD_PARAMS, Id, Message, NO_METHOD, failure};
use crate::pins::{Pins, Seen};

/// What becomes of a message, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It goes to the server.
    ToServer(Message),
    /// It goes to the client.
    ToClient(Message),
    /// A call is about to go to the server: record it before what follows.
    Call {
        /// Counted from one.
        call: u64,
        /// The tool.
        tool: String,
        /// What it gets.
        arguments: Value,
    },
    /// A call has ended.
    Result {
        /// As in `Call`.
        call: u64,
        /// What it came to.
        result: Value,
        /// Whether it failed.
        is_error: bool,
    },
    /// Somebody should know.
    Notice(Notice),
}

/// What somebody should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A named tool is seen for the first time, and pinned.
    Pinned(String),
    /// A named tool has changed since it was approved, and does not pass.
    Changed(String),
    /// A named tool is not there.
    Missing(String),
    /// The server asked for something that it does not get.
    Asked(String),
}

/// Stands between one client and one server.
#[derive(Debug)]
pub struct Filter {
    named: BTreeSet<String>,
    pins: Pins,
    /// Whether changed tools are approved as they are.
    approves: bool,
    /// Tools that have passed a list of this connection.
    passed: BTreeSet<String>,
    /// Requests of the client that the server has not answered.
    open: HashMap<Id, Open>,
    calls: u64,
    noticed: BTreeSet<String>,
}

#[derive(Debug)]
enum Open {
    Initialize,
    List,
    Call(u64),
    Ping,
}

impl Filter {
    /// Lets these tools pass.
    pub fn new(named: impl IntoIterator<Item = String>, pins: Pins, approves: bool) -> Self {
        Self {
            named: named.into_iter().collect(),
            pins,
            approves,
            passed: BTreeSet::new(),
            open: HashMap::new(),
            calls: 0,
            noticed: BTreeSet::new(),
        }
    }

    /// What was approved, with what was pinned meanwhile.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Takes a message of the client.
    pub fn from_client(&mut self, message: Message) -> Vec<Step> {
        match message {
            Message::Request { id, method, params } => self.request(id, method, params),
            Message::Notification { method, params } => match method.as_str() {
                "notifications/initialized" | "notifications/cancelled" => {
                    vec![Step::ToServer(Message::Notification { method, params })]
                }
                _ => Vec::new(),
            },
            // The server was given nothing to ask for.
            Message::Answer { .. } => Vec::new(),
        }
    }

    fn request(&mut self, id: Id, method: String, mut params: Map<String, Value>) -> Vec<Step> {
        let refuse = |id, code, text: String| vec![Step::ToClient(failure(Some(id), code, text))];
        if self.open.len() >= MOST_OPEN || self.open.contains_key(&id) {
            return refuse(
                id,
                BAD_PARAMS,
                format!("at most {MOST_OPEN} requests at one time, each with an id of its own"),
            );
        }
        let mut steps = Vec::new();
        let open = match method.as_str() {
            "initialize" => {
                // What a client could do for a server, this one cannot ask for.
                params.insert("capabilities".to_owned(), json!({}));
                Open::Initialize
            }
            "ping" => Open::Ping,
            "tools/list" => Open::List,
            "tools/call" => {
                let tool =
                    params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                if !self.passed.contains(&tool) {
                    let name: String = tool.chars().take(60).collect();
                    return refuse(
                        id,
                        BAD_PARAMS,
                        format!("the tool `{name}` is not granted, or not listed yet"),
                    );
                }
                self.calls += 1;
                let arguments = params.get("arguments").cloned().unwrap_or_default();
                steps.push(Step::Call { call: self.calls, tool, arguments });
                Open::Call(self.calls)
            }
            _ => return refuse(id, NO_METHOD, "only tools pass here".to_owned()),
        };
        self.open.insert(id.clone(), open);
        steps.push(Step::ToServer(Message::Request { id, method, params }));
        steps
    }

    /// Takes a message of the server.
    pub fn from_server(&mut self, message: Message) -> Vec<Step> {
        match message {
            Message::Request { id, method, .. } => {
                let text: String = method.chars().take(60).collect();
                let mut steps = self.notice(Notice::Asked(text));
                steps.push(Step::ToServer(failure(
                    Some(id),
                    NO_METHOD,
                    "nothing can be asked for here",
                )));
                steps
            }
            Message::Notification { method, params } => match method.as_str() {
                "notifications/tools/list_changed" | "notifications/progress" => {
                    vec![Step::ToClient(Message::Notification { method, params })]
                }
                _ => Vec::new(),
            },
            Message::Answer { id: Some(id), outcome } => self.answer(id, outcome),
            Message::Answer { id: None, .. } => Vec::new(),
        }
    }

    fn answer(&mut self, id: Id, outcome: Result<Value, Value>) -> Vec<Step> {
        let Some(open) = self.open.remove(&id) else { return Vec::new() };
        let mut steps = Vec::new();
        let outcome = match (open, outcome) {
            (Open::Initialize, Ok(result)) => Ok(begun(&result)),
            (Open::List, Ok(result)) => {
                let (result, notices) = self.list(&result);
                steps.extend(notices);
                Ok(result)
            }
            (Open::Call(call), outcome) => {
                let (result, is_error) = match &outcome {
                    Ok(result) => (
                        result.clone(),
                        result.get("isError").and_then(Value::as_bool).unwrap_or(false),
                    ),
                    Err(error) => (error.clone(), true),
                };
                steps.push(Step::Result { call, result, is_error });
                outcome
            }
            (Open::Initialize | Open::List | Open::Ping, outcome) => outcome,
        };
        steps.push(Step::ToClient(Message::Answer { id: Some(id), outcome }));
        steps
    }

    /// The tools of a list that pass.
    fn list(&mut self, result: &Value) -> (Value, Vec<Step>) {
        let mut steps = Vec::new();
        let mut passing = Vec::new();
        let tools =
            result.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for tool in tools.iter().take(MOST_TOOLS) {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            if !self.named.contains(&name) {
                continue;
            }
            let seen = self.pins.see(&name, tool);
            if seen == Seen::Changed && !self.approves {
                self.passed.remove(&name);
                steps.extend(self.notice(Notice::Changed(name)));
                continue;
            }
            if seen != Seen::Same {
                self.pins.approve(&name, tool);
                steps.extend(self.notice(Notice::Pinned(name.clone())));
            }
            self.passed.insert(name);
            passing.push(tool.clone());
        }
        let cursor = result.get("nextCursor").filter(|cursor| cursor.is_string());
        if cursor.is_none() {
            let missing: Vec<String> = self.named.difference(&self.passed).cloned().collect();
            for name in missing {
                let changed = format!("{:?}", Notice::Changed(name.clone()));
                if !self.noticed.contains(&changed) {
                    steps.extend(self.notice(Notice::Missing(name)));
                }
            }
        }
        let mut list = json!({ "tools": passing });
        if let (Some(cursor), Some(list)) = (cursor, list.as_object_mut()) {
            list.insert("nextCursor".to_owned(), cursor.clone());
        }
        (list, steps)
    }

    /// Each thing is said once.
    fn notice(&mut self, notice: Notice) -> Vec<Step> {
        let is_new = self.noticed.len() < MOST_TOOLS && self.noticed.insert(format!("{notice:?}"));
        if is_new { vec![Step::Notice(notice)] } else { Vec::new() }
    }
}

/// What a server says of itself: that it has tools. Its instructions are text for a model that nobody has approved, and clients
/// print its name on a terminal.
fn begun(result: &Value) -> Value {
    let is_plain =
        |letter: &char| letter.is_alphanumeric() || letter.is_ascii_punctuation() || *letter == ' ';
    let text = |place: &str| {
        result
            .pointer(place)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .chars()
            .filter(is_plain)
            .take(200)
            .collect::<String>()
    };
    let changes =
        result.pointer("/capabilities/tools/listChanged").and_then(Value::as_bool).unwrap_or(false);
    json!({
        "protocolVersion": text("/protocolVersion"),
        "capabilities": { "tools": { "listChanged": changes } },
        "serverInfo": { "name": text("/serverInfo/name"), "version": text("/serverInfo/version") },
    })
}

const MOST_OPEN: usize = 64;
const MOST_TOOLS: usize = 1000;

#[cfg(test)]
mod tests;
