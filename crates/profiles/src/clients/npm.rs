//! npm, and the clients that read its configuration (pnpm, Yarn, Bun): registries of `.npmrc` and of
//! variables, also those of single scopes. A `.npmrc` without secrets is shown as it is; of another one
//! what is safe becomes variables.

use plan::HostPath;

use super::lines::{Setting, settings};
use super::{certificates, reach, reach_all};
use crate::address::{Address, is_secret_word};
use crate::draft::{Draft, Word};
use crate::host::Host;
use crate::registries::{NODE, YARN};

pub(super) fn add(draft: &mut Draft, host: &Host) {
    let mut registries = Registries::default();
    let user =
        host.path_in("NPM_CONFIG_USERCONFIG").or_else(|| host.path_in("npm_config_userconfig"));
    let user = user.or_else(|| host.in_home(".npmrc"));
    let files = [host.in_system("etc/npmrc"), host.in_system("usr/etc/npmrc"), user.clone()];
    for file in files.into_iter().flatten() {
        let Some(text) = host.text(&file) else { continue };
        let found = settings(&text);
        found.iter().for_each(|setting| registries.read(&setting.key, &setting.value));
        if Some(&file) == user.as_ref() {
            show(draft, host, &file, &found);
        }
    }
    for (name, value) in host.environment.iter() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        let Some(key) = key_of(name) else { continue };
        registries.read(&key, value);
        let is_safe = PASSED.contains(&key.as_str()) && !is_secret(&key, value);
        if is_safe {
            draft.pass(host, "npm's settings", name);
        } else if let Some(address) = Address::read(value).filter(|_| key == "registry") {
            draft.set("npm's settings, without a password", name, &address.clean);
        }
    }
    if let Some(file) = host.in_home(".yarnrc.yml").and_then(|file| host.text(&file)) {
        yarn(draft, &file, &mut registries);
    }
    registries.allow(draft, host);
}

/// The registries that were found; the last word about the default one counts.
#[derive(Default)]
struct Registries {
    default: Option<Address>,
    of_scopes: Vec<Address>,
}

impl Registries {
    fn read(&mut self, key: &str, value: &str) {
        let Some(address) = Address::read(value) else { return };
        if key == "registry" {
            self.default = Some(address);
        } else if key.starts_with('@') && key.ends_with(":registry") {
            self.of_scopes.push(address);
        }
    }

    fn allow(self, draft: &mut Draft, host: &Host) {
        match &self.default {
            Some(address) => reach(draft, WHY, address),
            None => {
                reach_all(draft, WHY, NODE);
                if host.has_any(&["yarn"]) {
                    reach_all(draft, WHY, YARN);
                }
            }
        }
        self.of_scopes.iter().for_each(|address| reach(draft, WHY, address));
    }
}

/// Shows the user's `.npmrc`, or what is safe of it as variables.
fn show(draft: &mut Draft, host: &Host, file: &HostPath, found: &[Setting]) {
    for setting in found.iter().filter(|setting| setting.key == "cafile") {
        certificates::show_named(draft, host, &setting.value);
    }
    if !found.iter().any(|setting| is_secret(&setting.key, &setting.value)) {
        draft.path(host, "npm's configuration, which has no secret in it", Word::Read, file);
        draft.pass(host, "npm's settings", "NPM_CONFIG_USERCONFIG");
        draft.pass(host, "npm's settings", "npm_config_userconfig");
        return;
    }
    draft.left_out(format!("`{file}` has a secret in it; what is safe of it is in `env`"));
    for Setting { key, value, .. } in found {
        let why = "npm's settings, without the secrets beside them";
        let name = format!("npm_config_{}", key.replace('-', "_"));
        if key == "registry" {
            let Some(address) = Address::read(value) else { continue };
            draft.set(why, &name, &address.clean);
        } else if PASSED.contains(&key.as_str()) && !is_secret(key, value) {
            draft.set(why, &name, value);
        } else if key.starts_with('@') {
            draft.left_out(format!("`{key}` of `{file}`: only a file can say it"));
        }
    }
}

/// The setting that a variable stands for.
fn key_of(variable: &str) -> Option<String> {
    let lower = variable.to_ascii_lowercase();
    Some(lower.strip_prefix("npm_config_")?.replace('_', "-"))
}

fn is_secret(key: &str, value: &str) -> bool {
    let in_address = Address::read(value).is_some_and(|address| address.had_secret);
    // `//registry.example/:_authToken` and its like. `${NAME}` stands for a variable that is not passed on.
    let is_credential =
        key.starts_with("//") || is_secret_word(key) || key == "key" || key == "cert";
    in_address || (is_credential && !(value.starts_with("${") && value.ends_with('}')))
}

/// The registry of Yarn 2 and later, which has settings of its own.
fn yarn(draft: &mut Draft, text: &str, registries: &mut Registries) {
    let written = text.lines().find_map(|line| line.strip_prefix("npmRegistryServer:"));
    let address =
        written.map(|value| value.trim().trim_matches(['"', '\''])).and_then(Address::read);
    if let Some(address) = address {
        draft.set("Yarn's settings", "YARN_NPM_REGISTRY_SERVER", &address.clean);
        registries.of_scopes.push(address);
    }
}

const WHY: &str = "Packages of Node.js";

/// Settings that say how and from where, and nothing about who asks.
const PASSED: &[&str] = &[
    "audit",
    "cafile",
    "engine-strict",
    "fetch-retries",
    "fetch-timeout",
    "fund",
    "legacy-peer-deps",
    "maxsockets",
    "nodedir",
    "omit-lockfile-registry-resolved",
    "registry",
    "replace-registry-host",
    "save-exact",
    "strict-ssl",
    "update-notifier",
    "yes",
];
