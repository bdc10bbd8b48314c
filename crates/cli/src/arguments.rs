//! The command line: every command, flag and help text. Reads words; never looks at a file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use cage::prepare::guest::Language;
use clap::{Args, FromArgMatches as _, Parser, Subcommand};

use crate::audit_command::AuditArguments;
use crate::exit::EXIT_CODES;
use crate::message::Colour;

pub(crate) mod acknowledge;
mod answers;
pub(crate) mod daemon;
pub(crate) mod examples;
pub(crate) mod executors;
pub(crate) mod explain;
pub(crate) mod filesystem;
mod pages;
pub(crate) mod profiles;
pub(crate) mod quarantine;
pub(crate) mod review;
pub(crate) mod sessions;
mod words;

pub(crate) use pages::{
    AllowArguments, CompletionsArguments, DenyArguments, DoctorArguments, ManArguments,
    SchemaArguments,
};
pub(crate) use words::{Backend, CheckFormat, CommandSet, Seccomp, State};

#[cfg(test)]
mod tests;

/// Run a program in a cage: it sees, reaches and uses only what one small text says.
#[derive(Debug, Parser)]
#[command(
    name = "stockade",
    version,
    after_long_help = EXIT_CODES,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) everywhere: EverywhereArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct EverywhereArguments {
    /// Colour of messages
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) color: Colour,
}

impl Arguments {
    /// Reads the words of this process. Describing every command to the parser takes longer than reading
    /// the words, so a `run` is tried with the description of that command alone.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        if words.get(1).is_some_and(|word| word == RUN)
            && let Ok(RunAlone { everywhere, command }) = RunAlone::try_parse_from(words)
        {
            let CommandAlone::Run(arguments) = command;
            return Ok(Self { everywhere, command: Command::Run(arguments) });
        }
        Self::read_among_others(words)
    }

    /// The same with the description of every command.
    fn read_among_others(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut matches = examples::described().try_get_matches_from(words)?;
        Self::from_arg_matches_mut(&mut matches)
    }
}

/// [`Arguments`] with one command.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, disable_version_flag = true, disable_help_subcommand = true)]
struct RunAlone {
    #[command(flatten)]
    everywhere: EverywhereArguments,
    #[command(subcommand)]
    command: CommandAlone,
}

#[derive(Debug, Subcommand)]
enum CommandAlone {
    Run(Box<RunArguments>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program in a cage; `stockade js FILE` and `stockade wasm FILE` run one as a guest
    #[command(after_long_help = EXIT_CODES)]
    Run(Box<RunArguments>),
    /// Let a model do a task with tools in a cage, on a copy of the project that you review
    Agent(Box<harness::AgentArguments>),
    /// Talk with a model that works with tools in a cage
    Repl(Box<harness::ReplArguments>),
    /// Tools in a cage for other agents, and other servers of tools in a cage
    Mcp(Box<harness::McpArguments>),
    /// Start a program with less than the cage has that this one is in
    Spawn(Box<harness::SpawnArguments>),
    /// The tools of agents, for a shell in a cage
    Tool(Box<harness::ToolArguments>),
    /// Show the compiled cage: everything that the program would see, reach and use
    Check(Box<CheckArguments>),
    /// Say what the cage makes of a path, a host, a system call or a variable, and which rule says so
    Why(Box<WhyArguments>),
    /// Run a program where it sees much and changes little, and propose the policy that it needs
    Learn(Box<explain::LearnArguments>),
    /// Print the command line of an executor with its cage around it
    Wrap(Box<executors::WrapArguments>),
    /// Call an executor with one JSON object and print its answer, with what was around it
    #[command(after_long_help = EXIT_CODES)]
    Invoke(Box<executors::InvokeArguments>),
    /// Show the approvals that were stored for executors, or take them back
    Grants(executors::GrantsArguments),
    /// Say which layers of isolation hold here, and how to get the others
    Doctor(DoctorArguments),
    /// Approve the text of a project's policy file that asks for more than the ceiling
    Allow(AllowArguments),
    /// Take the approval of a project's policy file back
    Deny(DenyArguments),
    /// Show what programs changed in their copy-on-write view of a directory
    #[command(after_long_help = EXIT_CODES)]
    Diff(review::DiffArguments),
    /// Bring what programs changed to the host: all of it, some paths, or hunk by hunk
    #[command(after_long_help = EXIT_CODES)]
    Apply(review::ApplyArguments),
    /// Throw away what programs changed
    Discard(review::DiscardArguments),
    /// Take the last apply back
    Undo(review::UndoArguments),
    /// Show the sessions that runs have begun, end one, or remove old ones
    Session(sessions::SessionArguments),
    /// Keep what sessions and stores have, and bring it back
    Snapshot(snapshot::command::SnapshotArguments),
    /// Write a policy for the project in this directory
    Init(profiles::InitArguments),
    /// Show what runs have left that could run code here and was set aside, put it back or remove it
    Quarantine(quarantine::QuarantineArguments),
    /// Have notes that you have seen told no more in a project
    Acknowledge(acknowledge::AcknowledgeArguments),
    /// Show the profiles that there are, or the policy text of one on this host
    Profile(profiles::ProfileArguments),
    /// Show the agents that are built in, or the policy text of one on this host
    AgentProfile(profiles::AgentProfileArguments),
    /// Work with the files of sessions and stores, or serve a virtual file system to this host's kernel or over 9P
    Fs(filesystem::FsArguments),
    /// Attack a cage with every known escape and show which walls held
    Prove(Box<ProveArguments>),
    /// Show, follow, verify and export the record of what happened to cages
    Audit(Box<AuditArguments>),
    /// Run cages for programs that ask over HTTP, on a unix socket
    Serve(daemon::ServeArguments),
    /// List the daemon's cages
    Ps(daemon::PsArguments),
    /// Print what a program of the daemon has written
    Logs(daemon::LogsArguments),
    /// Connect this terminal with a program of the daemon
    Attach(daemon::AttachArguments),
    /// Send a signal to programs of the daemon, or end them
    Kill(daemon::KillArguments),
    /// Say what the daemon is and has to do
    Status(daemon::StatusArguments),
    /// Print the JSON schema of `stockade.toml`
    Schema(SchemaArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page of `stockade`, or of one of its commands
    Man(ManArguments),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// Start the program even where memory, processes or processor time cannot be limited in full
    #[arg(long, help_heading = "Limits")]
    pub(crate) degraded_limits: bool,
    /// The session that the run belongs to, begun where it does not exist: what the cage keeps in
    /// /scratch is kept for it until `stockade session end`
    #[arg(long, value_name = "ID", help_heading = "Program")]
    pub(crate) session: Option<String>,
    /// Give the program only this part of the cage, as rules in JSON, such as `{"ro": ["src"]}`; of what it does not
    /// name, all. More than the cage has is refused. Can be given again, to take from what is left
    #[arg(long, value_name = "JSON", help_heading = "Cage")]
    pub(crate) narrow: Vec<String>,
    /// Run the program WITHOUT ANY CAGE, as `cage = "disabled"` does; only its time limit holds
    #[arg(
        long,
        help_heading = "Cage",
        conflicts_with_all = ["capability", "degraded_limits", "backend", "narrow"]
    )]
    pub(crate) no_sandbox: bool,
    /// The whole request, as `stockade wrap` prints it
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Cage",
        conflicts_with_all = executors::NOT_WITH_MANIFEST,
        conflicts_with_all = executors::NOT_WITH_SEALED
    )]
    pub(crate) sealed: Option<String>,
    /// Write the result to this open descriptor, say nothing else, and end when the caller does
    #[arg(long, value_name = "NUMBER", hide = true, conflicts_with_all = ["json", "quiet"])]
    pub(crate) result_fd: Option<u32>,
    /// Run a guest and nothing else: a WASM module, or JavaScript by its name; or a pool of guests.
    /// `stockade wasm`, `stockade js` and `stockade pool` are short for this with a word
    #[arg(
        long,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "any",
        help_heading = "Program",
        conflicts_with = "sealed"
    )]
    pub(crate) guest: Option<Language>,
    /// What builds the cage
    #[arg(long, value_enum, default_value_t, help_heading = "Cage")]
    pub(crate) backend: Backend,
    /// Print the result as one line of JSON: on standard error, after everything the program wrote,
    /// or to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) explain: explain::ExplainArguments,
    /// Print no notes about refused system calls and the like; errors are still printed
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print every rule with its place, the layers that held and how long each step took
    #[arg(long, short, help_heading = "Output", conflicts_with_all = ["quiet", "result_fd"])]
    pub(crate) verbose: bool,
    /// Run the program in the background, under the daemon, which is started where there is none, and
    /// print its id for `stockade ps`, `logs`, `attach` and `kill`
    #[arg(long, short, help_heading = "Program", conflicts_with_all = words::NOT_DETACHED)]
    pub(crate) detach: bool,
    /// The program and its arguments; with `--agent`, what is added to the agent's command
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// How the cage is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CheckFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// The cage of an executor with this manifest instead
    #[arg(long, value_name = "FILE", help_heading = "Executor", conflicts_with_all = executors::NOT_WITH_MANIFEST)]
    pub(crate) manifest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) call: executors::CallArguments,
    /// A program and its arguments, as they would be given to `run`
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("question").args(["subject", "host", "syscall", "env"])))]
pub(crate) struct WhyArguments {
    /// The path, as it is on the host; or the host, as `NAME[:PORT]` or `ADDRESS[:PORT]`, where no
    /// file has that name
    #[arg(value_name = "PATH|HOST[:PORT]")]
    pub(crate) subject: Option<PathBuf>,
    /// The host, whatever files there are
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) host: Option<String>,
    /// The name of a system call
    #[arg(long, value_name = "NAME")]
    pub(crate) syscall: Option<String>,
    /// The name of a variable
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Option<String>,
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,
    #[command(flatten)]
    pub(crate) files: FileArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// The system call profile
    #[arg(long, value_name = "PROFILE", value_enum)]
    pub(crate) seccomp: Option<Seccomp>,
    /// Inside a cage: what this very cage has refused, about the path or host if one is named
    #[arg(long = "self", conflicts_with_all = ["host", "syscall", "env"])]
    pub(crate) own: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProveArguments {
    #[command(flatten)]
    pub(crate) choice: ChoiceArguments,
    /// The system call profile to attack; both without it
    #[arg(long, value_name = "PROFILE", value_enum)]
    pub(crate) seccomp: Option<Seccomp>,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which cage of which project.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArguments {
    /// The project's directory; without it the nearest one upward that has a `stockade.toml`, else
    /// the working directory
    #[arg(long, value_name = "DIR", help_heading = "Cage")]
    pub(crate) project: Option<PathBuf>,
    /// A cage of the policy file; `default` without it
    #[arg(long, value_name = "NAME", help_heading = "Cage")]
    pub(crate) cage: Option<String>,
    /// An agent with its cage and command: `claude`, `codex`, `gemini`, `opencode`, `aider`, or one of
    /// the policy files
    #[arg(long, value_name = "NAME", help_heading = "Cage", conflicts_with = "cage")]
    pub(crate) agent: Option<String>,
    /// A profile, such as `code`: `stockade profile list` names all
    #[arg(
        long,
        short,
        value_name = "NAME",
        help_heading = "Cage",
        conflicts_with_all = ["cage", "agent"]
    )]
    pub(crate) profile: Option<String>,
    /// What a plugin was given, instead of a cage of the policy file: `read:fs:PATH`,
    /// `write:fs:PATH`, `net:HOST:PORT` or `exec:NAME`; counts up to your ceiling
    #[arg(
        long,
        value_name = "CAPABILITY",
        help_heading = "Cage",
        conflicts_with_all = ["cage", "agent", "profile"]
    )]
    pub(crate) capability: Vec<String>,
}

/// Rules on paths.
#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// Show a file or directory read-only, at its own path
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) ro: Vec<PathBuf>,
    /// Show a file or directory and let the program change it
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) rw: Vec<PathBuf>,
    /// Show a directory and let the program change it in a layer of the session's own: the host's files stay as
    /// they are until you apply the changes
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) cow: Vec<PathBuf>,
    /// The same for a cache: the changes are kept for the project, and never applied
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) cache: Vec<PathBuf>,
    /// Show nothing at a path inside a grant
    #[arg(long, value_name = "PATH", help_heading = "Files")]
    pub(crate) hide: Vec<PathBuf>,
    /// Mount files at a place of the cage's own: `memory:`, `dir:PATH`, `store:PATH`, `s3://BUCKET/PREFIX`,
    /// `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or `gdrive:FOLDER`, read-only without `,rw`
    #[arg(long, value_name = "AT=FROM[,rw]", help_heading = "Files")]
    pub(crate) mount: Vec<String>,
}

/// What the program gets beside files.
#[derive(Debug, Args)]
pub(crate) struct ProgramArguments {
    /// Pass a variable on, or set one
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Program")]
    pub(crate) env: Vec<OsString>,
    /// Of the system's programs show only the shell and these
    #[arg(
        long = "command",
        value_name = "NAME",
        help_heading = "Program",
        conflicts_with = "commands"
    )]
    pub(crate) listed: Vec<String>,
    /// Show all of the system's programs, or none
    #[arg(long, value_name = "WHICH", value_enum, help_heading = "Program")]
    pub(crate) commands: Option<CommandSet>,
    /// The system call profile
    #[arg(long, value_name = "PROFILE", value_enum, help_heading = "Program")]
    pub(crate) seccomp: Option<Seccomp>,
    /// Whether /scratch is memory, or a directory that is kept for the session
    #[arg(long, value_name = "STATE", value_enum, help_heading = "Program")]
    pub(crate) state: Option<State>,
    /// Keep the program's home for the next run in the same project, in a private directory
    #[arg(long, help_heading = "Program")]
    pub(crate) keep_home: bool,
    /// Most memory, such as `512M` or `2G`; what lies in memory file systems counts
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) memory: Option<String>,
    /// Most processes and threads
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    pub(crate) pids: Option<String>,
    /// Most processors' worth of time, such as `1.5`
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    pub(crate) cpus: Option<String>,
    /// Longest life, such as `90s`, `10m` or `2h`
    #[arg(long, value_name = "DURATION", help_heading = "Limits")]
    pub(crate) time: Option<String>,
    /// Room in /tmp, and in /scratch where it is memory; without it all of `--memory`, or 1G
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) tmp_size: Option<String>,
    /// Room in a home of the cage's own; without it all of `--memory`, or 1G
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) home_size: Option<String>,
    /// Most that the changes of --cow and --cache and a kept home take, such as `20G`; 10 GiB without it
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) workspace: Option<String>,
}

/// What the program reaches, and what reaches it.
#[derive(Debug, Args)]
pub(crate) struct NetworkArguments {
    /// Let the program reach a host: `NAME`, `*.NAME`, `**.NAME`, an address or a network, each with
    /// an optional `:PORT` or `:PORT-PORT`; several with commas between them
    #[arg(long, value_name = "HOST", help_heading = "Network", conflicts_with = "no_net")]
    pub(crate) net: Vec<String>,
    /// No network, whatever the policy says
    #[arg(long, help_heading = "Network")]
    pub(crate) no_net: bool,
    /// Let the program reach a port of this machine's own loopback, at the same port of its own; `model` for the model
    /// service
    #[arg(long, value_name = "PORT", help_heading = "Network", conflicts_with = "no_net")]
    pub(crate) host_port: Vec<String>,
    /// Offer a port of the program on this machine's own loopback, at the same port
    #[arg(long, value_name = "PORT", help_heading = "Network", conflicts_with = "no_net")]
    pub(crate) publish: Vec<String>,
}

/// Where the words after `run` ask for the result, of a line that cannot be read otherwise. Looks no
/// further than to the first word that may be the program's name.
pub(crate) fn json_asked_for(words: &[OsString]) -> Option<Option<PathBuf>> {
    let mut may_be_value = false;
    for word in words {
        let bytes = word.as_bytes();
        match bytes.strip_prefix(b"--json") {
            Some([]) => return Some(None),
            Some([b'=', file @ ..]) if !file.is_empty() => {
                return Some(Some(PathBuf::from(OsStr::from_bytes(file))));
            }
            _ => {}
        }
        if bytes == b"--" || (!bytes.starts_with(b"-") && !may_be_value) {
            return None;
        }
        may_be_value = bytes.starts_with(b"--") && !bytes.contains(&b'=');
    }
    None
}

/// The command that starts a cage.
pub(crate) const RUN: &str = "run";
