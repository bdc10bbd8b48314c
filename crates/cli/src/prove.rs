//! `stockade prove`: runs every known escape against cages on this machine and prints which walls
//! held. The cages are built by this very program, from the attacked policy and the bait's own
//! rules.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use attacks::{Access, Rule};
use policy::{FsAccess, Policy};
use prove::{CageRequest, Cages, CommandLineCages, Profile, ProveError, Settings};

use crate::arguments::{ProveArguments, Seccomp};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::output::{print, print_json};
use crate::selection::{FlagArguments, policy_files, select};

/// The command. Succeeds only if every wall held and every attack is known to work uncaged.
pub(crate) fn prove(arguments: ProveArguments, messages: Messages) -> Result<Exit, Failure> {
    let executable = advice::doctor::own_executable()?.as_path().to_owned();
    let policy = attacked_policy(&arguments, messages)?;
    let profiles = profiles(&arguments, policy.as_ref());
    interruption::await_signals();
    let settings = Settings {
        directory: std::env::temp_dir(),
        executable: executable.clone(),
        profiles,
        is_interrupted: interruption::has_come,
    };
    let cages = AttackedCages { plain: CommandLineCages { executable }, policy };
    let report = match prove::prove(&settings, &cages) {
        Err(ProveError::Interrupted) => return Ok(Exit::Program(INTERRUPTED)),
        report => report.map_err(|error| {
            Failure::new(Exit::CannotBuild, crate::failure::with_causes(&error))
        })?,
    };
    if arguments.json {
        let value = serde_json::to_value(&report)
            .map_err(|error| Failure::new(Exit::No, error.to_string()))?;
        print_json(&value)?;
    } else {
        print(&format!("{report}\n"))?;
    }
    Ok(if report.all_held() { Exit::Success } else { Exit::No })
}

/// The policy that was asked for or that this project has; none where it would be the built-in one,
/// to which the bait's own rules add everything.
fn attacked_policy(
    arguments: &ProveArguments,
    messages: Messages,
) -> Result<Option<Policy>, Failure> {
    let choice = &arguments.choice;
    let asked = choice.cage.is_some() || choice.agent.is_some() || !choice.capability.is_empty();
    if !asked && policy_files(choice.project.as_deref())?.project.file.is_none() {
        return Ok(None);
    }
    select(choice, FlagArguments::default(), messages).map(|selection| Some(selection.policy))
}

fn profiles(arguments: &ProveArguments, policy: Option<&Policy>) -> Vec<Profile> {
    match (arguments.seccomp, policy.map(|policy| policy.seccomp)) {
        (Some(Seccomp::Default), _) | (None, Some(policy::Seccomp::Default)) => {
            vec![Profile::Default]
        }
        (Some(Seccomp::Relaxed), _) | (None, Some(policy::Seccomp::Relaxed)) => {
            vec![Profile::Relaxed]
        }
        (None, None) => vec![Profile::Default, Profile::Relaxed],
    }
}

/// Cages with the bait's rules and those of a policy. They have all programs of the system even
/// where the policy lists fewer: the attacks need some, and more programs are the harder test.
struct AttackedCages {
    plain: CommandLineCages,
    policy: Option<Policy>,
}

impl Cages for AttackedCages {
    fn command(&self, request: &CageRequest) -> Command {
        let Some(policy) = &self.policy else {
            return self.plain.command(request);
        };
        let mut request = request.clone();
        let bait = std::mem::take(&mut request.rules);
        let own = policy.fs.iter().map(|rule| Rule {
            access: match rule.access {
                FsAccess::Hide => Access::Hide,
                FsAccess::ReadOnly => Access::ReadOnly,
                FsAccess::Cow => Access::Cow,
                FsAccess::Cache => Access::Cache,
                FsAccess::ReadWrite => Access::ReadWrite,
            },
            path: PathBuf::from(OsString::from_vec(rule.path.as_bytes().to_vec())),
        });
        request.rules = own.filter(|rule| bait.iter().all(|one| one.path != rule.path)).collect();
        request.rules.extend(bait);
        for (name, rule) in &policy.env {
            let mut word = OsString::from(name);
            if let Some(value) = &rule.value {
                word.push("=");
                word.push(value.as_os_str());
            }
            request.flags.extend(["--env".into(), word]);
        }
        self.plain.command(&request)
    }

    fn daemon(&self, socket: &Path) -> Command {
        self.plain.daemon(socket)
    }
}

/// Signals that end the command. Each is remembered, so that what the attacks have set out is taken in
/// first.
mod interruption {
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use sys::signal::SignalSet;

    static SIGNALS: OnceLock<OwnedFd> = OnceLock::new();
    static HAS_COME: AtomicBool = AtomicBool::new(false);

    /// From here on signals wait. Where they cannot, they end the command at once.
    pub(super) fn await_signals() {
        let signals = SignalSet::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
        if let Ok(descriptor) = sys::signal::descriptor(&signals)
            && sys::signal::block(&signals).is_ok()
        {
            let _kept = SIGNALS.set(descriptor);
        }
    }

    pub(super) fn has_come() -> bool {
        let news = SIGNALS.get().map(|descriptor| sys::signal::read(descriptor.as_fd()));
        if matches!(news, Some(Ok(Some(_)))) {
            HAS_COME.store(true, Ordering::Relaxed);
        }
        HAS_COME.load(Ordering::Relaxed)
    }
}

/// What a shell tells of a command that was interrupted.
const INTERRUPTED: u8 = 130;
