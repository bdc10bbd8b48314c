//! Addresses of registries as they stand in configurations: which host and port they name, and the same
//! address without the user and password that may stand in it. Never looks a name up.

/// What an address leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// As it can be shown inside: without user and password.
    pub(crate) clean: String,
    /// Whether there was a user or a password in it.
    pub(crate) had_secret: bool,
    /// The name or address, in lower case, IPv6 without brackets.
    pub(crate) name: String,
    /// The port, as written or by the scheme.
    pub(crate) port: u16,
}

impl Address {
    /// Reads a URL such as `sparse+https://user:password@example.com:8443/index/`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://")?;
        let transport = scheme.rsplit('+').next().unwrap_or(scheme);
        let by_scheme = match transport.to_ascii_lowercase().as_str() {
            "https" => 443,
            "http" => 80,
            "ssh" => 22,
            "git" => 9418,
            _ => return None,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (name, port) = split_port(host)?;
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port > 0)?,
            None => by_scheme,
        };
        let query_has_secret = path.split_once('?').is_some_and(|(_, query)| is_secret_word(query));
        let clean_path = if query_has_secret { path.split('?').next().unwrap_or("") } else { path };
        Some(Self {
            clean: format!("{scheme}://{host}{clean_path}"),
            had_secret: user.is_some() || query_has_secret,
            name: name.to_ascii_lowercase(),
            port,
        })
    }

    /// The entry of `net.allow`.
    pub(crate) fn entry(&self) -> String {
        if self.name.contains(':') {
            format!("[{}]:{}", self.name, self.port)
        } else {
            format!("{}:{}", self.name, self.port)
        }
    }

    /// Whether it leads to this machine's own loopback.
    pub(crate) fn is_loopback(&self) -> bool {
        self.name == "localhost" || self.name == "::1" || self.name.starts_with("127.")
    }
}

fn split_port(host: &str) -> Option<(&str, Option<&str>)> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = rest.strip_prefix(':').filter(|port| !port.is_empty());
    if name.is_empty() { None } else { Some((name, port)) }
}

/// Whether a key or a line speaks of a secret.
pub(crate) fn is_secret_word(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| text.contains(word))
}

const SECRET_WORDS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "_auth",
    "apikey",
    "api_key",
    "api-key",
    "privatekey",
    "private_key",
    "private-key",
    "credential",
];
