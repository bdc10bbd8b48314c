//! `stockade logs`: what a program has written, and what it writes. Standard output comes on standard
//! output, standard error on standard error.

use std::io::{IsTerminal as _, Read as _, Write};

use cage::terminal_filter::Filter;
use daemon::client::{Client, Heard, segment};
use serde_json::Value;

use crate::arguments::daemon::LogsArguments;
use crate::client::client;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Messages;

/// The command.
pub(crate) fn logs(arguments: &LogsArguments, messages: Messages) -> Result<Exit, Failure> {
    let client = client(&arguments.socket)?;
    let mut sinks = Sinks::of_this_process();
    if arguments.follow {
        return follow(&client, &arguments.id, &mut sinks, messages);
    }
    let path = format!("/v1/cages/{}", segment(&arguments.id));
    let cage = client.get(&path)?;
    let tail = arguments.tail.map(|bytes| format!("?tail={bytes}")).unwrap_or_default();
    for (stream, sink) in [("stdout", &mut sinks.stdout), ("stderr", &mut sinks.stderr)] {
        if cage.get(stream).is_none_or(Value::is_null) {
            continue;
        }
        let mut output = client.stream(&format!("{path}/logs/{stream}{tail}"))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match output.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => sink.write(buffer.get(..count).unwrap_or_default())?,
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
    messages: Messages,
) -> Result<Exit, Failure> {
    let mut attachment = client.attach(&format!("/v1/cages/{}/attach?stdin=false", segment(id)))?;
    loop {
        while let Some(heard) = attachment.next_heard()? {
            match heard {
                Heard::Output(bytes) => sinks.stdout.write(&bytes)?,
                Heard::Error(bytes) => sinks.stderr.write(&bytes)?,
                Heard::Notice(notice) => tell_gap(&notice, messages),
                Heard::Closed => return Ok(Exit::Success),
            }
        }
        if !attachment.listen()? {
            return Err(Failure::new(Exit::No, "the daemon ended before the program did"));
        }
    }
}

/// Tells of output that is gone.
pub(crate) fn tell_gap(notice: &Value, messages: Messages) {
    let text = |name: &str| notice.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "gap" => {
            let bytes = notice.get("bytes").and_then(Value::as_u64).unwrap_or_default();
            let stream = policy::shown::shown(text("stream"));
            messages.note(&format!("{bytes} bytes of {stream} are not kept any more"));
        }
        "error" => messages.warning(&policy::shown::shown(text("message"))),
        _ => {}
    }
}

/// Where a program's two outputs go.
pub(crate) struct Sinks {
    pub(crate) stdout: Sink,
    pub(crate) stderr: Sink,
}

/// One output of this process. What a program writes is kept from doing to the user's terminal what
/// only the user may.
pub(crate) struct Sink {
    stream: Box<dyn Write>,
    filter: Option<Filter>,
}

impl Sinks {
    pub(crate) fn of_this_process() -> Self {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let filter = |is_terminal: bool| is_terminal.then(Filter::new);
        Self {
            stdout: Sink { filter: filter(stdout.is_terminal()), stream: Box::new(stdout) },
            stderr: Sink { filter: filter(stderr.is_terminal()), stream: Box::new(stderr) },
        }
    }
}

impl Sink {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.filter {
            Some(filter) => {
                let mut safe = Vec::with_capacity(bytes.len());
                filter.pass(bytes, &mut safe);
                self.stream.write_all(&safe)
            }
            None => self.stream.write_all(bytes),
        };
        written
            .and_then(|()| self.stream.flush())
            .map_err(|error| Failure::new(Exit::No, format!("cannot write: {error}")))
    }
}
