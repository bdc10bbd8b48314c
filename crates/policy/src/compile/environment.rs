//! The program's environment: new, with a fixed list of variables and those of the policy.
//! Nothing of the caller's gets through that the policy does not name.

use std::collections::BTreeMap;

use plan::{ByteString, EnvironmentVariable, GuestPath, Identity};

use crate::{Commands, HostFacts, Policy};

/// All variables, sorted by name. A policy can replace the defaults, but not what says who and
/// where the program is ([`crate::text::FIXED_VARIABLES`]).
pub(super) fn environment(
    policy: &Policy,
    facts: &HostFacts,
    identity: &Identity,
    working_directory: &GuestPath,
) -> Vec<EnvironmentVariable> {
    let mut variables: BTreeMap<ByteString, ByteString> = BTreeMap::new();
    let mut set = |name: &str, value: ByteString| variables.insert(name.into(), value);
    set("LANG", "C.UTF-8".into());
    set("PATH", PATH.into());
    set("STOCKADE_CAGE", policy.name.as_str().into());
    set("TMPDIR", "/tmp".into());
    if policy.commands != Commands::None {
        set("SHELL", "/bin/sh".into());
    }
    for (name, value) in &facts.environment {
        if policy.env.get(name).is_some_and(|rule| rule.value.is_none()) {
            set(name, value.clone());
        }
    }
    for (name, rule) in &policy.env {
        if let Some(value) = &rule.value {
            set(name, value.clone());
        }
    }
    set("HOME", identity.home.as_bytes().to_vec().into());
    set("LOGNAME", identity.user.as_str().into());
    set("PWD", working_directory.as_bytes().to_vec().into());
    set("USER", identity.user.as_str().into());
    variables.into_iter().map(|(name, value)| EnvironmentVariable { name, value }).collect()
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
