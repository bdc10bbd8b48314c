//! What is configured where, and what of it is asked. Nothing here reads this process's own configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fileserver::control::{Keys, TaskSource};
use plan::RemoteStore;

use crate::{CredentialError, Reference, Stores};

fn s3(bucket: &str) -> RemoteStore {
    RemoteStore::S3 { bucket: bucket.to_owned(), prefix: String::new() }
}

fn private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// `KEY-ID KEY [TOKEN]`, or why not.
fn told(stores: &Stores, store: &RemoteStore) -> String {
    match stores.check(store).and_then(|()| stores.keys(store)) {
        Ok(Keys::S3 { key_id, key, token }) => {
            format!("{key_id} {key} {}", token.unwrap_or_default()).trim().to_owned()
        }
        Ok(Keys::Azure { account, key }) => format!("{account} {key}"),
        Ok(Keys::AccessToken(token)) => token,
        Ok(Keys::RefreshToken { client_id, client_secret, refresh_token }) => {
            format!("{client_id} {client_secret} {refresh_token}")
        }
        Ok(Keys::None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A17: a file, a command and a profile are read; one bucket can have its own.
#[test]
fn credentials_are_had_by_reference() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    private(&at("key"), "from-a-file\n");
    private(
        &at(".aws/credentials"),
        "[default]\naws_access_key_id = D\naws_secret_access_key = d=1\n# [x]\n\n[work]\naws_access_key_id=W\n\
         aws_secret_access_key = w\naws_session_token = t\n",
    );
    private(
        &at(".aws/config"),
        "[default]\nregion = eu-central-1\n[profile work]\nendpoint_url = https://s3.example\n",
    );
    let text = format!(
        "[s3.bucket.work]\nprofile = \"work\"\n[s3.bucket.own]\nendpoint = \"https://own.example\"\n\
         key_id = \"command:echo id\"\nkey = \"file:{key}\"\n[s3.bucket.none]\nprofile = \"none\"\n\
         [gs]\nkey_id = \"command:echo g\"\nkey = \"command:false\"\n\
         [az]\naccount = \"acc\"\nkey = \"file:{key}\"\n[az.bucket.bad]\nkey = \"a-secret\"\n\
         [gdrive]\nclient_id = \"command:echo c\"\nclient_secret = \"command:echo s\"\nrefresh_token = \"file:{key}\"\n",
        key = at("key").display()
    );
    let stores = Stores::of(&text, home.path()).unwrap();
    assert_eq!(told(&stores, &s3("any")), "D d=1");
    assert_eq!(told(&stores, &s3("work")), "W w t");
    assert_eq!(told(&stores, &s3("own")), "id from-a-file");
    assert!(told(&stores, &s3("none")).contains("has no profile `none`"));
    let gs = RemoteStore::Gcs { bucket: "one".into(), prefix: String::new() };
    assert!(told(&stores, &gs).contains("the command `false` gave no credential"));
    let az =
        |container: &str| RemoteStore::Azure { container: container.into(), prefix: String::new() };
    assert_eq!(told(&stores, &az("one")), "acc from-a-file");
    let wrong = told(&stores, &az("bad"));
    assert!(wrong.contains("AZURE_STORAGE_ACCOUNT") && !wrong.contains("a-secret"), "{wrong}");
    let drive = RemoteStore::Drive { folder: "root".into() };
    assert_eq!(told(&stores, &drive), "c s from-a-file");
    let place = |store: &RemoteStore| match stores.source(store) {
        TaskSource::Remote { endpoint, region, .. } => (endpoint, region),
        TaskSource::Store { .. } | TaskSource::Layers { .. } => (String::new(), String::new()),
    };
    let (endpoint, region) = place(&s3("any"));
    assert_eq!(
        (endpoint.as_str(), region.as_str()),
        ("https://s3.eu-central-1.amazonaws.com", "eu-central-1")
    );
    assert_eq!(place(&s3("work")).0, "https://s3.example");
    assert_eq!(place(&s3("own")).0, "https://own.example");
    assert_eq!(place(&az("one")).0, "https://acc.blob.core.windows.net");
}

/// A17: what others may read is refused, and what is missing is named; nothing of a credential is in a message.
#[test]
fn what_cannot_be_had_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("key");
    fs::write(&file, "a-secret").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let open = Reference::File(file.clone()).read().unwrap_err();
    assert!(matches!(open, CredentialError::Open(_)), "{open}");
    private(&file, "two\nlines");
    let error = Reference::File(file.clone()).read().unwrap_err();
    assert!(matches!(error, CredentialError::NotText(_)), "{error}");
    for wrong in ["a-secret", "env:", "file:relative", "command: ", ""] {
        let error = Reference::parse(wrong, "s3.key").unwrap_err().to_string();
        assert!(error.contains("`s3.key`") && !error.contains("a-secret"), "{error}");
    }
    let empty = Stores::of("", home.path()).unwrap();
    let missing = told(&empty, &s3("one"));
    assert!(missing.contains("AWS_ACCESS_KEY_ID") && missing.contains("mounts.toml"), "{missing}");
    let wrong = Stores::of("[s3]\nkye = \"a-secret\"", home.path()).unwrap_err();
    assert!(wrong.contains("kye") && !wrong.contains("a-secret"), "{wrong}");
    let number = Stores::of("[s3]\nkey = 12345", home.path()).unwrap_err();
    assert!(!number.contains("12345"), "{number}");
}
