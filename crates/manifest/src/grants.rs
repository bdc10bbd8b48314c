//! What a caller gives an executor, as texts. A grant never adds what the manifest does not declare.

use crate::autonomy::{Effect, Registered, registered, table};
use policy::host_names;
use policy::net::Destination;
use policy::text::words::meant;
use serde::{Deserialize, Serialize};

use crate::hints::{self, ReadPath};
use crate::model::PathHint;

/// What a caller gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Option<Vec<String>>", into = "Option<Vec<String>>")]
pub enum Grants {
    /// The caller says nothing: everything ordinary that the manifest declares.
    #[default]
    Unsaid,
    /// These and nothing else.
    Listed(Vec<Grant>),
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// `declared`: everything ordinary that the manifest declares.
    Declared,
    /// `fs:read:PATH`.
    Read(PathHint),
    /// `fs:write:PATH`, which is read as well.
    Write(PathHint),
    /// `network:HOST` or `network:HOST:PORT`.
    Host(Destination),
    /// `network:*`: the whole public network.
    WholeNetwork,
    /// `code:exec` and others that mean nothing to the cage.
    Named(&'static Registered),
}

/// A text that is no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no grant: {problem}", policy::shown::Shown(.written))]
pub struct GrantError {
    /// As it was written.
    pub written: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Grants {
    /// Reads a list of texts.
    pub fn listed(texts: &[impl AsRef<str>]) -> Result<Self, GrantError> {
        let grants: Result<Vec<Grant>, GrantError> =
            texts.iter().map(|text| Grant::read(text.as_ref())).collect();
        grants.map(Self::Listed)
    }
}

impl Grant {
    /// Reads one text.
    pub fn read(text: &str) -> Result<Self, GrantError> {
        read(text).map_err(|problem| GrantError { written: text.to_owned(), problem })
    }
}

fn read(text: &str) -> Result<Grant, String> {
    if text == "declared" {
        return Ok(Grant::Declared);
    }
    if let Some(path) = text.strip_prefix("fs:read:") {
        return read_path(path).map(Grant::Read);
    }
    if let Some(path) = text.strip_prefix("fs:write:") {
        return read_path(path).map(Grant::Write);
    }
    match text.strip_prefix("network:") {
        Some("*") => return Ok(Grant::WholeNetwork),
        // One could take it for the mode; it would be the name of a host.
        Some("http" | "https" | "tcp") => {
            return Err("name the host, such as `network:example.com:443`".to_owned());
        }
        Some(host) => {
            let destination = host_names::destination(host).map_err(|error| error.to_string())?;
            if destination.is_every_address() {
                return Err("for the whole public network write `network:*`".to_owned());
            }
            return Ok(Grant::Host(destination));
        }
        None => {}
    }
    match registered(text) {
        Some(entry) if entry.effect == Effect::Nothing => Ok(Grant::Named(entry)),
        Some(_) => Err("a path is missing, as in `fs:read:~/notes`".to_owned()),
        None => {
            let named = table().iter().filter(|entry| entry.effect == Effect::Nothing);
            let names: Vec<String> = named.map(ToString::to_string).collect();
            let meant = meant(text, names.iter().map(String::as_str).chain(["declared"]));
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(format!(
                "there are `declared`, `fs:read:PATH`, `fs:write:PATH`, `network:HOST[:PORT]`, \
                 `network:*` and the names of other capabilities{meant}"
            ))
        }
    }
}

fn read_path(path: &str) -> Result<PathHint, String> {
    match hints::read_path(path) {
        ReadPath::Hint(hint) => Ok(hint),
        ReadPath::Ignored(problem) | ReadPath::Refused(problem) => {
            Err(format!("its path {problem}"))
        }
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Declared => formatter.write_str("declared"),
            Self::Read(path) => write!(formatter, "fs:read:{}", path.written),
            Self::Write(path) => write!(formatter, "fs:write:{}", path.written),
            Self::Host(destination) => write!(formatter, "network:{destination}"),
            Self::WholeNetwork => formatter.write_str("network:*"),
            Self::Named(registered) => registered.fmt(formatter),
        }
    }
}

impl TryFrom<Option<Vec<String>>> for Grants {
    type Error = GrantError;

    fn try_from(texts: Option<Vec<String>>) -> Result<Self, GrantError> {
        texts.map_or(Ok(Self::Unsaid), |texts| Self::listed(&texts))
    }
}

impl From<Grants> for Option<Vec<String>> {
    fn from(grants: Grants) -> Self {
        match grants {
            Grants::Unsaid => None,
            Grants::Listed(grants) => Some(grants.iter().map(ToString::to_string).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
