//! Requests over HTTP: by this process's network, which in a cage is the cage's. Its resolver and its gatekeeper decide what
//! is reached; here nothing is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ureq::http;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::answer::{Answer, number};

/// One of them.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) address: String,
    /// Names and values in turn.
    pub(super) headers: Vec<String>,
    pub(super) body: Vec<u8>,
    /// The bytes of the answer.
    pub(super) most: u64,
}

/// Its status, the words beside it, headers in turn, and the body; or the code of a failure and what it says.
pub(super) fn send(request: Request) -> Answer {
    match once(request) {
        Ok(answer) => answer,
        Err((code, why)) => Answer::List(vec![
            Answer::Number(0.0),
            Answer::Text(code.to_owned()),
            Answer::Text(why),
        ]),
    }
}

type Failure = (&'static str, String);

fn once(request: Request) -> Result<Answer, Failure> {
    let Request { method, address, headers, body, most } = request;
    let invalid = |error: &dyn std::fmt::Display| ("ERR_INVALID_ARG_VALUE", error.to_string());
    let mut built = http::Request::builder().method(method.as_str()).uri(&address);
    for pair in headers.chunks_exact(2) {
        if let [name, value] = pair {
            built = built.header(name, value);
        }
    }
    let agent = agent(address.starts_with("https:"))?;
    let sent = if body.is_empty() {
        agent.run(built.body(()).map_err(|error| invalid(&error))?)
    } else {
        agent.run(built.body(body).map_err(|error| invalid(&error))?)
    };
    let (parts, mut body) = sent.map_err(failed)?.into_parts();
    let bytes = body.with_config().limit(most).read_to_vec().map_err(failed)?;
    let headers = parts.headers.iter().flat_map(|(name, value)| {
        [name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()]
    });
    Ok(Answer::List(vec![
        number(parts.status.as_u16().into()),
        Answer::Text(parts.status.canonical_reason().unwrap_or_default().to_owned()),
        Answer::List(headers.map(Answer::Text).collect()),
        Answer::Bytes(bytes),
    ]))
}

fn agent(is_encrypted: bool) -> Result<ureq::Agent, Failure> {
    let mut config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        // `fetch` follows them itself, and says where it ended.
        .max_redirects(0)
        .timeout_global(Some(LONGEST))
        .user_agent("stockade")
        .proxy(ureq::Proxy::try_from_env());
    if is_encrypted {
        if !has_instructions() {
            return Err((
                "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
                "TLS needs a newer processor".to_owned(),
            ));
        }
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(authorities())
            .unversioned_rustls_crypto_provider(Arc::new(rustls_graviola::default_provider()));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().into())
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

fn failed(error: ureq::Error) -> Failure {
    let code = match &error {
        ureq::Error::Timeout(_) => "ETIMEDOUT",
        ureq::Error::HostNotFound => "ENOTFOUND",
        ureq::Error::BodyExceedsLimit(_) => "ERR_OUT_OF_RANGE",
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
            std::io::ErrorKind::ConnectionReset => "ECONNRESET",
            std::io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
            std::io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
            std::io::ErrorKind::TimedOut => "ETIMEDOUT",
            std::io::ErrorKind::PermissionDenied => "EACCES",
            _ => of_resolver(&error.to_string()).unwrap_or("EIO"),
        },
        _ => "ERR_REQUEST_FAILED",
    };
    (code, error.to_string())
}

/// What a failure to find a host is called. The standard library has these as text alone, in the words of the C library.
fn of_resolver(why: &str) -> Option<&'static str> {
    let why = why.strip_prefix("failed to lookup address information: ")?;
    let is_later = ["Temporary failure", "Try again"].iter().any(|words| why.starts_with(words));
    Some(if is_later { "EAI_AGAIN" } else { "ENOTFOUND" })
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
const LONGEST: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests;
