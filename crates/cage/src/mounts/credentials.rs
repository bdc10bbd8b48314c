//! Where stores far away are asked, and by what: from variables of this process's environment, as the stores' own tools
//! have them. What is read goes to the process that serves the mount and nowhere else. A17

use fileserver::control::{Keys, TaskSource};
use plan::RemoteStore;

/// Where a store is asked, without a credential.
pub(super) fn source(store: &RemoteStore) -> TaskSource {
    let first = |names: &[&str], otherwise: &str| {
        let found = names.iter().find_map(|name| variable(name));
        found.unwrap_or_else(|| otherwise.to_owned())
    };
    let (endpoint, region, token_endpoint) = match store {
        RemoteStore::S3 { .. } => {
            let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"], "us-east-1");
            let usual = format!("https://s3.{region}.amazonaws.com");
            let endpoint = first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"], &usual);
            (endpoint, region, String::new())
        }
        RemoteStore::Gcs { .. } => {
            let endpoint = first(&["GS_ENDPOINT_URL"], "https://storage.googleapis.com");
            (endpoint, "auto".to_owned(), String::new())
        }
        RemoteStore::Azure { .. } => {
            let account = variable(AZURE_ACCOUNT).unwrap_or_default();
            let usual = format!("https://{account}.blob.core.windows.net");
            (first(&["AZURE_STORAGE_BLOB_ENDPOINT"], &usual), String::new(), String::new())
        }
        RemoteStore::Drive { .. } => {
            let endpoint = first(&["GDRIVE_ENDPOINT_URL"], "https://www.googleapis.com");
            let token = first(&["GDRIVE_TOKEN_URL"], "https://oauth2.googleapis.com/token");
            (endpoint, String::new(), token)
        }
    };
    TaskSource::Remote { store: store.clone(), endpoint, region, token_endpoint }
}

/// By what it is asked. What is missing is named.
pub(super) fn keys(store: &RemoteStore) -> Result<Keys, String> {
    let needed = |name: &str| {
        variable(name).ok_or_else(|| {
            format!("its credential is missing: set `{name}` in the environment of `stockade`")
        })
    };
    match store {
        RemoteStore::S3 { .. } => Ok(Keys::S3 {
            key_id: needed("AWS_ACCESS_KEY_ID")?,
            key: needed("AWS_SECRET_ACCESS_KEY")?,
            token: variable("AWS_SESSION_TOKEN"),
        }),
        RemoteStore::Gcs { .. } => Ok(Keys::S3 {
            key_id: needed("GS_ACCESS_KEY_ID")?,
            key: needed("GS_SECRET_ACCESS_KEY")?,
            token: None,
        }),
        RemoteStore::Azure { .. } => {
            Ok(Keys::Azure { account: needed(AZURE_ACCOUNT)?, key: needed("AZURE_STORAGE_KEY")? })
        }
        RemoteStore::Drive { .. } => {
            if let Some(token) = variable("GDRIVE_ACCESS_TOKEN") {
                return Ok(Keys::AccessToken(token));
            }
            Ok(Keys::RefreshToken {
                client_id: needed("GDRIVE_CLIENT_ID")?,
                client_secret: needed("GDRIVE_CLIENT_SECRET")?,
                refresh_token: needed("GDRIVE_REFRESH_TOKEN")?,
            })
        }
    }
}

/// One that is set and says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

const AZURE_ACCOUNT: &str = "AZURE_STORAGE_ACCOUNT";
