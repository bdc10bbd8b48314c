//! Asks a model: one request, and again where that may help. Never asks another provider than the one that it was made
//! for, and follows no redirect: a key goes to one host.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use zeroize::Zeroizing;

use crate::cancel::Cancel;
use crate::connection::{Connection, Patience};
use crate::error::{ModelError, Refusal};
use crate::http::{HttpError, Progress, ResponseHead};
use crate::key::Key;
use crate::message::{Delta, Reply, Request};
use crate::pace::{Pace, Paced};
use crate::protocol::{MOST_EVENT, Protocol, StreamError};
use crate::retry::{Retries, retry_after};
use crate::sse::Parser;
use crate::url::BaseUrl;

mod listing;

/// A provider, and the key for it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) protocol: Protocol,
    pub(crate) url: BaseUrl,
    pub(crate) key: Option<Key>,
}

impl Endpoint {
    /// A provider at an address. Servers on this machine may need no key.
    ///
    /// # Errors
    /// If the key would be sent for everybody to read.
    pub fn new(protocol: Protocol, url: BaseUrl, key: Option<Key>) -> Result<Self, Refusal> {
        if key.is_some() && !url.is_tls && !url.is_loopback() {
            return Err(Refusal::KeyInTheOpen(url.to_string()));
        }
        Ok(Self { protocol, url, key })
    }

    /// How it is spoken to.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Where it is.
    pub fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// The head of a request. The key is in it, so it is wiped.
    pub(crate) fn head(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &[u8])],
        length: Option<u64>,
    ) -> Zeroizing<Vec<u8>> {
        // The room is taken at once, so that growing leaves no copy of the key behind.
        let room = 4096
            + path.len()
            + fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
        let room = room + self.key.as_ref().map_or(0, |key| key.bytes().len());
        let mut head = Zeroizing::new(Vec::with_capacity(room));
        let mut add = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
        add(&[method.as_bytes(), b" ", self.url.path_of(path).as_bytes(), b" HTTP/1.1\r\n"]);
        add(&[
            b"host: ",
            self.url.authority().as_bytes(),
            b"\r\nconnection: close\r\naccept-encoding: identity\r\n",
        ]);
        for (name, value) in fields {
            add(&[name.as_bytes(), b": ", value, b"\r\n"]);
        }
        if let Some(length) = length {
            add(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n"]);
        }
        if let Some(key) = &self.key {
            let (name, before) = self.protocol.key_field();
            add(&[name.as_bytes(), b": ", before.as_bytes(), key.bytes(), b"\r\n"]);
        }
        add(&[b"\r\n"]);
        head
    }
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The longest time without a byte. A model that thinks may be silent for a while.
    pub silence: Duration,
    /// The longest time for one answer, with all that is asked again.
    pub whole: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { silence: Duration::from_secs(300), whole: Duration::from_secs(1800) }
    }
}

/// Asks a model. Clones share the pace.
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    retries: Retries,
    waits: Waits,
    pace: Pace,
    paced: Arc<Mutex<Paced>>,
}

impl Client {
    /// Of a provider.
    pub fn new(endpoint: Endpoint, retries: Retries, waits: Waits, pace: Pace) -> Self {
        Self { endpoint, retries, waits, pace, paced: Arc::default() }
    }

    /// The provider.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks, and shows the answer while it comes.
    ///
    /// # Errors
    /// If there is no complete answer in the end.
    pub fn ask(
        &self,
        request: &Request,
        cancel: &Cancel,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<Reply, ModelError> {
        let body = self.endpoint.protocol.encode(request).to_string();
        if body.len() > MOST_REQUEST {
            return Err(Refusal::TooLarge { bytes: body.len(), most: MOST_REQUEST }.into());
        }
        let until = Instant::now() + self.waits.whole;
        let mut requests = 0;
        loop {
            self.keep_pace(cancel, until, shown)?;
            requests += 1;
            let error = match self.once(body.as_bytes(), cancel, until, shown) {
                Ok(reply) => {
                    self.paced().count(reply.usage.total());
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if !error.may_pass() || requests >= self.retries.most {
                return Err(error);
            }
            let asked_for = error.retry_after();
            if let Some(after) = asked_for.filter(|after| *after > self.retries.longest_wait) {
                return Err(ModelError::Busy { after, message: error.to_string() });
            }
            shown(Delta::Again { why: error.to_string() });
            let wait = self.retries.wait(requests, asked_for, chance());
            self.wait(wait, "asking again", cancel, until, shown)?;
        }
    }

    fn paced(&self) -> std::sync::MutexGuard<'_, Paced> {
        self.paced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_pace(
        &self,
        cancel: &Cancel,
        until: Instant,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<(), ModelError> {
        loop {
            let wait = {
                let mut paced = self.paced();
                let wait = paced.wait(self.pace, Instant::now());
                if wait.is_zero() {
                    paced.begin(Instant::now());
                    return Ok(());
                }
                wait
            };
            self.wait(wait, "keeping to the configured pace", cancel, until, shown)?;
        }
    }

    fn wait(
        &self,
        wait: Duration,
        why: &str,
        cancel: &Cancel,
        until: Instant,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<(), ModelError> {
        if Instant::now() + wait >= until {
            return Err(ModelError::Slow(self.waits.whole));
        }
        if wait >= Duration::from_secs(1) {
            shown(Delta::Waiting {
                why: why.to_owned(),
                seconds: wait.as_secs_f64().ceil() as u64,
            });
        }
        match cancel.sleep(wait) {
            true => Ok(()),
            false => Err(ModelError::Cancelled),
        }
    }

    fn once(
        &self,
        body: &[u8],
        cancel: &Cancel,
        until: Instant,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<Reply, ModelError> {
        let patience =
            Patience { cancel, silence: self.waits.silence, until, whole: self.waits.whole };
        let mut connection = Connection::open(&self.endpoint.url, patience)?;
        let mut fields: Vec<(&str, &[u8])> = vec![
            ("content-type", b"application/json"),
            ("accept", b"text/event-stream"),
            ("user-agent", AGENT.as_bytes()),
        ];
        if self.endpoint.protocol == Protocol::Anthropic {
            fields.push(("anthropic-version", ANTHROPIC_VERSION));
        }
        let path = self.endpoint.protocol.path();
        let head = self.endpoint.head("POST", path, &fields, Some(body.len() as u64));
        connection.write_all(&head, patience)?;
        drop(head);
        connection.write_all(body, patience)?;
        let (head, rest) = read_head(&mut connection, patience)?;
        if head.status != 200 {
            return Err(self.refused(&head, rest, &mut connection, patience));
        }
        let is_stream = head
            .fields
            .text("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !is_stream {
            return Err(StreamError::Sense("the answer is no event stream").into());
        }
        self.read(&head, rest, &mut connection, patience, shown)
    }

    fn read(
        &self,
        head: &ResponseHead,
        rest: Vec<u8>,
        connection: &mut Connection,
        patience: Patience<'_>,
        shown: &mut dyn FnMut(Delta),
    ) -> Result<Reply, ModelError> {
        let mut body = head.body()?;
        let (mut parser, mut decoder) = (Parser::new(MOST_EVENT), self.endpoint.protocol.decoder());
        let (mut buffer, mut taken, mut content) = (vec![0; 16 << 10], rest, Vec::new());
        loop {
            content.clear();
            body.feed(&taken, &mut content)?;
            let mut decoded = Ok(());
            parser
                .feed(&content, &mut |event| {
                    if decoded.is_ok() && !decoder.is_done() {
                        decoded = decoder.take(&event, shown);
                    }
                })
                .map_err(StreamError::from)?;
            decoded?;
            if decoder.is_done() || body.is_done() {
                return Ok(decoder.finish()?);
            }
            let count = connection.read(&mut buffer, patience)?;
            if count == 0 {
                body.end()?;
                return Ok(decoder.finish()?);
            }
            taken.clear();
            taken.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
    }

    /// What a provider says that does not answer.
    fn refused(
        &self,
        head: &ResponseHead,
        rest: Vec<u8>,
        connection: &mut Connection,
        patience: Patience<'_>,
    ) -> ModelError {
        let read = || -> Result<Vec<u8>, ModelError> {
            let (mut body, mut content, mut taken, mut buffer) =
                (head.body()?, Vec::new(), rest, vec![0; 4096]);
            loop {
                body.feed(&taken, &mut content)?;
                if body.is_done() || content.len() > MOST_REFUSAL {
                    return Ok(content);
                }
                let count = connection.read(&mut buffer, patience)?;
                if count == 0 {
                    return Ok(content);
                }
                taken.clear();
                taken.extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
        };
        let content = match read() {
            Ok(content) => content,
            Err(ModelError::Cancelled) => return ModelError::Cancelled,
            Err(_) => Vec::new(),
        };
        let milliseconds = head
            .fields
            .text("retry-after-ms")
            .and_then(|text| text.parse().ok())
            .map(Duration::from_millis);
        let seconds =
            head.fields.text("retry-after").and_then(|text| retry_after(text, SystemTime::now()));
        ModelError::Status {
            status: head.status,
            message: said(&content, self.endpoint.key.as_ref()),
            retry_after: milliseconds.or(seconds),
            is_final: head.fields.text(ASK_AGAIN) == Some("false"),
        }
    }
}

/// The provider's words: short, without the key, which some repeat.
fn said(content: &[u8], key: Option<&Key>) -> String {
    let value: Value = serde_json::from_slice(content).unwrap_or_default();
    let places = ["/error/message", "/message", "/error", "/detail"];
    let message = places.iter().find_map(|place| value.pointer(place)?.as_str());
    let mut text =
        message.map_or_else(|| String::from_utf8_lossy(content).into_owned(), str::to_owned);
    if let Some(key) = key.and_then(|key| str::from_utf8(key.bytes()).ok()) {
        text = text.replace(key, "…");
    }
    let text: String = text.chars().filter(|letter| !letter.is_control()).take(MOST_SAID).collect();
    if text.is_empty() { "nothing more".to_owned() } else { text }
}

/// The head of an answer, and what came after it. Interim answers are skipped.
pub(crate) fn read_head(
    connection: &mut Connection,
    patience: Patience<'_>,
) -> Result<(ResponseHead, Vec<u8>), ModelError> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        match ResponseHead::read(&bytes)? {
            Progress::Head(head, length) => {
                bytes.drain(..length);
                if !(100..200).contains(&head.status) || head.status == 101 {
                    return Ok((head, bytes));
                }
            }
            Progress::NeedMore => {
                let count = connection.read(&mut buffer, patience)?;
                if count == 0 {
                    return Err(HttpError::CutOff.into());
                }
                bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            }
        }
    }
}

/// A random byte; without one, retries are only less spread.
fn chance() -> u8 {
    let mut byte = [0];
    let _unspread = rustix::rand::getrandom(&mut byte, rustix::rand::GetRandomFlags::empty());
    let [byte] = byte;
    byte
}

const AGENT: &str = concat!("stockade/", env!("CARGO_PKG_VERSION"));
const ANTHROPIC_VERSION: &[u8] = b"2023-06-01";
const MOST_REQUEST: usize = 32 << 20;
const MOST_REFUSAL: usize = 64 << 10;
/// The field by which clients of Anthropic and OpenAI are told whether to ask again, whatever the status.
pub(crate) const ASK_AGAIN: &str = "x-should-retry";
const MOST_SAID: usize = 500;
