//! Tools that are not the worker's: servers of others, children. Each runs where it belongs, and what it answers is text
//! for the model like any other. Several run at one time.

use std::sync::Mutex;
use std::time::Duration;

use model::{Cancel, ToolSpec};
use serde_json::{Map, Value};

use crate::hands::Ran;

/// A set of tools that run elsewhere.
pub trait Elsewhere: Sync {
    /// What the model is told of them.
    fn tools(&self) -> &[ToolSpec];

    /// Calls one of them. Ends soon after it is cancelled, and at the limit.
    fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        limit: Duration,
        cancel: &Cancel,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Ran;
}

/// A call of one of them.
pub(crate) struct Errand<'a> {
    pub(crate) place: usize,
    pub(crate) by: &'a dyn Elsewhere,
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Map<String, Value>,
}

/// Runs all of them, a few at a time, in threads of the scope's caller. The results are in the order of the errands.
pub(crate) fn run(
    errands: &[Errand<'_>],
    limit: Duration,
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
                    let Some(Errand { place, by, tool, arguments }) = errand else { return };
                    let ran = match cancel.is_cancelled() {
                        true => Ran::failed("error: the person stopped this call"),
                        false => by.call(tool, arguments, limit, cancel, &|text| {
                            progress(*place, text);
                        }),
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
