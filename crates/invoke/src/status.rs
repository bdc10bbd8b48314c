//! Whether cages can be built here: tried, never guessed from what is installed, and asked anew at each
//! call. M5, M6, M57

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::process::{self, End, Job, Kind, Ran};

#[cfg(test)]
mod tests;

/// What this machine does for a call, for dashboards. M13
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether bubblewrap is installed.
    pub bwrap_available: bool,
    /// Where.
    pub bwrap_path: Option<PathBuf>,
    /// Whether the environment switches cages off.
    pub disabled_via_env: bool,
    /// Whether a cage was built just now.
    pub native_available: bool,
    /// Whether a call gets a cage: one can be built, and nothing switches it off. M14
    pub active: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// What a try to build a cage came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// One was built.
    Available,
    /// It could not be.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// The try itself failed, which says nothing about cages. M57
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("whether cages can be built cannot be found out: {0}")]
pub struct ProbeError(pub String);

/// Everything at once. A try that failed reads as not available, with the reason.
pub fn status(stockade: Option<&Path>) -> Status {
    let bwrap_path = cage::bwrap::installed().map(Path::to_owned);
    let switch = disabled();
    let unavailable = match available(stockade) {
        Ok(Availability::Available) => None,
        Ok(Availability::Unavailable { reason }) => Some(reason),
        Err(error) => Some(error.to_string()),
    };
    let native_available = unavailable.is_none();
    Status {
        bwrap_available: bwrap_path.is_some(),
        bwrap_path,
        disabled_via_env: switch.is_some(),
        native_available,
        active: native_available && switch.is_none(),
        reason: switch.or(unavailable),
    }
}

/// Builds a cage and runs a program in it. `stockade` is the program that does so; none where this
/// process is one.
pub fn available(stockade: Option<&Path>) -> Result<Availability, ProbeError> {
    let program = program(stockade).map_err(ProbeError)?;
    let argv = [program.into_os_string(), "doctor".into(), "--only-cage".into(), "--json".into()];
    let job = Job {
        argv: &argv,
        working_directory: Path::new("/"),
        input: &[],
        most_output: 1 << 20,
        deadline: LONGEST_PROBE,
        kind: Kind::Group,
        is_cancelled: None,
    };
    let ran = process::run(&job).map_err(|error| ProbeError(error.to_string()))?;
    judge(&ran)
}

/// Whether bubblewrap is installed, for those who demand that backend.
pub fn bwrap_available() -> bool {
    cage::bwrap::installed().is_some()
}

/// Whether the environment switches cages off, and by which variable. M7, M8
pub fn disabled() -> Option<String> {
    disabled_by(|name| std::env::var_os(name))
}

/// The same for any environment.
pub fn disabled_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let off = |value: &OsStr| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        matches!(value.as_str(), "0" | "off" | "no" | "false")
    };
    let by = SWITCHES.iter().find(|name| variable(name).is_some_and(|value| off(&value)));
    by.map(|name| format!("`{name}` switches cages off"))
}

/// The program that builds cages.
pub(crate) fn program(stockade: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = stockade {
        return Ok(path.to_owned());
    }
    let own = std::env::current_exe().map_err(|error| format!("/proc/self/exe: {error}"))?;
    if own.file_name().is_some_and(|name| name == "stockade") {
        return Ok(own);
    }
    Err("nobody said where the `stockade` program is".to_owned())
}

/// Whatever is not a clear answer is no answer.
fn judge(ran: &Ran) -> Result<Availability, ProbeError> {
    match (ran.end, ran.ended_for) {
        (End::Exited(0), None) => Ok(Availability::Available),
        (End::Exited(CANNOT_BUILD), None) => {
            let told: Option<Value> = serde_json::from_slice(&ran.stdout).ok();
            let why = told.as_ref().and_then(|told| told.pointer("/layers/0/why")?.as_str());
            let reason = why.unwrap_or("`stockade doctor` says why").to_owned();
            Ok(Availability::Unavailable { reason })
        }
        (_, Some(_)) => Err(ProbeError("`stockade doctor` did not end".to_owned())),
        (End::Exited(code), None) => {
            Err(ProbeError(format!("`stockade doctor` ended with code {code}")))
        }
        (End::Signalled(signal), None) => {
            Err(ProbeError(format!("`stockade doctor` was ended by signal {signal}")))
        }
        (End::Unknown, None) => {
            Err(ProbeError("somebody else has reaped `stockade doctor`".to_owned()))
        }
    }
}

/// Either switches cages off.
const SWITCHES: [&str; 2] = ["STOCKADE_SANDBOX", "METNOS_SANDBOX"];

/// The exit code of a `stockade` that cannot build a cage.
const CANNOT_BUILD: i32 = 122;

const LONGEST_PROBE: Duration = Duration::from_secs(60);
