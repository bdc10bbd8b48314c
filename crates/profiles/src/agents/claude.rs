//! Claude Code: its row in the table of known agents, with its arguments and first settings. Never has a key.

use super::model::{Key, Service};
use super::{Asked, KnownAgent, SettingsOf};
use crate::draft::Draft;

pub(super) const CLAUDE: KnownAgent = KnownAgent {
    name: "claude",
    title: "Claude Code",
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    places: &[".claude/local", ".claude/local/node_modules/.bin"],
    settings: SettingsOf {
        directories: &[".claude"],
        writable: &[".claude/.claude.json"],
        variables: &[("CLAUDE_CONFIG_DIR", ".claude")],
        files,
    },
    keys: &[
        Key::served("ANTHROPIC_API_KEY", &["api.anthropic.com:443"], SERVICE),
        Key::new("ANTHROPIC_AUTH_TOKEN", &["api.anthropic.com:443"]),
        Key::new("CLAUDE_CODE_OAUTH_TOKEN", LOG_IN),
    ],
    bases: &["ANTHROPIC_BASE_URL"],
    log_in_hosts: LOG_IN,
    log_in: "it shows an address for your browser on this machine; paste the code that you get there",
    passed: &["ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS"],
    environment: &[
        (
            "It cannot replace its own program, and reports nothing but what its model needs",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "1",
        ),
        (
            "It cannot replace its own program, and reports nothing but what its model needs",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
            "1",
        ),
        (
            "It is in a cage: no question whether the directory is trusted",
            "CLAUDE_CODE_SANDBOXED",
            "1",
        ),
    ],
    arguments,
};

/// Without asking: the cage holds whatever it does. Its own sandbox is a bubblewrap, which cannot nest; it is off
/// unless somebody switches it on.
fn arguments(_: &Asked<'_>, _: &mut Draft) -> Vec<String> {
    ["--permission-mode", "bypassPermissions"].map(str::to_owned).to_vec()
}

/// With a key there is nothing to set up. Without one, its first start has the log-in.
fn files(asked: &Asked<'_>) -> Vec<(&'static str, String)> {
    let is_set_up = asked.has_key || asked.bases.is_any();
    let text = if is_set_up { "{ \"hasCompletedOnboarding\": true }\n" } else { "{}\n" };
    vec![(".claude/.claude.json", text.to_owned())]
}

/// Its first start refuses to go on without the first two; the others are for a subscription.
const LOG_IN: &[&str] = &[
    "api.anthropic.com:443",
    "platform.claude.com:443",
    "claude.ai:443",
    "mcp-proxy.anthropic.com:443",
];

const SERVICE: Service = Service { variable: "ANTHROPIC_BASE_URL", url: "http://127.0.0.1:3129" };
