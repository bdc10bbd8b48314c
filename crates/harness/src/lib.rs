//! Puts an agent to work: the commands `agent` and `repl`; and `mcp`, for agents of others. The agent itself runs in this process, outside; everything
//! that it does with tools happens in a cage, by a worker that the cage's program is. The model's key is read here, after
//! the processes that start cages were forked, and goes into requests alone.
//!
//! Decides nothing about what a cage may do: the policy says that, as for every other run.
#![forbid(unsafe_code)]

mod arguments;
mod aside;
mod ask;
mod caged;
mod code;
mod inside_server;
mod mcp_http;
mod mcp_serve;
mod mcp_wrap;
pub mod model_service;
mod models;
mod narrowed;
mod operator;
mod provider;
mod record;
mod repl;
mod selection;
mod server_tools;
mod servers;
mod services;
mod show;
mod single;
mod spawn;
mod spawn_command;
mod spawn_request;
mod stop;
mod tool_command;
mod tool_files;
mod types;
mod warnings;
mod work;

pub use arguments::{AgentArguments, McpArguments, ReplArguments};
pub use models::Models;
pub use repl::repl;
pub use single::agent;
pub use spawn_command::{SpawnArguments, spawn};
pub use tool_command::{ToolArguments, tool};
pub use tool_files::ToolFiles;
pub use warnings::{refuse_unknown, warnings};
pub use work::Finish;

use std::ffi::{OsStr, OsString};

use std::process::ExitCode;

use jail::within::Narrowing;
use tools::reaper::Left;

/// `stockade mcp`. Before the first thread of the process.
///
/// # Errors
/// If nothing could be begun.
pub fn mcp(arguments: &McpArguments, tell: &dyn Tell) -> Result<Finish, advice::Failure> {
    match &arguments.command {
        arguments::McpCommand::Serve(arguments) => mcp_serve::serve(arguments, tell),
        arguments::McpCommand::Wrap(arguments) => mcp_wrap::wrap(arguments, tell),
    }
}

/// What a person is told beside what the agent says.
pub trait Tell: Sync {
    /// Something worth knowing.
    fn note(&self, text: &str);
    /// Something that may be wrong.
    fn warning(&self, text: &str);
}

/// Runs the part of an agent that is in a cage, or what serves the model to one, if these words of a command line ask for
/// it: no person types them.
pub fn inside(words: &[OsString]) -> Option<ExitCode> {
    let (first, rest) = words.split_first()?;
    if first == OsStr::new(REAPER) {
        return Some(tools::reaper::main(rest, Left::Running));
    }
    if first == OsStr::new(KEEPER) {
        return Some(tools::reaper::main(rest, Left::Nothing));
    }
    if first == OsStr::new(MODEL) {
        return Some(model_service::main());
    }
    if first == OsStr::new(SERVICES) {
        return Some(operator::starter::main(rest));
    }
    if first == OsStr::new(jail::INSIDE_WORD) {
        return Some(inside_server::main(rest));
    }
    let is_child = first == OsStr::new(WITHIN);
    if first != OsStr::new(WORKER) && !is_child {
        return None;
    }
    let program = rest.first().cloned().unwrap_or_else(|| "/proc/self/exe".into());
    let reaper = vec![program.clone(), REAPER.into()];
    let child = vec![program.clone(), KEEPER.into(), program.clone(), WITHIN.into(), program];
    let mut stdin = std::io::BufReader::new(std::io::stdin());
    if is_child && narrow(&mut stdin).is_none() {
        return Some(ExitCode::FAILURE);
    }
    Some(match tools::worker::run(stdin, std::io::stdout(), (reaper, child), narrowed::to_needs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Gives up all that a child does not have, as the first line says. Nothing was read from anybody else before.
fn narrow(input: &mut impl std::io::BufRead) -> Option<()> {
    let narrowing = tools::protocol::receive::<Narrowing>(input).ok()??;
    // Whoever starts it hears of it by its end.
    jail::within::narrow(&narrowing).ok()
}

const KEEPER: &str = "__keep";
const WITHIN: &str = "__within";
const MODEL: &str = "__model";
const SERVICES: &str = "__services";
const WORKER: &str = "__tools";
const REAPER: &str = "__reap";
