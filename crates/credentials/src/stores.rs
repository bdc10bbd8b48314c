//! From a store to where it is asked and by what: the user's file first, then variables, then the files of the store's own
//! tools. Asks no store.

use std::path::PathBuf;

use fileserver::control::{Keys, TaskSource};
use plan::RemoteStore;
use state::Locations;

use crate::aws::AwsFiles;
use crate::error::CredentialError;
use crate::file::{Store, Written, reference};
use crate::reference::Reference;

/// What a user has configured about stores far away.
#[derive(Clone, Debug)]
pub struct Stores {
    written: Written,
    home: Option<PathBuf>,
}

/// Where each part of what a store asks for is.
enum Parts {
    S3 { key_id: Reference, key: Reference, token: Option<Reference> },
    Profile(AwsFiles),
    Azure { account: String, key: Reference },
    AccessToken(Reference),
    RefreshToken { client_id: Reference, client_secret: Reference, refresh_token: Reference },
}

impl Stores {
    /// What this process's user has configured.
    ///
    /// # Errors
    /// The file cannot be read, or makes no sense.
    pub fn of_this_process() -> Result<Self, CredentialError> {
        let configuration = Locations::of_this_process().configuration;
        let directory = configuration.as_ref().and_then(|path| path.as_path().parent());
        let written = match directory {
            Some(directory) => Written::read(&directory.join(FILE))?,
            None => Written::default(),
        };
        Ok(Self { written, home: std::env::home_dir() })
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str, home: &std::path::Path) -> Result<Self, String> {
        Ok(Self { written: Written::parse(text)?, home: Some(home.to_owned()) })
    }

    /// Where a store is asked, without a credential.
    pub fn source(&self, store: &RemoteStore) -> TaskSource {
        let first = |written: Option<&String>, names: &[&str], usual: String| {
            let written = written.cloned();
            written.or_else(|| names.iter().find_map(|name| variable(name))).unwrap_or(usual)
        };
        let (endpoint, region, token_endpoint) = match store {
            RemoteStore::S3 { bucket, .. } => {
                let said = self.written.s3.of_bucket(bucket);
                let files = self.aws_files(&said);
                let of_files = |name: &str| files.as_ref().and_then(|files| files.setting(name));
                let usual = of_files("region").unwrap_or_else(|| "us-east-1".to_owned());
                let names = ["AWS_REGION", "AWS_DEFAULT_REGION"];
                let region = first(said.region.as_ref(), &names, usual);
                let usual = of_files("endpoint_url")
                    .unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
                let names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
                (first(said.endpoint.as_ref(), &names, usual), region, String::new())
            }
            RemoteStore::Gcs { bucket, .. } => {
                let said = self.written.gs.of_bucket(bucket);
                let usual = "https://storage.googleapis.com".to_owned();
                let endpoint = first(said.endpoint.as_ref(), &["GS_ENDPOINT_URL"], usual);
                (endpoint, "auto".to_owned(), String::new())
            }
            RemoteStore::Azure { container, .. } => {
                let said = self.written.az.of_bucket(container);
                let account = said.account.or_else(|| variable(AZURE_ACCOUNT)).unwrap_or_default();
                let usual = format!("https://{account}.blob.core.windows.net");
                let names = ["AZURE_STORAGE_BLOB_ENDPOINT"];
                (first(said.endpoint.as_ref(), &names, usual), String::new(), String::new())
            }
            RemoteStore::Drive { .. } => {
                let said = &self.written.gdrive;
                let usual = "https://www.googleapis.com".to_owned();
                let endpoint = first(said.endpoint.as_ref(), &["GDRIVE_ENDPOINT_URL"], usual);
                let usual = "https://oauth2.googleapis.com/token".to_owned();
                let token = first(said.token_endpoint.as_ref(), &["GDRIVE_TOKEN_URL"], usual);
                (endpoint, String::new(), token)
            }
        };
        TaskSource::Remote { store: store.clone(), endpoint, region, token_endpoint }
    }

    /// Whether the credential of a store can be had, as far as that is known without starting a command.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, store: &RemoteStore) -> Result<(), CredentialError> {
        match self.parts(store)? {
            Parts::S3 { key_id, key, token } => {
                let all = [Some(key_id), Some(key), token];
                all.iter().flatten().try_for_each(Reference::check)
            }
            Parts::Profile(files) => files.key().map(drop),
            Parts::Azure { key, .. } => key.check(),
            Parts::AccessToken(token) => token.check(),
            Parts::RefreshToken { client_id, client_secret, refresh_token } => {
                [client_id, client_secret, refresh_token].iter().try_for_each(Reference::check)
            }
        }
    }

    /// The files that the credential of a store is read from: for whoever sees to it that no cage has them.
    ///
    /// # Errors
    /// What is missing.
    pub fn files(&self, store: &RemoteStore) -> Result<Vec<PathBuf>, CredentialError> {
        let references = match self.parts(store)? {
            Parts::Profile(files) => return Ok(vec![files.credentials().to_owned()]),
            Parts::S3 { key_id, key, token } => [key_id, key].into_iter().chain(token).collect(),
            Parts::Azure { key, .. } => vec![key],
            Parts::AccessToken(token) => vec![token],
            Parts::RefreshToken { client_id, client_secret, refresh_token } => {
                vec![client_id, client_secret, refresh_token]
            }
        };
        let file = |reference| match reference {
            Reference::File(path) => Some(path),
            Reference::Variable(_) | Reference::Command(_) => None,
        };
        Ok(references.into_iter().filter_map(file).collect())
    }

    /// The credential of a store.
    ///
    /// # Errors
    /// What is missing.
    pub fn keys(&self, store: &RemoteStore) -> Result<Keys, CredentialError> {
        Ok(match self.parts(store)? {
            Parts::S3 { key_id, key, token } => Keys::S3 {
                key_id: key_id.read()?,
                key: key.read()?,
                token: token.map(|token| token.read()).transpose()?,
            },
            Parts::Profile(files) => {
                let key = files.key()?;
                Keys::S3 { key_id: key.key_id, key: key.key, token: key.token }
            }
            Parts::Azure { account, key } => Keys::Azure { account, key: key.read()? },
            Parts::AccessToken(token) => Keys::AccessToken(token.read()?),
            Parts::RefreshToken { client_id, client_secret, refresh_token } => Keys::RefreshToken {
                client_id: client_id.read()?,
                client_secret: client_secret.read()?,
                refresh_token: refresh_token.read()?,
            },
        })
    }

    fn parts(&self, store: &RemoteStore) -> Result<Parts, CredentialError> {
        match store {
            RemoteStore::S3 { bucket, .. } => self.of_s3(&self.written.s3.of_bucket(bucket)),
            RemoteStore::Gcs { bucket, .. } => {
                let said = self.written.gs.of_bucket(bucket);
                Ok(Parts::S3 {
                    key_id: found(said.key_id.as_ref(), "gs.key_id", "GS_ACCESS_KEY_ID")?,
                    key: found(said.key.as_ref(), "gs.key", "GS_SECRET_ACCESS_KEY")?,
                    token: None,
                })
            }
            RemoteStore::Azure { container, .. } => {
                let said = self.written.az.of_bucket(container);
                let missing = || missing(AZURE_ACCOUNT, "az.account");
                let account = said.account.or_else(|| variable(AZURE_ACCOUNT));
                let account = account.ok_or_else(missing)?;
                let key = found(said.key.as_ref(), "az.key", "AZURE_STORAGE_KEY")?;
                Ok(Parts::Azure { account, key })
            }
            RemoteStore::Drive { .. } => self.of_drive(),
        }
    }

    fn of_s3(&self, said: &Store) -> Result<Parts, CredentialError> {
        let has_own = said.key.is_some() || said.key_id.is_some();
        let is_in_variables = variable(AWS_KEY_ID).is_some() && said.profile.is_none();
        if !has_own
            && !is_in_variables
            && let Some(files) = self.aws_files(said)
            && (said.profile.is_some() || files.are_there())
        {
            return Ok(Parts::Profile(files));
        }
        let token = match (&said.token, has_own) {
            (None, true) => None,
            (None, false) => {
                let name = "AWS_SESSION_TOKEN";
                variable(name).map(|_| Reference::Variable(name.to_owned()))
            }
            (Some(_), _) => reference(said.token.as_ref(), "s3.token")?,
        };
        Ok(Parts::S3 {
            key_id: found(said.key_id.as_ref(), "s3.key_id", AWS_KEY_ID)?,
            key: found(said.key.as_ref(), "s3.key", "AWS_SECRET_ACCESS_KEY")?,
            token,
        })
    }

    fn of_drive(&self) -> Result<Parts, CredentialError> {
        let said = &self.written.gdrive;
        let name = "GDRIVE_ACCESS_TOKEN";
        let is_written = said.refresh_token.is_some() || said.client_secret.is_some();
        if said.access_token.is_some() || (!is_written && variable(name).is_some()) {
            let token = found(said.access_token.as_ref(), "gdrive.access_token", name)?;
            return Ok(Parts::AccessToken(token));
        }
        let part = |written: &Option<String>, key, name| found(written.as_ref(), key, name);
        Ok(Parts::RefreshToken {
            client_id: part(&said.client_id, "gdrive.client_id", "GDRIVE_CLIENT_ID")?,
            client_secret: part(
                &said.client_secret,
                "gdrive.client_secret",
                "GDRIVE_CLIENT_SECRET",
            )?,
            refresh_token: part(
                &said.refresh_token,
                "gdrive.refresh_token",
                "GDRIVE_REFRESH_TOKEN",
            )?,
        })
    }

    fn aws_files(&self, said: &Store) -> Option<AwsFiles> {
        let home = self.home.as_deref()?;
        Some(AwsFiles::new(variable, home, said.profile.as_deref()))
    }
}

/// What the file refers to, else the variable of the store's own tools.
fn found(
    written: Option<&String>,
    key: &str,
    name: &'static str,
) -> Result<Reference, CredentialError> {
    match reference(written, key)? {
        Some(reference) => Ok(reference),
        None if variable(name).is_some() => Ok(Reference::Variable(name.to_owned())),
        None => Err(missing(name, key)),
    }
}

fn missing(variable: &'static str, key: &str) -> CredentialError {
    CredentialError::Missing { variable, key: key.to_owned() }
}

/// One that is set and says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

const FILE: &str = "mounts.toml";
const AWS_KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const AZURE_ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT";
