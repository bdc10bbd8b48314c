//! Calls of executors: from Python's values to the library's and back. An answer and a failure are both
//! JSON, as the command line prints them; only what Python itself raised is an exception.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use invoke::{Backend, Calls, Executor, Filter, Grants, InvokeError, Options, Unsandboxed};
use manifest::Autonomy;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::approve::{Asked, Asking, Raised};

/// Which executor: a manifest's file, or a manifest as JSON whose relative paths begin in a directory.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Source {
    path: Option<PathBuf>,
    manifest: Option<String>,
    directory: PathBuf,
}

/// What a caller decides, as `executor.py` passes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given<'py> {
    autonomy: String,
    grants: Option<Vec<String>>,
    extra_ro: Vec<PathBuf>,
    extra_rw: Vec<PathBuf>,
    backend: Option<String>,
    allow_unsandboxed: bool,
    timeout: Option<f64>,
    forbidden_paths: Vec<String>,
    forbidden_patterns: Vec<String>,
    stockade: PathBuf,
    approve: Option<Bound<'py, PyAny>>,
    cancelled: Option<Py<PyAny>>,
}

/// Runs an executor. Returns its answer or its failure.
#[pyfunction]
pub(crate) fn invoke_executor(
    py: Python<'_>,
    source: Source,
    arguments: &str,
    given: Given<'_>,
) -> PyResult<String> {
    let decided = Decided::of(given)?;
    let arguments = object(arguments)?;
    decided.with(py, &source, |executor, options| {
        match invoke::invoke(executor, &arguments, options) {
            Ok(invoked) => invoked.to_json().to_string(),
            Err(error) => failed(&error),
        }
    })
}

/// Wraps a command. Returns the words, none where it failed, and the answer or failure.
#[pyfunction]
pub(crate) fn wrap(
    py: Python<'_>,
    source: Source,
    command: Vec<OsString>,
    arguments: Option<&str>,
    given: Given<'_>,
) -> PyResult<(Option<Vec<OsString>>, String)> {
    let decided = Decided::of(given)?;
    let arguments = arguments.map(object).transpose()?;
    let words = Mutex::new(None);
    let answer = decided.with(py, &source, |executor, options| {
        match invoke::wrap_command(executor, &command, arguments.as_ref(), options) {
            Ok(wrapped) => {
                let answer = json!({
                    "ok": true,
                    "sandbox": wrapped.sandbox,
                    "autonomy": wrapped.autonomy,
                    "narrowed": wrapped.narrowed,
                    "notes": wrapped.notes,
                });
                put(&words, wrapped.argv);
                answer.to_string()
            }
            Err(error) => failed(&error),
        }
    })?;
    Ok((taken(words), answer))
}

/// The flags that bubblewrap would get for an executor.
#[pyfunction]
pub(crate) fn bwrap_arguments(
    py: Python<'_>,
    source: Source,
    given: Given<'_>,
) -> PyResult<(Option<Vec<OsString>>, String)> {
    let decided = Decided::of(given)?;
    let words = Mutex::new(None);
    let answer = decided.with(py, &source, |executor, options| {
        match invoke::bwrap_flags(executor, options) {
            Ok(flags) => {
                put(&words, flags);
                json!({ "ok": true }).to_string()
            }
            Err(error) => failed(&error),
        }
    })?;
    Ok((taken(words), answer))
}

/// What a call would get, without starting or asking anything.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    source: Source,
    arguments: Option<&str>,
    given: Given<'_>,
) -> PyResult<String> {
    let decided = Decided::of(given)?;
    let arguments = arguments.map(object).transpose()?;
    decided.with(py, &source, |executor, options| {
        match invoke::examine(executor, &[], arguments.as_ref(), options) {
            Ok(examined) => {
                let asks = examined.asks.iter().map(|asked| {
                    json!({
                        "capability": asked.capability,
                        "target": asked.target,
                        "always": asked.ask == manifest::autonomy::Ask::Always,
                    })
                });
                let create = examined.create.iter().map(|path| path.as_path().to_string_lossy());
                json!({
                    "ok": true,
                    "plan": &*examined.plan,
                    "page": plan::render::person(&examined.plan),
                    "asks": asks.collect::<Vec<_>>(),
                    "narrowed": examined.narrowed,
                    "notes": examined.notes,
                    "create": create.collect::<Vec<_>>(),
                })
                .to_string()
            }
            Err(error) => failed(&error),
        }
    })
}

/// What a manifest says.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, source: Source) -> String {
    py.detach(|| match source.load() {
        Ok(executor) => {
            let manifest = &executor.manifest;
            let capability = |capability: &manifest::Capability| capability.to_string();
            json!({
                "ok": true,
                "name": manifest.name,
                "version": manifest.version,
                "summary": manifest.summary,
                "code_path": executor.code.as_path().to_string_lossy(),
                "command": lossy(&executor.command()),
                "capabilities": manifest.capabilities.iter().map(capability).collect::<Vec<_>>(),
                "timeout_sec": manifest.limits.timeout_sec,
                "max_output": manifest.limits.max_output,
                "backend": manifest.backend.word(),
            })
            .to_string()
        }
        Err(failure) => failure,
    })
}

/// A caller's decisions, read.
struct Decided {
    autonomy: Autonomy,
    grants: Grants,
    extra_ro: Vec<PathBuf>,
    extra_rw: Vec<PathBuf>,
    backend: Option<Backend>,
    unsandboxed: Unsandboxed,
    timeout: Option<Duration>,
    filter: Filter,
    stockade: PathBuf,
    asked: Asked,
    cancelled: Option<Py<PyAny>>,
}

impl Decided {
    fn of(given: Given<'_>) -> PyResult<Self> {
        let wrong = |problem: &dyn std::fmt::Display| PyValueError::new_err(problem.to_string());
        let backend = match given.backend.as_deref() {
            None => None,
            Some("native") => Some(Backend::Native),
            Some("bwrap") => Some(Backend::Bwrap),
            Some(_) => return Err(wrong(&"the backends are `native` and `bwrap`")),
        };
        let timeout = given.timeout.map(Duration::try_from_secs_f64).transpose();
        let mut filter = Filter::default();
        filter.paths.extend(given.forbidden_paths);
        filter.patterns.extend(given.forbidden_patterns);
        Ok(Self {
            autonomy: given.autonomy.parse().map_err(|error| wrong(&error))?,
            grants: Grants::try_from(given.grants).map_err(|error| wrong(&error))?,
            extra_ro: given.extra_ro,
            extra_rw: given.extra_rw,
            backend,
            unsandboxed: match given.allow_unsandboxed {
                true => Unsandboxed::Allow,
                false => Unsandboxed::Refuse,
            },
            timeout: timeout.map_err(|error| wrong(&error))?,
            filter,
            stockade: given.stockade,
            asked: Asked::of(given.approve)?,
            cancelled: given.cancelled,
        })
    }

    /// Does something with the executor while other threads of Python run. What a signal handler or an
    /// approving function raised meanwhile is raised instead of an answer.
    fn with(
        &self,
        py: Python<'_>,
        source: &Source,
        work: impl FnOnce(&Executor, &Options<'_>) -> String + Send,
    ) -> PyResult<String> {
        let raised = Raised::default();
        let answer = py.detach(|| {
            let executor = match source.load() {
                Ok(executor) => executor,
                Err(failure) => return failure,
            };
            let approver = Asking::new(&self.asked, &raised);
            let is_cancelled = || self.is_cancelled(&raised);
            work(
                &executor,
                &Options {
                    autonomy: self.autonomy,
                    grants: &self.grants,
                    extra_ro: &self.extra_ro,
                    extra_rw: &self.extra_rw,
                    backend: self.backend,
                    unsandboxed: self.unsandboxed,
                    approver: &approver,
                    filter: &self.filter,
                    timeout: self.timeout,
                    stockade: Some(&self.stockade),
                    calls: Calls::Many,
                    is_cancelled: Some(&is_cancelled),
                    ..Options::new()
                },
            )
        });
        match raised.take() {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    /// Whether nobody waits for the answer any more: a handler of a signal has raised, as that of Ctrl-C
    /// does, or the caller says so.
    fn is_cancelled(&self, raised: &Raised) -> bool {
        let ask = |py: Python<'_>| {
            py.check_signals()?;
            self.cancelled.as_ref().map_or(Ok(false), |asked| asked.bind(py).call0()?.is_truthy())
        };
        Python::attach(ask).unwrap_or_else(|error| {
            raised.keep(error);
            true
        })
    }
}

impl Source {
    /// Finds the executor, or returns the failure.
    fn load(&self) -> Result<Executor, String> {
        let refused = |problem: &dyn std::fmt::Display| {
            let error =
                json!({ "kind": "refused", "code": "manifest", "message": problem.to_string() });
            json!({ "ok": false, "error": error }).to_string()
        };
        let loaded = match (&self.path, &self.manifest) {
            (Some(path), _) => Executor::load(path),
            (None, Some(text)) => {
                let value = serde_json::from_str(text).map_err(|error| refused(&error))?;
                Executor::from_value(&value, &self.directory)
            }
            (None, None) => return Err(refused(&"there is no manifest")),
        };
        loaded.map_err(|error| refused(&error))
    }
}

/// Words beside a text: a path may be no text.
type Words = Mutex<Option<Vec<OsString>>>;

fn put(words: &Words, found: Vec<OsString>) {
    *words.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
}

fn taken(words: Words) -> Option<Vec<OsString>> {
    words.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn object(text: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn failed(error: &InvokeError) -> String {
    error.to_json().to_string()
}

fn lossy(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
