//! `http` and `webfetch`: servers of the network that the cage has. They look names up and connect as every program of the
//! cage does, so that its gatekeeper decides; nothing here does.

use std::time::{Duration, Instant};

use model::Cancel;
use model::fetch::{Address, Fetch, Fetched, fetch};

use crate::error::{ErrorKind, ToolError};
use crate::parameters::{Given, Kind, Parameter, optional, required};
use crate::tool::{Call, Needs, Tool};

mod text;

pub(crate) struct Http;

impl Tool for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn doc(&self) -> &'static str {
        "Sends one request of HTTP to a server that this cage may reach, and shows status, fields and body of the answer. \
         Redirects are shown and not followed."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const {
            &[
                required("url", URL, "Where, such as `https://host/path?query`."),
                optional("method", Kind::Text(7), "`GET` if it is left out."),
                optional("headers", Kind::Items(32, &["name", "value"]), "Fields of the request."),
                optional("body", Kind::Text(1 << 20), "What is sent."),
            ]
        }
    }

    fn needs(&self) -> Needs {
        Needs::Network
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let method = given.maybe_text("method").unwrap_or("GET").to_ascii_uppercase();
        if !METHODS.contains(&method.as_str()) {
            let text = format!("`method` is one of {}", METHODS.join(", "));
            return Err(ToolError::new(ErrorKind::Arguments, text));
        }
        let items = given.items("headers", &["name", "value"]);
        let mut fields: Vec<(&str, &[u8])> = Vec::new();
        for item in &items {
            let [name, value] = item.as_slice() else { continue };
            fields.push((*name, field(name, value)?.as_bytes()));
        }
        let body = given.maybe_text("body").map(str::as_bytes);
        let address = address(given.text("url"))?;
        let answer = ask(&method, &address, &fields, body, call)?;
        let mut shown = format!("{} {address}\n", answer.status);
        for (name, value) in answer.fields.iter() {
            shown.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value)));
        }
        shown.push('\n');
        shown.push_str(&String::from_utf8_lossy(&answer.body));
        Ok(shown + cut(&answer))
    }
}

pub(crate) struct WebFetch;

impl Tool for WebFetch {
    fn name(&self) -> &'static str {
        "webfetch"
    }

    fn doc(&self) -> &'static str {
        "Reads a page of the web as text: markup is left out, links stay. Redirects are followed as far as this cage may \
         reach them."
    }

    fn parameters(&self) -> &'static [Parameter] {
        const { &[required("url", URL, "The page, such as `https://host/path`.")] }
    }

    fn needs(&self) -> Needs {
        Needs::Network
    }

    fn run(&self, given: Given<'_>, call: &Call<'_>) -> Result<String, ToolError> {
        let mut address = address(given.text("url"))?;
        for _ in 0..MOST_REDIRECTS {
            let fields: &[(&str, &[u8])] =
                &[("accept", b"text/html, text/plain, */*"), ("user-agent", AGENT.as_bytes())];
            let answer = ask("GET", &address, fields, None, call)?;
            let leads =
                answer.fields.text("location").filter(|_| (300..400).contains(&answer.status));
            if let Some(place) = leads {
                address = address.join(place).map_err(|error| wrong(&error))?;
                continue;
            }
            let kind = answer.fields.text("content-type").unwrap_or_default().to_owned();
            let body = String::from_utf8_lossy(&answer.body);
            let is_markup = kind.contains("html") || body.trim_start().starts_with("<!");
            let body = if is_markup { text::of_markup(&body) } else { body.into_owned() };
            let text = format!("{address} ({kind})\n\n{body}{}", cut(&answer));
            return match answer.status {
                200..=299 => Ok(text),
                status => Err(ToolError::new(
                    ErrorKind::Failed,
                    format!("the server says {status}: {text}"),
                )),
            };
        }
        Err(ToolError::new(ErrorKind::Failed, "the page leads from one to another without end"))
    }
}

/// Asks, and gives up when the call is given up.
fn ask(
    method: &str,
    address: &Address,
    fields: &[(&str, &[u8])],
    body: Option<&[u8]>,
    call: &Call<'_>,
) -> Result<Fetched, ToolError> {
    let until = call.until.min(Instant::now() + LONGEST);
    let cancel = Cancel::new();
    let (is_over, over) =
        (std::sync::atomic::AtomicBool::new(false), std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(over) {
                if (call.is_cancelled)() {
                    return cancel.cancel();
                }
                std::thread::sleep(SLICE);
            }
        });
        let fetched = fetch(
            &Fetch { method, address, fields, key: None, body, most: MOST_BYTES, until },
            &cancel,
        );
        is_over.store(true, over);
        fetched
    })
    .map_err(|error| {
        let causes = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        let text = format!(
            "{error}{}; a cage reaches the hosts that its policy names and no others",
            causes.unwrap_or_default()
        );
        match error {
            model::ModelError::Cancelled => ToolError::cancelled(),
            _ => ToolError::new(ErrorKind::Refused, text),
        }
    })
}

fn address(text: &str) -> Result<Address, ToolError> {
    Address::parse(text).map_err(|error| wrong(&error))
}

fn wrong(error: &model::UrlError) -> ToolError {
    ToolError::new(ErrorKind::Arguments, error.why_no_page())
}

/// A value that ends no line. What belongs to the connection is not a caller's to say.
fn field<'a>(name: &str, value: &'a str) -> Result<&'a str, ToolError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_plain = !name.is_empty() && name.bytes().all(is_token);
    let own = OWN_FIELDS.contains(&name.to_ascii_lowercase().as_str());
    if !is_plain || own || value.bytes().any(|byte| byte.is_ascii_control()) {
        let text = format!("`{}` is no field that can be given", name.escape_debug());
        return Err(ToolError::new(ErrorKind::Arguments, text));
    }
    Ok(value)
}

fn cut(answer: &Fetched) -> &'static str {
    if answer.is_cut { "\n[… there is more, which was not read …]" } else { "" }
}

const URL: Kind = Kind::Text(8 << 10);
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const OWN_FIELDS: [&str; 5] =
    ["host", "connection", "content-length", "transfer-encoding", "upgrade"];
const AGENT: &str = concat!("stockade/", env!("CARGO_PKG_VERSION"));
const MOST_BYTES: usize = 8 << 20;
const MOST_REDIRECTS: usize = 6;
const LONGEST: Duration = Duration::from_secs(120);
const SLICE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
