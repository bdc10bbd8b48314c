//! The process that starts the commands of services for one cage. Whoever serves that cage gives up all files before it reads
//! what comes from there, and could start none; so this process does, which is told a name and reads the question, and knows
//! by its own reading of the configuration what that name stands for. It ends with whoever it is for.

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cage::state::Locations;
use model::Cancel;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use sys::channel::{self, Waiting};

use super::{MOST_ANSWER, Services, command};

/// The process, from the other side. Dropping it ends the process and what it has started.
#[derive(Debug)]
pub(crate) struct Starter {
    control: Option<OwnedFd>,
    process: Child,
}

impl Starter {
    /// Starts it, for services of these names.
    pub(crate) fn start(names: &[&str]) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("services cannot be started: {error}");
        let (control, theirs) =
            channel::pair().map_err(|errno| failed(&std::io::Error::from(errno)))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(crate::SERVICES).args(names).stdin(Stdio::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null()).env_remove(crate::aside::VARIABLE);
        let process = command.spawn().map_err(|error| failed(&error))?;
        Ok(Self { control: Some(control), process })
    }

    /// Asks a service by its name.
    pub(crate) fn ask(
        &self,
        name: &str,
        question: &[u8],
        time: Duration,
        stop: &Cancel,
    ) -> Result<Vec<u8>, String> {
        let gone = |_: std::io::Error| "the service is gone".to_owned();
        let control = self.control.as_ref().ok_or("the service is gone")?;
        let (mut own, theirs) = UnixStream::pair().map_err(gone)?;
        channel::send(control.as_fd(), name.as_bytes(), &[theirs.as_fd()], Waiting::Allowed)
            .map_err(|errno| gone(errno.into()))?;
        drop(theirs);
        let until = Instant::now() + time + GRACE;
        own.set_write_timeout(Some(time + GRACE)).map_err(gone)?;
        own.set_read_timeout(Some(SLICE)).map_err(gone)?;
        own.write_all(question).and_then(|()| own.shutdown(Shutdown::Write)).map_err(gone)?;
        let (mut answer, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
        while answer.len() <= MOST_ANSWER + 1 {
            if stop.is_cancelled() || Instant::now() >= until {
                return Err("the service took too long".to_owned());
            }
            match own.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if is_later(error.kind()) => {}
                Err(error) => return Err(gone(error)),
            }
        }
        match answer.split_first() {
            Some((&DONE, answer)) => Ok(answer.to_vec()),
            Some((_, why)) => Err(String::from_utf8_lossy(why).into_owned()),
            None => Err("the service is gone".to_owned()),
        }
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        drop(self.control.take());
        let until = Instant::now() + GRACE;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                let _gone = self.process.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The whole life of the process.
pub(crate) fn main(names: &[OsString]) -> ExitCode {
    let control = std::io::stdin();
    // Nothing that whoever started it keeps, such as keys, is for the commands.
    if sys::descriptors::close_all_but(&[0, 1, 2]).is_err() {
        return ExitCode::FAILURE;
    }
    let names: Vec<String> =
        names.iter().filter_map(|name| name.to_str()).map(str::to_owned).collect();
    let Ok(services) = Services::of_this_process(&names, &Locations::of_this_process()) else {
        return ExitCode::FAILURE;
    };
    let (services, is_over) = (Arc::new(services), Arc::new(AtomicBool::new(false)));
    let running = Arc::new(AtomicUsize::new(0));
    loop {
        let packet = match channel::receive(control.as_fd(), MOST_NAME, Waiting::Allowed) {
            Err(Errno::INTR) => continue,
            Ok(Some(packet)) => packet,
            Ok(None) | Err(_) => break,
        };
        let (name, mut descriptors) = packet;
        let (Ok(name), Some(stream)) = (String::from_utf8(name), descriptors.pop()) else {
            continue;
        };
        let (services, is_over) = (Arc::clone(&services), Arc::clone(&is_over));
        let of_thread = Arc::clone(&running);
        running.fetch_add(1, Ordering::SeqCst);
        let spawned = std::thread::Builder::new().spawn(move || {
            answer(&services, &name, stream.into(), &is_over);
            of_thread.fetch_sub(1, Ordering::SeqCst);
        });
        if spawned.is_err() {
            running.fetch_sub(1, Ordering::SeqCst);
        }
    }
    is_over.store(true, Ordering::SeqCst);
    let until = Instant::now() + GRACE;
    while running.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    ExitCode::SUCCESS
}

fn answer(services: &Services, name: &str, mut stream: UnixStream, is_over: &AtomicBool) {
    let Some(service) = services.get(name) else { return };
    let set_up = stream.set_read_timeout(Some(service.time));
    if set_up.and_then(|()| stream.set_write_timeout(Some(GRACE))).is_err() {
        return;
    }
    let mut question = Vec::new();
    if std::io::Read::take(&stream, MOST_QUESTION as u64).read_to_end(&mut question).is_err() {
        return;
    }
    let is_unwanted = || is_over.load(Ordering::SeqCst) || is_left(&stream);
    let answer = service.ask(&question, &Cancel::new(), &|words| {
        command::run(words, &question, service.time, &is_unwanted)
    });
    let (first, bytes) = match answer {
        Ok(bytes) => (DONE, bytes),
        Err(why) => (FAILED, why.into_bytes()),
    };
    let _gone = stream.write_all(&[first]).and_then(|()| stream.write_all(&bytes));
}

/// Whether the other side is gone as a whole, and not only done with its question.
fn is_left(stream: &UnixStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled_some = rustix::event::poll(&mut polled, Some(&now));
    matches!(polled_some, Ok(1..))
        && polled.iter().any(|one| one.revents().contains(PollFlags::HUP))
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

const DONE: u8 = 1;
const FAILED: u8 = 0;
const MOST_NAME: usize = 64;
/// Bytes of a question.
pub(crate) const MOST_QUESTION: usize = 1 << 20;
const SLICE: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_secs(2);
