//! Tools that are not the worker's: servers of others, children. Each runs where it belongs, and what it answers is text
//! for the model like any other. Several run at one time.

use std::sync::Mutex;
use std::time::Duration;

use model::{Cancel, ToolSpec};
use serde_json::{Map, Value};

use crate::hands::Ran;
use crate::inner::{CallsTools, Dispatch};

/// A set of tools that run elsewhere.
pub trait Elsewhere: Sync {
    /// What the model is told of them.
    fn tools(&self) -> &[ToolSpec];

    /// Calls one of them. Ends soon after it is cancelled, and at the limit.
    fn call(&self, tool: &str, arguments: &Map<String, Value>, during: &During<'_>) -> Ran;
}

/// What a call has beside its arguments.
pub struct During<'a> {
    /// The longest that it may take.
    pub limit: Duration,
    /// Cancelled when nobody wants it any more.
    pub cancel: &'a Cancel,
    /// Takes what can be shown meanwhile.
    pub progress: &'a (dyn Fn(&str) + Sync),
    /// Calls other tools of the same agent.
    pub tools: &'a dyn CallsTools,
}

/// A call of one of them.
pub(crate) struct Errand<'a> {
    pub(crate) place: usize,
    /// Of the call.
    pub(crate) number: u64,
    pub(crate) by: &'a dyn Elsewhere,
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Map<String, Value>,
}

/// Runs all of them, a few at a time, in threads of the scope's caller. The results are in the order of the errands.
pub(crate) fn run(
    errands: &[Errand<'_>],
    dispatch: &Dispatch<'_>,
    cancel: &Cancel,
    progress: &(dyn Fn(usize, &str) + Sync),
) -> Vec<(usize, Ran)> {
    let next = Mutex::new(errands.iter());
    let done = Mutex::new(Vec::with_capacity(errands.len()));
    std::thread::scope(|scope| {
        for _ in 0..errands.len().min(MOST_AT_ONCE) {
            scope.spawn(|| {
                loop {
                    let errand = lock(&next).next();
                    let Some(Errand { place, number, by, tool, arguments }) = errand else {
                        return;
                    };
                    let (progress, tools) =
                        (|text: &str| progress(*place, text), dispatch.within(*number, tool));
                    let ran = match cancel.is_cancelled() {
                        true => Ran::failed("error: the person stopped this call"),
                        false => {
                            let limit = dispatch.limit();
                            let during =
                                During { limit, cancel, progress: &progress, tools: &tools };
                            by.call(tool, arguments, &during)
                        }
                    };
                    lock(&done).push((*place, ran));
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// V33
const MOST_AT_ONCE: usize = 5;
