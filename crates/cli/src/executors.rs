//! What `wrap`, `invoke` and `check --manifest` have in common: an executor and the caller's options from
//! the command line, and refusals in its words.

use std::path::{Path, PathBuf};

use invoke::{
    Executor, Failure as Refusal, Grants, InvokeError, LoadError, Options, Terminal, Unsandboxed,
};
use manifest::Autonomy;
use policy::{Fault, Kind};
use serde_json::{Map, Value};

use crate::arguments::executors::{CageArguments, CallArguments};
use crate::arguments::{Backend, CheckArguments, CheckFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};

/// What the caller decides about a call.
pub(crate) struct Wishes {
    pub(crate) arguments: Option<Map<String, Value>>,
    autonomy: Autonomy,
    grants: Grants,
    terminal: Terminal,
    ro: Vec<PathBuf>,
    rw: Vec<PathBuf>,
    backend: Option<invoke::Backend>,
    unsandboxed: Unsandboxed,
}

impl Wishes {
    pub(crate) fn read(
        call: &CallArguments,
        cage: Option<&CageArguments>,
    ) -> Result<Self, Failure> {
        let arguments = call.args.as_deref().map(|text| object(text.as_bytes())).transpose()?;
        let grants = match call.grant.as_slice() {
            [] => Grants::Unsaid,
            listed => Grants::listed(listed)
                .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?,
        };
        let backend = cage.and_then(|cage| cage.backend).map(|backend| match backend {
            Backend::Native => invoke::Backend::Native,
            Backend::Bwrap => invoke::Backend::Bwrap,
        });
        let unsandboxed = match cage.is_some_and(|cage| cage.allow_unsandboxed) {
            true => Unsandboxed::Allow,
            false => Unsandboxed::Refuse,
        };
        Ok(Self {
            arguments,
            autonomy: call.autonomy.unwrap_or_default(),
            grants,
            terminal: Terminal::new(),
            ro: cage.map(|cage| cage.ro.clone()).unwrap_or_default(),
            rw: cage.map(|cage| cage.rw.clone()).unwrap_or_default(),
            backend,
            unsandboxed,
        })
    }

    pub(crate) fn options(&self) -> Options<'_> {
        Options {
            autonomy: self.autonomy,
            grants: &self.grants,
            extra_ro: &self.ro,
            extra_rw: &self.rw,
            backend: self.backend,
            unsandboxed: self.unsandboxed,
            approver: &self.terminal,
            ..Options::new()
        }
    }
}

/// One JSON object.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Failure::new(Exit::Usage, "the arguments are JSON, and no object")),
        Err(error) => {
            Err(Failure::new(Exit::Usage, format!("the arguments are not JSON: {error}")))
        }
    }
}

/// Reads a manifest and finds its code.
pub(crate) fn load(path: &Path) -> Result<Executor, Failure> {
    Executor::load(path).map_err(|error: LoadError| {
        let text = error.to_string();
        Failure::new(Exit::BadPolicy, text)
    })
}

/// A call that was refused, as a failure of a command.
pub(crate) fn refused(error: &InvokeError) -> Failure {
    Failure::new(exit_of(&error.failure), error.to_string())
}

/// The exit code of a call without an answer.
pub(crate) fn exit_of(failure: &Refusal) -> Exit {
    match failure {
        Refusal::Timeout { .. } => Exit::TimeExceeded,
        Refusal::Unavailable { .. } => Exit::CannotBuild,
        Refusal::NonJson { .. } | Refusal::TooLarge { .. } => Exit::No,
        Refusal::Killed { .. } => Exit::of_program(jail::End::Signalled(libc::SIGKILL)),
        Refusal::Exited { code } => Exit::of_program(jail::End::Exited(*code)),
        Refusal::Refused { code, .. } => {
            let kind = Kind::ALL.into_iter().find(|kind| kind.word() == code);
            match kind.map(Kind::fault) {
                Some(Fault::Usage) => Exit::Usage,
                Some(Fault::BadPolicy) => Exit::BadPolicy,
                Some(Fault::NotFound) => Exit::NotFound,
                Some(Fault::NotExecutable) => Exit::NotExecutable,
                Some(Fault::CannotBuild | Fault::RecordLost | Fault::Refused) | None => {
                    Exit::Refused
                }
            }
        }
    }
}

/// Tells a person what a call does not get, and what else is worth knowing.
pub(crate) fn tell(narrowed: &[String], notes: &[String], messages: Messages) {
    for sentence in narrowed {
        messages.note(&format!("narrowed: {sentence}"));
    }
    for sentence in notes {
        messages.note(sentence);
    }
}

/// `stockade check --manifest`.
pub(crate) fn check(
    manifest: &Path,
    arguments: &CheckArguments,
    messages: Messages,
) -> Result<Exit, Failure> {
    let executor = load(manifest)?;
    let mut wishes = Wishes::read(&arguments.call, None)?;
    wishes.ro.clone_from(&arguments.files.ro);
    wishes.rw.clone_from(&arguments.files.rw);
    let called = wishes.arguments.as_ref();
    let examined = invoke::examine(&executor, &arguments.command, called, &wishes.options());
    let examined = examined.map_err(|error| refused(&error))?;
    tell(&examined.narrowed, &examined.notes, messages);
    for asked in &examined.asks {
        let target = asked.target.as_ref().map(|target| format!(" ({target})")).unwrap_or_default();
        messages.note(&format!("somebody has to approve `{}`{target}", asked.capability));
    }
    for path in &examined.create {
        messages.note(&format!("`{}` would be made", policy::shown::shown(path)));
    }
    let plan = &examined.plan;
    crate::check::tell_limits(plan, messages);
    match if arguments.json { CheckFormat::Json } else { arguments.format } {
        CheckFormat::Person => print(&plan::render::person(plan))?,
        CheckFormat::Bwrap => print(&plan::render::bwrap_for_shell(plan))?,
        CheckFormat::Json => {
            let mut value = crate::check::as_json(plan)?;
            let asks: Vec<Value> = examined.asks.iter().map(ask_as_json).collect();
            let create: Vec<String> = examined.create.iter().map(ToString::to_string).collect();
            if let Value::Object(fields) = &mut value {
                fields.insert("asks".to_owned(), asks.into());
                fields.insert("narrowed".to_owned(), examined.narrowed.into());
                fields.insert("notes".to_owned(), examined.notes.into());
                fields.insert("create".to_owned(), create.into());
            }
            print_json(&value)?;
        }
    }
    Ok(Exit::Success)
}

fn ask_as_json(asked: &manifest::Asked) -> Value {
    serde_json::json!({
        "capability": asked.capability, "target": asked.target, "ask": asked.ask,
    })
}
