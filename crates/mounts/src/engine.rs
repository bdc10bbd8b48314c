//! From a task and its keys to an engine, and what that engine knows of its own failures. Asks the other side once, so
//! that a store that cannot be had is known before the cage's program runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fileserver::control::{Keys, Task, TaskSource};
use fileserver::{OneOwner, Settings, Sharing};
use jail::helper_process::DIRECTORY;
use plan::{Access, ByteString, HostPath, RemoteStore};
use remote::{
    Azure, AzurePlace, Backend, Drive, DrivePlace, DriveToken, EndpointError, Http, Remote, S3,
    S3Place, Secret, host_and_port,
};
use store::{Store, StoreError};
use vfs::{Caller, Engine, Limits, ReadOnly};

use crate::dialer::Dialer;

/// An engine that can be served.
pub(crate) struct Ready {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) settings: Settings,
    /// The same, by what it is made of.
    pub(crate) kept: Kept,
}

/// What is asked when the mount is gone.
pub(crate) enum Kept {
    /// A store, which still has to be written.
    Store(Arc<Store>),
    /// A store far away, which has everything.
    Remote(Arc<Remote>),
    /// Directories of this machine: every answer was the kernel's.
    Directories,
}

impl Kept {
    /// Brings everything where it belongs, and says what failed last.
    pub(crate) fn end(&self) -> Option<String> {
        match self {
            Self::Store(store) => {
                let synced = store.sync_all();
                let fault = store.fault().map(|fault| fault.text);
                fault.or_else(|| synced.err().map(|error| error.to_string()))
            }
            Self::Remote(remote) => {
                let unwritten = remote.unwritten();
                let (first, rest) = unwritten.split_first()?;
                let more = match rest.len() {
                    0 => String::new(),
                    count => format!(", and {count} more files"),
                };
                Some(format!("what was written is not there: {first}{more}"))
            }
            Self::Directories => None,
        }
    }
}

/// Opens a store, and makes it if it is missing and may be changed.
pub(crate) fn store(task: &Task, directory: &HostPath, name: &ByteString) -> Result<Ready, String> {
    let path = Path::new(DIRECTORY).join(name.as_os_str());
    let limits = Limits { max_bytes: task.most_bytes, ..Limits::default() };
    let opened = match Store::open(&path, limits) {
        Err(StoreError::Missing(_)) if task.access == Access::ReadWrite => {
            Store::create(&path, &Caller::of(task.uid, task.gid), 0o755)
                .and_then(|()| Store::open(&path, limits))
        }
        opened => opened,
    };
    // What the process calls its directory is nothing to a person.
    let told = |error: StoreError| {
        let help = match error {
            StoreError::Missing(_) => "; one is made where the mount may be written to (`rw`)",
            _ => "",
        };
        format!("{}{help}", with_causes(&error).replace(DIRECTORY, &directory.to_string()))
    };
    let store = Arc::new(opened.map_err(told)?);
    let root = store.attributes(&Caller::root(), store.root());
    let root = root.map_err(|error| error.to_string())?;
    let one_owner = OneOwner { shown: (task.uid, task.gid), kept: (root.uid, root.gid) };
    let settings =
        Settings { sharing: Sharing::Alone, one_owner: Some(one_owner), ..Settings::default() };
    let engine = as_allowed(task, Arc::clone(&store) as Arc<dyn Engine>);
    Ok(Ready { engine, settings, kept: Kept::Store(store) })
}

/// Where the store of a task is asked; none for one that is not far away.
pub(crate) fn targets(task: &Task) -> Result<Vec<(String, u16)>, EndpointError> {
    let TaskSource::Remote { endpoint, token_endpoint, .. } = &task.from else {
        return Ok(Vec::new());
    };
    let all = [endpoint, token_endpoint].into_iter().filter(|address| !address.is_empty());
    all.map(|address| host_and_port(address)).collect()
}

/// What sends requests on connections of the dialer's. Reads the host's certificates.
pub(crate) fn http(dialer: Dialer) -> Result<Http, EndpointError> {
    Http::through(Arc::new(dialer), ATTEMPTS, TIMEOUT)
}

/// A store far away, which has answered once.
pub(crate) fn far_away(task: &Task, keys: Keys, http: Http) -> Result<Ready, String> {
    let remote = connect(task, keys, http)?;
    let engine = as_allowed(task, Arc::clone(&remote) as Arc<dyn Engine>);
    Ok(Ready { engine, settings: Settings::default(), kept: Kept::Remote(remote) })
}

fn connect(task: &Task, keys: Keys, http: Http) -> Result<Arc<Remote>, String> {
    let backend = backend(task, keys, http)?;
    let settings = remote::Settings {
        uid: task.uid,
        gid: task.gid,
        file_mode: 0o755,
        writable: task.access == Access::ReadWrite,
        ..remote::Settings::default()
    };
    let remote = Arc::new(Remote::new(backend, settings, Limits::default()));
    remote.check().map_err(|failure| failure.to_string())?;
    Ok(remote)
}

/// A store far away for a command of the user's own, which may do all that its user can. It has answered once.
///
/// # Errors
/// Why it cannot be had, without a credential.
pub fn ask_directly(task: &Task, keys: Keys) -> Result<Arc<Remote>, String> {
    targets(task).map_err(|error| with_causes(&error))?;
    let http = Http::new(ATTEMPTS, TIMEOUT).map_err(|error| with_causes(&error))?;
    connect(task, keys, http)
}

fn backend(task: &Task, keys: Keys, http: Http) -> Result<Box<dyn Backend>, String> {
    let TaskSource::Remote { store, endpoint, region, token_endpoint } = &task.from else {
        return Err("a store on this machine has no address".to_owned());
    };
    let failed = |error: EndpointError| error.to_string();
    let given = Secret::Given;
    match (store, keys) {
        (
            RemoteStore::S3 { bucket, prefix } | RemoteStore::Gcs { bucket, prefix },
            Keys::S3 { key_id, key, token },
        ) => {
            let place = S3Place {
                endpoint: endpoint.clone(),
                region: region.clone(),
                bucket: bucket.clone(),
                prefix: prefix.clone(),
                key_id: given(key_id),
                key: given(key),
                token: token.map(given),
            };
            Ok(Box::new(S3::new(place, http).map_err(failed)?))
        }
        (RemoteStore::Azure { container, prefix }, Keys::Azure { account, key }) => {
            let place = AzurePlace {
                endpoint: endpoint.clone(),
                account,
                container: container.clone(),
                prefix: prefix.clone(),
                key: given(key),
            };
            Ok(Box::new(Azure::new(place, http).map_err(failed)?))
        }
        (RemoteStore::Drive { folder }, keys) => {
            let token = match keys {
                Keys::AccessToken(token) => DriveToken::Access(given(token)),
                Keys::RefreshToken { client_id, client_secret, refresh_token } => {
                    DriveToken::Refresh {
                        client_id: given(client_id),
                        client_secret: given(client_secret),
                        refresh_token: given(refresh_token),
                    }
                }
                Keys::None | Keys::S3 { .. } | Keys::Azure { .. } => {
                    return Err(WRONG_KEYS.to_owned());
                }
            };
            let (endpoint, token_endpoint) = (endpoint.clone(), token_endpoint.clone());
            let place = DrivePlace { endpoint, token_endpoint, folder: folder.clone(), token };
            Ok(Box::new(Drive::new(place, http).map_err(failed)?))
        }
        _ => Err(WRONG_KEYS.to_owned()),
    }
}

fn as_allowed(task: &Task, engine: Arc<dyn Engine>) -> Arc<dyn Engine> {
    match task.access {
        Access::ReadOnly => Arc::new(ReadOnly::new(engine)),
        Access::ReadWrite => engine,
    }
}

pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

const WRONG_KEYS: &str = "its credential is of another kind";
const ATTEMPTS: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(15);
