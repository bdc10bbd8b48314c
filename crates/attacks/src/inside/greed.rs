//! Programs that take more than their share: memory in every form, processes, threads and processor
//! time. Each says `exceeded` when it has all that it was told to take, and takes no more than that:
//! uncaged it must do no harm to the machine.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::time::{ClockId, clock_gettime};

use super::{fail, tell_line};

/// Takes so many mebibytes and holds them all at once.
pub(super) fn hoard(way: &str, mebibytes: &str) -> ExitCode {
    let Ok(mebibytes) = mebibytes.parse::<usize>() else {
        return fail("not a number of mebibytes");
    };
    let taken = match way {
        "private" => Ok(take_private(mebibytes)),
        "unwanted" => {
            // Whoever may not say so goes on all the same.
            let _refused = std::fs::write("/proc/self/oom_score_adj", "-1000");
            Ok(take_private(mebibytes))
        }
        "nameless" => take_nameless(mebibytes),
        "spread" => take_spread(mebibytes),
        file => take_file(Path::new(file), mebibytes),
    };
    match taken {
        Ok(held) if held == mebibytes => tell_line(EXCEEDED),
        Ok(held) => fail(&format!("got {held} of {mebibytes} MiB")),
        Err(error) => fail(&error.to_string()),
    }
}

/// A part of a larger hoard, held in a session of its own until the input ends.
pub(super) fn hoard_part(mebibytes: &str) -> ExitCode {
    let _leads_one_already = rustix::process::setsid();
    let mebibytes = mebibytes.parse::<usize>().unwrap_or_default();
    let hoard = private(mebibytes);
    let told = tell_line(EXCEEDED);
    let _ended = std::io::stdin().read(&mut [0]);
    drop(hoard);
    told
}

/// Every page is written to, so that it has to be there.
fn private(mebibytes: usize) -> Vec<Vec<u8>> {
    (0..mebibytes)
        .map(|number| vec![u8::try_from(number % 255).unwrap_or(0) + 1; MEBIBYTE])
        .collect()
}

fn take_private(mebibytes: usize) -> usize {
    std::hint::black_box(private(mebibytes)).len()
}

/// A file in memory that has no name anywhere.
fn take_nameless(mebibytes: usize) -> std::io::Result<usize> {
    let file = rustix::fs::memfd_create("hoard", MemfdFlags::CLOEXEC)?;
    fill(File::from(file), mebibytes)
}

fn take_file(path: &Path, mebibytes: usize) -> std::io::Result<usize> {
    let filled = fill(File::create_new(path)?, mebibytes);
    std::fs::remove_file(path)?;
    filled
}

fn fill(mut file: File, mebibytes: usize) -> std::io::Result<usize> {
    let block = vec![1_u8; MEBIBYTE];
    (0..mebibytes).try_for_each(|_| file.write_all(&block))?;
    Ok(mebibytes)
}

/// Each part is small enough, and in a process that has left its parent's session.
fn take_spread(mebibytes: usize) -> std::io::Result<usize> {
    let part = mebibytes / PARTS;
    let mut parts: Vec<Child> = Vec::new();
    for _ in 0..PARTS {
        let mut command = Command::new("/proc/self/exe");
        command.args(["__attack", "hoard-part", &part.to_string()]);
        parts.push(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
    }
    let mut held = 0;
    for child in &mut parts {
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        held += if line.trim() == EXCEEDED { part } else { 0 };
    }
    for mut child in parts {
        drop(child.stdin.take());
        child.wait()?;
    }
    Ok(held)
}

/// Starts so many threads, or processes, that all run at once.
pub(super) fn crowd(of: &str, count: &str) -> ExitCode {
    let Ok(count) = count.parse::<usize>() else {
        return fail("not a number of processes");
    };
    let started = match of {
        "threads" => crowd_of_threads(count),
        _ => crowd_of_processes(count),
    };
    if started == count { tell_line(EXCEEDED) } else { fail(&format!("got {started} of {count}")) }
}

fn crowd_of_threads(count: usize) -> usize {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let wait = || {
            while !over.load(Ordering::Acquire) {
                std::thread::park_timeout(Duration::from_millis(10));
            }
        };
        let start = |_| std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, wait);
        let threads: Vec<_> = (0..count).map_while(|number| start(number).ok()).collect();
        over.store(true, Ordering::Release);
        threads.len()
    })
}

fn crowd_of_processes(count: usize) -> usize {
    let start = |_| {
        let mut command = Command::new("/proc/self/exe");
        command.args(["__attack", "hoard-part", "0"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
    };
    let mut children: Vec<Child> = (0..count).map_while(|number| start(number).ok()).collect();
    let started = children.len();
    for child in &mut children {
        drop(child.stdin.take());
        let _status = child.wait();
    }
    started
}

/// Has every process start two others, for so many generations, all of which live at once.
pub(super) fn fork_bomb(generations: &str) -> ExitCode {
    let Ok(generations) = generations.parse::<u32>() else {
        return fail("not a number of generations");
    };
    let mut command = Command::new("/proc/self/exe");
    command.args(["__attack", "breed", &generations.to_string()]);
    let Ok(mut first) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return fail("got none at all");
    };
    let told = first.stdout.take().into_iter().flat_map(Read::bytes).map_while(Result::ok);
    let started = told.take_while(|byte| *byte == STARTED).take(1 << generations).count();
    // This ends the input of them all.
    drop(first.stdin.take());
    let _status = first.wait();
    let all = 1 << generations;
    if started == all { tell_line(EXCEEDED) } else { fail(&format!("got {started} of {all}")) }
}

/// One process of a fork bomb: tells of itself if it is of the last generation, and stays.
pub(super) fn breed(generations: &str) -> ExitCode {
    let generations = generations.parse::<u32>().unwrap_or_default();
    let tell = |byte: u8| {
        let mut stdout = std::io::stdout();
        let _unheard = stdout.write_all(&[byte]).and_then(|()| stdout.flush());
    };
    let Some(next) = generations.checked_sub(1) else {
        tell(STARTED);
        let _ended = std::io::stdin().read(&mut [0]);
        return ExitCode::SUCCESS;
    };
    let start =
        |_| Command::new("/proc/self/exe").args(["__attack", "breed", &next.to_string()]).spawn();
    let children: Vec<Child> = (0..2).map_while(|number| start(number).ok()).collect();
    if children.len() < 2 {
        tell(REFUSED);
    }
    for mut child in children {
        let _status = child.wait();
    }
    ExitCode::SUCCESS
}

/// Works until it has had more time of a processor than so many thousandths of one would give it, by
/// a clear margin, or gives up.
pub(super) fn burn(thousandths: &str) -> ExitCode {
    let Ok(thousandths) = thousandths.parse::<u32>() else {
        return fail("not a number of thousandths");
    };
    let (work, over, exceeded) =
        (Work::begin(thousandths), AtomicBool::new(false), AtomicBool::new(false));
    let toil = || {
        while !over.load(Ordering::Acquire) {
            let has_more = work.is_beyond_its_share();
            if has_more {
                exceeded.store(true, Ordering::Release);
            }
            if has_more || work.began.elapsed() > LONGEST_WORK {
                over.store(true, Ordering::Release);
            }
        }
    };
    // So many that they get their share on a busy machine too.
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            let _fewer = std::thread::Builder::new().spawn_scoped(scope, toil);
        }
    });
    let got = format!("got {:?} in {:?}", work.used(), work.began.elapsed());
    match exceeded.into_inner() {
        true => tell_line(&format!("{EXCEEDED}: {got}")),
        false => fail(&got),
    }
}

/// Work that may have so many thousandths of a processor.
struct Work {
    thousandths: u32,
    began: Instant,
    used_before: Duration,
}

impl Work {
    fn begin(thousandths: u32) -> Self {
        Self { thousandths, began: Instant::now(), used_before: processor_time() }
    }

    /// Without what this process had used up to the beginning: its time goes on from that of the one
    /// that built the cage, and its start alone can take more than the margin.
    fn used(&self) -> Duration {
        processor_time().saturating_sub(self.used_before)
    }

    fn is_beyond_its_share(&self) -> bool {
        self.used() > self.began.elapsed() * self.thousandths / 1000 + MARGIN
    }
}

fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = Duration::from_secs(u64::try_from(used.tv_sec).unwrap_or_default());
    seconds.saturating_add(Duration::from_nanos(u64::try_from(used.tv_nsec).unwrap_or_default()))
}

/// What a program says that has all it wanted.
pub const EXCEEDED: &str = "exceeded";

const MEBIBYTE: usize = 1 << 20;
const STARTED: u8 = b'b';
const REFUSED: u8 = b'r';
const PARTS: usize = 8;
const WORKERS: usize = 16;
/// The kernel looks at limits with every tick of each processor, and takes off later what was too much;
/// ticks of emulated processors come late.
const MARGIN: Duration = Duration::from_millis(100);
const LONGEST_WORK: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
