//! The `stockade` command: reads the command line, asks the crates below, and tells a person or a
//! program what came of it. Holds no mechanism of its own.
//!
//! Nothing here starts a thread: a cage is started from a process with a single one. The daemon, the host of calls and an
//! agent start their own, after the processes that start their cages, and `fs`, which starts no cage, starts some too.
#![forbid(unsafe_code)]

mod acknowledge;
mod after_run;
mod agent;
mod agent_profile;
mod apply;
mod arguments;
mod attach;
mod audit_command;
mod check;
mod client;
mod detach;
mod diff;
mod discard;
mod doctor;
mod egress;
mod executors;
mod exit;
mod failure;
mod filesystem;
mod grants;
mod init;
mod inside;
mod invoke_command;
mod kill;
mod learn;
mod logs;
mod message;
mod network;
mod output;
mod pages;
mod profile;
mod prove;
mod ps;
mod quarantine;
mod result;
mod review;
mod run;
mod runs;
mod selection;
mod serve;
mod session;
mod sinks;
mod snapshot;
mod status;
mod trust;
mod undo;
mod why;
mod wrap;

use std::process::ExitCode;

use arguments::{Arguments, Command, RUN};
use jail::Premade;
use message::Messages;

fn main() -> ExitCode {
    // The attacking side of `prove` runs inside cages and beside them; it is not part of the
    // command line that a person sees.
    let words = advice::guests::spelled_out(std::env::args_os().collect());
    if let [_, first, rest @ ..] = words.as_slice()
        && first == ATTACK
    {
        return attacks::child_main(rest);
    }
    // Started for a cage, to serve one of its mounts.
    if words.get(1).is_some_and(|word| word == mounts::COMMAND) {
        return mounts::serve();
    }
    cage::this_program_serves_mounts();
    // Started by the library, with one end of a socket.
    if let [_, only] = words.as_slice()
        && only == invoke::host::COMMAND
    {
        return invoke::host::serve();
    }
    // So is the part of an agent that is in a cage.
    if let Some(exit) = words.get(1..).and_then(harness::inside) {
        return exit;
    }
    // First of all: making namespaces takes longer than finding out what goes into them.
    let premade = words.get(1).is_some_and(|word| word == RUN).then(Premade::begin);
    let arguments = match Arguments::read(&words) {
        Ok(arguments) => arguments,
        Err(error) => {
            drop(premade);
            let exit = output::print_usage(&error);
            if let [_, command, rest @ ..] = words.as_slice()
                && command == RUN
            {
                run::tell_unreadable(rest, &error);
            }
            return exit;
        }
    };
    let colour = arguments.everywhere.color;
    let messages = Messages::new(colour);
    let answers_in_json = arguments.command.answers_in_json();
    let ended = match arguments.command {
        Command::Run(arguments) => run::run(*arguments, premade, messages),
        Command::Agent(arguments) => agent::agent(&arguments, messages),
        Command::Repl(arguments) => agent::repl(&arguments, messages),
        Command::Mcp(arguments) => agent::mcp(&arguments, messages),
        Command::Spawn(arguments) => agent::spawn(&arguments),
        Command::Tool(arguments) => agent::tool(&arguments),
        Command::Check(arguments) => check::check(*arguments, messages),
        Command::Why(arguments) => why::why(*arguments, messages),
        Command::Learn(arguments) => learn::learn(*arguments, messages),
        Command::Wrap(arguments) => wrap::wrap(&arguments, messages),
        Command::Invoke(arguments) => invoke_command::invoke(&arguments, messages),
        Command::Grants(arguments) => grants::grants(&arguments, messages),
        Command::Doctor(arguments) => doctor::doctor(&arguments, messages),
        Command::Allow(arguments) => trust::allow(&arguments, messages),
        Command::Deny(arguments) => trust::deny(&arguments, messages),
        Command::Diff(arguments) => diff::diff(&arguments, colour, messages),
        Command::Apply(arguments) => apply::apply(&arguments, colour, messages),
        Command::Discard(arguments) => discard::discard(&arguments, messages),
        Command::Undo(arguments) => undo::undo(&arguments, messages),
        Command::Session(arguments) => session::session(&arguments, messages),
        Command::Acknowledge(arguments) => acknowledge::acknowledge(&arguments, messages),
        Command::Snapshot(arguments) => snapshot::snapshot(&arguments),
        Command::Quarantine(arguments) => quarantine::quarantine(&arguments, messages),
        Command::Init(arguments) => init::init(&arguments, messages),
        Command::Profile(arguments) => profile::profile(&arguments),
        Command::AgentProfile(arguments) => agent_profile::agent_profile(&arguments),
        Command::Prove(arguments) => prove::prove(*arguments, messages),
        Command::Audit(arguments) => audit_command::audit(*arguments, messages),
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Fs(arguments) => filesystem::fs(&arguments, messages),
        Command::Ps(arguments) => ps::ps(&arguments),
        Command::Logs(arguments) => logs::logs(&arguments, messages),
        Command::Attach(arguments) => attach::attach(&arguments, messages),
        Command::Kill(arguments) => kill::kill(&arguments, messages),
        Command::Status(arguments) => status::status(&arguments, messages),
        Command::Schema(arguments) => pages::schema(&arguments),
        Command::Completions(arguments) => pages::completions(&arguments),
        Command::Man(arguments) => pages::man(&arguments),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.tell(messages);
            if answers_in_json && let Err(unprinted) = output::print_json(&failure.as_json()) {
                unprinted.tell(messages);
            }
            failure.exit.into()
        }
    }
}

const ATTACK: &str = "__attack";
