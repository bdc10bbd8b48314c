//! Go: the proxies of modules that variables or the file of `go env -w` name, without users and passwords.

use super::lines::settings;
use super::{reach, reach_all};
use crate::address::Address;
use crate::draft::Draft;
use crate::host::Host;
use crate::registries::{GO, GO_SUMS};

pub(super) fn add(draft: &mut Draft, host: &Host) {
    let file = host.path_in("GOENV").or_else(|| host.in_home(".config/go/env"));
    let written =
        file.and_then(|file| host.text(&file)).map(|text| settings(&text)).unwrap_or_default();
    let in_file = |name: &str| {
        let setting = written.iter().find(|setting| setting.key == name);
        setting.map(|setting| setting.value.clone())
    };
    for name in SETTINGS {
        let value = host.variable(name).map(str::to_owned).or_else(|| in_file(name));
        if let Some(value) = value {
            draft.set("Go's settings", name, &value);
        }
    }
    let value_of = |name: &str| host.variable(name).map(str::to_owned).or_else(|| in_file(name));
    match value_of("GOPROXY") {
        None => reach_all(draft, WHY, GO),
        Some(value) => {
            let clean = list(&value, |address| reach(draft, WHY, address));
            draft.set("Go's settings", "GOPROXY", &clean);
        }
    }
    match value_of("GOSUMDB") {
        None => reach_all(draft, WHY, GO_SUMS),
        Some(value) => {
            // A name or `off`; with a key a line of its own words, of which an address may be the last.
            value.split_whitespace().filter_map(Address::read).for_each(|address| {
                reach(draft, WHY, &address);
            });
            let name = value.split(['+', ' ']).next().unwrap_or("");
            if name.contains('.') {
                draft.host(WHY, &format!("{name}:443"));
            }
            draft.set("Go's settings", "GOSUMDB", &value);
        }
    }
}

/// A list of proxies without secrets. Words such as `direct` stay.
fn list(value: &str, mut each: impl FnMut(&Address)) -> String {
    let mut clean = String::new();
    let mut rest = value;
    while !rest.is_empty() {
        let end = rest.find([',', '|']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match Address::read(word) {
            Some(address) => {
                each(&address);
                clean.push_str(&address.clean);
            }
            None => clean.push_str(word),
        }
        clean.push_str(after.get(..1).unwrap_or(""));
        rest = after.get(1..).unwrap_or("");
    }
    clean
}

const WHY: &str = "Modules of Go";

const SETTINGS: &[&str] =
    &["CGO_ENABLED", "GOFLAGS", "GOINSECURE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN"];
