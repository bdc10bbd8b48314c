//! How guests send requests over HTTP: by this process's network, which in a cage is the cage's. Its resolver and its
//! gatekeeper decide what is reached; here nothing is. Whom it trusts and by which proxy it goes may be said by this process's
//! variables, which no guest sets. A redirection is an answer like any other: never followed here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// All of it, with the body of the answer: [`LONGEST`].
    Whole,
    /// Each part of it, and never more than [`LONGEST`].
    Parts {
        connect: Duration,
        /// The head of the answer, once everything is sent.
        first_byte: Duration,
        /// Every time that something is waited for from the other side, the head of the answer too.
        between_bytes: Duration,
    },
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    /// The same, for a person.
    pub(crate) why: String,
}

/// The kind of a failure: each engine has words of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The processor lacks what TLS needs.
    NoTls,
    /// Nobody answers to be connected to.
    ConnectTimeout,
    /// No answer, or the rest of one is missing.
    AnswerTimeout,
    /// Another wait that was too long.
    Timeout,
    HostNotFound,
    /// The resolver cannot say now.
    ResolverFailed,
    Refused,
    Reset,
    NetworkUnreachable,
    HostUnreachable,
    /// The kernel or the gatekeeper does not permit it.
    Denied,
    /// The other side is not whom this root trusts.
    Certificate,
    /// The other side does not speak TLS as it should.
    Encryption,
    BodyTooLarge,
    HeadersTooLarge,
    /// What came is no HTTP.
    Protocol,
    /// The answer ends too early.
    Incomplete,
    /// Of input and output, unknown.
    Io,
    Other,
}

/// What sends one request.
pub(crate) fn agent(is_encrypted: bool, patience: Patience) -> Result<ureq::Agent, Failure> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent("stockade")
        .proxy(ureq::Proxy::try_from_env());
    let mut config = match patience {
        Patience::Whole => config.timeout_global(Some(LONGEST)),
        Patience::Parts { connect, first_byte, between_bytes } => config
            // A method that the standard does not name is the guest's to choose.
            .allow_non_standard_methods(true)
            .timeout_resolve(Some(bounded(connect)))
            .timeout_connect(Some(bounded(connect)))
            .timeout_send_request(Some(LONGEST))
            .timeout_send_body(Some(LONGEST))
            .timeout_recv_response(Some(bounded(first_byte)))
            .timeout_per_read(Some(bounded(between_bytes))),
    };
    if is_encrypted {
        if !has_instructions() {
            let why = "TLS needs a newer processor".to_owned();
            return Err(Failure { cause: Cause::NoTls, why });
        }
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(authorities())
            .unversioned_rustls_crypto_provider(Arc::new(rustls_graviola::default_provider()));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().into())
}

/// The client takes no time at all for a mistake.
fn bounded(asked: Duration) -> Duration {
    asked.clamp(SHORTEST, LONGEST)
}

/// Whom this root trusts. Where that is nobody, every certificate is refused.
fn authorities() -> RootCerts {
    let named = std::env::var_os("SSL_CERT_FILE");
    let bundles = named.iter().map(Path::new).chain(BUNDLES.iter().map(Path::new));
    let text = bundles.into_iter().find_map(|path| std::fs::read(path).ok()).unwrap_or_default();
    let certificates = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    RootCerts::from(certificates.collect::<Vec<Certificate<'static>>>())
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Self {
        Self { cause: cause(&error), why: error.to_string() }
    }
}

fn cause(error: &ureq::Error) -> Cause {
    use ureq::Timeout;
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => Cause::ConnectTimeout,
        ureq::Error::Timeout(Timeout::RecvResponse | Timeout::RecvBody | Timeout::PerRead) => {
            Cause::AnswerTimeout
        }
        ureq::Error::Timeout(_) => Cause::Timeout,
        ureq::Error::HostNotFound => Cause::HostNotFound,
        ureq::Error::BodyExceedsLimit(_) => Cause::BodyTooLarge,
        ureq::Error::LargeResponseHeader(..) => Cause::HeadersTooLarge,
        ureq::Error::Protocol(_) => Cause::Protocol,
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => Cause::Encryption,
        ureq::Error::Io(error) => cause_of_io(error),
        _ => Cause::Other,
    }
}

fn cause_of_io(error: &std::io::Error) -> Cause {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Cause::Refused,
        ErrorKind::ConnectionReset => Cause::Reset,
        ErrorKind::NetworkUnreachable => Cause::NetworkUnreachable,
        ErrorKind::HostUnreachable => Cause::HostUnreachable,
        ErrorKind::TimedOut => Cause::Timeout,
        ErrorKind::PermissionDenied => Cause::Denied,
        ErrorKind::UnexpectedEof => Cause::Incomplete,
        // What the library of TLS has against the other side comes as text in an error of this kind.
        ErrorKind::InvalidData => match error.to_string().contains("certificate") {
            true => Cause::Certificate,
            false => Cause::Encryption,
        },
        _ => of_resolver(&error.to_string()).unwrap_or(Cause::Io),
    }
}

/// What a failure to find a host is. The standard library has these as text alone, in the words of the C library.
fn of_resolver(why: &str) -> Option<Cause> {
    let why = why.strip_prefix("failed to lookup address information: ")?;
    let is_later = ["Temporary failure", "Try again"].iter().any(|words| why.starts_with(words));
    Some(if is_later { Cause::ResolverFailed } else { Cause::HostNotFound })
}

/// What the cryptography is made of. It would end the process on a processor without.
#[cfg(target_arch = "x86_64")]
fn has_instructions() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("aes")
        && has!("pclmulqdq")
        && has!("bmi1")
        && has!("bmi2")
        && has!("adx")
        && has!("avx2")
        && has!("ssse3")
}

#[cfg(target_arch = "aarch64")]
fn has_instructions() -> bool {
    use std::arch::is_aarch64_feature_detected as has;
    has!("aes") && has!("pmull") && has!("sha2") && has!("neon")
}

const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// What any wait of a request is bounded by.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);
const SHORTEST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
