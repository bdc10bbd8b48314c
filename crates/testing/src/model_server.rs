//! A model for tests of agents: a local HTTP server that speaks the interfaces of model providers and plays a
//! script, with the tools that the agent offers. Never answers by anything but the script, and reaches nothing.
//!
//! The server is `model_server/server.py`, which says what a script is. It ends with the value that started it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::find;

/// A running server.
#[derive(Debug)]
pub struct ModelServer {
    child: Child,
    directory: TempDir,
    port: u16,
}

/// One thing that the model does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Reads a file.
    Read(PathBuf),
    /// Replaces a text in a file.
    Edit {
        /// The file.
        path: PathBuf,
        /// What is there.
        old: String,
        /// What is there afterwards.
        new: String,
    },
    /// Runs a command of the shell.
    Run(String),
    /// Calls a tool by its name.
    Call {
        /// The tool.
        tool: String,
        /// What it gets.
        arguments: Value,
    },
    /// Several in one answer.
    Together(Vec<Step>),
    /// One again and again, without end.
    Forever(Box<Step>),
}

/// What a server does wrong at one request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Nothing.
    None,
    /// Answers by an error. `KEY` in the message or a field stands for the key that the client sent.
    Status {
        /// Such as 429.
        status: u16,
        /// Fields beside it.
        headers: Vec<(&'static str, String)>,
        /// What it says.
        message: String,
    },
    /// Sends this as its whole stream.
    Raw(String),
    /// Closes the connection after so many events.
    Cut(usize),
    /// Sends nothing for so many seconds, then answers.
    Silent(f64),
    /// Waits so many seconds between events.
    Slow(f64),
    /// Says that its stream is of another kind.
    Kind(&'static str),
}

impl ModelServer {
    /// Starts one on loopback that does the steps, and says the report after the last one.
    ///
    /// # Panics
    /// If it cannot be started. Ask [`crate::has`] for `python3` first.
    pub fn start(steps: &[Step], report: &str) -> Self {
        Self::start_faulty(steps, report, &[])
    }

    /// As [`start`](Self::start), with what goes wrong at the first request, the second, and so on.
    ///
    /// # Panics
    /// As `start`.
    pub fn start_faulty(steps: &[Step], report: &str, faults: &[Fault]) -> Self {
        Self::start_script(steps, report, faults, serde_json::Map::new())
    }

    fn start_script(
        steps: &[Step],
        report: &str,
        faults: &[Fault],
        models: serde_json::Map<String, Value>,
    ) -> Self {
        let directory = TempDir::new().expect("a directory");
        for (name, text) in FILES {
            fs::write(directory.path().join(name), text).expect("a file of the server");
        }
        let steps: Vec<Value> = steps.iter().map(Step::written).collect();
        let script = directory.path().join("script.json");
        let faults: Vec<Value> = faults.iter().map(Fault::written).collect();
        let text = json!({ "steps": steps, "report": report, "faults": faults, "models": models })
            .to_string();
        fs::write(&script, text).expect("a script");
        let mut command = Command::new(find("python3").expect("python3"));
        command.arg("-B").arg(directory.path().join("server.py"));
        command.arg(script).arg(directory.path().join(RECORD));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a model server");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its port");
        let port = line.trim().strip_prefix("listening ").and_then(|port| port.parse().ok());
        Self { child, directory, port: port.expect("a port") }
    }

    /// As [`start`](Self::start), with scripts of their own for some models: what is asked of them, and what they say last.
    ///
    /// # Panics
    /// As `start`.
    pub fn start_models(steps: &[Step], report: &str, models: &[(&str, &[Step], &str)]) -> Self {
        let of_model = |(name, steps, report): &(&str, &[Step], &str)| {
            let steps: Vec<Value> = steps.iter().map(Step::written).collect();
            ((*name).to_owned(), json!({ "steps": steps, "report": report }))
        };
        let models: serde_json::Map<String, Value> = models.iter().map(of_model).collect();
        Self::start_script(steps, report, &[], models)
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request, in order, as the server wrote it down: `method`, `path`, `headers`, `body`, `form`, `tools`
    /// and `results`.
    ///
    /// # Panics
    /// If the record is no JSON.
    pub fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.directory.path().join(RECORD)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// What the tools answered to the script of a model, as far as it came.
    pub fn results_of(&self, model: &str) -> Vec<String> {
        let requests = self.requests();
        let of_model = requests.iter().filter(|request| {
            request.pointer("/body/model").and_then(Value::as_str) == Some(model)
        });
        let results = |request: &Value| {
            let results = request["results"].as_array().into_iter().flatten();
            results.filter_map(|result| result.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        of_model.map(results).max_by_key(Vec::len).unwrap_or_default()
    }

    /// What the tools answered to the steps, as far as the agent came.
    pub fn results(&self) -> Vec<String> {
        let of_request = |request: &Value| {
            let results = request["results"].as_array().into_iter().flatten();
            results.filter_map(|result| result.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        self.requests().iter().map(of_request).max_by_key(Vec::len).unwrap_or_default()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Step {
    fn written(&self) -> Value {
        match self {
            Self::Read(path) => json!({ "read": path }),
            Self::Edit { path, old, new } => json!({ "edit": path, "old": old, "new": new }),
            Self::Run(command) => json!({ "run": command }),
            Self::Call { tool, arguments } => json!({ "call": tool, "arguments": arguments }),
            Self::Together(steps) => {
                json!({ "together": steps.iter().map(Step::written).collect::<Vec<_>>() })
            }
            Self::Forever(step) => json!({ "forever": step.written() }),
        }
    }
}

impl Fault {
    fn written(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Status { status, headers, message } => {
                let headers: serde_json::Map<String, Value> = headers
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), json!(value)))
                    .collect();
                json!({ "status": status, "headers": headers, "message": message })
            }
            Self::Raw(text) => json!({ "raw": text }),
            Self::Cut(events) => json!({ "cut": events }),
            Self::Silent(seconds) => json!({ "silent": seconds }),
            Self::Slow(seconds) => json!({ "slow": seconds }),
            Self::Kind(kind) => json!({ "kind": kind }),
        }
    }
}

const RECORD: &str = "record.jsonl";

const FILES: [(&str, &str); 3] = [
    ("server.py", include_str!("model_server/server.py")),
    ("formats.py", include_str!("model_server/formats.py")),
    ("tools.py", include_str!("model_server/tools.py")),
];

#[cfg(test)]
mod tests;
