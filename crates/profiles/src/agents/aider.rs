//! Aider: its row in the table of known agents, with its arguments and first settings. Never has a key.

use super::model::{Key, Service};
use super::{Asked, KnownAgent, SettingsOf};
use crate::draft::Draft;

/// It has no directory of settings but its home's, and what it remembers of a project lies in the project.
pub(super) const AIDER: KnownAgent = KnownAgent {
    name: "aider",
    title: "Aider",
    program: "aider",
    install: "pipx install aider-chat",
    places: &[".local/share/pipx/venvs/aider-chat/bin", ".local/share/uv/tools/aider-chat/bin"],
    settings: SettingsOf { directories: &[], writable: &[], variables: &[], files },
    keys: &[
        Key::served("ANTHROPIC_API_KEY", &["api.anthropic.com:443"], ANTHROPIC),
        Key::served("OPENAI_API_KEY", &["api.openai.com:443"], OPENAI),
        Key::new("GEMINI_API_KEY", &["generativelanguage.googleapis.com:443"]),
        Key::new("OPENROUTER_API_KEY", &["openrouter.ai:443"]),
        Key::new("DEEPSEEK_API_KEY", &["api.deepseek.com:443"]),
    ],
    bases: &["OPENAI_API_BASE", "ANTHROPIC_API_BASE"],
    log_in_hosts: &["openrouter.ai:443"],
    log_in: "set the key of a provider, such as ANTHROPIC_API_KEY: it has no log-in of its own",
    passed: &["AIDER_MODEL", "AIDER_WEAK_MODEL", "AIDER_EDITOR_MODEL"],
    environment: &[
        ("It cannot replace its own program", "AIDER_CHECK_UPDATE", "false"),
        ("It reports nothing to hosts that the cage refuses", "AIDER_ANALYTICS", "false"),
        (
            "The prices that it was built with; the current ones are on a host that is not allowed",
            "LITELLM_LOCAL_MODEL_COST_MAP",
            "True",
        ),
    ],
    arguments,
};

fn arguments(_: &Asked<'_>, _: &mut Draft) -> Vec<String> {
    Vec::new()
}

fn files(_: &Asked<'_>) -> Vec<(&'static str, String)> {
    Vec::new()
}

const ANTHROPIC: Service = Service { variable: "ANTHROPIC_API_BASE", url: "http://127.0.0.1:3129" };
const OPENAI: Service = Service { variable: "OPENAI_API_BASE", url: "http://127.0.0.1:3129/v1" };
