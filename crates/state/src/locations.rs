//! Where a user's configuration and state lie, by the XDG base directory rules. Never makes a
//! directory and never asks whether one exists.

use std::ffi::{OsStr, OsString};
use std::fmt;

use plan::{ByteString, HostPath};

#[cfg(test)]
mod tests;

/// The places that belong to one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations {
    /// The configuration file; none for a user without a home.
    pub configuration: Option<HostPath>,
    /// The state directory, see [`crate::Directory`]; none for a user without a home.
    pub state: Option<HostPath>,
    /// The directory of the daemon's socket; none for a user without one, whose socket is in the
    /// state directory.
    pub runtime: Option<HostPath>,
    /// A file with the daemon's token, where the user has it outside of these. No variable names it.
    pub token: Option<HostPath>,
    /// Variables that were set and not used.
    pub warnings: Vec<LocationWarning>,
}

/// A variable that was set to something that cannot be a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationWarning {
    /// Its name.
    pub variable: &'static str,
    /// Its value.
    pub value: ByteString,
}

impl fmt::Display for LocationWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, value } = self;
        write!(formatter, "`{variable}` is ignored: `{value}` is not an absolute, normal path")
    }
}

impl Locations {
    /// The places that this process's environment names.
    pub fn of_this_process() -> Self {
        let root = rustix::process::geteuid().is_root();
        Self::from_environment(std::env::var_os, if root { Account::Root } else { Account::User })
    }

    /// The places that an environment names.
    pub fn from_environment(
        variable: impl Fn(&'static str) -> Option<OsString>,
        account: Account,
    ) -> Self {
        let mut warnings = Vec::new();
        let mut directory = |name: &'static str| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            let path = absolute_normal(&value);
            if path.is_none() {
                warnings.push(LocationWarning { variable: name, value: value.into() });
            }
            path
        };
        let home = directory("HOME");
        let below_home = |relative: &str| home.as_ref()?.join(relative).ok();
        let configuration = directory("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        // Root's state is the system's: whoever became root in a user's session would otherwise leave
        // files of root in that user's home.
        let state = match (directory("XDG_STATE_HOME"), account) {
            (Some(state), _) => state.join("stockade").ok(),
            (None, Account::Root) => HostPath::new("/var/lib/stockade").ok(),
            (None, Account::User) => below_home(".local/state/stockade"),
        };
        let configuration = match (configuration, account) {
            (Some(directory), _) => directory.join("stockade/config.toml").ok(),
            (None, Account::Root) => HostPath::new("/etc/stockade/config.toml").ok(),
            (None, Account::User) => None,
        };
        let runtime = match account {
            Account::Root => HostPath::new("/run/stockade").ok(),
            Account::User => {
                directory("XDG_RUNTIME_DIR").and_then(|path| path.join("stockade").ok())
            }
        };
        Self { configuration, state, runtime, token: None, warnings }
    }

    /// What holds these, which no cage may be granted.
    pub fn own_state(&self) -> Vec<HostPath> {
        let configuration = self.configuration.as_ref().and_then(HostPath::parent);
        let others = [&self.state, &self.runtime, &self.token].into_iter().flatten().cloned();
        configuration.into_iter().chain(others).collect()
    }
}

/// Whose places are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The system's, where no variable names another.
    Root,
    /// Those below the user's home.
    User,
}

/// Trailing slashes are common in these variables and harmless.
fn absolute_normal(value: &OsStr) -> Option<HostPath> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = value.as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    HostPath::new(bytes.get(..end)?.to_vec()).ok()
}
