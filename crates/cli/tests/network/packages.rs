//! Real package clients, with the hosts for which they are configured on this machine: those are asked
//! of the tools when the test runs and stand nowhere in the project. Without a way to the outside,
//! which no machine has to have, even where every program is required, each test is skipped.

use std::collections::BTreeSet;
use std::process::Command;

use super::support::{Ended, Place, has, has_all, skip};

/// K211: a package with its index and its files on different hosts.
#[test]
fn pip_installs_a_package() {
    if !has("curl") || !testing::has_python_module("pip") {
        return;
    }
    let words = "import pip._internal.models.index as index
print(index.PyPI.simple_url, 'https://' + index.PyPI.file_storage_domain)";
    let configured =
        printed("/usr/bin/python3", &["-m", "pip", "config", "get", "global.index-url"]);
    let Some(addresses) = configured.or_else(|| printed("/usr/bin/python3", &["-c", words])) else {
        return skip("pip does not tell its index");
    };
    let line = "/usr/bin/python3 -m pip install -q --no-deps --disable-pip-version-check \
         --break-system-packages --target out six && test -e out/six.py";
    install(&addresses, line, &[]);
}

/// K211
#[test]
fn npm_installs_a_package() {
    if !has_all(&["curl", "npm", "node"]) {
        return;
    }
    let Some(address) = printed("npm", &["config", "get", "registry"]) else {
        return skip("npm does not tell its registry");
    };
    // Node.js has a list of authorities of its own; the machine's may be a longer one.
    let line = "export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt; npm install --silent --fetch-retries 0 --no-audit --no-fund --prefix out ms && \
         test -e out/node_modules/ms/package.json";
    install(&address, line, &[]);
}

/// K211
#[test]
fn cargo_fetches_a_package() {
    if !has("curl") {
        return;
    }
    let Some(toolchain) = printed("rustc", &["--print", "sysroot"]) else {
        return skip("there is no toolchain that this user can use");
    };
    let Some(index) = cargo_index() else {
        return skip("cargo has used no registry on this machine yet");
    };
    let Some(settings) = printed("curl", &["-sSf", "-m", "10", &format!("{index}config.json")])
    else {
        return skip("there is no way to the registry from here");
    };
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    let addresses = format!("{index} {}", settings["dl"].as_str().unwrap());
    let line = format!(
        "mkdir -p src && echo 'fn main() {{}}' > src/main.rs && printf '%s\\n' '[package]' \
         'name = \"a\"' 'edition = \"2024\"' '[dependencies]' 'itoa = \"1\"' > Cargo.toml && \
         RUSTC={toolchain}/bin/rustc CARGO_HOME=/tmp/cargo {toolchain}/bin/cargo fetch -q && ls /tmp/cargo/registry/cache/*/itoa*"
    );
    install(&addresses, &line, &[&toolchain]);
}

/// Runs a line in a cage with the hosts of these addresses, and once without.
fn install(addresses: &str, line: &str, readable: &[&str]) {
    let hosts: BTreeSet<&str> = addresses.split_whitespace().filter_map(host_of).collect();
    for address in addresses.split_whitespace() {
        if printed("curl", &["-sS", "-o", "/dev/null", "-m", "10", address]).is_none() {
            return skip("there is no way to the registry from here");
        }
    }
    let place = Place::new();
    let run = |hosts: &BTreeSet<&str>| {
        let mut command = place.stockade();
        command.args(["run", "--rw", ".", "--net", "unused.invalid"]);
        command.args(hosts.iter().flat_map(|host| ["--net", host]));
        command.args(readable.iter().flat_map(|path| ["--ro", path]));
        Ended::of(command.args(["--", "sh", "-c", line]).output().unwrap())
    };
    run(&hosts).expect_code(0);
    for entry in std::fs::read_dir(&place.project).unwrap() {
        let path = entry.unwrap().path();
        let _removed = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
    }
    assert_ne!(run(&BTreeSet::new()).code, 0);
}

fn host_of(address: &str) -> Option<&str> {
    let rest = address.split_once("://")?.1;
    let authority = rest.split('/').next()?;
    Some(authority.rsplit('@').next().unwrap_or(authority))
}

/// The index that cargo has used here: its directory has the host's name and a hash.
fn cargo_index() -> Option<String> {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home =
        home.or_else(|| Some(std::path::Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let mut entries = std::fs::read_dir(home?.join("registry/index")).ok()?.flatten();
    let name = entries.find_map(|entry| entry.file_name().into_string().ok())?;
    Some(format!("https://{}/", name.rsplit_once('-')?.0))
}

/// What a program printed, if it worked.
fn printed(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}
