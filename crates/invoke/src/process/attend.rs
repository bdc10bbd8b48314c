//! Waits for what runs, whatever it is: reads its outputs up to a bound, watches its time, and has it ended
//! where it must be. Starts nothing.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::{EndedFor, Job, RunFailure, failed};

/// Something that runs.
pub(crate) trait Running {
    /// Readable when it is gone. None where it is gone with the end of its report.
    fn gone(&self) -> Option<BorrowedFd<'_>>;

    /// It is gone, and can be reaped.
    fn is_gone(&self) {}

    /// Has it end.
    fn end(&self, how: Insistence);
}

/// How something is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insistence {
    /// It is asked.
    Ask,
    /// What does not hear that is killed.
    Kill,
}

/// The three outputs of what runs: standard output, standard error, and its report.
pub(crate) struct Outputs([Output; 3]);

impl Outputs {
    pub(crate) fn new(stdout: OwnedFd, stderr: OwnedFd, report: OwnedFd, most: usize) -> Self {
        Self([
            Output::new(stdout, most, Some(EndedFor::Stdout)),
            Output::new(stderr, most, Some(EndedFor::Stderr)),
            Output::new(report, MOST_REPORT, None),
        ])
    }

    /// What was read of each.
    pub(crate) fn into_kept(self) -> [Vec<u8>; 3] {
        self.0.map(|output| output.kept)
    }

    /// Reads until what runs is gone and nobody holds its outputs, and ends it where it must be.
    pub(crate) fn attend(
        &mut self,
        running: &impl Running,
        job: &Job<'_>,
        begun: Instant,
    ) -> Result<Option<EndedFor>, RunFailure> {
        let mut ending: Option<Ending> = None;
        let mut gone_since: Option<Instant> = None;
        loop {
            let is_open = self.0.iter().any(|output| output.source.is_some());
            let waited_long = gone_since.is_some_and(|gone| gone.elapsed() >= LONGEST_DRAIN);
            if gone_since.is_some() && (!is_open || waited_long) {
                return Ok(ending.map(|ending| ending.why));
            }
            let next = match (&ending, gone_since) {
                (_, Some(gone)) => gone + LONGEST_DRAIN,
                (Some(ending), None) => ending.next,
                (None, None) => begun + job.deadline,
            };
            let gone = running.gone();
            let watched = gone.filter(|_| gone_since.is_none());
            let was_told = self.wait(watched, next, job.is_cancelled)?;
            let is_gone = was_told || (gone.is_none() && self.report_is_over());
            if is_gone && gone_since.is_none() {
                gone_since = Some(Instant::now());
                running.is_gone();
            }
            let over = self.0.iter().find(|output| output.is_over).and_then(|output| output.means);
            let late = (begun.elapsed() >= job.deadline).then_some(EndedFor::Deadline);
            let cancelled = job.is_cancelled.is_some_and(|asked| asked());
            let why = over.or(late).or(cancelled.then_some(EndedFor::Cancelled));
            match (&mut ending, why) {
                (Some(ending), _) if Instant::now() >= ending.next => ending.end_harder(running),
                (None, Some(why)) if gone_since.is_none() || over.is_some() => {
                    let mut begun = Ending { why, step: 0, next: Instant::now() };
                    begun.end_harder(running);
                    ending = Some(begun);
                }
                _ => {}
            }
        }
    }

    fn report_is_over(&self) -> bool {
        let [.., report] = &self.0;
        report.source.is_none()
    }

    /// Waits until there is something to read, it is gone or a moment has come. Returns whether
    /// it is gone.
    fn wait(
        &mut self,
        gone: Option<BorrowedFd<'_>>,
        until: Instant,
        is_cancelled: Option<&dyn Fn() -> bool>,
    ) -> Result<bool, RunFailure> {
        let mut left = until.saturating_duration_since(Instant::now());
        if is_cancelled.is_some() {
            left = left.min(BETWEEN_QUESTIONS);
        }
        let left =
            Timespec::try_from(left.min(LONGEST_POLL)).map_err(|_| failed("poll")(Errno::INVAL))?;
        let mut polled = Vec::with_capacity(self.0.len() + 1);
        let open = |output: &&Output| output.source.is_some();
        for source in self.0.iter().filter(open).filter_map(|output| output.source.as_ref()) {
            polled.push(PollFd::new(source, PollFlags::IN));
        }
        if let Some(gone) = &gone {
            polled.push(PollFd::new(gone, PollFlags::IN));
        }
        match rustix::event::poll(&mut polled, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(failed("poll")(errno)),
        }
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        for output in self.0.iter_mut().filter(|output| output.source.is_some()) {
            if ready.next().unwrap_or_default() {
                output.read()?;
            }
        }
        Ok(ready.next().unwrap_or_default())
    }
}

/// How far what runs is from being ended by force.
struct Ending {
    why: EndedFor,
    step: u32,
    next: Instant,
}

impl Ending {
    fn end_harder(&mut self, running: &impl Running) {
        running.end(if self.step < POLITE_STEPS { Insistence::Ask } else { Insistence::Kill });
        self.step = self.step.saturating_add(1);
        self.next = Instant::now() + cage::GRACE;
    }
}

/// One output, as far as it was read.
struct Output {
    /// None once nobody holds the other end.
    source: Option<OwnedFd>,
    kept: Vec<u8>,
    most: usize,
    is_over: bool,
    /// What it means if it is too long.
    means: Option<EndedFor>,
}

impl Output {
    fn new(source: OwnedFd, most: usize, means: Option<EndedFor>) -> Self {
        Self { source: Some(source), kept: Vec::new(), most, is_over: false, means }
    }

    /// Reads what is there. What is over the bound is dropped: a command that waits for a reader could
    /// not be asked to end.
    fn read(&mut self) -> Result<(), RunFailure> {
        let Some(source) = &self.source else { return Ok(()) };
        let mut buffer = [0; 64 << 10];
        match rustix::io::read(source, &mut buffer) {
            Ok(0) => self.source = None,
            Ok(count) => {
                let room = self.most.saturating_sub(self.kept.len());
                let read = buffer.get(..count).unwrap_or_default();
                self.kept.extend_from_slice(read.get(..count.min(room)).unwrap_or_default());
                self.is_over |= count > room;
            }
            // A socket whose other end went without having read everything.
            Err(Errno::CONNRESET) => self.source = None,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed("read")(errno)),
        }
        Ok(())
    }
}

/// A pipe whose reading end never waits: that end, and the other.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), RunFailure> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("pipe"))?;
    rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK).map_err(failed("fcntl"))?;
    Ok((read, write))
}

/// A report has bounded lists in it.
const MOST_REPORT: usize = 4 << 20;

/// How often what runs is asked to end before it is killed.
const POLITE_STEPS: u32 = 2;

/// How long outputs are read that somebody holds after it is gone.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);

const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);

/// More than this is not one wait.
const LONGEST_POLL: Duration = Duration::from_secs(3600);
