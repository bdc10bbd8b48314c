//! `mounts.toml` beside the configuration: where stores are, and what refers to their credentials. Never has one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::CredentialError;
use crate::reference::Reference;

/// What the file says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) s3: Store,
    pub(crate) gs: Store,
    pub(crate) az: Store,
    pub(crate) gdrive: Drive,
}

/// What it says about a kind of store, or a single bucket or container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Store {
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    /// Of Amazon's own files.
    pub(crate) profile: Option<String>,
    /// Of Azure.
    pub(crate) account: Option<String>,
    pub(crate) key_id: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) token: Option<String>,
    /// The same for single ones, by their names.
    pub(crate) bucket: BTreeMap<String, Store>,
}

/// What it says about Google Drive.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Drive {
    pub(crate) endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    /// A token that does not last.
    pub(crate) access_token: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

impl Written {
    /// Reads the file, which need not exist.
    pub(crate) fn read(path: &Path) -> Result<Self, CredentialError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => {
                return Err(CredentialError::Configuration { path: path.to_owned(), source });
            }
        };
        Self::parse(&text).map_err(|why| CredentialError::Malformed { path: path.to_owned(), why })
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // The message alone: what is written there may be a credential by mistake.
        let written: Self = toml::from_str(text).map_err(|error| {
            let message = error.message();
            match message.starts_with("invalid type") {
                true => "a value is of the wrong kind".to_owned(),
                false => policy::shown::shown(message).to_string(),
            }
        })?;
        Ok(written)
    }
}

impl Store {
    /// What is said about one bucket, beside what is said about all.
    pub(crate) fn of_bucket(&self, name: &str) -> Self {
        let Some(own) = self.bucket.get(name) else { return self.clone() };
        let own = own.clone();
        let or = |own: Option<String>, all: &Option<String>| own.or_else(|| all.clone());
        // A key of its own comes with everything that belongs to it.
        let has_key = own.key.is_some() || own.profile.is_some();
        let all = if has_key {
            Self { endpoint: self.endpoint.clone(), region: self.region.clone(), ..Self::default() }
        } else {
            self.clone()
        };
        Self {
            endpoint: or(own.endpoint, &all.endpoint),
            region: or(own.region, &all.region),
            profile: or(own.profile, &all.profile),
            account: or(own.account, &all.account),
            key_id: or(own.key_id, &all.key_id),
            key: or(own.key, &all.key),
            token: or(own.token, &all.token),
            bucket: BTreeMap::new(),
        }
    }
}

/// What a key of the file refers to, if it is there.
pub(crate) fn reference(
    written: Option<&String>,
    key: &str,
) -> Result<Option<Reference>, CredentialError> {
    written.map(|text| Reference::parse(text, key)).transpose()
}
