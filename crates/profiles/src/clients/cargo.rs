//! Cargo: registries and replaced sources of the user's `config.toml` and of variables, and where the
//! crates of a registry lie, which may be another host than its index. The configuration is shown as it
//! is, or not at all if a secret stands in it.

use plan::HostPath;
use toml::{Table, Value};

use super::{reach, reach_all};
use crate::address::{Address, is_secret_word};
use crate::draft::{Draft, Word};
use crate::host::Host;
use crate::registries::{CRATES, CRATES_SOURCE};

pub(super) fn add(draft: &mut Draft, host: &Host) {
    let Some(home) = host.path_in("CARGO_HOME").or_else(|| host.in_home(".cargo")) else { return };
    let mut addresses = Vec::new();
    let mut replaced = false;
    for name in ["config.toml", "config"] {
        let Ok(file) = home.join(name) else { continue };
        let Some(table) = host.text(&file).and_then(|text| text.parse::<Table>().ok()) else {
            continue;
        };
        let found = Found::in_table(&table);
        replaced |= found.replaces_default;
        addresses.extend(found.addresses);
        if found.has_secret {
            draft.left_out(format!("`{file}` has a secret in it; its registries can be reached"));
        } else {
            draft.path(host, "Cargo's configuration", Word::Read, &file);
        }
        break;
    }
    for (name, value) in host.environment.iter() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if !is_setting(name) || is_secret_word(name) {
            continue;
        }
        let address = Address::read(value);
        if address.as_ref().is_none_or(|address| !address.had_secret) {
            draft.pass(host, "Cargo's settings", name);
        }
        addresses.extend(address.filter(|_| name.ends_with("_INDEX")));
    }
    if !replaced {
        reach_all(draft, WHY, CRATES);
    }
    for address in &addresses {
        reach(draft, WHY, address);
    }
    for address in downloads(host, &home) {
        let is_of_known = |known: &Address| known.name == address.0;
        let is_default = !replaced && CRATES.contains(&address.0.as_str());
        if is_default || addresses.iter().any(is_of_known) {
            reach(draft, WHY, &address.1);
        }
    }
}

/// What a configuration says about registries.
#[derive(Default)]
struct Found {
    addresses: Vec<Address>,
    has_secret: bool,
    replaces_default: bool,
}

impl Found {
    fn in_table(table: &Table) -> Self {
        let mut found = Self::default();
        found.look_for_secrets(table);
        let sources = table.get("source").and_then(Value::as_table);
        for (name, source) in sources.into_iter().flatten() {
            let text = |key: &str| source.get(key).and_then(Value::as_str);
            found.replaces_default |= name == CRATES_SOURCE && text("replace-with").is_some();
            found.add(text("registry"));
        }
        let registries = table.get("registries").and_then(Value::as_table);
        for (_, registry) in registries.into_iter().flatten() {
            found.add(registry.get("index").and_then(Value::as_str));
        }
        found
    }

    fn add(&mut self, written: Option<&str>) {
        self.addresses.extend(written.and_then(Address::read));
    }

    fn look_for_secrets(&mut self, table: &Table) {
        for (key, value) in table {
            match value {
                Value::Table(inner) => self.look_for_secrets(inner),
                Value::String(text) => {
                    let is_named_so = is_secret_word(key) && key != "credential-provider";
                    let in_address = Address::read(text).is_some_and(|address| address.had_secret);
                    self.has_secret |= is_named_so || in_address;
                }
                _ => {}
            }
        }
    }
}

/// Where the crates of registries lie that were used before: Cargo keeps what each says of itself. By the
/// name of the index's host.
fn downloads(host: &Host, home: &HostPath) -> Vec<(String, Address)> {
    let Ok(indexes) = home.join("registry/index") else { return Vec::new() };
    let of_index = |name: String| {
        let file = indexes.join(&name).ok()?.join("config.json").ok()?;
        let said: serde_json::Value = serde_json::from_str(&host.text(&file)?).ok()?;
        let address = Address::read(said.get("dl")?.as_str()?)?;
        Some((name.rsplit_once('-')?.0.to_owned(), address))
    };
    host.names(&indexes).into_iter().filter_map(of_index).collect()
}

fn is_setting(name: &str) -> bool {
    SETTINGS.contains(&name)
        || (name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX"))
        || name.starts_with("CARGO_BUILD_")
        || name.starts_with("CARGO_PROFILE_")
}

const WHY: &str = "Crates";

const SETTINGS: &[&str] = &[
    "CARGO_HTTP_CHECK_REVOKE",
    "CARGO_HTTP_MULTIPLEXING",
    "CARGO_HTTP_TIMEOUT",
    "CARGO_INCREMENTAL",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CARGO_NET_OFFLINE",
    "CARGO_NET_RETRY",
    "CARGO_TERM_COLOR",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "RUST_LOG",
];
