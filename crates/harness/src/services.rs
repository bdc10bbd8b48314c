//! Models and other services as a program in a cage has them: over the loopback of its cage, where the model service of the
//! host listens and adds keys. Nothing here has one.

use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use cage::with_causes;
use callfs::{Asked, AsksService, Speaks};
use model::fetch::{Address, Fetch, fetch};
use model::service::NO_PROVIDER;
use model::{
    BaseUrl, Cancel, Client, Delta, Endpoint, ModelError, Pace, Protocol, Request, Retries, Waits,
};
use plan::network::MODEL_PORT;

/// The model service of this cage.
pub(crate) struct Loopback {
    anthropic: Client,
    openai: Client,
}

impl Loopback {
    pub(crate) fn new() -> Result<Self, String> {
        let client = |protocol| {
            let url: BaseUrl = format!("http://127.0.0.1:{MODEL_PORT}")
                .parse()
                .map_err(|error: model::UrlError| error.to_string())?;
            let endpoint = Endpoint::new(protocol, url, None).map_err(|error| error.to_string())?;
            Ok::<_, String>(Client::new(
                endpoint,
                Retries::default(),
                Waits::default(),
                Pace::default(),
            ))
        };
        Ok(Self { anthropic: client(Protocol::Anthropic)?, openai: client(Protocol::Completions)? })
    }

    /// By the name of a model, and what its provider calls it.
    fn client<'a, 'name>(&'a self, model: &'name str) -> (&'a Client, &'name str) {
        match model.split_once('/') {
            Some(("anthropic", name)) => (&self.anthropic, name),
            Some(("openai", name)) => (&self.openai, name),
            _ if model.starts_with("claude") => (&self.anthropic, model),
            _ => (&self.openai, model),
        }
    }
}

impl Speaks for Loopback {
    fn models(&self, cancel: &Cancel) -> Result<Vec<String>, String> {
        reachable()?;
        let (mut names, mut whys) = (None, Vec::new());
        for (word, client) in [("anthropic", &self.anthropic), ("openai", &self.openai)] {
            match client.models(cancel) {
                Ok(of_it) => {
                    let names: &mut Vec<String> = names.get_or_insert_default();
                    names.extend(of_it.into_iter().map(|name| format!("{word}/{name}")));
                }
                // The other one may be there.
                Err(ModelError::Status { message, .. }) if message == NO_PROVIDER => {}
                Err(why) => whys.push(format!("{word}: {}", with_causes(&why))),
            }
        }
        names.ok_or_else(|| match whys.is_empty() {
            true => "no provider of models is configured outside".to_owned(),
            false => whys.join("; "),
        })
    }

    fn ask(
        &self,
        request: &Request,
        cancel: &Cancel,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Asked, String> {
        reachable()?;
        let (client, model) = self.client(&request.model);
        let request = Request { model: model.to_owned(), ..request.clone() };
        let asked = client.ask(&request, cancel, &mut |delta| {
            if let Delta::Text(text) = delta {
                shown(&text);
            }
        });
        asked.map_err(|error| with_causes(&error))
    }
}

/// A service of the operator, at the same place.
pub(crate) struct OfHost(Address);

impl OfHost {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let url = format!("http://127.0.0.1:{MODEL_PORT}/services/{name}");
        Address::parse(&url).map(Self).map_err(|error| error.to_string())
    }

    fn fetch(&self, body: Option<&[u8]>, cancel: &Cancel) -> Result<Vec<u8>, String> {
        reachable()?;
        let method = if body.is_some() { "POST" } else { "GET" };
        let until = Instant::now() + LONGEST;
        let wanted =
            Fetch { method, address: &self.0, fields: &[], key: None, body, most: MOST, until };
        let fetched = fetch(&wanted, cancel).map_err(|error| with_causes(&error))?;
        if fetched.status == 200 {
            return Ok(fetched.body);
        }
        let said: Option<serde_json::Value> = serde_json::from_slice(&fetched.body).ok();
        let said = said.as_ref().and_then(|said| said.pointer("/error/message")?.as_str());
        Err(said.unwrap_or("the service does not answer").to_owned())
    }
}

impl AsksService for OfHost {
    fn doc(&self, cancel: &Cancel) -> Result<Vec<u8>, String> {
        self.fetch(None, cancel)
    }

    fn ask(&self, question: Vec<u8>, cancel: &Cancel) -> Result<Vec<u8>, String> {
        self.fetch(Some(&question), cancel)
    }
}

/// A cage that has no model service is told so at once, and not after it was tried again and again.
fn reachable() -> Result<(), String> {
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, MODEL_PORT));
    connected.map(drop).map_err(|error| {
        format!(
            "there is no model service: {error}; a cage has it where its policy has \
             `host_ports = [\"model\"]`"
        )
    })
}

const LONGEST: Duration = Duration::from_secs(600);
const MOST: usize = 2 << 20;
