//! The files of Amazon's own tools, `~/.aws/credentials` and `~/.aws/config`, as far as they say a key, a region and an
//! address. Roles, programs and single sign-on that they can name are not followed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::CredentialError;
use crate::reference::of_file;

/// Where the files are, and which profile of them is meant.
#[derive(Clone, Debug)]
pub(crate) struct AwsFiles {
    credentials: PathBuf,
    configuration: PathBuf,
    profile: String,
}

/// A key of a profile.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AwsKey {
    pub(crate) key_id: String,
    pub(crate) key: String,
    pub(crate) token: Option<String>,
}

impl AwsFiles {
    /// Those of a user. Variables name other files, as Amazon's tools have them.
    pub(crate) fn new(
        variable: impl Fn(&str) -> Option<String>,
        home: &Path,
        profile: Option<&str>,
    ) -> Self {
        let file = |name: &str, usual: &str| {
            variable(name).map_or_else(|| home.join(".aws").join(usual), PathBuf::from)
        };
        let profile = profile.map(str::to_owned).or_else(|| variable("AWS_PROFILE"));
        Self {
            credentials: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            configuration: file("AWS_CONFIG_FILE", "config"),
            profile: profile.unwrap_or_else(|| "default".to_owned()),
        }
    }

    /// The file of keys.
    pub(crate) fn credentials(&self) -> &Path {
        &self.credentials
    }

    /// Whether there is a file of keys.
    pub(crate) fn are_there(&self) -> bool {
        self.credentials.exists()
    }

    /// The key of the profile.
    pub(crate) fn key(&self) -> Result<AwsKey, CredentialError> {
        let text = of_file(&self.credentials)?;
        let found = section(&text, &self.profile);
        let missing = || CredentialError::NoProfile {
            path: self.credentials.clone(),
            profile: self.profile.clone(),
        };
        let word = |name: &str| found.get(name).map(|value| (*value).to_owned());
        Ok(AwsKey {
            key_id: word("aws_access_key_id").ok_or_else(missing)?,
            key: word("aws_secret_access_key").ok_or_else(missing)?,
            token: word("aws_session_token"),
        })
    }

    /// Something that is no secret, if the configuration says it.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(&self.configuration).ok()?;
        let titled = match self.profile.as_str() {
            "default" => "default".to_owned(),
            other => format!("profile {other}"),
        };
        section(&text, &titled).get(name).map(|value| (*value).to_owned())
    }
}

/// The words of one section of such a file.
fn section<'text>(text: &'text str, wanted: &str) -> BTreeMap<&'text str, &'text str> {
    let mut words = BTreeMap::new();
    let mut is_meant = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            is_meant = title.trim() == wanted;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_meant)
            && !value.trim().is_empty()
        {
            words.insert(name.trim(), value.trim());
        }
    }
    words
}
