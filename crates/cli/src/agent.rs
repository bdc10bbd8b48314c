//! `stockade agent`, `repl` and `mcp`: exit codes and messages around what `harness` does.

use harness::{
    AgentArguments, Finish, McpArguments, ReplArguments, SpawnArguments, Tell, ToolArguments,
};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

/// One task.
pub(crate) fn agent(arguments: &AgentArguments, messages: Messages) -> Result<Exit, Failure> {
    Ok(exit(harness::agent(arguments, &Told(messages))?))
}

/// A conversation.
pub(crate) fn repl(arguments: &ReplArguments, messages: Messages) -> Result<Exit, Failure> {
    Ok(exit(harness::repl(arguments, &Told(messages))?))
}

/// Tools for agents of others, or servers of others.
pub(crate) fn mcp(arguments: &McpArguments, messages: Messages) -> Result<Exit, Failure> {
    Ok(exit(harness::mcp(arguments, &Told(messages))?))
}

/// The tools themselves, in a cage.
pub(crate) fn tool(arguments: &ToolArguments) -> Result<Exit, Failure> {
    Ok(exit(harness::tool(arguments)?))
}

pub(crate) fn spawn(arguments: &SpawnArguments) -> Result<Exit, Failure> {
    Ok(Exit::Program(harness::spawn(arguments)?))
}

fn exit(finish: Finish) -> Exit {
    match finish {
        Finish::Done => Exit::Success,
        Finish::NotDone => Exit::No,
        Finish::Stopped => Exit::Program(INTERRUPTED),
    }
}

/// What a person is told by what runs agents and tools.
pub(crate) struct Told(pub(crate) Messages);

impl Tell for Told {
    fn note(&self, text: &str) {
        self.0.note(text);
    }

    fn warning(&self, text: &str) {
        self.0.warning(text);
    }
}

/// As a shell tells it: 128 and the number of `SIGINT`.
const INTERRUPTED: u8 = 130;
