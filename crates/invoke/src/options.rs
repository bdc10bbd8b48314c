//! What a caller decides about a call, beside the executor and its arguments.

use std::path::PathBuf;
use std::time::Duration;

use manifest::Autonomy;
use manifest::{Backend, Filter, Grants};
use plan::HostPath;

use crate::approval::{Approver, Nobody};

/// What a caller decides.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How much is left to the executor. It only takes away.
    pub autonomy: Autonomy,
    /// What the caller gives; without any word, everything ordinary that the manifest declares.
    pub grants: &'a Grants,
    /// Paths of the caller's own choice that can be read.
    pub extra_ro: &'a [PathBuf],
    /// Paths of the caller's own choice that can be written to.
    pub extra_rw: &'a [PathBuf],
    /// What builds the cage, in place of what the manifest says.
    pub backend: Option<Backend>,
    /// Whether the program may run where no cage can be built.
    pub unsandboxed: Unsandboxed,
    /// Who is asked where the level of autonomy wants somebody to agree.
    pub approver: &'a dyn Approver,
    /// The state directory, where stored grants are read and written; none for this user's own.
    pub state: Option<&'a HostPath>,
    /// What the arguments may not name.
    pub filter: &'a Filter,
    /// In place of the manifest's time; a cage counts whole seconds, so a fraction is rounded up.
    pub timeout: Option<Duration>,
    /// The `stockade` program; none where this process is one.
    pub stockade: Option<&'a std::path::Path>,
    /// Whether this process is to keep a host for its calls.
    pub calls: Calls,
    /// Asked now and then while the executor runs; it is ended once this says yes.
    pub is_cancelled: Option<&'a dyn Fn() -> bool>,
}

/// Whether a program may run where no cage can be built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsandboxed {
    /// The call fails.
    #[default]
    Refuse,
    /// It runs with everything that the caller has, and the result says so.
    Allow,
}

/// How many calls a process makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// One, or a few: each starts a process for its cage.
    #[default]
    Few,
    /// Many: one process is started for the cages of all of them, and goes with this one.
    Many,
}

impl Options<'static> {
    /// Supervised, with what the manifest declares, and nobody to ask.
    pub fn new() -> Self {
        static UNSAID: Grants = Grants::Unsaid;
        static FILTER: std::sync::LazyLock<Filter> = std::sync::LazyLock::new(Filter::default);
        Self {
            autonomy: Autonomy::Supervised,
            grants: &UNSAID,
            extra_ro: &[],
            extra_rw: &[],
            backend: None,
            unsandboxed: Unsandboxed::Refuse,
            approver: &Nobody,
            state: None,
            filter: &FILTER,
            timeout: None,
            stockade: None,
            calls: Calls::Few,
            is_cancelled: None,
        }
    }
}

impl Default for Options<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("autonomy", &self.autonomy)
            .field("grants", &self.grants)
            .field("extra_ro", &self.extra_ro)
            .field("extra_rw", &self.extra_rw)
            .field("backend", &self.backend)
            .field("unsandboxed", &self.unsandboxed)
            .finish_non_exhaustive()
    }
}
