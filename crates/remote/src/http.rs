//! Requests: over TLS with the host's certificates, each with a time limit, repeated a bounded number of times with
//! pauses between. Without encryption nothing goes anywhere but to this machine itself.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use ureq::unversioned::transport::{Connector as _, RustlsConnector};

use crate::dial::{Dial, Dialled, Unresolved};
use crate::failure::{Failure, Why};

/// What sends requests.
#[derive(Clone, Debug)]
pub struct Http {
    agent: ureq::Agent,
    attempts: u32,
    pause: Duration,
    /// For all attempts together.
    patience: Duration,
}

/// Why an address is not asked.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It is no address.
    #[error("`{0}` is no address that begins with `https://`")]
    NotAnAddress(String),
    /// Credentials would go there in the clear.
    #[error("`{0}` is not encrypted, and is not on this machine")]
    NotEncrypted(String),
}

/// Names of headers, in small letters, and their values.
pub(crate) type Headers = Vec<(Cow<'static, str>, String)>;

/// A request, to be sent once or several times.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) address: String,
    pub(crate) headers: Headers,
    pub(crate) body: &'a [u8],
    /// The bytes of the answer at most.
    pub(crate) most: u64,
}

/// An answer, all of it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    response: Response<()>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// All headers, with a value where that is text.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let all = self.response.headers().iter();
        all.map(|(name, value)| (name.as_str(), value.to_str().ok()))
    }
}

impl Http {
    /// With these bounds: attempts for each request, and how long one may take.
    ///
    /// # Errors
    /// The host has no certificates where they are looked for.
    pub fn new(attempts: u32, timeout: Duration) -> Result<Self, EndpointError> {
        Self::with(attempts, timeout, None)
    }

    /// The same on connections that somebody else makes: this process opens none, and looks up no name.
    ///
    /// # Errors
    /// The host has no certificates where they are looked for.
    pub fn through(
        dial: Arc<dyn Dial>,
        attempts: u32,
        timeout: Duration,
    ) -> Result<Self, EndpointError> {
        Self::with(attempts, timeout, Some(dial))
    }

    fn with(
        attempts: u32,
        timeout: Duration,
        dial: Option<Arc<dyn Dial>>,
    ) -> Result<Self, EndpointError> {
        let provider = Arc::new(rustls_graviola::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(roots()?)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(timeout))
            .timeout_connect(Some(timeout.min(CONNECT)))
            .user_agent("stockade")
            .proxy(if dial.is_some() { None } else { ureq::Proxy::try_from_env() })
            .build();
        let agent = match dial {
            None => config.into(),
            Some(dial) => {
                let connector = Dialled(dial).chain(RustlsConnector::default());
                ureq::Agent::with_parts(config, connector, Unresolved)
            }
        };
        let patience = timeout.saturating_mul(attempts.max(1));
        Ok(Self { agent, attempts: attempts.max(1), pause: PAUSE, patience })
    }

    /// Sends a request until there is an answer that is not a passing failure. `make` signs it anew each time, and `judge`
    /// says what is wrong with an answer.
    pub(crate) fn send<'a, T>(
        &self,
        action: &str,
        mut make: impl FnMut() -> Result<Request<'a>, Why>,
        mut judge: impl FnMut(Answer) -> Result<T, Why>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let mut attempt = 1;
        loop {
            let (why, wanted) = match make().and_then(|request| self.once(&request)) {
                Ok(answer) => {
                    let wanted = answer.header("retry-after").and_then(|text| text.parse().ok());
                    match judge(answer) {
                        Ok(done) => return Ok(done),
                        Err(why) => (why, wanted),
                    }
                }
                Err(why) => (why, None),
            };
            let pause = wanted.map_or(self.pause * 2_u32.pow(attempt.min(8)), Duration::from_secs);
            let is_late = begun.elapsed() + pause > self.patience;
            if !why.is_passing() || attempt >= self.attempts || is_late {
                return Err(Failure { action: action.to_owned(), why });
            }
            std::thread::sleep(pause);
            attempt += 1;
        }
    }

    /// The same, for what may not be sent twice.
    pub(crate) fn once_only(&self) -> Self {
        Self { attempts: 1, ..self.clone() }
    }

    /// Does something again as long as it fails in passing.
    pub(crate) fn again<T>(
        &self,
        mut act: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut attempt = 1;
        loop {
            match act() {
                Err(failure) if failure.why.is_passing() && attempt < self.attempts => {
                    std::thread::sleep(self.pause * 2_u32.pow(attempt.min(8)));
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    fn once(&self, request: &Request<'_>) -> Result<Answer, Why> {
        let mut built = ureq::http::Request::builder().method(request.method).uri(&request.address);
        for (name, value) in &request.headers {
            built = built.header(name.as_ref(), value);
        }
        let sent = match request.method {
            "PUT" | "POST" | "PATCH" => {
                let built = built.body(request.body).map_err(|_| Why::Name)?;
                self.agent.run(built)
            }
            _ => self.agent.run(built.body(()).map_err(|_| Why::Name)?),
        };
        let (parts, mut body) = sent.map_err(why)?.into_parts();
        let status = parts.status.as_u16();
        let expected =
            parts.headers.get("content-length").and_then(|it| it.to_str().ok()?.parse().ok());
        let bytes = body.with_config().limit(request.most.saturating_add(1)).read_to_vec();
        let bytes = bytes.map_err(why)?;
        let found = bytes.len() as u64;
        match expected {
            Some(expected) if expected != found && request.method != "HEAD" => {
                Err(Why::Length { expected, found })
            }
            _ if found > request.most => Err(Why::TooLarge),
            _ => Ok(Answer { status, body: bytes, response: Response::from_parts(parts, ()) }),
        }
    }
}

/// What a status means that is no success.
pub(crate) fn refused(status: u16) -> Why {
    match status {
        404 | 410 => Why::Missing,
        401 | 403 => Why::Refused(status),
        408 => Why::TimedOut,
        409 | 412 => Why::Changed,
        413 => Why::TooLarge,
        429 => Why::RateLimited,
        500..=506 | 508..=599 => Why::Server(status),
        507 => Why::NoRoom,
        _ => Why::Answer("a status that nobody expects"),
    }
}

/// An address that credentials may go to.
pub(crate) fn check_endpoint(address: &str) -> Result<String, EndpointError> {
    let address = address.trim_end_matches('/');
    let not = || EndpointError::NotAnAddress(address.to_owned());
    let uri: ureq::http::Uri = address.parse().map_err(|_| not())?;
    let host = uri.host().ok_or_else(not)?;
    let is_here = matches!(host, "localhost" | "[::1]")
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(address.to_owned()),
        Some("http") if is_here => Ok(address.to_owned()),
        Some("http") => Err(EndpointError::NotEncrypted(address.to_owned())),
        _ => Err(not()),
    }
}

/// Where an address is asked, if credentials may go there.
///
/// # Errors
/// The address is none, or is not encrypted and not on this machine.
pub fn host_and_port(address: &str) -> Result<(String, u16), EndpointError> {
    let address = check_endpoint(address)?;
    let not = || EndpointError::NotAnAddress(address.clone());
    let uri: ureq::http::Uri = address.parse().map_err(|_| not())?;
    let host = uri.host().ok_or_else(not)?.trim_matches(['[', ']']).to_owned();
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Ok((host, uri.port_u16().unwrap_or(usual)))
}

/// A text as a part of an address: everything but letters, digits and four signs as a percent sign and two digits.
pub(crate) fn escaped(text: &str, keeps_slashes: bool) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        b'/' if keeps_slashes => "/".to_owned(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn why(error: ureq::Error) -> Why {
    match error {
        ureq::Error::Timeout(_) => Why::TimedOut,
        ureq::Error::BodyExceedsLimit(_) => Why::TooLarge,
        // Neither has a header of the request in it.
        other => Why::Connection(other.to_string()),
    }
}

fn roots() -> Result<RootCerts, EndpointError> {
    for path in BUNDLES {
        let Ok(text) = std::fs::read(path) else { continue };
        let certificates = parse_pem(&text).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        let certificates: Vec<Certificate<'static>> = certificates.collect();
        return Ok(RootCerts::from(certificates));
    }
    // Who only speaks to this machine itself needs none; all others are refused by their certificates.
    Ok(RootCerts::from(Vec::<Certificate<'static>>::new()))
}

const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
const CONNECT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
