//! The program's environment: new, with a fixed list of variables and those of the policy.
//! Nothing of the caller's gets through that the policy does not name.

use std::collections::BTreeMap;

use plan::network::{HTTP_PROXY_PORT, SOCKS_PORT};
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
    if !policy.net.asks_for_nothing() {
        for (name, value) in proxies() {
            set(name, value.as_str().into());
        }
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

/// Where programs that know of proxies find the gatekeeper. Others get there without knowing.
fn proxies() -> impl Iterator<Item = (&'static str, String)> {
    let http = format!("http://127.0.0.1:{HTTP_PROXY_PORT}");
    let socks = format!("socks5h://127.0.0.1:{SOCKS_PORT}");
    let values = [http.clone(), http, socks, "localhost,127.0.0.1,::1".to_owned()];
    let pairs = PROXY_VARIABLES.into_iter().zip(values);
    pairs.flat_map(|(names, value)| names.map(|name| (name, value.clone())))
}

/// Variables that a cage with network has, each in both of its spellings.
pub const PROXY_VARIABLES: [[&str; 2]; 4] = [
    ["HTTP_PROXY", "http_proxy"],
    ["HTTPS_PROXY", "https_proxy"],
    ["ALL_PROXY", "all_proxy"],
    ["NO_PROXY", "no_proxy"],
];

const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
