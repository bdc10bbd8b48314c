//! Well-known secrets of a home directory: one table. They stay hidden inside any grant unless a
//! rule names them exactly (or something inside them). Names paths only; never looks whether they
//! exist.

use plan::HostPath;

use crate::access::AccessMap;
use crate::{FsAccess, FsRule};

/// One well-known secret.
#[derive(Debug, PartialEq, Eq)]
pub struct Secret {
    /// What it is, for a person.
    pub name: &'static str,
    /// Where it is, relative to a home directory.
    pub path: &'static str,
}

/// A path that stays hidden inside any wider grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenPath {
    /// Where it is.
    pub path: HostPath,
    /// What it is, for a person.
    pub name: &'static str,
}

/// Everything that stays hidden inside a wider grant: the table for a home, and the supervisor's
/// own state and configuration directories.
pub fn hidden_paths(home: Option<&HostPath>, own_state: &[HostPath]) -> Vec<HiddenPath> {
    let in_home = home.into_iter().flat_map(|home| {
        TABLE.iter().filter_map(|secret| {
            Some(HiddenPath { path: home.join(secret.path).ok()?, name: secret.name })
        })
    });
    let own = own_state.iter().map(|path| HiddenPath { path: path.clone(), name: OWN_STATE });
    in_home.chain(own).collect()
}

/// The hidden path that covers `path`, if there is one and no rule names it or something between
/// it and `path`.
pub fn covering<'hidden>(
    hidden: &'hidden [HiddenPath],
    rules: &[FsRule],
    path: &HostPath,
) -> Option<&'hidden HiddenPath> {
    let deciding = AccessMap::new(rules).at(path);
    let named = |secret: &HiddenPath| {
        deciding
            .is_some_and(|rule| rule.access > FsAccess::Hide && rule.path.is_within(&secret.path))
    };
    hidden.iter().find(|secret| path.is_within(&secret.path) && !named(secret))
}

/// The secrets that a path is or lies in, in these homes and in those that lie where homes do.
pub fn holding(homes: &[&HostPath], path: &HostPath) -> Vec<HiddenPath> {
    let conventional = conventional_home_of(path);
    let mut known: Vec<&HostPath> = Vec::new();
    for home in homes.iter().copied().chain(&conventional) {
        if path.is_within(home) && !known.contains(&home) {
            known.push(home);
        }
    }
    known.into_iter().flat_map(|home| holding_in(home, path)).collect()
}

fn holding_in<'a>(home: &'a HostPath, path: &'a HostPath) -> impl Iterator<Item = HiddenPath> + 'a {
    let below = path.as_bytes().strip_prefix(home.as_bytes()).unwrap_or_default();
    let below = below.strip_prefix(b"/").unwrap_or(below);
    let is_or_holds = move |secret: &&Secret| {
        let rest = below.strip_prefix(secret.path.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    TABLE.iter().filter(is_or_holds).filter_map(move |secret| {
        Some(HiddenPath { path: home.join(secret.path).ok()?, name: secret.name })
    })
}

/// The directory where homes are that a path is in: one below `/home`, or root's.
pub fn conventional_home_of(path: &HostPath) -> Option<HostPath> {
    let below = path.as_bytes().strip_prefix(b"/")?;
    let mut names = below.split(|byte| *byte == b'/');
    match names.next()? {
        b"root" => HostPath::new("/root").ok(),
        b"home" => HostPath::new("/home").ok()?.join(names.next()?).ok(),
        _ => None,
    }
}

/// The table, for whoever shows it.
pub fn table() -> &'static [Secret] {
    TABLE
}

const fn secret(path: &'static str, name: &'static str) -> Secret {
    Secret { name, path }
}

const OWN_STATE: &str = "stockade's own state";

const TABLE: &[Secret] = &[
    // Our own, also where a variable has led this start elsewhere.
    secret(".local/state/stockade", "stockade's own state"),
    secret(".config/stockade", "stockade's own state"),
    // Keys and agents.
    secret(".ssh", "SSH keys"),
    secret(".gnupg", "GnuPG keys"),
    secret(".age", "age keys"),
    secret(".config/age", "age keys"),
    secret(".config/sops", "sops keys"),
    secret(".pki", "certificate database"),
    secret(".password-store", "password store"),
    secret(".local/share/password-store", "password store"),
    secret(".local/share/gopass", "gopass store"),
    secret(".local/share/keyrings", "GNOME keyrings"),
    secret(".gnome2/keyrings", "GNOME keyrings"),
    secret(".local/share/python_keyring", "Python keyring"),
    secret(".config/python_keyring", "Python keyring"),
    secret(".local/share/kwalletd", "KDE wallet"),
    secret(".kde/share/apps/kwallet", "KDE wallet"),
    secret(".config/keepassxc", "KeePassXC settings"),
    secret(".cache/keepassxc", "KeePassXC cache"),
    secret(".keepass", "KeePass"),
    secret(".config/KeePass", "KeePass"),
    secret(".config/1Password", "1Password"),
    secret(".1password", "1Password agent"),
    secret(".config/op", "1Password command line"),
    secret(".op", "1Password command line"),
    secret(".config/Bitwarden", "Bitwarden"),
    secret(".config/Bitwarden CLI", "Bitwarden command line"),
    secret(".config/rbw", "rbw"),
    secret(".local/share/rbw", "rbw"),
    secret(".lastpass", "LastPass command line"),
    secret(".config/lastpass", "LastPass command line"),
    secret(".local/share/lpass", "LastPass command line"),
    secret(".config/Authy Desktop", "Authy"),
    // Clouds and infrastructure.
    secret(".aws", "AWS credentials"),
    secret(".azure", "Azure credentials"),
    secret(".config/gcloud", "Google Cloud credentials"),
    secret(".boto", "Google Cloud storage credentials"),
    secret(".gsutil", "Google Cloud storage credentials"),
    secret(".oci", "Oracle Cloud credentials"),
    secret(".aliyun", "Alibaba Cloud credentials"),
    secret(".bluemix", "IBM Cloud credentials"),
    secret(".config/doctl", "DigitalOcean credentials"),
    secret(".config/hcloud", "Hetzner Cloud credentials"),
    secret(".config/linode-cli", "Linode credentials"),
    secret(".config/scw", "Scaleway credentials"),
    secret(".fly", "Fly.io credentials"),
    secret(".config/configstore", "tokens of command line tools"),
    secret(".config/heroku", "Heroku credentials"),
    secret(".config/stripe", "Stripe credentials"),
    secret(".supabase", "Supabase credentials"),
    secret(".railway", "Railway credentials"),
    secret(".config/turso", "Turso credentials"),
    secret(".config/planetscale", "PlanetScale credentials"),
    secret(".sentryclirc", "Sentry token"),
    secret(".config/openstack", "OpenStack credentials"),
    secret(".civo.json", "Civo credentials"),
    secret(".config/netlify", "Netlify credentials"),
    secret(".netlify", "Netlify credentials"),
    secret(".vercel", "Vercel credentials"),
    secret(".config/com.vercel.cli", "Vercel credentials"),
    secret(".local/share/com.vercel.cli", "Vercel credentials"),
    secret(".config/.wrangler", "Cloudflare credentials"),
    secret(".wrangler", "Cloudflare credentials"),
    secret(".cloudflared", "Cloudflare tunnel credentials"),
    secret(".kube", "Kubernetes credentials"),
    secret(".docker", "Docker credentials and sockets"),
    secret(".colima", "container engine sockets"),
    secret(".lima", "container engine sockets"),
    secret(".orbstack", "container engine sockets"),
    secret(".rd", "container engine sockets"),
    secret(".config/containers/auth.json", "container registry credentials"),
    secret(".local/share/containers", "containers of the user"),
    secret(".terraform.d", "Terraform credentials"),
    secret(".terraformrc", "Terraform credentials"),
    secret(".tofurc", "OpenTofu credentials"),
    secret(".pulumi", "Pulumi credentials"),
    secret(".vault-token", "Vault token"),
    secret(".config/vault", "Vault token"),
    secret(".chef", "Chef keys"),
    secret(".ansible_vault_pass", "Ansible vault password"),
    secret(".vagrant.d", "Vagrant keys"),
    secret(".config/rclone", "rclone credentials"),
    secret(".rclone.conf", "rclone credentials"),
    secret(".s3cfg", "s3cmd credentials"),
    secret(".passwd-s3fs", "s3fs credentials"),
    secret(".config/borg", "Borg keys"),
    secret(".config/syncthing", "Syncthing keys"),
    secret(".local/state/syncthing", "Syncthing keys"),
    secret(".mc", "MinIO credentials"),
    secret(".databrickscfg", "Databricks credentials"),
    secret(".snowsql", "Snowflake credentials"),
    secret(".snowflake", "Snowflake credentials"),
    // Version control and package registries.
    secret(".netrc", "netrc passwords"),
    secret("_netrc", "netrc passwords"),
    secret(".authinfo", "netrc passwords"),
    secret(".authinfo.gpg", "netrc passwords"),
    secret(".git-credentials", "Git credentials"),
    secret(".config/git/credentials", "Git credentials"),
    secret(".git-credential-cache", "Git credential cache"),
    secret(".cache/git/credential", "Git credential cache"),
    secret(".config/gh", "GitHub command line credentials"),
    secret(".config/hub", "hub credentials"),
    secret(".config/glab-cli", "GitLab command line credentials"),
    secret(".config/tea", "Gitea command line credentials"),
    secret(".config/github-copilot", "Copilot credentials"),
    secret(".npmrc", "npm token"),
    secret(".config/npm/npmrc", "npm token"),
    secret(".yarnrc.yml", "Yarn token"),
    secret(".config/pnpm/rc", "pnpm token"),
    secret(".config/pnpm/auth.ini", "pnpm token"),
    secret(".bunfig.toml", "Bun token"),
    secret(".pypirc", "Python index token"),
    secret(".config/pypoetry/auth.toml", "Poetry credentials"),
    secret(".config/pip/pip.conf", "pip index credentials"),
    secret(".pip/pip.conf", "pip index credentials"),
    secret(".config/pip/netrc", "pip index credentials"),
    secret(".local/share/uv/credentials", "uv credentials"),
    secret(".condarc", "conda credentials"),
    secret(".continuum", "Anaconda token"),
    secret(".cargo/credentials", "Cargo token"),
    secret(".cargo/credentials.toml", "Cargo token"),
    secret(".gem/credentials", "RubyGems token"),
    secret(".local/share/gem/credentials", "RubyGems token"),
    secret(".bundle/config", "Bundler credentials"),
    secret(".composer/auth.json", "Composer credentials"),
    secret(".config/composer/auth.json", "Composer credentials"),
    secret(".m2/settings.xml", "Maven credentials"),
    secret(".m2/settings-security.xml", "Maven credentials"),
    secret(".m2/settings-security4.xml", "Maven credentials"),
    secret(".gradle/gradle.properties", "Gradle credentials"),
    secret(".ivy2/.credentials", "Ivy credentials"),
    secret(".sbt/.credentials", "sbt credentials"),
    secret(".nuget/NuGet/NuGet.Config", "NuGet credentials"),
    secret(".config/NuGet", "NuGet credentials"),
    secret(".hex", "Hex credentials"),
    secret(".config/cachix", "Cachix token"),
    secret(".config/nix/nix.conf", "Nix access tokens"),
    secret(".config/hub.docker", "container registry credentials"),
    secret(".huggingface", "Hugging Face token"),
    secret(".cache/huggingface/token", "Hugging Face token"),
    secret(".cache/huggingface/stored_tokens", "Hugging Face tokens"),
    secret(".kaggle", "Kaggle token"),
    secret(".config/kaggle", "Kaggle token"),
    secret(".config/wandb", "Weights & Biases token"),
    // Agents and model providers.
    secret(".claude", "Claude credentials and histories"),
    secret(".claude.json", "Claude credentials"),
    secret(".config/claude", "Claude credentials"),
    secret(".codex", "Codex credentials and histories"),
    secret(".gemini", "Gemini credentials and histories"),
    secret(".cursor", "Cursor credentials"),
    secret(".config/Cursor", "Cursor profile"),
    secret(".config/Code", "VS Code profile"),
    secret(".config/VSCodium", "VSCodium profile"),
    secret(".config/Windsurf", "Windsurf profile"),
    secret(".codeium", "Codeium credentials"),
    secret(".qwen", "Qwen credentials"),
    secret(".factory", "Factory credentials"),
    secret(".local/share/amp", "Amp credentials"),
    secret(".local/share/crush", "Crush credentials"),
    secret(".config/openai", "OpenAI credentials"),
    secret(".config/anthropic", "Anthropic credentials"),
    secret(".config/io.datasette.llm", "model keys of llm"),
    secret(".aider.conf.yml", "Aider keys"),
    secret(".continue", "Continue keys"),
    secret(".local/share/opencode", "OpenCode credentials"),
    secret(".local/share/stockade", "credentials of caged agents"),
    secret(".config/goose", "Goose credentials"),
    secret(".local/share/goose", "Goose histories"),
    // Data bases.
    secret(".pgpass", "PostgreSQL passwords"),
    secret(".pg_service.conf", "PostgreSQL services"),
    secret(".my.cnf", "MySQL password"),
    secret(".mylogin.cnf", "MySQL password"),
    secret(".mongorc.js", "MongoDB start file"),
    secret(".mongodb", "MongoDB credentials"),
    secret(".config/redis", "Redis credentials"),
    secret(".local/share/DBeaverData", "DBeaver credentials"),
    // Histories.
    secret(".bash_history", "shell history"),
    secret(".bash_sessions", "shell history"),
    secret(".zsh_history", "shell history"),
    secret(".zsh_sessions", "shell history"),
    secret(".zhistory", "shell history"),
    secret(".histfile", "shell history"),
    secret(".history", "shell history"),
    secret(".sh_history", "shell history"),
    secret(".ash_history", "shell history"),
    secret(".dash_history", "shell history"),
    secret(".ksh_history", "shell history"),
    secret(".mksh_history", "shell history"),
    secret(".tcsh_history", "shell history"),
    secret(".csh_history", "shell history"),
    secret(".local/state/bash", "shell history"),
    secret(".local/state/bash_history", "shell history"),
    secret(".local/share/bash/history", "shell history"),
    secret(".local/share/bash_history", "shell history"),
    secret(".cache/bash_history", "shell history"),
    secret(".config/zsh/.zsh_history", "shell history"),
    secret(".config/zsh/.zhistory", "shell history"),
    secret(".config/zsh/.zsh_sessions", "shell history"),
    secret(".config/zsh/history", "shell history"),
    secret(".local/state/zsh", "shell history"),
    secret(".local/state/zsh_history", "shell history"),
    secret(".local/share/zsh/history", "shell history"),
    secret(".local/share/zsh/zsh_history", "shell history"),
    secret(".local/share/zsh_history", "shell history"),
    secret(".cache/zsh/history", "shell history"),
    secret(".cache/zsh_history", "shell history"),
    secret(".local/share/fish", "fish history"),
    secret(".config/fish/fish_history", "fish history"),
    secret(".config/nushell/history.txt", "nushell history"),
    secret(".config/nushell/history.sqlite3", "nushell history"),
    secret(".local/share/xonsh", "xonsh history"),
    secret(".local/share/elvish", "elvish history"),
    secret(".local/state/elvish", "elvish history"),
    secret(".local/share/powershell", "PowerShell history"),
    secret(".local/share/atuin", "Atuin history"),
    secret(".local/share/mcfly", "McFly history"),
    secret(".lesshst", "less history"),
    secret(".local/state/less", "less history"),
    secret(".local/state/lesshst", "less history"),
    secret(".local/share/less/history", "less history"),
    secret(".local/share/lesshst", "less history"),
    secret(".cache/lesshst", "less history"),
    secret(".viminfo", "Vim history"),
    secret(".local/state/vim", "Vim history"),
    secret(".local/state/viminfo", "Vim history"),
    secret(".cache/vim/viminfo", "Vim history"),
    secret(".local/state/nvim", "Neovim history"),
    secret(".local/share/nvim/shada", "Neovim history"),
    secret(".python_history", "Python history"),
    secret(".local/state/python_history", "Python history"),
    secret(".local/state/python", "Python history"),
    secret(".local/share/python/history", "Python history"),
    secret(".local/share/python_history", "Python history"),
    secret(".cache/python_history", "Python history"),
    secret(".ipython", "IPython history"),
    secret(".local/share/jupyter/runtime", "Jupyter tokens"),
    secret(".jupyter", "Jupyter settings"),
    secret(".node_repl_history", "Node history"),
    secret(".local/state/node_repl_history", "Node history"),
    secret(".local/state/node", "Node history"),
    secret(".local/share/node_repl_history", "Node history"),
    secret(".ts_node_repl_history", "Node history"),
    secret(".deno_history", "Deno history"),
    secret(".irb_history", "Ruby history"),
    secret(".pry_history", "Ruby history"),
    secret(".Rhistory", "R history"),
    secret(".julia/logs", "Julia history"),
    secret(".ghc/ghci_history", "GHCi history"),
    secret(".psql_history", "PostgreSQL history"),
    secret(".local/state/psql_history", "PostgreSQL history"),
    secret(".local/state/psql", "PostgreSQL history"),
    secret(".local/share/psql_history", "PostgreSQL history"),
    secret(".config/pgcli", "PostgreSQL history"),
    secret(".mysql_history", "MySQL history"),
    secret(".local/state/mysql_history", "MySQL history"),
    secret(".local/share/mysql_history", "MySQL history"),
    secret(".mycli-history", "MySQL history"),
    secret(".myclirc", "MySQL password"),
    secret(".mariadb_history", "MariaDB history"),
    secret(".local/state/mariadb_history", "MariaDB history"),
    secret(".sqlite_history", "SQLite history"),
    secret(".local/state/sqlite_history", "SQLite history"),
    secret(".local/share/sqlite_history", "SQLite history"),
    secret(".config/litecli", "SQLite history"),
    secret(".rediscli_history", "Redis history"),
    secret(".dbshell", "MongoDB history"),
    secret(".mongodb/mongosh", "MongoDB history"),
    secret(".duckdb_history", "DuckDB history"),
    secret(".gdb_history", "debugger history"),
    secret(".lldb", "debugger history"),
    secret(".wget-hsts", "visited hosts"),
    secret(".local/state/wget-hsts", "visited hosts"),
    secret(".local/share/wget-hsts", "visited hosts"),
    secret(".local/share/recently-used.xbel", "recently used files"),
    // Browsers and mail.
    secret(".mozilla", "Firefox profiles"),
    secret(".cache/mozilla", "Firefox cache"),
    secret(".librewolf", "LibreWolf profiles"),
    secret(".waterfox", "Waterfox profiles"),
    secret(".zen", "Zen profiles"),
    secret(".tor-browser", "Tor Browser profiles"),
    secret(".local/share/torbrowser", "Tor Browser profiles"),
    secret(".config/google-chrome", "Chrome profiles"),
    secret(".config/google-chrome-beta", "Chrome profiles"),
    secret(".config/google-chrome-unstable", "Chrome profiles"),
    secret(".cache/google-chrome", "Chrome cache"),
    secret(".config/chromium", "Chromium profiles"),
    secret(".cache/chromium", "Chromium cache"),
    secret(".config/BraveSoftware", "Brave profiles"),
    secret(".cache/BraveSoftware", "Brave cache"),
    secret(".config/microsoft-edge", "Edge profiles"),
    secret(".config/microsoft-edge-beta", "Edge profiles"),
    secret(".config/microsoft-edge-dev", "Edge profiles"),
    secret(".cache/microsoft-edge", "Edge cache"),
    secret(".config/vivaldi", "Vivaldi profiles"),
    secret(".config/opera", "Opera profiles"),
    secret(".local/share/epiphany", "GNOME Web profiles"),
    secret(".config/falkon", "Falkon profiles"),
    secret(".local/share/qutebrowser", "qutebrowser profiles"),
    secret(".thunderbird", "Thunderbird profiles"),
    secret(".cache/thunderbird", "Thunderbird cache"),
    secret(".config/evolution", "Evolution accounts"),
    secret(".local/share/evolution", "Evolution mail"),
    secret(".config/goa-1.0", "GNOME online accounts"),
    secret(".local/share/kmail2", "KMail mail"),
    secret(".mbsyncrc", "mail passwords"),
    secret(".offlineimaprc", "mail passwords"),
    secret(".fetchmailrc", "mail passwords"),
    secret(".getmail", "mail passwords"),
    secret(".msmtprc", "mail passwords"),
    secret(".config/msmtp", "mail passwords"),
    secret(".mutt", "mutt settings"),
    secret(".muttrc", "mutt settings"),
    secret(".config/aerc", "aerc accounts"),
    secret("Mail", "mail"),
    secret("Maildir", "mail"),
    secret(".maildir", "mail"),
    secret("snap/firefox", "Firefox profiles"),
    secret("snap/chromium", "Chromium profiles"),
    secret("snap/thunderbird", "Thunderbird profiles"),
    secret(".var/app", "data of Flatpak programs"),
    // Messengers.
    secret(".config/Signal", "Signal"),
    secret(".local/share/signal-cli", "Signal"),
    secret(".config/Slack", "Slack"),
    secret(".config/discord", "Discord"),
    secret(".config/Element", "Element"),
    secret(".local/share/TelegramDesktop", "Telegram"),
    secret(".config/Microsoft", "Microsoft Teams"),
    secret(".purple", "Pidgin"),
    secret(".weechat", "WeeChat"),
    secret(".config/weechat", "WeeChat"),
    secret(".irssi", "irssi"),
    // Wallets.
    secret(".bitcoin", "Bitcoin wallet"),
    secret(".litecoin", "Litecoin wallet"),
    secret(".dogecoin", "Dogecoin wallet"),
    secret(".dashcore", "Dash wallet"),
    secret(".namecoin", "Namecoin wallet"),
    secret(".ethereum", "Ethereum wallet"),
    secret(".electrum", "Electrum wallet"),
    secret(".electrum-ltc", "Electrum wallet"),
    secret(".sparrow", "Sparrow wallet"),
    secret(".walletwasabi", "Wasabi wallet"),
    secret(".armory", "Armory wallet"),
    secret(".lnd", "Lightning wallet"),
    secret(".lightning", "Lightning wallet"),
    secret(".config/@trezor", "Trezor wallet"),
    secret(".near-credentials", "NEAR wallet"),
    secret(".sui", "Sui wallet"),
    secret(".aptos", "Aptos wallet"),
    secret(".local/share/io.parity.ethereum", "Ethereum wallet"),
    secret(".config/Exodus", "Exodus wallet"),
    secret(".config/Ledger Live", "Ledger wallet"),
    secret(".config/atomic", "Atomic wallet"),
    secret(".config/solana", "Solana wallet"),
    secret(".monero", "Monero wallet"),
    secret(".bitmonero", "Monero wallet"),
    secret(".zcash", "Zcash wallet"),
    secret(".foundry/keystores", "Foundry wallets"),
    secret(".brownie/accounts", "Brownie wallets"),
    // Remote access and the desktop's session.
    secret(".config/remmina", "remote desktop passwords"),
    secret(".local/share/remmina", "remote desktop passwords"),
    secret(".vnc", "VNC password"),
    secret(".config/filezilla", "FileZilla passwords"),
    secret(".putty", "PuTTY keys"),
    secret(".subversion/auth", "Subversion passwords"),
    secret(".cert", "VPN certificates"),
    secret(".config/openvpn", "VPN keys"),
    secret(".config/wireguard", "VPN keys"),
    secret(".config/Yubico", "YubiKey settings"),
    secret(".krb5", "Kerberos tickets"),
    secret(".k5login", "Kerberos log-in"),
    secret(".Xauthority", "X11 authority"),
    secret(".ICEauthority", "session authority"),
    secret(".config/pulse", "sound server cookie"),
    secret(".dbus", "session bus keys"),
    secret(".config/ngrok", "ngrok token"),
    secret(".ngrok2", "ngrok token"),
    secret(".config/tailscale", "Tailscale state"),
    secret(".local/share/Trash", "deleted files"),
];

#[cfg(test)]
mod tests;
