//! `stockade grants`: answers that were stored for later calls of executors, and taking them back.

use std::time::{SystemTime, UNIX_EPOCH};

use audit::Timestamp;
use cage::state::{Locations, StateError};
use invoke::grants::{Store, StoreError, StoredGrant};
use policy::shown::shown;

use crate::arguments::executors::{GrantsArguments, GrantsCommand};
use crate::exit::Exit;
use crate::failure::{Failure, with_causes};
use crate::message::Messages;
use crate::output::{print, print_json};

/// The command.
pub(crate) fn grants(arguments: &GrantsArguments, messages: Messages) -> Result<Exit, Failure> {
    let state = Locations::of_this_process().state.ok_or(StateError::NoPlace)?;
    let store = Store::open(&state);
    match &arguments.command {
        GrantsCommand::List { json } => {
            let grants = store.list().map_err(failed)?;
            if *json {
                let value = serde_json::to_value(&grants);
                print_json(&value.map_err(|error| Failure::new(Exit::No, error.to_string()))?)?;
            } else {
                print(&grants.iter().map(line).collect::<String>())?;
            }
            Ok(Exit::Success)
        }
        GrantsCommand::Revoke { id, all } => {
            let revoked = match all {
                true => store.revoke_all(),
                false => store.revoke(|grant| Some(&grant.id) == id.as_ref()),
            };
            let revoked = revoked.map_err(failed)?;
            for grant in &revoked {
                messages.note(&format!("revoked: {}", line(grant).trim_end()));
            }
            match (revoked.is_empty(), id) {
                (true, Some(id)) => {
                    Err(Failure::new(Exit::No, format!("there is no grant `{}`", shown(id)))
                        .help("`stockade grants list` shows them"))
                }
                _ => Ok(Exit::Success),
            }
        }
    }
}

fn line(grant: &StoredGrant) -> String {
    let StoredGrant { id, executor, capability, target, granted_at, expires_at, .. } = grant;
    let target = target.as_ref().map(|target| format!(" ({})", shown(target))).unwrap_or_default();
    let end = match expires_at {
        None => "until revoked".to_owned(),
        Some(end) if grant.has_expired(now()) => format!("expired {}", moment(*end)),
        Some(end) => format!("until {}", moment(*end)),
    };
    let (executor, capability) = (shown(executor), shown(capability));
    format!("{id}  {executor}  {capability}{target}  since {}  {end}\n", moment(*granted_at))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn moment(seconds: u64) -> String {
    let since = std::time::Duration::from_secs(seconds);
    let moment = UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
    Timestamp::from(moment).to_string()
}

fn failed(error: StoreError) -> Failure {
    let exit = match error {
        StoreError::Malformed { .. } => Exit::BadPolicy,
        StoreError::State(_) | StoreError::Kernel { .. } | StoreError::Record(_) => {
            Exit::CannotBuild
        }
    };
    Failure::new(exit, with_causes(&error))
}
