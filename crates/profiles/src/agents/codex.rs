//! Codex: its row in the table of known agents, with its arguments and first settings. Never has a key.

use super::model::{Key, Service};
use super::{Asked, KnownAgent, SettingsOf};
use crate::draft::{Draft, quoted};

pub(super) const CODEX: KnownAgent = KnownAgent {
    name: "codex",
    title: "Codex",
    program: "codex",
    install: "npm install -g @openai/codex",
    places: &[".codex/bin"],
    settings: SettingsOf {
        directories: &[".codex"],
        writable: &[],
        variables: &[("CODEX_HOME", ".codex")],
        files,
    },
    keys: &[Key::served("OPENAI_API_KEY", &["api.openai.com:443"], SERVICE)],
    bases: &["OPENAI_BASE_URL"],
    log_in_hosts: &["chatgpt.com:443", "auth.openai.com:443", "api.openai.com:443"],
    log_in: "choose the device code; or run `stockade run --agent codex --publish 1455 -- login`, and open \
             the address that it shows in a browser on this machine",
    passed: &["OPENAI_ORGANIZATION", "OPENAI_PROJECT"],
    environment: &[],
    arguments,
};

/// Its own sandbox is a bubblewrap or landlock inside, and no program in a cage can make further namespaces. The
/// variables with a key and another address are no settings of its own: a provider is made of them.
fn arguments(asked: &Asked<'_>, _: &mut Draft) -> Vec<String> {
    let mut arguments =
        vec![set("sandbox_mode", "\"danger-full-access\""), set("approval_policy", "\"never\"")];
    if asked.has_key || asked.bases.is_any() {
        let url = asked.bases.url().unwrap_or("https://api.openai.com/v1");
        let key = if asked.has_key { ", env_key = \"OPENAI_API_KEY\"" } else { "" };
        let provider = format!(
            "{{ name = \"OpenAI\", base_url = {}, wire_api = \"responses\"{key} }}",
            quoted(url)
        );
        arguments.push(set("model_provider", "\"by-variables\""));
        arguments.push(set("model_providers.by-variables", &provider));
    }
    // The model service passes no tool on that the provider would have itself.
    if asked.has_key {
        arguments.push(set("web_search", "\"disabled\""));
    }
    arguments.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

fn set(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

fn files(_: &Asked<'_>) -> Vec<(&'static str, String)> {
    vec![(".codex/config.toml", CONFIGURATION.to_owned())]
}

const CONFIGURATION: &str = "\
# Made for Codex in a cage, once; yours to change.
# It cannot replace its own program.
check_for_update_on_startup = false

# It reports nothing to hosts that the cage refuses.
[analytics]
enabled = false

# Its plugins come from GitHub, which the cage refuses: allow `github.com:443` as well.
[features]
plugins = false
";

const SERVICE: Service = Service { variable: "OPENAI_BASE_URL", url: "http://127.0.0.1:3129/v1" };
