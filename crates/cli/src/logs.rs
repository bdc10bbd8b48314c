//! `stockade logs`: what a program has written, and what it writes. Standard output comes on standard
//! output, standard error on standard error.

use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};

use daemon::client::{Client, Heard, segment};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use serde_json::Value;
use sys::signal::SignalSet;
use terminal::Source;

use crate::arguments::daemon::LogsArguments;
use crate::client::{client, refuse_runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;
use crate::sinks::Sinks;

/// The command.
pub(crate) fn logs(arguments: &LogsArguments, messages: Messages) -> Result<Exit, Failure> {
    refuse_runs(&arguments.socket, &arguments.id)?;
    let client = client(&arguments.socket)?;
    let mut sinks = Sinks::of_this_process();
    let interruption = Interruption::of(&sinks).map_err(kernel)?;
    if arguments.follow {
        return follow(&client, &arguments.id, &mut sinks, &interruption, messages);
    }
    let path = format!("/v1/cages/{}", segment(&arguments.id));
    let cage = client.get(&path)?;
    let tail = arguments.tail.map(|bytes| format!("?tail={bytes}")).unwrap_or_default();
    for (stream, source) in [("stdout", Source::Output), ("stderr", Source::Error)] {
        if cage.get(stream).is_none_or(Value::is_null) {
            continue;
        }
        let mut output = client.stream(&format!("{path}/logs/{stream}{tail}"))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            if let Some(exit) = interruption.has_come() {
                return Ok(exit);
            }
            match output.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => sinks.write(source, buffer.get(..count).unwrap_or_default())?,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("the connection to the daemon broke: {error}");
                    return Err(Failure::new(Exit::No, message));
                }
            }
        }
    }
    Ok(Exit::Success)
}

fn follow(
    client: &Client,
    id: &str,
    sinks: &mut Sinks,
    interruption: &Interruption,
    messages: Messages,
) -> Result<Exit, Failure> {
    let mut attachment = client.attach(&format!("/v1/cages/{}/attach?stdin=false", segment(id)))?;
    loop {
        while let Some(heard) = attachment.next_heard()? {
            match heard {
                Heard::Output(bytes) => sinks.write(Source::Output, &bytes)?,
                Heard::Error(bytes) => sinks.write(Source::Error, &bytes)?,
                Heard::Notice(notice) => tell_gap(&notice, sinks, messages),
                Heard::Closed => return Ok(Exit::Success),
            }
        }
        let mut descriptors = vec![PollFd::new(&attachment, PollFlags::IN)];
        descriptors.extend(interruption.signals.iter().map(|one| PollFd::new(one, PollFlags::IN)));
        match rustix::event::poll(&mut descriptors, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(kernel(errno)),
        }
        let has_news = descriptors.first().is_some_and(|daemon| !daemon.revents().is_empty());
        if let Some(exit) = interruption.has_come() {
            return Ok(exit);
        }
        if has_news && !attachment.listen()? {
            return Err(Failure::new(Exit::No, "the daemon ended before the program did"));
        }
    }
}

/// Tells of output that is gone.
pub(crate) fn tell_gap(notice: &Value, sinks: &mut Sinks, messages: Messages) {
    let text = |name: &str| notice.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "gap" => {
            let bytes = notice.get("bytes").and_then(Value::as_u64).unwrap_or_default();
            let stream = policy::shown::shown(text("stream"));
            sinks.restore();
            messages.note(&format!("{bytes} bytes of {stream} are not kept any more"));
        }
        "error" => {
            sinks.restore();
            messages.warning(&policy::shown::shown(text("message")));
        }
        _ => {}
    }
}

/// Signals that end the command. On a terminal they wait, so that it is put in order first; elsewhere there is nothing to do.
struct Interruption {
    signals: Option<OwnedFd>,
}

impl Interruption {
    fn of(sinks: &Sinks) -> Result<Self, Errno> {
        if !sinks.have_terminal() {
            return Ok(Self { signals: None });
        }
        let set = SignalSet::of(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT]);
        sys::signal::block(&set)?;
        Ok(Self { signals: Some(sys::signal::descriptor(&set)?) })
    }

    /// How the command ends if one has come: as a shell tells it.
    fn has_come(&self) -> Option<Exit> {
        let signal = sys::signal::read(self.signals.as_ref()?.as_fd()).ok()??;
        Some(Exit::of_program(jail::End::Signalled(signal)))
    }
}

fn kernel(errno: Errno) -> Failure {
    let error = std::io::Error::from(errno);
    Failure::new(Exit::No, format!("cannot wait for the daemon: {error}"))
}
