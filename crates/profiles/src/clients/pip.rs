//! pip and uv: indexes of their configurations and of variables. pip can be told everything by variables,
//! so its configuration becomes variables, without users and passwords.

use super::lines::settings;
use super::{certificates, reach, reach_all};
use crate::address::{Address, is_secret_word};
use crate::draft::{Draft, Word};
use crate::host::{Host, path};
use crate::registries::PYTHON;

pub(super) fn add(draft: &mut Draft, host: &Host) {
    let mut found = Found::default();
    pip(draft, host, &mut found);
    uv(draft, host, &mut found);
    if !found.default {
        reach_all(draft, WHY, PYTHON);
    }
    found.addresses.iter().for_each(|address| reach(draft, WHY, address));
}

#[derive(Default)]
struct Found {
    /// Whether the index that is asked without more words is another one than the public one.
    default: bool,
    addresses: Vec<Address>,
}

impl Found {
    /// Reads a list of addresses and gives it back without secrets.
    fn cleaned(&mut self, draft: &mut Draft, host: &Host, value: &str) -> String {
        let mut clean = Vec::new();
        for word in value.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
            match Address::read(word) {
                Some(address) => {
                    clean.push(address.clean.clone());
                    self.addresses.push(address);
                }
                None => {
                    let place = path(word.strip_prefix("file://").unwrap_or(word));
                    if let Some(place) =
                        place.filter(|place| host.exists(place) && !host.is_broad(place))
                    {
                        draft.path(host, "Packages that lie here", Word::Read, &place);
                    }
                    clean.push(word.to_owned());
                }
            }
        }
        clean.join(" ")
    }
}

fn pip(draft: &mut Draft, host: &Host, found: &mut Found) {
    // Variables win over the user's file, and that over the system's: what is said first counts.
    for key in KEYS {
        let name = format!("PIP_{}", key.to_ascii_uppercase().replace('-', "_"));
        if let Some(value) = host.variable(&name) {
            say(draft, host, found, key, &name, value);
        }
    }
    let given = host.path_in("PIP_CONFIG_FILE");
    let of_user = [host.in_home(".config/pip/pip.conf"), host.in_home(".pip/pip.conf")];
    let of_system = [host.in_system("etc/xdg/pip/pip.conf"), host.in_system("etc/pip.conf")];
    let files = given.into_iter().chain(of_user.into_iter().chain(of_system).flatten());
    for text in files.filter_map(|file| host.text(&file)) {
        let read = settings(&text);
        // What a command's own section says wins over `[global]`.
        for section in ["install", "global"] {
            for setting in read.iter().filter(|setting| setting.section == section) {
                let key = setting.key.to_ascii_lowercase().replace('_', "-");
                if let Some(key) = KEYS.iter().find(|known| **known == key) {
                    let name = format!("PIP_{}", key.to_ascii_uppercase().replace('-', "_"));
                    say(draft, host, found, key, &name, &setting.value);
                }
            }
        }
    }
}

fn say(draft: &mut Draft, host: &Host, found: &mut Found, key: &str, name: &str, value: &str) {
    let value = match key {
        "index-url" | "extra-index-url" | "find-links" => {
            found.default |= key == "index-url";
            found.cleaned(draft, host, value)
        }
        "cert" => {
            certificates::show_named(draft, host, value);
            value.to_owned()
        }
        _ => value.to_owned(),
    };
    draft.set("pip's settings", name, &value);
}

fn uv(draft: &mut Draft, host: &Host, found: &mut Found) {
    for name in
        ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"]
    {
        let Some(value) = host.variable(name) else { continue };
        found.default |= matches!(name, "UV_DEFAULT_INDEX" | "UV_INDEX_URL");
        // An index may be written with its name before it.
        let addresses: Vec<&str> = value
            .split_whitespace()
            .map(|word| word.split_once('=').map_or(word, |(_, url)| url))
            .collect();
        let clean = found.cleaned(draft, host, &addresses.join(" "));
        draft.set("uv's settings", name, &clean);
    }
    ["UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_PYTHON", "UV_PYTHON_PREFERENCE", "UV_LINK_MODE"]
        .iter()
        .for_each(|name| draft.pass(host, "uv's settings", name));
    let files = [host.in_home(".config/uv/uv.toml"), host.in_system("etc/uv/uv.toml")];
    for file in files.into_iter().flatten() {
        let Some(text) = host.text(&file) else { continue };
        let quoted = text.split(['"', '\'']).filter_map(Address::read);
        let addresses: Vec<Address> = quoted.collect();
        let has_secret = addresses.iter().any(|address| address.had_secret)
            || text.lines().any(|line| is_secret_word(line.split('=').next().unwrap_or("")));
        if has_secret {
            draft.left_out(format!("`{file}` has a secret in it; its indexes can be reached"));
        } else {
            draft.path(host, "uv's configuration", Word::Read, &file);
        }
        found.addresses.extend(addresses);
    }
}

const WHY: &str = "Packages of Python";

/// Settings of pip that say how and from where, and nothing about who asks.
const KEYS: &[&str] = &[
    "break-system-packages",
    "cert",
    "default-timeout",
    "disable-pip-version-check",
    "extra-index-url",
    "find-links",
    "index-url",
    "no-index",
    "only-binary",
    "prefer-binary",
    "require-virtualenv",
    "retries",
    "timeout",
    "trusted-host",
];
