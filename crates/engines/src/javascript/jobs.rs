//! What takes its time outside of the engine: programs, requests and tools. Each has a thread of its own, and what came of it waits
//! until the program's loop asks.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rquickjs::Object;
use rquickjs::function::Func;
use rustix::io::Errno;

use super::answer::{Answer, Outcome, Told, bytes_of};
use super::files::operations;
use super::host::Host;
use super::programs::{self, Program};
use super::requests::{self, Request};

/// The number of one that is over, and what came of it.
type Done = (u32, Outcome);

/// Those of one program.
#[derive(Debug)]
pub(super) struct Jobs {
    done: (Sender<Done>, Receiver<Done>),
    last: Cell<u32>,
    running: Cell<u32>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self { done: channel(), last: Cell::new(0), running: Cell::new(0) }
    }
}

impl Jobs {
    /// Begins one: its number.
    fn begin(&self, work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
        if self.running.get() >= MOST_AT_ONCE {
            return Err(Errno::AGAIN.into());
        }
        let (number, done) = (self.last.get() + 1, self.done.0.clone());
        let thread = std::thread::Builder::new().name("guest job".to_owned());
        let begun = thread.spawn(move || {
            // Nobody waits for it when the program has ended.
            let _unheard = done.send((number, work()));
        });
        begun.map_err(|_| Errno::AGAIN)?;
        self.last.set(number);
        self.running.set(self.running.get() + 1);
        Ok(Answer::Number(number.into()))
    }

    /// What came of one, within that time; a negative one is any time. Its number, an error's number or 0, and its answer.
    fn take(&self, milliseconds: f64) -> Outcome {
        if self.running.get() == 0 {
            return Ok(Answer::Number(0.0));
        }
        let most = if milliseconds < 0.0 { LONGEST_WAIT } else { milliseconds.min(LONGEST_WAIT) };
        match self.done.1.recv_timeout(Duration::from_secs_f64(most / 1000.0)) {
            Ok((number, outcome)) => {
                self.running.set(self.running.get().saturating_sub(1));
                let (error, answer) = match outcome {
                    Ok(answer) => (0, answer),
                    Err(error) => (error.errno.raw_os_error(), Answer::Nothing),
                };
                let number = Answer::Number(number.into());
                Ok(Answer::List(vec![number, Answer::Number(error.into()), answer]))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Ok(Answer::Number(0.0))
            }
        }
    }
}

pub(super) fn add_to(native: &Object<'_>, host: &Rc<Host>) -> rquickjs::Result<()> {
    operations! { native, host:
        "takeJob"(milliseconds: f64) host.jobs.take(milliseconds);
        "run"(words: Vec<String>, directory: String, variables: Vec<String>, input: String, streams: Vec<String>, bounds: Vec<f64>) {
            host.around()?;
            let program = program(host, words, &directory, variables, &input, &streams, &bounds)?;
            host.jobs.begin(move || programs::run(program))
        };
        "runNow"(words: Vec<String>, directory: String, variables: Vec<String>, input: String, streams: Vec<String>, bounds: Vec<f64>) {
            host.around()?;
            programs::run(program(host, words, &directory, variables, &input, &streams, &bounds)?)
        };
        "request"(method: String, address: String, headers: Vec<String>, body: String) {
            host.around()?;
            let most = host.world.borrow().limits.max_memory;
            let body = bytes_of(&body, true)?;
            host.jobs.begin(move || Ok(requests::send(Request { method, address, headers, body, most })))
        };
        "hasTools"() Ok(Answer::Number(f64::from(u8::from(host.tools().is_ok()))));
        "callTool"(tool: String, arguments: String) {
            let tools = host.tools()?;
            host.jobs.begin(move || {
                let (failed, text) = match tools.call(&tool, &arguments) {
                    Ok(text) => (0.0, text),
                    Err(why) => (1.0, why),
                };
                Ok(Answer::List(vec![Answer::Number(failed), Answer::Text(text)]))
            })
        };
    }
    Ok(())
}

fn program(
    host: &Host,
    words: Vec<String>,
    directory: &str,
    variables: Vec<String>,
    input: &str,
    streams: &[String],
    bounds: &[f64],
) -> Result<Program, vfs::Error> {
    let directory = String::from_utf8_lossy(&host.path(directory)).into_owned();
    Program::new(words, directory, variables, bytes_of(input, true)?, streams, bounds)
}

const MOST_AT_ONCE: u32 = 16;
/// Milliseconds: afterwards it is asked again.
const LONGEST_WAIT: f64 = 60_000.0;
