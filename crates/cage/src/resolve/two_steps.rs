//! Two steps for each of many things, the second also by another thread where there are enough of them
//! to pay for it. Never leaves a thread behind: whoever asked may be about to fork.

use std::panic::resume_unwind;
use std::sync::{Mutex, mpsc};
use std::thread::Builder;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Does both steps for each item; the results are in the items' order. Not half of the items to each
/// thread: two that open files below the same directory keep each other waiting. Whoever is through with
/// the first step helps with the second.
pub(super) fn in_two_steps<T, M: Send, R: Send>(
    items: &[T],
    first: impl Fn(&T) -> M,
    second: impl Fn(M) -> R + Sync,
) -> Vec<R> {
    let alone = || items.iter().map(|item| second(first(item))).collect();
    if items.len() < ENOUGH {
        return alone();
    }
    let threads = sys::clone::thread_count();
    let (sender, receiver) = mpsc::channel::<(usize, Vec<M>)>();
    let receiver = Mutex::new(receiver);
    let finish = || {
        let waiting = std::iter::from_fn(|| receiver.lock().ok()?.recv().ok());
        let finished =
            waiting.map(|(place, some)| (place, some.into_iter().map(&second).collect()));
        finished.collect::<Vec<(usize, Vec<R>)>>()
    };
    let done = std::thread::scope(|scope| {
        // Where there can be no second thread, the first has all the work.
        let Ok(other) = Builder::new().spawn_scoped(scope, finish) else { return alone() };
        if threads == Ok(1) {
            give_the_other_thread_a_processor();
        }
        for (place, some) in items.chunks(AT_A_TIME).enumerate() {
            // Nobody takes it who has panicked, and who is asked why below.
            let _taken = sender.send((place, some.iter().map(&first).collect()));
        }
        drop(sender);
        let mut done = finish();
        done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.sort_unstable_by_key(|(place, _)| *place);
        done.into_iter().flat_map(|(_, some)| some).collect()
    });
    if threads == Ok(1) {
        await_thread_count(1);
    }
    done
}

/// Keeps the other thread from waiting behind this one.
fn give_the_other_thread_a_processor() {
    let own = rustix::thread::gettid();
    let ids = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let other = ids.filter_map(rustix::process::Pid::from_raw).find(|id| *id != own);
    if let Some(other) = other {
        sys::processors::keep_off_this_one(other);
    }
}

/// A thread that was joined can be counted for a moment longer, and a process of several threads may
/// not bear a cage.
fn await_thread_count(count: u64) {
    let begun = Instant::now();
    while sys::clone::thread_count() != Ok(count) && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// From here on half of the work takes longer than a thread.
const ENOUGH: usize = 128;

/// How many items the second thread gets at a time: few enough to begin soon, enough to be woken
/// rarely.
const AT_A_TIME: usize = 32;

const PATIENCE: Duration = Duration::from_millis(100);
