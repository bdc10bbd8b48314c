//! One request's head: what it asks for, of whom, and how its body ends. Parses a head that is there
//! completely; never looks at a body.

use super::authority::Authority;
use super::head::{self, FRAMING};
use super::{HttpError, MAX_FIELDS, rewrite};

/// A request's head that could be read in one way only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The method, as it was written.
    pub method: String,
    /// How the target is written.
    pub form: Form,
    /// The host, from the target or the `Host` field; where both are there, they agree.
    pub host: Authority,
    /// How the body ends.
    pub body: BodyLength,
    /// Whether an answer of 101 turns the connection into something else than HTTP.
    pub may_switch: bool,
    /// The head as it is to be passed on to the server that it was sent to.
    pub bytes: Vec<u8>,
}

/// How a request's target is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/path`.
    Origin,
    /// `http://host/path`, as it is sent to a proxy.
    Absolute {
        /// The scheme.
        scheme: Scheme,
        /// The target without scheme and host, as a server expects it.
        path: String,
    },
    /// `host:port`, with `CONNECT` alone.
    Authority {
        /// The port, which has to be written.
        port: u16,
    },
    /// `*`, with `OPTIONS` alone.
    Asterisk,
}

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

/// How a request's body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// After so many bytes, which may be none.
    Exactly(u64),
    /// After its last chunk.
    Chunked,
}

/// Which request of its connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Later,
}

impl Scheme {
    /// The port that is meant where none is written.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl RequestHead {
    /// The head for the server itself, where the client has sent it to a proxy: in origin form, without
    /// what was meant for the proxy, as the only request of its connection.
    pub fn in_origin_form(&self) -> Vec<u8> {
        rewrite::in_origin_form(self)
    }

    pub(super) fn parse(bytes: Vec<u8>, place: Place) -> Result<Self, HttpError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let status = request.parse(&bytes).map_err(refusal)?;
        // INVARIANT: the lines end where the parser says that the head does.
        if status != httparse::Status::Complete(bytes.len()) {
            return Err(HttpError::BadField);
        }
        let (Some(method), Some(target), Some(minor)) =
            (request.method, request.path, request.version)
        else {
            return Err(HttpError::BadFirstLine);
        };
        let method = method.to_owned();
        let (form, named) = read_target(&method, target)?;
        let host = agreed_host(&form, named, host_field(&bytes)?)?;
        check_connection(&bytes)?;
        let body = body_length(&bytes, minor)?;
        let switch = rewrite::Switch::of(&bytes, place);
        let bytes = switch.apply(bytes);
        Ok(Self { may_switch: switch == rewrite::Switch::Kept, method, form, host, body, bytes })
    }
}

/// Checks the first line before the rest has come: what is no request must not be waited for.
pub(super) fn check_first_line(head: &[u8]) -> Result<(), HttpError> {
    let line = head::first_line(head);
    if line == b"PRI * HTTP/2.0" {
        return Err(HttpError::Http2);
    }
    match line.iter().filter(|byte| **byte == b' ').count() {
        2 if line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0") => Ok(()),
        1 | 2 => Err(HttpError::OtherVersion),
        _ => Err(HttpError::BadFirstLine),
    }
}

fn refusal(error: httparse::Error) -> HttpError {
    match error {
        httparse::Error::TooManyHeaders => HttpError::TooManyFields,
        httparse::Error::HeaderName | httparse::Error::HeaderValue => HttpError::BadField,
        httparse::Error::NewLine => HttpError::BareLineEnd,
        httparse::Error::Version => HttpError::OtherVersion,
        httparse::Error::Status | httparse::Error::Token => HttpError::BadFirstLine,
    }
}

fn read_target(method: &str, target: &str) -> Result<(Form, Option<Authority>), HttpError> {
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(HttpError::BadTarget);
    }
    if method == "CONNECT" {
        let authority = Authority::parse(target.as_bytes())?;
        let port = authority.port.ok_or(HttpError::BadTarget)?;
        return Ok((Form::Authority { port }, Some(authority)));
    }
    if target.starts_with('/') {
        return Ok((Form::Origin, None));
    }
    if target == "*" && method == "OPTIONS" {
        return Ok((Form::Asterisk, None));
    }
    let (scheme, rest) = read_scheme(target).ok_or(HttpError::BadTarget)?;
    // A fragment is never sent; who puts one after a host wants to be misread.
    if rest.contains('#') {
        return Err(HttpError::BadTarget);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end).ok_or(HttpError::BadTarget)?;
    let authority = Authority::parse(host.as_bytes())?;
    let path = match path {
        "" if method == "OPTIONS" => "*".to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    Ok((Form::Absolute { scheme, path }, Some(authority)))
}

fn read_scheme(target: &str) -> Option<(Scheme, &str)> {
    let (scheme, rest) = target.split_once("://")?;
    let known = [("http", Scheme::Http), ("https", Scheme::Https)];
    let (_, scheme) = known.into_iter().find(|(text, _)| scheme.eq_ignore_ascii_case(text))?;
    Some((scheme, rest))
}

fn host_field(head: &[u8]) -> Result<Option<Authority>, HttpError> {
    let mut hosts = head::fields(head).filter(|field| field.is("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) => Ok(None),
        (Some(field), None) => Authority::parse(field.value).map(Some),
        (Some(_), Some(_)) => Err(HttpError::SeveralHosts),
    }
}

/// The host of the target and that of the field must be the same. `CONNECT` may come without the field:
/// widespread clients leave it out, and its target is complete.
fn agreed_host(
    form: &Form,
    named: Option<Authority>,
    field: Option<Authority>,
) -> Result<Authority, HttpError> {
    let default = match form {
        Form::Absolute { scheme, .. } => scheme.default_port(),
        // A field without a port says nothing about the port of a tunnel.
        Form::Authority { port } => *port,
        Form::Origin | Form::Asterisk => 0,
    };
    match (named, field) {
        (Some(named), None) if matches!(form, Form::Authority { .. }) => Ok(named),
        (_, None) => Err(HttpError::NoHost),
        (None, Some(field)) => Ok(field),
        (Some(named), Some(field)) => {
            let agree =
                named.target == field.target && named.port_or(default) == field.port_or(default);
            if agree { Ok(named) } else { Err(HttpError::HostsDisagree) }
        }
    }
}

/// A proxy behind us would take out what `Connection` names, and see another message than we did.
fn check_connection(head: &[u8]) -> Result<(), HttpError> {
    let is_framing =
        |word: &[u8]| FRAMING.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    if head::words(head, "connection").any(is_framing) {
        Err(HttpError::FramingIsHopByHop)
    } else {
        Ok(())
    }
}

fn body_length(head: &[u8], minor: u8) -> Result<BodyLength, HttpError> {
    let values = |name: &'static str| {
        let mut found = head::fields(head).filter(move |field| field.is(name));
        (found.next().map(|field| field.value), found.next().is_some())
    };
    match (values("content-length"), values("transfer-encoding")) {
        ((None, _), (None, _)) => Ok(BodyLength::Exactly(0)),
        ((Some(_), _), (Some(_), _)) => Err(HttpError::LengthAndEncoding),
        ((Some(_), true), _) => Err(HttpError::BadLength),
        ((Some(digits), false), _) => plain_number(digits).map(BodyLength::Exactly),
        (_, (Some(value), several)) => {
            let chunked = value.eq_ignore_ascii_case(b"chunked");
            let plain = chunked && !several && minor == 1;
            if plain { Ok(BodyLength::Chunked) } else { Err(HttpError::BadEncoding) }
        }
    }
}

fn plain_number(digits: &[u8]) -> Result<u64, HttpError> {
    let plain = (1..=MAX_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| plain)
        .and_then(|digits| digits.parse().ok())
        .ok_or(HttpError::BadLength)
}

/// Enough for any body, and few enough for a signed number of 64 bits.
const MAX_DIGITS: usize = 18;
