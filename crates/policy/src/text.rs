//! The policy language: text in, cages out, or every error of the text at once.
//!
//! Stages, in reading order: `source` (lines), TOML (the `toml` crate, with recovery), `decode`
//! (typed looks that report), `document` (the tables of a file), `cage` with `files`, `path`,
//! `mounts`, `variables`, `net` and `limits` (one cage's words), `inherit` (defaults and `extends`),
//! `settings` (`[network]`), and `render` (errors as a person sees them). `written` is the other front end
//! of the user: flags and the fields of a request. Both end in `rules`, by the same check for each word.
//! `capabilities` is the front end of plugins.
//!
//! Never reads a file: it is given text and the [`Place`] that its paths refer to. The size of a
//! text is checked before anything else looks at it.

mod cage;
pub mod capabilities;
mod decode;
mod diagnostic;
mod document;
mod files;
mod inherit;
pub(crate) mod limits;
mod mounts;
mod net;
mod path;
mod render;
mod rules;
mod settings;
mod source;
mod syntax;
mod variables;
pub mod words;
mod written;

use indexmap::IndexMap;

pub use diagnostic::{Code, Diagnostic, Diagnostics, Related, Span};
pub use limits::{cpus as read_cpus, memory as read_memory, pids as read_pids, weight_of_shares};
pub(crate) use mounts::MAX_MOUNTS;
pub use path::{PathProblem, absolute};
pub use render::Style;
pub use rules::Rules;
pub use variables::FIXED as FIXED_VARIABLES;
pub use written::{RuleError, RuleFault, Writer, WrittenRules};

use crate::{Cage, Ceiling, Limits, NetworkSettings, Place, RuleOrigin};

/// The user's own rules for one run.
pub type Flags = Rules;

/// The most bytes of a policy text.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The most rules on paths in one list.
pub const MAX_RULES: usize = 4096;

/// The most entries of one list of `net`.
pub const MAX_NETWORK_ENTRIES: usize = 1024;

/// The most characters of a sentence of `net.reasons`.
pub const MAX_REASON_CHARACTERS: usize = 200;

/// The most rules of all cages of one file together, with those that they inherit.
pub const MAX_RULES_IN_FILE: usize = 65_536;

/// The most cages, and the most agents, of one file.
pub const MAX_CAGES: usize = 256;

/// The most errors that are told at once.
pub const MAX_ERRORS: usize = 100;

/// The version of the language.
pub const LANGUAGE_VERSION: i64 = 1;

/// What one file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Cages by name, in the order of the text.
    pub cages: IndexMap<String, Cage>,
    /// Agents by name, in the order of the text.
    pub agents: IndexMap<String, Agent>,
    /// The user's profiles by name, in the order of the text; always none in a project's file.
    pub profiles: IndexMap<String, Profile>,
    /// What every cage of the file has, and every profile.
    pub defaults: Rules,
    /// The user's ceiling; always none in a project's file.
    pub ceiling: Option<Ceiling>,
    /// How this machine reaches the network; always the default in a project's file.
    pub network: NetworkSettings,
}

/// An agent: a program and the cage that it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Which cage.
    pub cage: AgentCage,
    /// The program and its arguments; empty where the file names none.
    pub command: Vec<String>,
    /// Where it was written.
    pub origin: RuleOrigin,
}

/// A policy of the user's for any project, as far as it is written: what it adds to is found by whoever
/// knows the built-in ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The profile that it adds to.
    pub from: Option<String>,
    /// What it says itself.
    pub rules: Rules,
}

/// Which cage an agent runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCage {
    /// A cage of the same file, which exists.
    Named(String),
    /// `cage = "disabled"`: none. Limits live outside the choice between enabled and disabled.
    Disabled(Limits),
}

/// Who wrote a text: it decides which paths the text may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// Whoever wrote the project: nothing outside of it.
    Project,
    /// The user.
    User,
}

/// Reads a project's file, `stockade.toml`. It can name nothing outside the project.
pub fn parse_project(file: &str, text: &[u8], place: &Place) -> Result<Document, Diagnostics> {
    document::parse(file, text, place, Author::Project)
}

/// Reads the user's own configuration, `config.toml`: the same language, with `~/` and absolute
/// paths, `[ceiling]` and `[network]`.
pub fn parse_user(file: &str, text: &[u8], place: &Place) -> Result<Document, Diagnostics> {
    document::parse(file, text, place, Author::User)
}

#[cfg(test)]
mod tests;
