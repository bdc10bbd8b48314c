//! Which commands answer a program instead of a person.

use super::{CheckFormat, Command, sessions};

impl Command {
    /// Whether standard output is for a program to read, which then finds an error there too. The
    /// result of `run` has a place of its own, because its standard output is the program's.
    pub(crate) fn answers_in_json(&self) -> bool {
        match self {
            Self::Agent(arguments) => arguments.answers_in_json(),
            Self::Check(arguments) => arguments.json || arguments.format == CheckFormat::Json,
            Self::Why(arguments) => arguments.json,
            Self::Doctor(arguments) => arguments.json,
            Self::Prove(arguments) => arguments.json,
            Self::Audit(arguments) => arguments.answers_in_json(),
            Self::Ps(arguments) => arguments.json,
            Self::Status(arguments) => arguments.json,
            Self::Wrap(arguments) => arguments.json,
            Self::Invoke(_) => true,
            Self::Grants(arguments) => arguments.answers_in_json(),
            Self::Session(arguments) => match &arguments.command {
                sessions::SessionCommand::List { json } => *json,
                sessions::SessionCommand::Prune(arguments) => arguments.json,
                sessions::SessionCommand::End { .. } => false,
            },
            Self::Snapshot(arguments) => arguments.answers_in_json(),
            Self::Fs(arguments) => arguments.answers_in_json(),
            Self::Diff(arguments) => arguments.json,
            Self::Apply(arguments) => arguments.json,
            Self::Discard(arguments) => arguments.json,
            Self::Undo(arguments) => arguments.json,
            Self::Quarantine(arguments) => arguments.answers_in_json(),
            Self::Run(_)
            | Self::Repl(_)
            | Self::Mcp(_)
            | Self::Learn(_)
            | Self::Allow(_)
            | Self::Deny(_)
            | Self::Init(_)
            | Self::Acknowledge(_)
            | Self::Profile(_)
            | Self::AgentProfile(_)
            | Self::Serve(_)
            | Self::Logs(_)
            | Self::Attach(_)
            | Self::Kill(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Spawn(_)
            | Self::Tool(_) => false,
        }
    }
}
