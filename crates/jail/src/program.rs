//! The last steps before the program's first instruction, taken in a child of pid 1 that borrows
//! its memory until then. Everything the child needs is laid out before it exists.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use plan::{ByteString, Plan};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::Pid;
use sys::exec::CStringArray;
use sys::signal::SignalSet;
use sys::stack::Stack;
use walls::Wall;

use crate::observer::Observer;
use crate::seccomp::Filter;
use crate::{NotifyState, SetupFailure, Step};

/// The cage's program, ready to start, and the filter that it is under.
pub(crate) struct Launch {
    program: Prepared,
    with_notify: Filter,
    without_notify: Filter,
    /// Where something of the program's calls is noted.
    watching: Option<Filter>,
}

/// A program ready to start: all that its first instruction needs.
pub(crate) struct Prepared {
    candidates: Vec<CString>,
    arguments: CStringArray,
    environment: CStringArray,
    working_directory: CString,
    umask: Mode,
}

/// A program that is running.
pub(crate) struct Launched {
    /// Its process id inside, which is also its process group.
    pub(crate) program: Pid,
    pub(crate) calls: Calls,
}

/// Where the calls arrive that the program's filter hands over.
#[derive(Debug)]
pub(crate) enum Calls {
    /// Nowhere: another listener is above the program.
    Nowhere,
    /// Here.
    Here(OwnedFd),
    /// At the thread that notes what they are about.
    Observed(Observer),
}

impl Launched {
    /// Whether refused calls are reported by name.
    pub(crate) fn notify(&self) -> NotifyState {
        match self.calls {
            Calls::Nowhere => NotifyState::Unavailable,
            Calls::Here(_) | Calls::Observed(_) => NotifyState::Listening,
        }
    }
}

/// The program's first three descriptors.
pub(crate) struct Streams<'a> {
    pub(crate) descriptors: [BorrowedFd<'a>; 3],
    /// The terminal among them, whose foreground the program takes.
    pub(crate) terminal: Option<BorrowedFd<'a>>,
}

impl Launch {
    /// Lays out everything that the Plan says about the program.
    pub(crate) fn prepare(plan: &Plan) -> Result<Self, SetupFailure> {
        let Some(name) = plan.start.argv.first() else {
            return Err(SetupFailure::found(Step::Execute, "the program", "the plan names none"));
        };
        Ok(Self {
            program: Prepared::new(plan, candidates(name, plan)?, &plan.start.argv)?,
            with_notify: Filter::new(&plan.walls.seccomp.with_notify),
            without_notify: Filter::new(&plan.walls.seccomp.without_notify),
            watching: plan.walls.seccomp.watching(plan.start.watch).as_ref().map(Filter::new),
        })
    }

    /// Puts this process and everything it starts under the filter. Returns where its calls
    /// arrive: with the observer, if there is one, unless another listener is above this process: there can be one in a chain of
    /// processes, and where there is one already, the other variant refuses by itself.
    ///
    /// Pid 1 makes none of the refused calls. One that was turned against its supervisor would
    /// wait for its own answer, for good.
    pub(crate) fn enter_filter(&self, observer: Option<Observer>) -> Result<Calls, SetupFailure> {
        let failed = |errno| SetupFailure::kernel(Step::Seccomp, "the program", errno);
        if !walls::stands(Wall::CallFilter) {
            return Ok(Calls::Nowhere);
        }
        let watched = self.watching.as_ref().zip(observer);
        let filter = watched.as_ref().map_or(&self.with_notify, |(watching, _)| watching);
        match filter.install_with_listener() {
            Ok(listener) => match watched {
                Some((_, observer)) => {
                    observer.watch(&listener).map_err(failed)?;
                    Ok(Calls::Observed(observer))
                }
                None => Ok(Calls::Here(listener)),
            },
            Err(Errno::BUSY) => {
                self.without_notify.install().map(|()| Calls::Nowhere).map_err(failed)
            }
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Starts the program and returns when its first instruction is next.
    pub(crate) fn start(
        &self,
        streams: &Streams<'_>,
        calls: Calls,
    ) -> Result<Launched, SetupFailure> {
        let program = self.program.start(streams)?;
        Ok(Launched { program, calls })
    }
}

impl Prepared {
    /// In the environment, the working directory and with the umask of the Plan.
    pub(crate) fn new(
        plan: &Plan,
        candidates: Vec<CString>,
        arguments: &[ByteString],
    ) -> Result<Self, SetupFailure> {
        let variables = plan.walls.environment.iter().map(|variable| {
            let name = variable.name.as_bytes();
            c_string(&[name, b"=", variable.value.as_bytes()].concat())
        });
        let inherited = (!walls::stands(Wall::Environment)).then(std::env::vars_os);
        let inherited = inherited
            .into_iter()
            .flatten()
            .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
        let variables = variables.chain(inherited);
        let arguments = arguments.iter().map(|argument| c_string(argument.as_bytes()));
        Ok(Self {
            candidates,
            arguments: CStringArray::new(arguments.collect::<Result<_, _>>()?),
            environment: CStringArray::new(variables.collect::<Result<_, _>>()?),
            working_directory: c_string(plan.walls.working_directory.as_bytes())?,
            umask: Mode::from_raw_mode(plan.walls.umask),
        })
    }

    /// Starts it and returns when its first instruction is next.
    pub(crate) fn start(&self, streams: &Streams<'_>) -> Result<Pid, SetupFailure> {
        let mut failure = None;
        let mut stack = Stack::new(STACK)
            .map_err(|errno| SetupFailure::kernel(Step::Execute, "the program", errno))?;
        let mut body = || {
            failure = Some(self.become_program(streams));
            EXIT_NOT_STARTED
        };
        let child = sys::clone::run_sharing_memory(&mut stack, &mut body);
        let program =
            child.map_err(|errno| SetupFailure::kernel(Step::Execute, "the program", errno))?;
        match failure {
            None => Ok(program),
            Some((step, errno)) => {
                let subject = match step {
                    Step::WorkingDirectory => self.working_directory.to_string_lossy(),
                    Step::Execute => self.name(),
                    _ => "the program".into(),
                };
                Err(SetupFailure::kernel(step, subject, errno))
            }
        }
    }

    /// Runs in the child: returns only what went wrong.
    fn become_program(&self, streams: &Streams<'_>) -> (Step, Errno) {
        if let Err(errno) = enter_session(streams.terminal) {
            return (Step::Terminal, errno);
        }
        rustix::process::umask(self.umask);
        if let Err(errno) = rustix::process::chdir(self.working_directory.as_c_str()) {
            return (Step::WorkingDirectory, errno);
        }
        if let Err(errno) = take_streams(streams) {
            return (Step::Execute, errno);
        }
        (Step::Execute, self.execute())
    }

    /// Tries the candidates as execvp(3) does: a directory that cannot be searched is passed over,
    /// and its refusal is told only if nothing else is found.
    fn execute(&self) -> Errno {
        let mut refused = None;
        for candidate in &self.candidates {
            match sys::exec::execute(candidate, &self.arguments, &self.environment) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => refused = Some(Errno::ACCESS),
                errno => return errno,
            }
        }
        refused.unwrap_or(Errno::NOENT)
    }

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.candidates.first().map_or("the program".into(), |path| {
            if self.candidates.len() == 1 {
                path.to_string_lossy()
            } else {
                let path = path.to_string_lossy();
                path.rsplit('/').next().unwrap_or_default().to_owned().into()
            }
        })
    }
}

/// With a terminal the program gets a process group of its own in pid 1's session, as a shell
/// would give it, so that stopping it works; without one it gets its own session.
fn enter_session(terminal: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let Some(terminal) = terminal else {
        return rustix::process::setsid().map(drop);
    };
    rustix::process::setpgid(None, None)?;
    rustix::termios::tcsetpgrp(terminal, rustix::process::getpid())
}

fn take_streams(streams: &Streams<'_>) -> Result<(), Errno> {
    let [input, output, error] = streams.descriptors;
    rustix::stdio::dup2_stdin(input)?;
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(error)?;
    // The table is pid 1's up to here, which does not use these three itself.
    if walls::stands(Wall::Descriptors) {
        sys::descriptors::leave_all_from(FIRST_BEYOND_STANDARD)?;
    }
    sys::signal::restore_default(libc::SIGPIPE)?;
    sys::signal::set_mask(&SignalSet::empty()).map(drop)
}

/// Where the program may be: the path itself, or its name in each directory of the cage's `PATH`.
fn candidates(name: &ByteString, plan: &Plan) -> Result<Vec<CString>, SetupFailure> {
    let name = name.as_bytes();
    if name.is_empty() {
        return Err(SetupFailure::kernel(Step::Execute, "", Errno::NOENT));
    }
    if name.contains(&b'/') {
        return Ok(vec![c_string(name)?]);
    }
    let path = plan.walls.environment.iter().find(|variable| variable.name.as_bytes() == b"PATH");
    let directories = path.map_or(&b"/usr/bin:/bin"[..], |variable| variable.value.as_bytes());
    directories
        .split(|byte| *byte == b':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| c_string(&[directory, b"/", name].concat()))
        .collect()
}

pub(crate) fn c_string(bytes: &[u8]) -> Result<CString, SetupFailure> {
    CString::new(bytes).map_err(|_| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        SetupFailure::found(Step::Execute, text, "it has a NUL byte")
    })
}

/// The streams as descriptors, whichever way they come.
pub(crate) fn borrow_streams<'a>(
    descriptors: &'a [OwnedFd; 3],
    terminal: Option<&'a OwnedFd>,
) -> Streams<'a> {
    let [input, output, error] = descriptors;
    Streams {
        descriptors: [input.as_fd(), output.as_fd(), error.as_fd()],
        terminal: terminal.map(AsFd::as_fd),
    }
}

const STACK: usize = 256 * 1024;
const EXIT_NOT_STARTED: i32 = 127;
const FIRST_BEYOND_STANDARD: u32 = 3;
