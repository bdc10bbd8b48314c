//! Runs the fuzz targets side by side, one on each processor, until the time is up. Stops at
//! nothing but time: a target that finds something is told at the end, with its artifact kept.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::command::{Failure, printed_by, succeeds};

/// Runs the named targets, or all of them, and says whether none found anything.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<bool, Failure> {
    let (minutes, named) = read_options(options)?;
    let listed = printed_by(fuzz(root).arg("list"))?;
    let all: Vec<&str> = listed.lines().collect();
    if let Some(unknown) = named.iter().find(|name| !all.contains(name)) {
        return Err(Failure::Usage(format!("there is no fuzz target `{unknown}`")));
    }
    let targets = if named.is_empty() { all } else { named };
    if !succeeds(fuzz(root).arg("build"))? {
        return Err(Failure::Usage("the fuzz targets do not build".to_owned()));
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let seconds = seconds_each(minutes, workers, targets.len());
    println!("{} targets, {seconds} s each, {workers} at a time", targets.len());
    let waiting = Mutex::new(targets.into_iter());
    let broken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = next(&waiting) {
                    if !run_one(root, target, seconds) {
                        lock(&broken).push(target);
                    }
                }
            });
        }
    });
    let broken = std::mem::take(&mut *lock(&broken));
    match broken.as_slice() {
        [] => println!("no finding"),
        some => println!("findings in: {}; see fuzz/artifacts", some.join(", ")),
    }
    Ok(broken.is_empty())
}

fn run_one(root: &Path, target: &str, seconds: u64) -> bool {
    let mut command = fuzz(root);
    command.args(["run", target, "--", &format!("-max_total_time={seconds}")]);
    command.args(["-timeout=10", "-rss_limit_mb=4096", "-print_final_stats=1"]);
    let words = root.join("fuzz").join(target).with_extension("dict");
    if words.exists() {
        command.arg(format!("-dict={}", words.display()));
    }
    succeeds(&mut command).unwrap_or_else(|failure| {
        eprintln!("xtask: {failure}");
        false
    })
}

/// Fuzzing needs the compiler's sanitizers, which only the nightly toolchain offers.
fn fuzz(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).current_dir(root);
    // Cargo tells the program that it runs which toolchain it is; the nightly one is meant here.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command
}

/// How long each target may run so that all of them together take the given time.
fn seconds_each(minutes: u64, workers: usize, targets: usize) -> u64 {
    let rounds = targets.div_ceil(workers.max(1)).max(1);
    (minutes * 60).div_ceil(u64::try_from(rounds).unwrap_or(u64::MAX)).max(1)
}

fn read_options<'a>(options: &[&'a str]) -> Result<(u64, Vec<&'a str>), Failure> {
    match options {
        ["--minutes", number, named @ ..] => match number.parse() {
            Ok(minutes) if minutes > 0 => Ok((minutes, named.to_vec())),
            _ => Err(Failure::Usage(format!("`{number}` is no number of minutes"))),
        },
        [unknown, ..] if unknown.starts_with('-') => {
            Err(Failure::Usage(format!("there is no option `{unknown}`")))
        }
        named => Ok((10, named.to_vec())),
    }
}

fn next<'a>(waiting: &Mutex<std::vec::IntoIter<&'a str>>) -> Option<&'a str> {
    lock(waiting).next()
}

/// A worker that panicked has not left the queue half-changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
