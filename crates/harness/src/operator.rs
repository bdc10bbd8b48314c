//! Services of the operator: searches, credentials, secrets, speech, mail and whatever else a host has. `services.toml` beside
//! the configuration says of each by which command or at which address it is asked; a cage has those that its policy names.
//! A question is bytes, an answer is bytes, and no word of a question is ever a word of a command line.

pub(crate) mod command;
pub(crate) mod served;
pub(crate) mod starter;
pub(crate) mod tools;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use advice::Failure;
use cage::state::Locations;
use cage::{Kind, with_causes};
use model::fetch::{Address, Fetch, fetch};
use model::{Cancel, Key, KeySource};
use policy::shown::shown;
use serde::Deserialize;

use crate::inside_server::LLM;

/// Services that may be asked, with their keys.
#[derive(Debug, Default)]
pub(crate) struct Services(BTreeMap<String, Service>);

/// What is configured of one.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) doc: String,
    by: By,
    pub(crate) time: Duration,
    /// Most calls of one cage.
    pub(crate) calls: u64,
}

#[derive(Debug)]
enum By {
    /// The question on its standard input, the answer on its standard output.
    Command(Vec<String>),
    /// The question in place of `{}`, or as the body.
    Address { url: String, field: String, key: Option<Key> },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    doc: Option<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    key: Option<String>,
    key_field: Option<String>,
    time: Option<String>,
    calls: Option<u64>,
}

/// Runs a command of the operator for one question.
type Starts<'a> = dyn Fn(&[String]) -> Result<Vec<u8>, String> + 'a;

impl Services {
    /// Those of some names, with their keys read.
    ///
    /// # Errors
    /// If one is not configured, or its key cannot be had.
    pub(crate) fn of_this_process(
        names: &[String],
        locations: &Locations,
    ) -> Result<Self, Failure> {
        if names.is_empty() {
            return Ok(Self::default());
        }
        Self::read(&text(locations)?, names).map_err(malformed)
    }

    /// Refuses names of services that are not configured. Reads no key.
    ///
    /// # Errors
    /// If there is one, with what there is.
    pub(crate) fn refuse_unknown(names: &[String], locations: &Locations) -> Result<(), Failure> {
        let mut names = names.iter().filter(|name| *name != LLM).peekable();
        if names.peek().is_none() {
            return Ok(());
        }
        let written = written(&text(locations)?).map_err(malformed)?;
        names.find(|name| !written.contains_key(*name)).map_or(Ok(()), |unknown| {
            let there: Vec<&str> =
                [LLM].into_iter().chain(written.keys().map(String::as_str)).collect();
            Err(malformed(format!(
                "there is no service `{unknown}`; there are {}",
                there.join(", ")
            )))
        })
    }

    fn read(text: &str, names: &[String]) -> Result<Self, String> {
        let mut written = written(text)?;
        let of = |name: &String| {
            let written = written.remove(name);
            let written = written.ok_or_else(|| format!("there is no service `{name}`"))?;
            let service = Service::of(name, written).map_err(|why| format!("in `[{name}]`: {why}"));
            Ok((name.clone(), service?))
        };
        names.iter().map(of).collect::<Result<_, String>>().map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Service> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Service)> {
        self.0.iter()
    }

    /// The names of those that are commands.
    pub(crate) fn commands(&self) -> Vec<&str> {
        let commands = self.0.iter().filter(|(_, service)| matches!(service.by, By::Command(_)));
        commands.map(|(name, _)| name.as_str()).collect()
    }
}

impl Service {
    fn of(name: &str, written: Written) -> Result<Self, String> {
        let by = match (written.command, written.url) {
            (Some(words), None) if words.first().is_some_and(|word| !word.is_empty()) => {
                if written.key.is_some() || written.key_field.is_some() {
                    return Err("a command has keys of its own".to_owned());
                }
                By::Command(words)
            }
            (None, Some(url)) => {
                // The question is part of a path or a query, and never of the host.
                let at = url.find("{}");
                let host_ends =
                    url.find("://").and_then(|at| Some(url.get(at + 3..)?.find('/')? + at + 3));
                if at.is_some_and(|at| host_ends.is_none_or(|end| at < end)) {
                    return Err("`{}` stands behind the host of `url`".to_owned());
                }
                Address::parse(&url.replace("{}", "x")).map_err(|error| error.why_no_page())?;
                let field = written.key_field.unwrap_or_else(|| "authorization".to_owned());
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
                if field.is_empty() || !field.bytes().all(is_plain) {
                    return Err("`key_field` is the name of a field, in small letters".to_owned());
                }
                By::Address { url, field, key: written.key.as_deref().map(key).transpose()? }
            }
            _ => return Err("it has either a `command` or a `url`".to_owned()),
        };
        let time = written.time.as_deref().map(crate::arguments::duration).transpose()?;
        Ok(Self {
            doc: written.doc.unwrap_or_else(|| doc(name)),
            by,
            time: time.unwrap_or(TIME),
            calls: written.calls.unwrap_or(MOST_CALLS),
        })
    }

    /// Asks it, here; a command is started by `starts`.
    pub(crate) fn ask(
        &self,
        question: &[u8],
        cancel: &Cancel,
        starts: &Starts<'_>,
    ) -> Result<Vec<u8>, String> {
        let (url, field, key) = match &self.by {
            By::Command(words) => return starts(words),
            By::Address { url, field, key } => (url, field, key),
        };
        let in_place = url.contains("{}");
        let address = Address::parse(&url.replace("{}", &escaped(question)));
        let address = address.map_err(|_| "the question is too long for an address".to_owned())?;
        let fetched = fetch(
            &Fetch {
                method: if in_place { "GET" } else { "POST" },
                address: &address,
                fields: &[("accept", b"*/*"), ("user-agent", b"stockade")],
                key: key.as_ref().map(|key| (field.as_str(), key)),
                body: (!in_place).then_some(question),
                most: MOST_ANSWER,
                until: Instant::now() + self.time,
            },
            cancel,
        );
        // What the cage is told has no address in it: that is the operator's.
        let fetched = fetched.map_err(|_| "the service cannot be asked".to_owned())?;
        match fetched.status {
            200..=299 if fetched.is_cut => {
                Err(format!("the answer has more than {MOST_ANSWER} bytes"))
            }
            200..=299 => Ok(fetched.body),
            status => Err(format!("the service says {status}")),
        }
    }
}

fn text(locations: &Locations) -> Result<String, Failure> {
    let path = locations.configuration.as_ref().and_then(|path| path.as_path().parent());
    match path.map(|path| std::fs::read_to_string(path.join(FILE))) {
        Some(Ok(text)) => Ok(text),
        Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::new(Kind::PolicyInvalid, format!("`{FILE}`: {error}")))
        }
        None | Some(Err(_)) => Ok(String::new()),
    }
}

fn written(text: &str) -> Result<BTreeMap<String, Written>, String> {
    let written: BTreeMap<String, Written> =
        toml::from_str(text).map_err(|error| error.message().to_owned())?;
    match written.keys().find(|name| !is_name(name)) {
        Some(wrong) => {
            Err(format!("`{wrong}` is no name of a service: small letters, `-` and `_`"))
        }
        None => Ok(written),
    }
}

fn malformed(why: String) -> Failure {
    Failure::new(Kind::PolicyInvalid, format!("`{FILE}`: {}", shown(why)))
        .help(format!("a service is a table of `{FILE}` beside your configuration: `[websearch]` with `command = […]` or `url = \"…\"`"))
}

/// A key of a service is in no variable: what this process was started with is in the memory of all that it forks.
fn key(reference: &str) -> Result<Key, String> {
    let source: KeySource =
        reference.parse().map_err(|error: model::KeyError| error.to_string())?;
    if matches!(source, KeySource::Environment(_)) {
        return Err("the key of a service is `file:PATH` or `command:PROGRAM ARGUMENT…`".to_owned());
    }
    source.read().map_err(|error| with_causes(&error))
}

fn doc(name: &str) -> String {
    match name {
        "websearch" => "Searches the web: the question is what is looked for.".to_owned(),
        _ => format!("The service `{name}` of this host."),
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"-_".contains(&byte);
    (1..=32).contains(&name.len()) && name.bytes().all(is_plain) && name != LLM
}

/// A question as a part of an address.
fn escaped(question: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    question.trim_ascii().iter().map(letter).collect()
}

const FILE: &str = "services.toml";
const TIME: Duration = Duration::from_secs(60);
const MOST_CALLS: u64 = 1000;
/// Bytes of an answer.
const MOST_ANSWER: usize = 1 << 20;

#[cfg(test)]
mod tests;
