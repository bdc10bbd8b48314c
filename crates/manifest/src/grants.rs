//! What a caller gives an executor, as texts. A grant never adds what the manifest does not declare.

use policy::autonomy::Registered;
use policy::net::Destination;
use serde::{Deserialize, Serialize};

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
        Err(GrantError { written: text.to_owned(), problem: String::new() })
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
