//! Gemini CLI: its row in the table of known agents, with its arguments and first settings. Never has a key.

use super::model::Key;
use super::{Asked, KnownAgent, SettingsOf};
use crate::draft::Draft;

pub(super) const GEMINI: KnownAgent = KnownAgent {
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    places: &[],
    settings: SettingsOf {
        directories: &[".gemini"],
        writable: &[],
        variables: &[("GEMINI_CLI_HOME", "")],
        files,
    },
    keys: &[Key::new("GEMINI_API_KEY", &["generativelanguage.googleapis.com:443"])],
    bases: &["GOOGLE_GEMINI_BASE_URL"],
    log_in_hosts: &[
        "cloudcode-pa.googleapis.com:443",
        "oauth2.googleapis.com:443",
        "www.googleapis.com:443",
        "generativelanguage.googleapis.com:443",
    ],
    log_in: "it shows an address for your browser on this machine; paste the code that you get there",
    passed: &["GEMINI_MODEL", "GOOGLE_CLOUD_PROJECT"],
    environment: &[
        ("The cage is its sandbox: another one cannot be made inside", "GEMINI_SANDBOX", "false"),
        (
            "It is in a cage: no question whether the directory is trusted",
            "GEMINI_CLI_TRUST_WORKSPACE",
            "true",
        ),
        ("Its log-in shows an address, as there is no browser inside", "NO_BROWSER", "true"),
    ],
    arguments,
};

/// Without asking: the cage holds whatever it does.
fn arguments(_: &Asked<'_>, _: &mut Draft) -> Vec<String> {
    ["--approval-mode", "yolo"].map(str::to_owned).to_vec()
}

/// With a key there is nothing to choose: without the choice it takes another server for one that it cannot log in to.
/// It cannot replace its own program, and reports nothing to hosts that the cage refuses.
fn files(asked: &Asked<'_>) -> Vec<(&'static str, String)> {
    let log_in = match asked.has_key {
        true => "  \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },\n",
        false => "",
    };
    vec![(".gemini/settings.json", format!("{{\n{log_in}{SETTINGS}}}\n"))]
}

const SETTINGS: &str = "  \
  \"general\": { \"enableAutoUpdate\": false, \"enableAutoUpdateNotification\": false },
  \"privacy\": { \"usageStatisticsEnabled\": false }
";
