//! Which model is asked, and by which key: flags, then variables of the operator's own environment.

use std::env;

use advice::Failure;
use cage::{Kind, with_causes};
use model::{BaseUrl, Client, Endpoint, KeySource, Pace, Protocol, Retries, Waits};

use crate::arguments::CommonArguments;
use crate::aside::{self, Leaving};

/// What is asked, before any key was read.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) model: String,
    protocol: Protocol,
    url: BaseUrl,
    key: Option<KeySource>,
}

impl Provider {
    /// By the flags and the environment.
    pub(crate) fn find(arguments: &CommonArguments) -> Result<Self, Failure> {
        let usage = |text: String| Failure::new(Kind::Usage, text);
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let model =
            arguments.model.clone().or_else(|| variable("STOCKADE_MODEL")).ok_or_else(|| {
                usage("no model is named".to_owned())
                    .help("name one by `--model`, or in the variable `STOCKADE_MODEL`")
            })?;
        let url = arguments.url.clone().or_else(|| variable("STOCKADE_MODEL_URL"));
        let known = KNOWN.iter().find(|known| match arguments.protocol {
            Some(protocol) => protocol == known.protocol,
            None => variable(known.key).is_some() || aside::is_aside(known.key),
        });
        let protocol = match (arguments.protocol, known, &url) {
            (Some(protocol), ..) => protocol,
            // Local servers speak it, and hardly any other.
            (None, _, Some(_)) => Protocol::Completions,
            (None, Some(known), None) => known.protocol,
            (None, None, None) => {
                return Err(usage("no provider of models is configured".to_owned())
                    .help("set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or give `--url` of a local server"));
            }
        };
        let of_protocol = KNOWN.iter().find(|known| known.protocol == protocol);
        let text = url
            .clone()
            .or_else(|| of_protocol.map(|known| known.url.to_owned()))
            .unwrap_or_default();
        let url_of: BaseUrl =
            text.parse().map_err(|error: model::UrlError| usage(error.to_string()))?;
        let key = match arguments.key.as_deref() {
            Some("none") => None,
            Some(reference) => {
                Some(reference.parse().map_err(|error: model::KeyError| usage(error.to_string()))?)
            }
            // A key of a provider is not sent to another address by itself.
            None if url.is_some() => None,
            None => of_protocol.map(|known| KeySource::Environment(known.key.to_owned())),
        };
        Ok(Self { model, protocol, url: url_of, key })
    }

    /// Takes the key out of our environment, by beginning anew without it. Before anything is forked.
    pub(crate) fn set_aside(&self) -> Result<(), Failure> {
        let names: Vec<&str> = self.key_variable().into_iter().collect();
        aside::set(&names, Leaving::Nothing)
    }

    /// Whether there is a key where it is to be: before a cage is built for nothing.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match (&self.key, self.key_variable()) {
            (None, _) => Ok(()),
            (_, Some(name)) if aside::is_aside(name) => Ok(()),
            (Some(source), _) => source.check().map_err(|error| no_key(&error)),
        }
    }

    /// Reads the key, and makes the client.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let key = self.read().transpose().map_err(|error| no_key(&error))?;
        let endpoint = Endpoint::new(self.protocol, self.url.clone(), key)
            .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        Ok(Client::new(endpoint, Retries::default(), Waits::default(), Pace::default()))
    }

    fn read(&self) -> Option<Result<model::Key, model::KeyError>> {
        let source = self.key.as_ref()?;
        let aside = self.key_variable().filter(|name| aside::is_aside(name));
        Some(aside.map_or_else(|| source.read(), aside::take))
    }

    /// The variable in which the key is, which no cage gets.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        match &self.key {
            Some(KeySource::Environment(name)) => Some(name),
            _ => None,
        }
    }
}

fn no_key(error: &model::KeyError) -> Failure {
    Failure::new(Kind::Usage, with_causes(error)).help("`--key` says where the key is")
}

/// A provider that is known by the variable that its key is usually in.
struct Known {
    key: &'static str,
    protocol: Protocol,
    url: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        key: "ANTHROPIC_API_KEY",
        protocol: Protocol::Anthropic,
        url: "https://api.anthropic.com",
    },
    Known { key: "OPENAI_API_KEY", protocol: Protocol::Responses, url: "https://api.openai.com" },
    Known { key: "OPENAI_API_KEY", protocol: Protocol::Completions, url: "https://api.openai.com" },
];
