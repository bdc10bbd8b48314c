//! A command line with its cage around it, complete in itself: any process API can start it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use manifest::Autonomy;
use manifest::Backend;
use rustix::process::Uid;
use serde_json::{Map, Value};

use crate::decide::{Decided, caller, decide, derive};
use crate::error::{Failure, InvokeError};
use crate::executor::Executor;
use crate::options::{Options, Unsandboxed};
use crate::sandbox::{Level, Sandbox};
use crate::status::{self, Availability};
use crate::{files, guest};

mod bubblewrap;

/// A command line to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The command line.
    pub argv: Vec<OsString>,
    /// What is around the program that it starts.
    pub sandbox: Sandbox,
    /// The level that its authority was narrowed by.
    pub autonomy: Autonomy,
    /// What the manifest declares and the program does not get.
    pub narrowed: Vec<String>,
    /// What a person may want to know.
    pub notes: Vec<String>,
}

/// Wraps a command of an executor; without words it is the one that its manifest describes. Without
/// arguments, capabilities that depend on them are not given. M9, M10, M11
pub fn wrap_command(
    executor: &Executor,
    command: &[OsString],
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
) -> Result<Wrapped, InvokeError> {
    wrap(executor, command, arguments, options)
        .map_err(|failure| failure.before_start(options.autonomy))
}

fn wrap(
    executor: &Executor,
    command: &[OsString],
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
) -> Result<Wrapped, Failure> {
    let own = executor.command();
    let command = if command.is_empty() { own.as_slice() } else { command };
    // Whoever is asked agrees to what will be around it.
    let enclosure = match enclosure(executor, options)? {
        Enclosure::Native => native_or_none(options)?,
        other => other,
    };
    let mut decided = decide(executor, command, arguments, options, enclosure.level())?;
    let command = &guest::command(command, &mut decided, options)?;
    let Enclosed { start, sandbox, autonomy, narrowed, notes } =
        enclose(executor, command, &decided, options, enclosure)?;
    Ok(Wrapped { argv: start.into_argv(command, &[]), sandbox, autonomy, narrowed, notes })
}

/// The flags that bubblewrap would get for an executor, whether or not it is installed: nobody is asked,
/// nothing is made, and no command is handed out. M85
pub fn bwrap_flags(
    executor: &Executor,
    options: &Options<'_>,
) -> Result<Vec<OsString>, InvokeError> {
    let flags = || {
        let mut decided = derive(executor, None, options, &caller()?)?;
        let create = std::mem::take(&mut decided.derived.create);
        decided.derived.policy.fs.retain(|rule| !create.contains(&rule.path));
        bubblewrap::flags(executor, &decided, options)
    };
    flags().map_err(|failure: Failure| failure.before_start(options.autonomy))
}

/// What is to be around a program.
pub(crate) enum Enclosure {
    Native,
    Bwrap,
    /// Nothing, and why.
    None(String),
}

impl Enclosure {
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Native => Level::Native,
            Self::Bwrap => Level::Bwrap,
            Self::None(_) => Level::None,
        }
    }
}

/// What the environment, the caller and the manifest ask for.
pub(crate) fn enclosure(executor: &Executor, options: &Options<'_>) -> Result<Enclosure, Failure> {
    if let Some(reason) = status::disabled() {
        return Ok(Enclosure::None(reason));
    }
    Ok(match backend(executor, options)? {
        Backend::Native => Enclosure::Native,
        Backend::Bwrap if status::bwrap_available() => Enclosure::Bwrap,
        Backend::Bwrap if options.unsandboxed == Unsandboxed::Allow => {
            Enclosure::None(NO_BWRAP.to_owned())
        }
        // Refused where the command line is made.
        Backend::Bwrap => Enclosure::Bwrap,
    })
}

/// Who builds the cage. A manifest can ask for bubblewrap, whose cages have fewer walls; only the caller
/// gives it. M74, M87
pub(crate) fn backend(executor: &Executor, options: &Options<'_>) -> Result<Backend, Failure> {
    match (options.backend, executor.manifest.backend) {
        (Some(chosen), _) => Ok(chosen),
        (None, Backend::Native) => Ok(Backend::Native),
        (None, Backend::Bwrap) => Err(Failure::refused("backend", UNAGREED_BWRAP)),
    }
}

/// Tries whether a cage can be built before a command line is handed out that needs one. Where one could be built
/// before, another one can: a cage that cannot after all is a failure of the command, which then runs nothing.
pub(crate) fn native_or_none(options: &Options<'_>) -> Result<Enclosure, Failure> {
    /// The program that built one, and for whom.
    static BUILT: OnceLock<(PathBuf, Uid)> = OnceLock::new();
    let asked = status::program(options.stockade).map(|path| (path, rustix::process::geteuid()));
    if let (Ok(asked), Some(built)) = (&asked, BUILT.get())
        && asked == built
    {
        return Ok(Enclosure::Native);
    }
    match status::available(options.stockade) {
        Ok(Availability::Available) => {
            // The first one stays: a process has one such program.
            let _kept = asked.map(|asked| BUILT.set(asked));
            Ok(Enclosure::Native)
        }
        Ok(Availability::Unavailable { reason }) => match options.unsandboxed {
            Unsandboxed::Allow => Ok(Enclosure::None(reason)),
            Unsandboxed::Refuse => Err(Failure::Unavailable { reason }),
        },
        Err(error) => Err(Failure::unavailable(error)),
    }
}

/// A command with what will be around it.
pub(crate) struct Enclosed {
    pub(crate) start: Start,
    pub(crate) sandbox: Sandbox,
    pub(crate) autonomy: Autonomy,
    pub(crate) narrowed: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// How it is started.
pub(crate) enum Start {
    /// As this command line.
    Command(Vec<OsString>),
    /// By this `stockade`, which builds the cage that was sealed.
    Sealed(PathBuf, String),
}

impl Start {
    /// The whole command line, with these flags for a `stockade` of ours.
    pub(crate) fn into_argv(self, command: &[OsString], flags: &[OsString]) -> Vec<OsString> {
        match self {
            Self::Command(argv) => argv,
            Self::Sealed(program, sealed) => {
                let mut argv = vec![program.into_os_string(), "run".into()];
                argv.extend_from_slice(flags);
                argv.extend(["--sealed".into(), sealed.into(), "--".into()]);
                argv.extend_from_slice(command);
                argv
            }
        }
    }
}

/// Puts something around a command.
pub(crate) fn enclose(
    executor: &Executor,
    command: &[OsString],
    decided: &Decided,
    options: &Options<'_>,
    enclosure: Enclosure,
) -> Result<Enclosed, Failure> {
    let mut notes = decided.derived.notes.clone();
    // A `stockade` of ours compares them itself when it starts.
    if enclosure.level() != Level::Native {
        files::verify(&decided.files).map_err(|error| Failure::refused("code", error))?;
    }
    let (start, sandbox) = match enclosure {
        Enclosure::None(reason) => {
            notes.push("there is no cage: the program has everything that you have".to_owned());
            (Start::Command(command.to_vec()), Sandbox::none(reason))
        }
        Enclosure::Native => {
            let program = status::program(options.stockade).map_err(Failure::unavailable)?;
            let sealed = decided.sealed(executor, options).encode();
            let sealed = sealed.map_err(|error| Failure::refused("sealed", error))?;
            (Start::Sealed(program, sealed), Sandbox::native())
        }
        Enclosure::Bwrap => {
            let (argv, gaps) = bubblewrap::command_line(executor, command, decided, options)?;
            notes.extend(gaps);
            (Start::Command(argv), Sandbox::bwrap())
        }
    };
    let (autonomy, narrowed) = (options.autonomy, decided.derived.narrowed.clone());
    Ok(Enclosed { start, sandbox, autonomy, narrowed, notes })
}

const UNAGREED_BWRAP: &str = "the manifest asks for bubblewrap, whose cages have fewer walls, and nobody but the \
     caller can choose that: agree with `--backend bwrap`, or have a native cage with `--backend native` \
     (`backend` in a program)";

pub(crate) const NO_BWRAP: &str = "bubblewrap is not installed";
