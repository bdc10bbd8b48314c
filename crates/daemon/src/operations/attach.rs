//! A program's streams over a WebSocket: what it writes comes as bytes behind one that names the
//! stream, what it reads goes as bytes, everything else is JSON. Each direction waits for its own
//! side only: a client that does not read holds up its own output and nothing else, and a program that does
//! not read holds up its input, and signals only when too much of that waits.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use cage::runner::{OutputReader, TerminalSize};
use hyper::body::Incoming as RequestBody;
use hyper::header::{CONNECTION, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::cages::set_size;
use crate::admission::Admitted;
use crate::answer::Answer;
use crate::body::Body;
use crate::cages::{Cage, Stream};
use crate::daemon::Daemon;
use crate::phase::Phase;
use crate::problem::{Code, Problem};
use crate::query::Query;
use crate::shown::ShownCage;
use crate::signal_name::{SignalWord, number};
use crate::websocket::{Message, Messages, Opcode, Role, accept_key, encode};

/// Becomes a WebSocket.
pub(super) fn attach(
    daemon: &Arc<Daemon>,
    mut request: Request<RequestBody>,
    name: &str,
) -> Result<Answer, Problem> {
    let query = Query::read(request.uri().query(), &["from", "stdin"])?;
    let from_now = match query.text("from") {
        None | Some("start") => false,
        Some("now") => true,
        Some(_) => return Err(Problem::new(Code::BadRequest, "`from` must be `start` or `now`")),
    };
    let takes_input = query.text("stdin").is_none() || query.flag("stdin")?;
    let cage = daemon.cages.find(name)?;
    let key = handshake(&request)?;
    let open = |stream| {
        let output = cage.output(stream)?;
        if from_now {
            return Some(Outgoing { reader: output.reader_at(output.kept().end), gone: 0 });
        }
        let reader = output.reader();
        let gone = reader.position();
        Some(Outgoing { reader, gone })
    };
    let outputs = Outputs { stdout: open(Stream::Stdout), stderr: open(Stream::Stderr) };
    let upgrade = hyper::upgrade::on(&mut request);
    let admitted = request.extensions_mut().remove::<Arc<Admitted>>();
    let daemon = Arc::clone(daemon);
    tokio::spawn(async move {
        let _place = admitted;
        // A client that does not go on with the handshake has changed its mind.
        if let Ok(upgraded) = upgrade.await {
            converse(upgraded, &daemon, &cage, outputs, takes_input).await;
        }
    });
    let mut answer = Response::new(Body::whole(""));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let accept = HeaderValue::from_str(&accept_key(&key));
    let accept = accept.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    headers.insert(HeaderName::from_static("sec-websocket-accept"), accept);
    Ok(answer)
}

/// The key of an opening handshake (RFC 6455, 4.2.1).
fn handshake(request: &Request<RequestBody>) -> Result<Vec<u8>, Problem> {
    let header = |name: &str| request.headers().get(name);
    let has_word = |name: &str, word: &str| {
        let value = header(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    let refused = |message: &str| {
        Problem::new(Code::BadRequest, message).help("attaching needs a WebSocket, version 13")
    };
    let is_handshake = request.method() == Method::GET
        && request.version() == hyper::Version::HTTP_11
        && has_word("connection", "upgrade")
        && has_word("upgrade", "websocket");
    if !is_handshake {
        return Err(refused("the request does not ask for a WebSocket"));
    }
    if !has_word("sec-websocket-version", "13") {
        return Err(refused("the request asks for another version of WebSocket"));
    }
    match header("sec-websocket-key") {
        Some(key) if key.len() == KEY_LENGTH => Ok(key.as_bytes().to_vec()),
        _ => Err(refused("the WebSocket's key is missing or malformed")),
    }
}

/// What a client hears: each output, where there is one.
struct Outputs {
    stdout: Option<Outgoing>,
    stderr: Option<Outgoing>,
}

/// One output.
struct Outgoing {
    reader: OutputReader,
    /// How many bytes were not kept any more when the client came.
    gone: u64,
}

/// What goes to the program, in its order.
enum Incoming {
    Bytes { bytes: Vec<u8>, _room: Room },
    End { _room: Room },
}

/// A place in the queue, given back when it is dropped.
type Room = OwnedSemaphorePermit;

/// What one side of the conversation has the other say.
enum Say {
    Pong(Vec<u8>),
    Notice(Value),
    Close(u16),
}

async fn converse(
    upgraded: Upgraded,
    daemon: &Daemon,
    cage: &Cage,
    outputs: Outputs,
    takes_input: bool,
) {
    let (read, write) = tokio::io::split(TokioIo::new(upgraded));
    let (say, said) = mpsc::channel(16);
    let listening = listen(read, cage, takes_input, say);
    let telling = tell(write, daemon, cage, outputs, said);
    // When one side is done, so is the conversation; what broke it is the client's business.
    tokio::select! {
        () = listening => {}
        _told = telling => {}
    }
}

/// What a client may say in JSON.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    Resize { rows: u16, columns: u16 },
    Signal { signal: SignalWord },
    EndOfInput,
}

/// Does what the client says until it closes, and all of what it said for the program.
async fn listen(
    read: ReadHalf<TokioIo<Upgraded>>,
    cage: &Cage,
    takes_input: bool,
    say: mpsc::Sender<Say>,
) {
    let (queue, queued) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MOST_WAITING));
    let hearing = hear(read, cage, takes_input.then_some((queue, room)), &say);
    let (closed, ()) = tokio::join!(hearing, feed(cage, queued, &say));
    if let Some(code) = closed
        && say.send(Say::Close(code)).await.is_ok()
    {
        // The other side sends it and ends the conversation.
        std::future::pending::<()>().await;
    }
}

/// Hands to the program what has come for it.
async fn feed(cage: &Cage, mut queued: mpsc::UnboundedReceiver<Incoming>, say: &mpsc::Sender<Say>) {
    while let Some(incoming) = queued.recv().await {
        let written = match &incoming {
            Incoming::Bytes { bytes, .. } => cage.input.write(bytes).await,
            Incoming::End { .. } => cage.input.end().await,
        };
        if let Err(error) = written
            && say.send(notice_of(&error.to_string())).await.is_err()
        {
            return;
        }
    }
}

/// The way to the program's input, and how much room there is.
type ToProgram = (mpsc::UnboundedSender<Incoming>, Arc<Semaphore>);

/// Takes what the client says until it closes, and with which code it is to be answered then.
async fn hear(
    mut read: ReadHalf<TokioIo<Upgraded>>,
    cage: &Cage,
    to_program: Option<ToProgram>,
    say: &mpsc::Sender<Say>,
) -> Option<u16> {
    let mut messages = Messages::new(Role::Server, MOST_MESSAGE);
    let mut buffer = vec![0; 16 << 10];
    loop {
        let next = messages.next_message();
        let answer = match next {
            Ok(Some(Message::Binary(bytes))) => match &to_program {
                Some((queue, room)) => {
                    let wanted = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    let wanted = wanted.saturating_add(OF_MESSAGE);
                    let room = Arc::clone(room).acquire_many_owned(wanted).await.ok()?;
                    queue.send(Incoming::Bytes { bytes, _room: room }).ok()?;
                    None
                }
                None => Some(notice_of(NO_INPUT)),
            },
            Ok(Some(Message::Text(text))) => {
                obey(cage, &text, to_program.as_ref()).err().map(|p| notice_of(&p.message))
            }
            Ok(Some(Message::Ping(bytes))) => Some(Say::Pong(bytes)),
            Ok(Some(Message::Pong)) => None,
            Ok(Some(Message::Close(_))) => return Some(NORMAL),
            Err(error) => return Some(error.close_code()),
            Ok(None) => match read.read(&mut buffer).await {
                Ok(count) if count > 0 => {
                    messages.feed(buffer.get(..count).unwrap_or_default());
                    continue;
                }
                _ => return None,
            },
        };
        if let Some(answer) = answer {
            say.send(answer).await.ok()?;
        }
    }
}

fn obey(cage: &Cage, text: &str, to_program: Option<&ToProgram>) -> Result<(), Problem> {
    let request = serde_json::from_str(text).map_err(|error| {
        let message = policy::shown::shown(&error);
        Problem::new(Code::BadRequest, format!("the message is wrong: {message}"))
    })?;
    match request {
        Said::Resize { rows, columns } => set_size(cage, TerminalSize { rows, columns }),
        Said::Signal { signal } => {
            // One that comes after the end was for a program that is gone.
            let _gone = cage.handle.signal(number(&signal)?);
            Ok(())
        }
        Said::EndOfInput => {
            let refused = |why: &str| Problem::new(Code::Conflict, why);
            let (queue, room) = to_program.ok_or_else(|| refused(NO_INPUT))?;
            let room = Arc::clone(room).try_acquire_many_owned(OF_MESSAGE);
            let room = room.map_err(|_| refused("too much input waits for the program"))?;
            queue.send(Incoming::End { _room: room }).map_err(|_| refused(NO_INPUT))
        }
    }
}

fn notice_of(message: &str) -> Say {
    Say::Notice(json!({ "type": "error", "message": message }))
}

/// Tells the client what the program writes, and in the end how it ended.
async fn tell(
    mut write: WriteHalf<TokioIo<Upgraded>>,
    daemon: &Daemon,
    cage: &Cage,
    mut outputs: Outputs,
    mut said: mpsc::Receiver<Say>,
) -> std::io::Result<()> {
    let mut alive = tokio::time::interval(BETWEEN_PINGS);
    alive.tick().await;
    let shown = serde_json::to_value(ShownCage::from(cage)).unwrap_or_default();
    send_text(&mut write, &json!({ "type": "attached", "cage": shown })).await?;
    loop {
        tokio::select! {
            biased;
            Some(say) = said.recv() => match say {
                Say::Pong(bytes) => write.write_all(&encode(Opcode::Pong, &bytes, None)).await?,
                Say::Notice(notice) => send_text(&mut write, &notice).await?,
                Say::Close(code) => return close(&mut write, code).await,
            },
            output = outputs.next() => match output {
                Some(Chunk { stream, bytes, missed }) => {
                    if missed > 0 {
                        let gap = json!({ "type": "gap", "stream": stream.word(), "bytes": missed });
                        send_text(&mut write, &gap).await?;
                    }
                    write.write_all(&encode(Opcode::Binary, &bytes, None)).await?;
                }
                None => break,
            },
            () = daemon.phase.reached(Phase::Ending) => break,
            _ = alive.tick() => write.write_all(&encode(Opcode::Ping, b"", None)).await?,
        }
    }
    // Nothing more will be written; the end comes in a moment.
    let ended = tokio::time::timeout(LONGEST_END, cage.ended()).await;
    if ended.is_ok() {
        let shown = serde_json::to_value(ShownCage::from(cage)).unwrap_or_default();
        send_text(&mut write, &json!({ "type": "ended", "cage": shown })).await?;
    }
    close(&mut write, NORMAL).await
}

/// A part of an output, behind the byte that names it.
struct Chunk {
    stream: Stream,
    bytes: Vec<u8>,
    /// How many bytes before it the client will not get.
    missed: u64,
}

impl Outputs {
    /// Whatever is written next, to any of them; none when nothing more will be.
    async fn next(&mut self) -> Option<Chunk> {
        poll_fn(|context| {
            for (stream, slot) in
                [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)]
            {
                let Some(Outgoing { reader, gone }) = slot else { continue };
                let before = reader.missed();
                let mut bytes = vec![0; 1 + CHUNK];
                let (name, space) = bytes.split_at_mut(1);
                name.fill(stream.number());
                match reader.poll_read(context, space) {
                    Poll::Pending => {}
                    Poll::Ready(0) => *slot = None,
                    Poll::Ready(count) => {
                        let missed = std::mem::take(gone) + reader.missed() - before;
                        bytes.truncate(1 + count);
                        return Poll::Ready(Some(Chunk { stream, bytes, missed }));
                    }
                }
            }
            if self.stdout.is_none() && self.stderr.is_none() {
                return Poll::Ready(None);
            }
            Poll::Pending
        })
        .await
    }
}

async fn send_text(write: &mut WriteHalf<TokioIo<Upgraded>>, value: &Value) -> std::io::Result<()> {
    write.write_all(&encode(Opcode::Text, value.to_string().as_bytes(), None)).await
}

async fn close(write: &mut WriteHalf<TokioIo<Upgraded>>, code: u16) -> std::io::Result<()> {
    write.write_all(&encode(Opcode::Close, &code.to_be_bytes(), None)).await?;
    write.shutdown().await
}

/// A normal end (RFC 6455, 7.4.1).
const NORMAL: u16 = 1000;

/// Sixteen bytes in base64.
const KEY_LENGTH: usize = 24;

/// Most bytes of a message: more input than that comes in several.
const MOST_MESSAGE: usize = 256 << 10;

/// Most bytes of input that wait for a program while the client is still heard: one message fits in any case.
const MOST_WAITING: usize = 2 * MOST_MESSAGE;

/// What a message takes of that beside its bytes: there can be many small ones.
const OF_MESSAGE: u32 = 256;

const NO_INPUT: &str = "this attachment takes no input";

const CHUNK: usize = 32 << 10;

/// How often a silent client is asked whether it is there.
const BETWEEN_PINGS: Duration = Duration::from_secs(30);

/// How long the end of a program may take after its output has ended.
const LONGEST_END: Duration = Duration::from_secs(60);
