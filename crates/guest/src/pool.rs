//! `stockade-guest pool`: guests of one cage, one after the other and at once, each in a process that was made before it was
//! asked for. Lines of JSON come by the input, one for each guest, and one goes out by the output when it has ended.
//!
//! All guests of a pool have the same cage, and may do to each other what that allows; none begins with anything of another's.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, WaitOptions};

use crate::order::Order;
use crate::{CANNOT_RUN, FAILED, LIMIT_REACHED as KILLED, Refused, USAGE_STATUS, refused};

mod answers;
mod copy;
mod lines;
mod modules;
mod request;
mod spare;

use answers::Answers;
use copy::Template;
use lines::Lines;
use request::{BadLine, Id, Line, Request};
use spare::{Answer, Ends, Forked, News, Running, Spare};

/// Serves until the input ends and all guests have. A copy of this process comes back from here as well, with its guest
/// run.
pub(crate) fn serve(order: &Order) -> Result<u8, Refused> {
    let cannot = |error: io::Error| refused(CANNOT_RUN, format!("the pool: {error}"));
    // Guests are of the same user: what the kernel lets that user do to another process it does not let it do to this one.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| cannot(error.into()))?;
    let mut template = Template::new(order)?;
    let pool = Pool::new(order.at_once);
    match pool.serve(&mut template).map_err(cannot)? {
        None => Ok(0),
        Some(ends) => template.become_guest(ends).map(|()| 0),
    }
}

/// What a pool has.
struct Pool {
    at_once: usize,
    input: Lines,
    waiting: VecDeque<Request>,
    spares: VecDeque<Spare>,
    spares_wanted: usize,
    running: BTreeMap<Id, Running>,
    /// Processes that have been ended, and not been waited for.
    ended: Vec<Pid>,
    answers: Answers,
}

/// What there is to look at: the input, the output, or a guest's process by one of its descriptors.
enum Ready {
    Input,
    Output,
    Guest(Id, usize),
}

impl Pool {
    fn new(at_once: usize) -> Self {
        Self {
            at_once,
            input: Lines::default(),
            waiting: VecDeque::new(),
            spares: VecDeque::new(),
            spares_wanted: SPARES,
            running: BTreeMap::new(),
            ended: Vec::new(),
            answers: Answers::default(),
        }
    }

    /// Until all is done. In a copy of this process it is what that has to go on with.
    fn serve(mut self, template: &mut Template) -> io::Result<Option<Ends>> {
        loop {
            let ready = self.poll(self.until_next())?;
            if ready.is_empty()
                && let Some(ends) = self.make_a_spare()
            {
                return Ok(Some(ends));
            }
            for ready in ready {
                match ready {
                    Ready::Input => self.listen()?,
                    Ready::Output => self.answers.write()?,
                    Ready::Guest(id, at) => self.hear(&id, at, template)?,
                }
            }
            self.end_late()?;
            self.forget_ended();
            if let Some(ends) = self.start_waiting()? {
                return Ok(Some(ends));
            }
            if self.input.is_over() && self.has_nothing_left() {
                self.retire();
                return Ok(None);
            }
        }
    }

    fn has_nothing_left(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty() && self.answers.are_taken()
    }

    /// One more that waits for a guest, where they are too few. In a copy of this process it is what that has to go on with.
    fn make_a_spare(&mut self) -> Option<Ends> {
        if self.spares.len() < self.spares_wanted {
            match spare::fork() {
                Ok(Forked::Pool(spare)) => self.spares.push_back(spare),
                Ok(Forked::Copy(ends)) => return Some(ends),
                // It is tried again when a guest needs it.
                Err(_) => self.spares_wanted = self.spares.len(),
            }
        }
        None
    }

    /// Waits for those that are gone by now. The kernel takes a while to take a process apart.
    fn forget_ended(&mut self) {
        let is_there = |pid: &Pid| {
            matches!(rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None))
        };
        self.ended.retain(is_there);
    }

    fn poll(&self, most: Option<Duration>) -> io::Result<Vec<Ready>> {
        let (mut names, mut asked) = (Vec::new(), Vec::new());
        let input = rustix::stdio::stdin();
        if !self.input.is_over() && self.waiting.len() < MOST_WAITING {
            names.push(Ready::Input);
            asked.push(PollFd::new(&input, PollFlags::IN));
        }
        let output = rustix::stdio::stdout();
        if !self.answers.are_taken() {
            names.push(Ready::Output);
            asked.push(PollFd::new(&output, PollFlags::OUT));
        }
        for (id, running) in &self.running {
            for (at, descriptor) in running.descriptors() {
                names.push(Ready::Guest(id.clone(), at));
                asked.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
            }
        }
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        match rustix::event::poll(&mut asked, most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = names.into_iter().zip(&asked).filter(|(_, asked)| !asked.revents().is_empty());
        Ok(ready.map(|(name, _)| name).collect())
    }

    /// How long there is nothing to do unless something comes. To make a spare is work for two processors, which a guest that
    /// runs has more use for: it waits for a quiet moment, as long as there is another.
    fn until_next(&self) -> Option<Duration> {
        let next = self.running.values().filter_map(|running| running.deadline).min();
        let next = next.map(|next| next.saturating_duration_since(Instant::now()));
        let spare = (self.spares.len() < self.spares_wanted).then_some(if self.spares.is_empty() {
            Duration::ZERO
        } else {
            QUIET
        });
        let ended = (!self.ended.is_empty()).then_some(GONE_BY);
        [next, spare, ended].into_iter().flatten().min()
    }

    fn listen(&mut self) -> io::Result<()> {
        for line in self.input.read()? {
            match line.and_then(|line| Line::read(&line)) {
                Ok(Line::Stop(id)) => self.stop(&id)?,
                Ok(Line::Run(request)) if self.has(&request.id) => {
                    let why = format!("there is a guest {} that has not ended", request.id);
                    self.answers.add(&nothing(None, USAGE_STATUS, why))?;
                }
                Ok(Line::Run(request)) => self.waiting.push_back(*request),
                Err(BadLine { id, why }) => {
                    let id = id.filter(|id| !self.has(id));
                    self.answers.add(&nothing(id, USAGE_STATUS, why))?;
                }
            }
        }
        Ok(())
    }

    fn has(&self, id: &Id) -> bool {
        self.running.contains_key(id) || self.waiting.iter().any(|request| request.id == *id)
    }

    fn stop(&mut self, id: &Id) -> io::Result<()> {
        let why = "it was stopped".to_owned();
        if let Some(at) = self.waiting.iter().position(|request| request.id == *id) {
            self.waiting.remove(at);
            return self.answers.add(&nothing(Some(id.clone()), KILLED, why));
        }
        self.finish(id, KILLED, Some(why))
    }

    /// What one process has to tell.
    fn hear(&mut self, id: &Id, at: usize, template: &mut Template) -> io::Result<()> {
        let Some(running) = self.running.get_mut(id) else { return Ok(()) };
        for news in running.take(at) {
            match news {
                News::Compiled => self.learn(id, template)?,
                News::Ended { status, why } => self.finish(id, status, why)?,
                News::Gone => {
                    if let Some(running) = self.running.remove(id) {
                        self.answers.add(&running.gone())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes what a guest's module was compiled to, and has it in every copy that is made from now on.
    fn learn(&mut self, id: &Id, template: &mut Template) -> io::Result<()> {
        let code = self.running.get_mut(id).and_then(Running::code);
        if code.is_some_and(|code| template.parts.modules.take(&template.parts.wasm, code)) {
            self.retire();
        }
        Ok(())
    }

    fn retire(&mut self) {
        let retired = self.spares.drain(..).map(Spare::retire);
        self.ended.extend(retired);
    }

    fn finish(&mut self, id: &Id, status: u8, why: Option<String>) -> io::Result<()> {
        let Some(running) = self.running.remove(id) else { return Ok(()) };
        // Whoever asked is answered first: the kernel may take a process apart before it goes on with this one.
        let (told, pid) = running.answer(status, why);
        let added = self.answers.add(&told);
        spare::end(pid);
        self.ended.push(pid);
        added
    }

    /// Ends the guests whose time is over.
    fn end_late(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let is_late = |running: &&Running| running.deadline.is_some_and(|deadline| deadline <= now);
        let late: Vec<_> = self
            .running
            .values()
            .filter(is_late)
            .map(|late| (late.id.clone(), late.seconds))
            .collect();
        for (id, seconds) in late {
            let why = format!("it was ended: it reached its limit `seconds` of {seconds}");
            self.finish(&id, KILLED, Some(why))?;
        }
        Ok(())
    }

    /// Gives guests their processes. In a copy of this process it is what that has to go on with.
    fn start_waiting(&mut self) -> io::Result<Option<Ends>> {
        while self.running.len() < self.at_once
            && !self.answers.are_too_many()
            && let Some(request) = self.waiting.pop_front()
        {
            self.spares_wanted = SPARES;
            let made = self.spares.pop_front();
            let is_new = made.is_none();
            let spare = match made.map_or_else(spare::fork, |spare| Ok(Forked::Pool(spare))) {
                Ok(Forked::Pool(spare)) => spare,
                Ok(Forked::Copy(ends)) => return Ok(Some(ends)),
                // A guest that ends leaves room for the next.
                Err(_) if !self.running.is_empty() => {
                    self.waiting.push_front(request);
                    break;
                }
                Err(error) => {
                    self.answers.add(&unstarted(request.id, &error))?;
                    continue;
                }
            };
            match spare.start(&request) {
                Ok(running) => drop(self.running.insert(request.id, running)),
                Err((pid, error)) => {
                    self.ended.push(pid);
                    match is_new {
                        true => self.answers.add(&unstarted(request.id, &error))?,
                        false => self.waiting.push_front(request),
                    }
                }
            }
        }
        Ok(None)
    }
}

fn unstarted(id: Id, error: &io::Error) -> Answer {
    nothing(Some(id), CANNOT_RUN, format!("no process can be started for it: {error}"))
}

fn nothing(id: Option<Id>, status: u8, why: String) -> Answer {
    let (output, error) = Default::default();
    Answer { id, status, output, error, why: Some(why), cut: false }
}

/// Lines that have been read and not been started.
const MOST_WAITING: usize = 1024;
/// Processes that wait for a guest.
const SPARES: usize = 4;
/// Without anything to do, after which there is time for what nobody waits for.
const QUIET: Duration = Duration::from_millis(1);
/// When processes that have been ended are looked for again.
const GONE_BY: Duration = Duration::from_millis(20);
