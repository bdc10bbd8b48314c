//! Where the models of the model service are, as the operator says: `models.toml` beside the configuration, else the
//! variables that agents know. Never has a key; says where one is read from.

use std::collections::BTreeMap;

use advice::Failure;
use cage::Kind;
use cage::prepare::Caller;
use cage::prepare::agents::NO_KEY;
use cage::state::Locations;
use model::service::{Bounds, ServerTools};
use model::{BaseUrl, Key, KeyError, KeySource, Protocol};
use policy::shown::shown;
use serde::Deserialize;

use crate::aside;

/// What is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models {
    pub(crate) providers: Vec<Provider>,
    calls: Option<u64>,
    tokens: Option<u64>,
    server_tools: ServerTools,
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    pub(crate) protocol: Protocol,
    pub(crate) url: BaseUrl,
    key: Option<KeySource>,
}

/// A provider that agents know by variables.
struct Known {
    name: &'static str,
    protocol: Protocol,
    key: &'static str,
    base: &'static str,
    url: &'static str,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    anthropic: Option<WrittenProvider>,
    openai: Option<WrittenProvider>,
    calls: Option<u64>,
    tokens: Option<u64>,
    #[serde(default)]
    server_tools: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProvider {
    url: Option<String>,
    key: Option<String>,
}

impl Models {
    /// What this process's user has configured.
    ///
    /// # Errors
    /// If the file cannot be read, or says something that makes no sense.
    pub fn of_this_process(locations: &Locations) -> Result<Self, Failure> {
        let path = locations.configuration.as_ref();
        let path = path.and_then(|path| path.as_path().parent()).map(|path| path.join(FILE));
        let text = match path.as_deref().map(std::fs::read_to_string) {
            None => None,
            Some(Ok(text)) => Some(text),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => None,
            Some(Err(error)) => {
                return Err(Failure::new(Kind::PolicyInvalid, format!("`{FILE}`: {error}")));
            }
        };
        let environment: BTreeMap<&str, String> = KNOWN
            .iter()
            .flat_map(|known| [known.key, known.base])
            .filter_map(|name| Some((name, std::env::var(name).ok()?)))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        Self::read(text.as_deref(), &environment)
            .map_err(|why| Failure::new(Kind::PolicyInvalid, format!("`{FILE}`: {}", shown(why))))
    }

    fn read(text: Option<&str>, environment: &BTreeMap<&str, String>) -> Result<Self, String> {
        let written: Written = match text {
            Some(text) => toml::from_str(text).map_err(|error| error.message().to_owned())?,
            None => Written::default(),
        };
        let mut providers = Vec::new();
        for (known, written) in KNOWN.iter().zip([&written.anthropic, &written.openai]) {
            if written.is_none() && !environment.contains_key(known.key) {
                continue;
            }
            let in_file = |why: String| format!("in `[{}]`: {why}", known.name);
            let url = written.as_ref().and_then(|written| written.url.as_ref());
            let url = url.or_else(|| environment.get(known.base));
            let url = url.map_or(known.url, String::as_str).parse();
            let url = url.map_err(|error: model::UrlError| in_file(error.to_string()))?;
            let key = match written.as_ref().and_then(|written| written.key.as_deref()) {
                Some("none") => None,
                Some(reference) => {
                    let key = reference.parse::<KeySource>();
                    Some(key.map_err(|error| in_file(error.to_string()))?)
                }
                None => Some(KeySource::Environment(known.key.to_owned())),
            };
            providers.push(Provider { protocol: known.protocol, url, key });
        }
        let server_tools = match written.server_tools {
            true => ServerTools::Allowed,
            false => ServerTools::Refused,
        };
        Ok(Self { providers, calls: written.calls, tokens: written.tokens, server_tools })
    }

    /// What each cage may ask.
    pub(crate) fn bounds(&self) -> Bounds {
        let Self { calls, tokens, server_tools, .. } = *self;
        Bounds { calls, tokens, server_tools, ..Bounds::default() }
    }

    /// Takes the keys out of our own environment, by beginning anew without them. Before anything is forked.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn set_aside(&self) -> Result<(), Failure> {
        let of_environment = self.providers.iter().filter_map(|provider| match &provider.key {
            Some(KeySource::Environment(name)) => Some(name.as_str()),
            _ => None,
        });
        aside::set(&of_environment.collect::<Vec<_>>(), aside::Leaving::NoKey)
    }

    /// Has agents know of the keys that are configured elsewhere than in their variables.
    pub fn announce(&self, caller: &mut Caller) {
        let has_key = |known: &&Known| {
            let mut providers = self.providers.iter();
            providers.any(|one| one.protocol == known.protocol && one.key.is_some())
        };
        let missing: Vec<_> = KNOWN
            .iter()
            .filter(has_key)
            .filter(|known| caller.variable(known.key).is_none())
            .map(|known| (known.key.into(), NO_KEY.into()))
            .collect();
        if !missing.is_empty() {
            caller.environment = caller.environment.iter().cloned().chain(missing).collect();
        }
    }
}

impl Provider {
    /// Reads its key, if it has one.
    pub(crate) fn key(&self) -> Result<Option<Key>, KeyError> {
        match &self.key {
            None => Ok(None),
            Some(KeySource::Environment(name)) if aside::is_aside(name) => {
                aside::read(name).map(Some)
            }
            Some(source) => source.read().map(Some),
        }
    }
}

/// In the order of the tables of the file.
const KNOWN: [Known; 2] = [
    Known {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        key: "ANTHROPIC_API_KEY",
        base: "ANTHROPIC_BASE_URL",
        url: "https://api.anthropic.com",
    },
    Known {
        name: "openai",
        protocol: Protocol::Responses,
        key: "OPENAI_API_KEY",
        base: "OPENAI_BASE_URL",
        url: "https://api.openai.com",
    },
];
const FILE: &str = "models.toml";

#[cfg(test)]
mod tests;
