//! What a tool is, and what it works on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorKind, ToolError};
use crate::exec::Shell;
use crate::notes::Notes;
use crate::parameters::{Given, Parameter, schema};
use crate::reads::Reads;
use crate::root::Root;
use crate::spill::{Spill, Spilled};

/// A tool.
pub trait Tool: Send + Sync {
    /// Its name, by which it is granted and called.
    fn name(&self) -> &'static str;

    /// What it does and how it is used, for the model.
    fn doc(&self) -> &'static str;

    /// What it takes.
    fn parameters(&self) -> &'static [Parameter];

    /// The authority that it is useless without.
    fn needs(&self) -> Needs;

    /// Does it. The arguments have been checked.
    ///
    /// # Errors
    /// In words for the model.
    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError>;

    /// JSON schema of what it takes.
    fn schema(&self) -> Value {
        schema(self.parameters())
    }

    /// Checks the arguments, does it, and bounds what it answers.
    ///
    /// # Errors
    /// In words for the model.
    fn call(&self, arguments: &Map<String, Value>, call: &Call<'_>) -> Result<Spilled, ToolError> {
        let given = Given::check(self.name(), self.parameters(), arguments)?;
        let text = self.run(given, call)?;
        call.world.spill.bound(self.name(), text)
    }
}

/// The authority of a tool, as far as it can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// To read files.
    Read,
    /// To change files.
    Write,
    /// To reach servers.
    Network,
    /// To start programs, which read and change files and use the network as far as the cage lets them.
    Run,
}

/// Who gets what a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// The conversation of an agent, which still has before its eyes what it was shown.
    Conversation,
    /// Anybody: a client, a script, a file. What others were shown says nothing about them.
    Anybody,
}

/// What the tools of one session share.
#[derive(Debug)]
pub struct World {
    /// The files.
    pub root: Root,
    /// Where large results go.
    pub spill: Spill,
    /// What `exec` runs commands with.
    pub shell: Shell,
    reads: Mutex<Reads>,
    pub(crate) notes: Mutex<Notes>,
}

impl World {
    /// A session over files.
    pub fn new(root: Root, spill: Spill, shell: Shell) -> Self {
        Self { root, spill, shell, reads: Mutex::default(), notes: Mutex::default() }
    }

    /// What was read is no longer before the model's eyes: it is read anew when it is asked for.
    pub fn forget_reads(&self) {
        self.reads().forget();
    }

    /// Whether the conversation has these lines of a file; it has them from now on.
    pub(crate) fn is_known(
        &self,
        identity: (u64, u64),
        offset: u64,
        limit: u64,
        lines: &str,
    ) -> bool {
        self.reads().is_known(identity, offset, limit, lines)
    }

    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call.
pub struct Call<'a> {
    /// What it works on.
    pub world: &'a World,
    /// Who gets the result.
    pub reader: Reader,
    /// When it is given up.
    pub until: Instant,
    /// Whether whoever asked does not want it any more.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Takes what can be shown meanwhile.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Call<'_> {
    /// Whether to go on.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if (self.is_cancelled)() {
            return Err(ToolError::cancelled());
        }
        match Instant::now() >= self.until {
            true => Err(ToolError::new(
                ErrorKind::TimedOut,
                "the call took too long; ask for less at once",
            )),
            false => Ok(()),
        }
    }
}
