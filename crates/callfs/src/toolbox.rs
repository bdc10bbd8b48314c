//! The tree of tools: `tools` names them, `help` says how they are used, `NAME/run` uses one, `NAME/doc` explains it and
//! `NAME/schema` says what it takes. A tool that was not granted has no directory.

use std::fmt;
use std::sync::Arc;

use model::Cancel;
use rustix::io::Errno;
use serde_json::{Map, Value};
use tools::protocol::Described;

use crate::answer::{Answer, Answers, CallFile};
use crate::tree::{Node, Opened, ROOT, Tree};

/// Whoever runs a tool.
pub trait RunsTools: Send + Sync {
    /// Runs it, until it is cancelled. What it answers is for a model or a person; an error begins with `error:`.
    fn run(&self, tool: &str, arguments: &Map<String, Value>, cancel: &Cancel) -> String;
}

/// The tree of tools.
pub struct Toolbox {
    tools: Vec<Files>,
    names: Arc<[u8]>,
    help: Arc<[u8]>,
}

struct Files {
    name: String,
    doc: Arc<[u8]>,
    schema: Arc<[u8]>,
    run: Arc<Run>,
}

struct Run {
    tool: String,
    by: Arc<dyn RunsTools>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Toolbox {
    /// Of the granted tools, and whoever runs them.
    pub fn new(tools: &[Described], by: &Arc<dyn RunsTools>) -> Self {
        let first = |doc: &str| doc.split_once(". ").map_or(doc, |(first, _)| first).to_owned();
        let line = |tool: &Described| format!("{:<8} {}\n", tool.name, first(&tool.doc));
        let names: String = tools.iter().map(line).collect();
        let files = |tool: &Described| Files {
            name: tool.name.clone(),
            doc: bytes(format!("{}\n", tool.doc)),
            schema: bytes(serde_json::to_string_pretty(&tool.schema).unwrap_or_default() + "\n"),
            run: Arc::new(Run { tool: tool.name.clone(), by: Arc::clone(by) }),
        };
        let help = bytes(format!("{HELP}{names}"));
        Self { tools: tools.iter().map(files).collect(), names: bytes(names), help }
    }

    /// A tool, by the number of its directory or of a file in it.
    fn tool(&self, number: u64) -> Option<(&Files, u64)> {
        let index = usize::try_from(number.checked_sub(FIRST)? / STEP).ok()?;
        Some((self.tools.get(index)?, (number - FIRST) % STEP))
    }

    fn text(&self, number: u64) -> Option<&Arc<[u8]>> {
        match number {
            TOOLS => Some(&self.names),
            HELP_FILE => Some(&self.help),
            number => match self.tool(number)? {
                (tool, DOC) => Some(&tool.doc),
                (tool, SCHEMA) => Some(&tool.schema),
                _ => None,
            },
        }
    }
}

impl Tree for Toolbox {
    fn node(&self, number: u64) -> Option<Node> {
        if let Some(text) = self.text(number) {
            return Some(Node::Text(text.len() as u64));
        }
        match number {
            ROOT => Some(Node::Directory),
            number => match self.tool(number)?.1 {
                DIRECTORY => Some(Node::Directory),
                RUN => Some(Node::Stream),
                _ => None,
            },
        }
    }

    fn child(&self, directory: u64, name: &[u8]) -> Option<u64> {
        let names = self.names(directory);
        names.into_iter().find(|(known, _)| known.as_bytes() == name).map(|(_, number)| number)
    }

    fn parent(&self, _: u64) -> u64 {
        ROOT
    }

    fn names(&self, directory: u64) -> Vec<(String, u64)> {
        if directory == ROOT {
            let own = [("tools".to_owned(), TOOLS), ("help".to_owned(), HELP_FILE)];
            let tool = |(index, tool): (usize, &Files)| {
                (tool.name.clone(), FIRST + index as u64 * STEP + DIRECTORY)
            };
            return own.into_iter().chain(self.tools.iter().enumerate().map(tool)).collect();
        }
        match self.tool(directory) {
            Some((_, DIRECTORY)) => [("run", RUN), ("doc", DOC), ("schema", SCHEMA)]
                .map(|(name, which)| (name.to_owned(), directory - DIRECTORY + which))
                .to_vec(),
            _ => Vec::new(),
        }
    }

    fn open(&self, number: u64) -> Result<Opened, Errno> {
        if let Some(text) = self.text(number) {
            return Ok(Opened::Text(Arc::clone(text)));
        }
        match self.tool(number) {
            Some((tool, RUN)) => {
                let run: Arc<dyn Answers> = Arc::<Run>::clone(&tool.run);
                Ok(Opened::Stream(Box::new(CallFile::new(run, UNASKED))))
            }
            _ => Err(Errno::ISDIR),
        }
    }
}

impl Answers for Run {
    fn answer(&self, question: Vec<u8>, answer: &Arc<Answer>) {
        let arguments = match serde_json::from_slice::<Map<String, Value>>(&question) {
            Ok(arguments) => arguments,
            Err(error) => {
                let tool = &self.tool;
                let text = format!(
                    "error: the arguments are no JSON object: {error}; see `{tool}/schema`\n"
                );
                answer.add(text.as_bytes());
                return answer.end();
            }
        };
        let (tool, by, coming) = (self.tool.clone(), Arc::clone(&self.by), Arc::clone(answer));
        let run = move || {
            let mut text = by.run(&tool, &arguments, coming.cancel());
            if !text.ends_with('\n') {
                text.push('\n');
            }
            coming.add(text.as_bytes());
            coming.end();
        };
        if std::thread::Builder::new().name("call".to_owned()).spawn(run).is_err() {
            answer.add(b"error: too many calls at one time\n");
            answer.end();
        }
    }
}

fn bytes(text: String) -> Arc<[u8]> {
    text.into_bytes().into()
}

const TOOLS: u64 = 2;
const HELP_FILE: u64 = 3;
/// Of the first tool's directory; those of the next one are a step further.
const FIRST: u64 = 16;
const STEP: u64 = 4;
const DIRECTORY: u64 = 0;
const RUN: u64 = 1;
const DOC: u64 = 2;
const SCHEMA: u64 = 3;
const UNASKED: &str =
    "error: nothing was asked: write the arguments into this open file first, as a JSON object\n";
const HELP: &str = "Tools as files. `NAME/doc` says what a tool does, `NAME/schema` what it takes. To use one, open `NAME/run` for reading and
writing, write its arguments as a JSON object, and read the result from the same open file. In a shell:

  exec 3<> read/run; echo '{\"path\": \"notes.txt\"}' >&3; cat <&3; exec 3>&-

Each open file has a result of its own, so that many calls can run at one time. A result that begins with `error:` is one.
Closing the file cancels the call. A tool does what the program that asks could do, and no more.

";

#[cfg(test)]
mod tests;
