//! OpenCode: its row in the table of known agents, with its arguments and first settings. Never has a key.

use super::model::{Key, Service};
use super::{Asked, KnownAgent, SettingsOf};
use crate::draft::Draft;

pub(super) const OPENCODE: KnownAgent = KnownAgent {
    name: "opencode",
    title: "OpenCode",
    program: "opencode",
    install: "npm install -g opencode-ai",
    places: &[".opencode/bin"],
    settings: SettingsOf {
        directories: &["config", "data", "state"],
        writable: &["config/opencode.jsonc"],
        variables: &[
            ("OPENCODE_CONFIG_DIR", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
        ],
        files,
    },
    keys: &[
        Key::served("ANTHROPIC_API_KEY", &["api.anthropic.com:443"], ANTHROPIC),
        Key::served("OPENAI_API_KEY", &["api.openai.com:443"], OPENAI),
        Key::new("GEMINI_API_KEY", &["generativelanguage.googleapis.com:443"]),
        Key::new("GOOGLE_GENERATIVE_AI_API_KEY", &["generativelanguage.googleapis.com:443"]),
        Key::new("OPENROUTER_API_KEY", &["openrouter.ai:443"]),
        Key::new("OPENCODE_API_KEY", &["opencode.ai:443"]),
    ],
    bases: &["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"],
    log_in_hosts: &[
        "opencode.ai:443",
        "models.opencode.ai:443",
        "api.anthropic.com:443",
        "api.openai.com:443",
        "auth.openai.com:443",
        "chatgpt.com:443",
        "api.githubcopilot.com:443",
    ],
    log_in: "run `stockade run --agent opencode -- auth login`",
    passed: &[],
    environment: &[
        (
            "Without asking: the cage holds whatever it does",
            "OPENCODE_PERMISSION",
            "{\"*\":\"allow\"}",
        ),
        ("It cannot replace its own program", "OPENCODE_DISABLE_AUTOUPDATE", "1"),
        (
            "The list of models that it was built with; the current one is on a host that is not allowed",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "1",
        ),
    ],
    arguments,
};

fn arguments(_: &Asked<'_>, _: &mut Draft) -> Vec<String> {
    Vec::new()
}

fn files(_: &Asked<'_>) -> Vec<(&'static str, String)> {
    vec![("config/opencode.jsonc", CONFIGURATION.to_owned())]
}

const ANTHROPIC: Service =
    Service { variable: "ANTHROPIC_BASE_URL", url: "http://127.0.0.1:3129/v1" };
const OPENAI: Service = Service { variable: "OPENAI_BASE_URL", url: "http://127.0.0.1:3129/v1" };

const CONFIGURATION: &str = "\
{
  \"$schema\": \"https://opencode.ai/config.json\",
  // A snapshot is a repository of Git of its own, whose configuration is taken away after a run: a repository that
  // appears in a directory that a cage may write to could start programs of the host.
  \"snapshot\": false
}
";
