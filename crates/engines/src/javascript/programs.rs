//! Other programs that a program starts: in the same cage, with what that has. Their input is whole before they begin, and
//! what they write is there when they have ended.

use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::answer::{Answer, Outcome};

/// One of them.
pub(super) struct Program {
    file: String,
    arguments: Vec<String>,
    directory: String,
    variables: Vec<String>,
    input: Vec<u8>,
    streams: [Stream; 3],
    timeout: Option<Duration>,
    /// The bytes of each of its outputs.
    most: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Kept,
    Inherited,
    Nothing,
}

/// What is told while it runs.
enum News {
    Output(usize, Vec<u8>),
    /// One of its outputs is closed, or was too long.
    Closed {
        is_too_long: bool,
    },
}

/// Why it was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    OnItsOwn = 0,
    TimedOut = 1,
    TooLong = 2,
}

impl Program {
    /// Of the words that JavaScript gives.
    pub(super) fn new(
        words: Vec<String>,
        directory: String,
        variables: Vec<String>,
        input: Vec<u8>,
        streams: &[String],
        bounds: &[f64],
    ) -> Result<Self, vfs::Error> {
        let mut words = words.into_iter();
        let file = words.next().ok_or(Errno::INVAL)?;
        let stream = |at: usize| match streams.get(at).map(String::as_str) {
            Some("inherit") => Stream::Inherited,
            Some("ignore") => Stream::Nothing,
            _ => Stream::Kept,
        };
        let bound =
            |at: usize| bounds.get(at).copied().filter(|bound| bound.is_finite() && *bound > 0.0);
        let timeout =
            bound(0).map(|milliseconds| Duration::from_secs_f64(milliseconds.min(1e12) / 1000.0));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "cut to a bound"
        )]
        let most = bound(1).map_or(MOST_OUTPUT, |most| (most as usize).min(MOST_OUTPUT));
        let streams = [stream(0), stream(1), stream(2)];
        Ok(Self {
            file,
            arguments: words.collect(),
            directory,
            variables,
            input,
            streams,
            timeout,
            most,
        })
    }
}

/// Its status or -1, the signal that ended it or 0, both outputs, and why it was ended.
pub(super) fn run(program: Program) -> Outcome {
    let Program { file, arguments, directory, variables, input, streams, timeout, most } = program;
    let of = |stream| match stream {
        Stream::Kept => Stdio::piped(),
        Stream::Inherited => Stdio::inherit(),
        Stream::Nothing => Stdio::null(),
    };
    let mut command = Command::new(file);
    command.args(arguments).current_dir(directory).env_clear();
    for pair in variables.chunks_exact(2) {
        if let [name, value] = pair {
            command.env(name, value);
        }
    }
    let [first, second, third] = streams;
    let begun = command.stdin(of(first)).stdout(of(second)).stderr(of(third)).spawn();
    let mut child = begun.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let (outputs, ended) = attend(&mut child, input, timeout, most);
    let status = child.wait().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let number = |value: i32| Answer::Number(value.into());
    let [output, complaint] = outputs;
    Ok(Answer::List(vec![
        Answer::Number(status.code().unwrap_or(-1).into()),
        number(status.signal().unwrap_or(0)),
        Answer::Bytes(output),
        Answer::Bytes(complaint),
        number(ended as i32),
    ]))
}

/// Gives it its input and takes its outputs, until they are closed or it has to end.
fn attend(
    child: &mut Child,
    input: Vec<u8>,
    timeout: Option<Duration>,
    most: usize,
) -> ([Vec<u8>; 2], Ended) {
    let (tell, news) = channel();
    if let Some(mut pipe) = child.stdin.take() {
        std::thread::spawn(move || {
            // It need not read all of it.
            let _unread = pipe.write_all(&input);
        });
    }
    let mut open = 0;
    if let Some(pipe) = child.stdout.take() {
        open += 1;
        listen(0, pipe, most, tell.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        open += 1;
        listen(1, pipe, most, tell.clone());
    }
    drop(tell);
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut outputs = [Vec::new(), Vec::new()];
    let mut ended = Ended::OnItsOwn;
    while open > 0 || end.is_some() {
        let left = match end {
            Some(end) if ended == Ended::OnItsOwn => end.saturating_duration_since(Instant::now()),
            _ => LONGEST,
        };
        // With no output to wait for, it is looked at in between.
        let wait = if open == 0 { left.min(BETWEEN_LOOKS) } else { left };
        match news.recv_timeout(wait) {
            Ok(News::Output(which, bytes)) => {
                if let Some(output) = outputs.get_mut(which) {
                    output.extend_from_slice(&bytes);
                }
            }
            Ok(News::Closed { is_too_long }) => {
                open -= 1;
                if is_too_long {
                    ended = Ended::TooLong;
                    let _gone = child.kill();
                }
            }
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                ended = Ended::TimedOut;
                let _gone = child.kill();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        }
        let is_over =
            open == 0 && (ended != Ended::OnItsOwn || !matches!(child.try_wait(), Ok(None)));
        if is_over {
            break;
        }
    }
    (outputs, ended)
}

fn listen(which: usize, mut pipe: impl Read + Send + 'static, most: usize, tell: Sender<News>) {
    std::thread::spawn(move || {
        let (mut piece, mut total) = (vec![0; PIECE], 0);
        let is_too_long = loop {
            match pipe.read(&mut piece) {
                Ok(0) | Err(_) => break false,
                Ok(count) => {
                    let count = count.min(most - total);
                    total += count;
                    let bytes = piece.get(..count).unwrap_or_default().to_vec();
                    if tell.send(News::Output(which, bytes)).is_err() {
                        break false;
                    }
                    if total == most {
                        break true;
                    }
                }
            }
        };
        let _unheard = tell.send(News::Closed { is_too_long });
    });
}

const PIECE: usize = 64 << 10;
const MOST_OUTPUT: usize = 64 << 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(3600);
