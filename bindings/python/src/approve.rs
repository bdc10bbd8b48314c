//! Approvals by a function of Python. One that raises denies, and what it raised reaches the caller.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use invoke::{Answer, Approver, Nobody, Question, Terminal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Who is asked.
pub(crate) enum Asked {
    Nobody,
    Terminal,
    Function(Py<PyAny>),
}

/// An approver that keeps what the function raised.
pub(crate) struct Asking<'a> {
    asked: &'a Asked,
    raised: &'a Raised,
}

/// What was raised while the interpreter was released.
#[derive(Default)]
pub(crate) struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    /// Keeps the first one.
    pub(crate) fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<'a> Asking<'a> {
    pub(crate) fn new(asked: &'a Asked, raised: &'a Raised) -> Self {
        Self { asked, raised }
    }
}

impl Approver for Asking<'_> {
    fn ask(&self, question: &Question) -> Answer {
        match self.asked {
            Asked::Nobody => Nobody.ask(question),
            Asked::Terminal => Terminal::new().ask_while(question, &|| {
                // Python has only noted the signal; what it makes of it, such as `KeyboardInterrupt`, ends the call.
                let looked = Python::attach(|py| py.check_signals());
                looked.map_err(|error| self.raised.keep(error)).is_ok()
            }),
            Asked::Function(function) => {
                let answer = Python::attach(|py| ask_function(py, function, question));
                answer.unwrap_or_else(|error| {
                    self.raised.keep(error);
                    Answer::No
                })
            }
        }
    }
}

impl Asked {
    /// From what `executor.py` passes: None, `"terminal"`, or its own function.
    pub(crate) fn of(given: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::Nobody) };
        match given.extract::<String>() {
            Ok(word) if word == "terminal" => Ok(Self::Terminal),
            Ok(_) => Err(PyValueError::new_err("`approve` is a function, `\"terminal\"` or None")),
            Err(_) => Ok(Self::Function(given.unbind())),
        }
    }
}

/// The function gets the question as keywords. It returns None for no, `True` for once, and for an
/// answer to keep the second until which it holds, 0 for good.
fn ask_function(py: Python<'_>, function: &Py<PyAny>, question: &Question) -> PyResult<Answer> {
    let Question { executor, version, capability, target, command, arguments, sandbox, always } =
        question;
    let fields = PyDict::new(py);
    fields.set_item("executor", executor)?;
    fields.set_item("version", version)?;
    fields.set_item("capability", capability)?;
    fields.set_item("target", target)?;
    fields.set_item("command", command)?;
    let arguments = arguments.as_ref().map(serde_json::to_string).transpose();
    let arguments = arguments.map_err(|error| PyValueError::new_err(error.to_string()))?;
    fields.set_item("arguments", arguments)?;
    fields.set_item("sandbox", sandbox.word())?;
    fields.set_item("always", always)?;
    let answer = function.bind(py).call((), Some(&fields))?;
    if answer.is_none() {
        return Ok(Answer::No);
    }
    if answer.is_instance_of::<pyo3::types::PyBool>() {
        return Ok(if answer.is_truthy()? { Answer::Once } else { Answer::No });
    }
    let until: u64 = answer.extract()?;
    let until = (until > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(until));
    Ok(Answer::Always { until })
}
