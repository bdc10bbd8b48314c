//! What one call may do, decided in the same order for every way of starting it: the filter looks at the
//! arguments, the manifest, grants and autonomy make the policy, somebody agrees where somebody must, and
//! directories to write to are made. With a cage and without one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cage::prepare::Caller;
use manifest::{Call, CheckedArguments, Derived, Place};
use plan::HostPath;
use policy::shown::shown;
use policy::with_causes;
use serde_json::{Map, Value};

use crate::approval::Asking;
use crate::error::Failure;
use crate::executor::Executor;
use crate::options::Options;
use crate::sandbox::Level;
use crate::sealed::Sealed;
use crate::{files, files::Pinned, roots};

/// A call that may be made.
pub(crate) struct Decided {
    pub(crate) derived: Derived,
    /// What the executor gets, which is what was judged.
    pub(crate) arguments: Option<CheckedArguments>,
    /// The code and the files that the manifest pins, as they were before anybody was asked.
    pub(crate) files: Vec<Pinned>,
    /// The time that it has, in whole seconds.
    pub(crate) seconds: u64,
    /// This process, as it was at the call.
    pub(crate) caller: Caller,
}

/// Decides about a call with this around it.
pub(crate) fn decide(
    executor: &Executor,
    command: &[OsString],
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
    around: Level,
) -> Result<Decided, Failure> {
    let caller = caller()?;
    let decided = derive(executor, arguments, options, &caller)?;
    let asking = Asking {
        executor,
        command,
        arguments,
        files: &decided.files,
        around,
        extra_ro: &host_paths(options.extra_ro)?,
        extra_rw: &host_paths(options.extra_rw)?,
        approver: options.approver,
        state: options.state,
    };
    asking.settle(&decided.derived.asks)?;
    let home = caller.home();
    for path in &decided.derived.create {
        roots::create(path, home.as_ref()).map_err(|what| Failure::refused("missing", what))?;
    }
    Ok(decided)
}

/// The policy of a call, before anybody is asked and anything is made.
pub(crate) fn derive(
    executor: &Executor,
    arguments: Option<&Map<String, Value>>,
    options: &Options<'_>,
    caller: &Caller,
) -> Result<Decided, Failure> {
    let home = caller.home();
    let checked = arguments
        .map(|arguments| {
            let checked =
                options.filter.check(&executor.manifest, arguments.clone(), home.as_ref());
            checked.map_err(|error| Failure::refused("argument", error))
        })
        .transpose()?;
    let files = files::as_they_are(&executor.code, &executor.pinned);
    let files = files.map_err(|error| Failure::refused("code", error))?;
    let (extra_ro, extra_rw) = (host_paths(options.extra_ro)?, host_paths(options.extra_rw)?);
    let call = Call {
        autonomy: options.autonomy,
        grants: options.grants,
        arguments: checked.as_ref(),
        extra_ro: &extra_ro,
        extra_rw: &extra_rw,
    };
    let own_state = caller.locations.own_state();
    let place = Place {
        home: home.as_ref(),
        code_directory: &executor.code_directory,
        own_state: &own_state,
        found: &roots::found,
    };
    let derived = manifest::derive(&executor.manifest, &call, &place);
    let mut derived = derived.map_err(|refused| {
        let code = refused.reasons.first().map_or("refused", |reason| reason.code.word());
        Failure::refused(code, &refused)
    })?;
    let seconds = match options.timeout {
        Some(time) => time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1),
        None => executor.manifest.limits.timeout_sec,
    };
    let seconds = seconds.min(manifest::model::MAX_TIMEOUT_SEC);
    derived.policy.limits.walltime_sec = Some(seconds);
    Ok(Decided { derived, arguments: checked, files, seconds, caller: caller.clone() })
}

/// This process, as the caller.
pub(crate) fn caller() -> Result<Caller, Failure> {
    Caller::of_this_process().map_err(|error| Failure::unavailable(with_causes(&error)))
}

impl Decided {
    /// The request that a wrapped command carries.
    pub(crate) fn sealed(&self, executor: &Executor, options: &Options<'_>) -> Sealed {
        let confined = self.derived.confined.iter();
        Sealed {
            executor: executor.manifest.name.clone(),
            version: executor.manifest.version.clone(),
            autonomy: options.autonomy,
            policy: self.derived.policy.clone(),
            confined: confined
                .map(|manifest::Confined { path, root }| cage::prepare::Confined {
                    path: path.clone(),
                    root: root.clone(),
                })
                .collect(),
            files: self.files.clone(),
            directory: executor.code_directory.clone(),
        }
    }
}

/// Paths of the caller's, relative to where this process stands.
fn host_paths(paths: &[PathBuf]) -> Result<Vec<HostPath>, Failure> {
    let host_path = |path: &Path| {
        let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
        HostPath::new(absolute.into_os_string()).map_err(|error| error.to_string())
    };
    let refused = |path: &Path, why: String| {
        Failure::refused(
            "usage",
            format_args!("`{}` cannot be given: {why}", shown(path.display())),
        )
    };
    paths.iter().map(|path| host_path(path).map_err(|why| refused(path, why))).collect()
}
