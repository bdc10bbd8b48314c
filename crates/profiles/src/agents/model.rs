//! Where an agent's model is: variables with keys and the hosts that take them, and variables with the address of
//! another server. Never has the value of a key.

use crate::draft::Draft;
use crate::host::Host;

/// A variable with a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// Its name.
    pub(super) variable: &'static str,
    /// Where it is sent.
    pub(super) hosts: &'static [&'static str],
    /// How the agent is led to the model service instead, which adds the key outside.
    pub(super) service: Option<Service>,
}

/// How an agent is led to the model service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// The variable with the address of its server.
    pub(super) variable: &'static str,
    /// That address.
    pub(super) url: &'static str,
}

impl Key {
    pub(super) const fn new(variable: &'static str, hosts: &'static [&'static str]) -> Self {
        Self { variable, hosts, service: None }
    }

    /// One that stays outside.
    pub(super) const fn served(
        variable: &'static str,
        hosts: &'static [&'static str],
        service: Service,
    ) -> Self {
        Self { variable, hosts, service: Some(service) }
    }

    /// Whether the caller has it.
    pub(super) fn is_set(&self, host: &Host) -> bool {
        host.variable(self.variable).is_some()
    }
}

/// Other servers for a model, as the caller's variables name them.
#[derive(Clone, Debug, Default)]
pub(super) struct Bases(Vec<Base>);

#[derive(Clone, Debug)]
struct Base {
    url: String,
    server: Option<Server>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    /// The model service.
    Service,
    /// On the host's loopback.
    Loopback(u16),
    /// Elsewhere, as an entry of `net.allow`.
    Elsewhere(String),
}

impl Bases {
    /// What the variables say.
    pub(super) fn read(host: &Host, variables: &[&str]) -> Self {
        let urls = variables.iter().filter_map(|name| host.variable(name));
        Self(urls.map(|url| Base { url: url.to_owned(), server: server(url) }).collect())
    }

    /// The model service, in place of whatever the variables say.
    pub(super) fn service(service: &Service) -> Self {
        Self(vec![Base { url: service.url.to_owned(), server: Some(Server::Service) }])
    }

    /// Whether there is one.
    pub(super) fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The first address, to be written down; none of one with a password in it.
    pub(super) fn url(&self) -> Option<&str> {
        let base = self.0.first()?;
        base.server.as_ref().map(|_| base.url.as_str())
    }

    /// The same for a person.
    pub(super) fn shown(&self) -> Option<String> {
        let base = self.0.first()?;
        Some(match &base.server {
            Some(Server::Service) => "the model service".to_owned(),
            Some(Server::Loopback(port)) => format!("127.0.0.1:{port}"),
            Some(Server::Elsewhere(host)) => host.clone(),
            None => "an address that cannot be read".to_owned(),
        })
    }

    /// Lets the agent reach them.
    pub(super) fn allow(&self, draft: &mut Draft) {
        for Base { server, .. } in &self.0 {
            match server {
                Some(Server::Service) => {
                    draft.model("Its model, through the service that adds the key outside")
                }
                Some(Server::Loopback(port)) => {
                    draft.host_port("Its model, on this machine", *port)
                }
                Some(Server::Elsewhere(entry)) => draft.host("Its model", entry),
                None => draft.left_out("the address of its model: it is no plain URL"),
            }
        }
    }
}

/// The server of an `http` or `https` address without a user in it.
fn server(url: &str) -> Option<Server> {
    let (rest, port) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, 443),
        (None, Some(rest)) => (rest, 80),
        (None, None) => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().filter(|text| !text.contains('@'))?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, written)) if !written.ends_with(']') => (host, written.parse().ok()?),
        _ => (authority, port),
    };
    match host {
        "" => None,
        "127.0.0.1" | "localhost" | "[::1]" => Some(Server::Loopback(port)),
        host => Some(Server::Elsewhere(format!("{host}:{port}"))),
    }
}
