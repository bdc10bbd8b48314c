//! The tools of a cage over HTTP, as the Model Context Protocol has it: one address on loopback, one message in each
//! request, and its answer as JSON. Whoever asks shows a token; a page in a browser is refused by what it says of itself.
//! Never keeps a connection open, and offers no stream: tools have nothing to tell by themselves.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use advice::Failure;
use cage::Kind;
use mcp::{MOST_LINE, Message, failure};
use model::Cancel;
use model::http::{Progress, RequestHead};
use policy::shown::shown;
use rustix::rand::GetRandomFlags;
use sha2::{Digest as _, Sha256};

/// What a request came to: a status, and a message if there is one to send.
pub(crate) struct Answer {
    status: u16,
    message: Option<Message>,
}

impl Answer {
    pub(crate) fn of(message: Message) -> Self {
        Self { status: 200, message: Some(message) }
    }

    /// Nothing is to be said.
    pub(crate) fn taken() -> Self {
        Self { status: 202, message: None }
    }

    fn refused(status: u16, text: &str) -> Self {
        Self { status, message: Some(failure(None, REFUSED, text)) }
    }
}

/// The secret that clients show. What is kept is its hash.
pub(crate) struct Token([u8; 32]);

impl Token {
    /// Of a file for its owner alone, which is made if it is missing.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Failure> {
        let failed = |why: String| {
            let path = shown(path.display());
            Failure::new(Kind::CannotBuild, format!("the token `{path}` cannot be used: {why}"))
        };
        let mut options = File::options();
        let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file =
            options.custom_flags(nofollow).open(path).map_err(|e| failed(e.to_string()))?;
        let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
        if !metadata.is_file() || metadata.mode() & 0o077 != 0 {
            return Err(failed("others may read it".to_owned()).help("`chmod 600` it first"));
        }
        let mut text = String::new();
        (&file).take(1000).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        if text.trim().is_empty() {
            let mut random = [0_u8; 32];
            rustix::rand::getrandom(&mut random, GetRandomFlags::empty())
                .map_err(|errno| failed(std::io::Error::from(errno).to_string()))?;
            text = random.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(file, "{text}").map_err(|error| failed(error.to_string()))?;
        }
        if text.trim().len() < 32 {
            return Err(failed("it is shorter than 32 characters".to_owned()));
        }
        Ok(Self(Sha256::digest(text.trim()).into()))
    }

    fn is_shown_by(&self, head: &RequestHead) -> bool {
        let shown = head.fields.text("authorization").and_then(|text| text.strip_prefix("Bearer "));
        // Of hashes nothing can be learnt by the time that it takes to compare them.
        shown.is_some_and(|shown| Sha256::digest(shown.trim()).as_slice() == self.0)
    }
}

/// Listens on loopback.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::new(
            Kind::Usage,
            format!("`{address}` can be reached from other machines, and nothing is encrypted"),
        )
        .help("listen on 127.0.0.1 behind something that encrypts"));
    }
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| {
        Failure::new(Kind::PortTaken, format!("cannot listen on `{address}`: {error}"))
    })
}

/// Serves until somebody stops it, and has what is under way stopped then. Every call has ended when it returns.
pub(crate) fn serve(
    listener: &TcpListener,
    token: &Token,
    stop: &Cancel,
    take: &(dyn Fn(Message) -> Answer + Sync),
    end: &dyn Fn(),
) {
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        while !stop.is_cancelled() {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(SLICE);
                continue;
            };
            if open.load(Ordering::Relaxed) >= MOST_OPEN {
                answer(stream, &Answer::refused(503, "too many requests at one time"));
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let open = &open;
            scope.spawn(move || {
                exchange(stream, token, take);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
        end();
    });
}

fn exchange(mut stream: TcpStream, token: &Token, take: &(dyn Fn(Message) -> Answer + Sync)) {
    let set = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(SILENCE)));
    if set.and_then(|()| stream.set_write_timeout(Some(SILENCE))).is_err() {
        return;
    }
    let answered = match request(&mut stream, token) {
        Ok(Some(message)) => take(message),
        Ok(None) => return,
        Err(refused) => refused,
    };
    answer(stream, &answered);
}

/// The message of a request; none where the client left.
fn request(stream: &mut TcpStream, token: &Token) -> Result<Option<Message>, Answer> {
    let invalid = |error: &dyn std::fmt::Display| Answer::refused(400, &error.to_string());
    let until = Instant::now() + WHOLE;
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    let mut more = |bytes: &mut Vec<u8>| {
        let count = stream.read(&mut buffer).ok().filter(|_| Instant::now() < until)?;
        bytes.extend_from_slice(buffer.get(..count).filter(|part| !part.is_empty())?);
        Some(())
    };
    let head = loop {
        match RequestHead::read(&bytes).map_err(|error| invalid(&error))? {
            Progress::Head(head, length) => {
                bytes.drain(..length);
                break head;
            }
            Progress::NeedMore => {
                if more(&mut bytes).is_none() {
                    return Ok(None);
                }
            }
        }
    };
    permitted(&head, token)?;
    let mut body = head.body().map_err(|error| invalid(&error))?;
    let mut content = Vec::new();
    loop {
        let taken = body.feed(&bytes, &mut content).map_err(|error| invalid(&error))?;
        bytes.drain(..taken);
        if content.len() > MOST_LINE || body.left().is_some_and(|left| left > MOST_LINE as u64) {
            return Err(Answer::refused(413, "the message is too long"));
        }
        if body.is_done() {
            return Message::read(&content).map(Some).map_err(|error| invalid(&error));
        }
        if more(&mut bytes).is_none() {
            return Ok(None);
        }
    }
}

/// What may be asked at all, and by whom.
fn permitted(head: &RequestHead, token: &Token) -> Result<(), Answer> {
    let path = head.target.split('?').next().unwrap_or_default();
    let is_own = |text: &str| {
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
        ["127.0.0.1", "localhost", "[::1]"].contains(&host)
    };
    // A name that somebody else has lead here is that of a page in a browser.
    let hosts = [head.fields.text("host"), head.fields.text("origin")];
    if !hosts.into_iter().flatten().all(is_own) {
        return Err(Answer::refused(403, "only programs of this machine are served"));
    }
    if !token.is_shown_by(head) {
        return Err(Answer::refused(401, "show the token: `Authorization: Bearer TOKEN`"));
    }
    match (path, head.method.as_str()) {
        (PATH, "POST") => Ok(()),
        (PATH, _) => Err(Answer::refused(405, "only `POST` is served")),
        _ => Err(Answer::refused(404, "there is nothing but `/mcp`")),
    }
}

/// A client that is gone misses nothing that it waits for.
fn answer(mut stream: TcpStream, answer: &Answer) {
    let body = answer.message.as_ref().map(Message::to_line).unwrap_or_default();
    let (status, length) = (answer.status, body.len());
    let reason = match status {
        200 => "OK",
        202 => "Accepted",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Refused",
    };
    let _gone = stream.write_all(
        format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
        .as_bytes(),
    );
}

/// Where clients find the tools.
pub(crate) const PATH: &str = "/mcp";
const REFUSED: i32 = -32000;
const MOST_OPEN: usize = 64;
const SLICE: Duration = Duration::from_millis(10);
const SILENCE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(60);
