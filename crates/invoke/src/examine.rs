//! What a call would get, without asking anybody, making anything or starting it.

use std::ffi::OsString;
use std::sync::Arc;

use manifest::Asked;
use plan::{HostPath, Plan};
use policy::with_causes;
use serde_json::{Map, Value};

use crate::decide::{caller, derive};
use crate::error::{Failure, InvokeError};
use crate::executor::Executor;
use crate::options::Options;
use crate::wrap::backend;

/// The cage of a call, and what holds beside it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The compiled cage.
    pub plan: Arc<Plan>,
    /// What somebody would have to agree to.
    pub asks: Vec<Asked>,
    /// What the manifest declares and the call would not get.
    pub narrowed: Vec<String>,
    /// What a person may want to know.
    pub notes: Vec<String>,
    /// Directories to write to that would be made; the cage is shown without them.
    pub create: Vec<HostPath>,
}

/// Examines a call; without words it is the command that the manifest describes.
pub fn examine(
    executor: &Executor,
    command: &[OsString],
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
) -> Result<Examined, InvokeError> {
    look(executor, command, arguments, options)
        .map_err(|failure| failure.before_start(options.autonomy))
}

fn look(
    executor: &Executor,
    command: &[OsString],
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
) -> Result<Examined, Failure> {
    let caller = caller()?;
    let mut decided = derive(executor, arguments, options, &caller)?;
    let create = std::mem::take(&mut decided.derived.create);
    decided.derived.policy.fs.retain(|rule| !create.contains(&rule.path));
    let selection = decided.sealed(executor, options).selection(&caller);
    let selection =
        selection.map_err(|error| Failure::refused(error.kind().word(), with_causes(&error)))?;
    let own = executor.command();
    let command = if command.is_empty() { own.as_slice() } else { command };
    let prepared = cage::prepare::prepare(&selection, command);
    let prepared =
        prepared.map_err(|error| Failure::refused(error.kind().word(), with_causes(&error)))?;
    let manifest::Derived { asks, narrowed, mut notes, .. } = decided.derived;
    // The cage that is shown is native, so it is worth a note and no more.
    notes.extend(backend(executor, options).err().map(|refused| refused.to_string()));
    Ok(Examined { plan: prepared.plan, asks, narrowed, notes, create })
}
