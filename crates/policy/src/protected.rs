//! Names that run code on the host without anyone having asked to run the project: by entering a
//! directory, opening an editor, asking for the state of a repository, starting a shell or an
//! agent. One table. Inside a read-write grant such a file is read-only, and one that appears
//! during a run is set aside and reported.
//!
//! Not in the table, on purpose: what runs only when a person builds, tests or starts the project
//! (`Makefile`, `build.rs`, `package.json`, `conftest.py`), because that is what a cage is asked
//! to write; files for remote machines (`.github/workflows`, `.gitlab-ci.yml`), because they run
//! elsewhere and are seen in review; what a package manager installs (`node_modules`, `.pnp.cjs`);
//! instructions in prose (`CLAUDE.md`, `AGENTS.md`, `.cursorrules`); and `.gitattributes`, which only
//! selects among the filters that a configuration defines.
//!
//! Names only; never asks the host.

use plan::HostPath;

use crate::{FsRule, Reach};

/// One entry of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path below any directory; `*` at the end or the beginning of a component stands for any
    /// characters, `**` for one component or more.
    pub pattern: &'static str,
    /// Which kind of object it concerns.
    pub object: Object,
    /// What runs it.
    pub runs_by: &'static str,
}

/// What kind of object a name has, or an entry concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A directory.
    Directory,
    /// Anything that is not a directory, links included.
    File,
    /// Either; of a path: not known.
    Any,
}

/// The entry that protects a path, given relative to a granted directory: the path is what the
/// entry names, at any depth, or lies inside it. Letters compare without case, as some file
/// systems do.
pub fn matches(relative: &[u8], object: Object) -> Option<&'static Entry> {
    let components: Vec<&[u8]> =
        relative.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    TABLE.iter().find(|entry| entry.covers(&components, 0, object))
}

/// The entry that protects a path covered by a read-write rule.
///
/// What lies above the rule's own path does not count, so that a project inside `~/.config/nvim`
/// can be worked on. A protected name that *is* the rule's path counts unless the user's own
/// configuration or flag named it: a project's file cannot lift the protection.
pub fn matches_inside(rule: &FsRule, path: &HostPath, object: Object) -> Option<&'static Entry> {
    let components: Vec<&[u8]> =
        path.as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    let first_end = match rule.reach {
        Reach::BeneathProject => rule.path.depth(),
        Reach::Anywhere => rule.path.depth() + 1,
    };
    TABLE.iter().find(|entry| entry.covers(&components, first_end, object))
}

/// The table, for whoever shows it.
pub fn table() -> &'static [Entry] {
    TABLE
}

/// Directories, relative to one that may hold protected files, whose contents have to be listed
/// to find those whose path the table does not give in full.
pub fn directories_to_list() -> &'static [&'static str] {
    &[".git/modules", ".git/worktrees"]
}

/// Whether a directory with these names in it is taken for a repository by Git although it is
/// not called `.git`: Git then obeys the `config` in it or, if the repository is split in two, in
/// the directory that `commondir` names.
pub fn is_repository<'name>(names: impl IntoIterator<Item = &'name [u8]>) -> bool {
    let (mut head, mut objects, mut refs, mut split) = (false, false, false, false);
    for name in names {
        head |= name.eq_ignore_ascii_case(b"HEAD");
        objects |= name.eq_ignore_ascii_case(b"objects");
        refs |= name.eq_ignore_ascii_case(b"refs");
        split |= name.eq_ignore_ascii_case(b"commondir");
    }
    head && (split || (objects && refs))
}

impl Entry {
    /// The path to look at below a directory, where the entry gives it in full.
    pub fn probe_path(&self) -> Option<&'static str> {
        (!self.pattern.contains('*')).then_some(self.pattern)
    }

    /// Whether it is the configuration of a Git repository, which can name further files.
    pub fn is_git_configuration(&self) -> bool {
        self.pattern.starts_with(".git/")
            && (self.pattern.ends_with("/config") || self.pattern.ends_with("/config.worktree"))
    }

    /// Whether the entry matches some run of components that ends at `first_end` or later.
    fn covers(&self, components: &[&[u8]], first_end: usize, object: Object) -> bool {
        let accepts = |end: usize| {
            // An object inside a matched one shows that this is a directory.
            let own = if end == components.len() { object } else { Object::Directory };
            end >= first_end && self.object.concerns(own)
        };
        (0..components.len()).any(|start| ends_at(self.pattern, components, start, &accepts))
    }
}

impl Object {
    fn concerns(self, found: Self) -> bool {
        self == Self::Any || found == Self::Any || self == found
    }
}

/// Whether the pattern, begun at a position, can end at one that is accepted. Goes as deep as the
/// pattern has components, which are few.
fn ends_at(
    pattern: &str,
    components: &[&[u8]],
    at: usize,
    accepts: &dyn Fn(usize) -> bool,
) -> bool {
    let Some(component) = components.get(at) else { return false };
    let (wanted, later) = match pattern.split_once('/') {
        Some((wanted, later)) => (wanted, Some(later)),
        None => (pattern, None),
    };
    let goes_on = |next: usize| match later {
        Some(later) => ends_at(later, components, next, accepts),
        None => accepts(next),
    };
    if wanted == "**" {
        (at + 1..=components.len()).any(goes_on)
    } else {
        component_matches(component, wanted.as_bytes()) && goes_on(at + 1)
    }
}

fn component_matches(component: &[u8], wanted: &[u8]) -> bool {
    if let Some(prefix) = wanted.strip_suffix(b"*") {
        return component.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    }
    if let Some(suffix) = wanted.strip_prefix(b"*") {
        let start = component.len().checked_sub(suffix.len());
        let tail = start.and_then(|start| component.get(start..));
        return tail.is_some_and(|tail| tail.eq_ignore_ascii_case(suffix));
    }
    component.eq_ignore_ascii_case(wanted)
}

const fn any(pattern: &'static str, runs_by: &'static str) -> Entry {
    Entry { pattern, object: Object::Any, runs_by }
}

const GIT: &str = "every Git command in the repository";
const REBASE: &str = "Git when what is in progress is continued";
const SHELL: &str = "every new shell";
const EDITOR: &str = "an editor that opens the directory";
const AGENT: &str = "an agent that starts in the directory";
const LOG_IN: &str = "a log-in session";
const PACKAGES: &str = "every command of the package manager in the directory";
const HOOKS: &str = "Git hooks once they are installed";

const TABLE: &[Entry] = &[
    any("stockade.toml", "stockade: it is the policy itself"),
    // Git. `.git` as a file points to another directory with its own configuration and hooks.
    Entry { pattern: ".git", object: Object::File, runs_by: GIT },
    any(".git/hooks", GIT),
    any(".git/config", GIT),
    any(".git/config.worktree", GIT),
    any(".git/commondir", GIT),
    any(".git/gitdir", GIT),
    any(".git/modules/**/hooks", GIT),
    any(".git/modules/**/config", GIT),
    any(".git/modules/**/config.worktree", GIT),
    any(".git/modules/**/commondir", GIT),
    any(".git/worktrees/*/config.worktree", GIT),
    any(".git/worktrees/*/commondir", GIT),
    any(".git/worktrees/*/gitdir", GIT),
    any(".git/rebase-merge/git-rebase-todo", REBASE),
    any(".git/rebase-merge/strategy", REBASE),
    any(".git/rebase-apply", REBASE),
    any(".git/sequencer/todo", REBASE),
    any(".git/sequencer/opts", REBASE),
    any(".git/modules/**/rebase-merge/git-rebase-todo", REBASE),
    any(".git/modules/**/rebase-merge/strategy", REBASE),
    any(".git/modules/**/rebase-apply", REBASE),
    any(".git/modules/**/sequencer/todo", REBASE),
    any(".git/modules/**/sequencer/opts", REBASE),
    any(".git/worktrees/*/rebase-merge/git-rebase-todo", REBASE),
    any(".git/worktrees/*/rebase-merge/strategy", REBASE),
    any(".git/worktrees/*/rebase-apply", REBASE),
    any(".git/worktrees/*/sequencer/todo", REBASE),
    any(".git/worktrees/*/sequencer/opts", REBASE),
    any(".gitmodules", GIT),
    any(".gitconfig", GIT),
    any(".config/git", GIT),
    any(".git/lazygit.yml", "lazygit in the repository"),
    any(".lazygit.yml", "lazygit in the repository"),
    // Other version control.
    any(".hg/hgrc", "every Mercurial command in the repository"),
    any(".hg/hgrc-not-shared", "every Mercurial command in the repository"),
    any(".hg/sharedpath", "every Mercurial command in the repository"),
    any(".hgrc", "every Mercurial command"),
    any(".config/hg", "every Mercurial command"),
    any(".sl/config", "every Sapling command in the repository"),
    any(".subversion/config", "every Subversion command"),
    any(".repo/repo", "every command of repo below the directory"),
    any("_darcs/prefs", "every Darcs command in the repository"),
    any(".jj/repo/config.toml", "every Jujutsu command in the repository"),
    any(".jj/workspace-config.toml", "every Jujutsu command in the repository"),
    any(".jjconfig.toml", "every Jujutsu command"),
    any(".config/jj", "every Jujutsu command"),
    Entry {
        pattern: ".jj/repo",
        object: Object::File,
        runs_by: "every Jujutsu command in the repository",
    },
    // Entering a directory.
    any(".envrc", "direnv on entering the directory"),
    any(".direnvrc", "direnv on entering the directory"),
    any(".config/direnv", "direnv on entering the directory"),
    any(".local/share/direnv", "direnv: it holds what is allowed"),
    any(".autoenv.zsh", "autoenv on entering the directory"),
    any(".autoenv_leave.zsh", "autoenv on leaving the directory"),
    any(".tool-versions", "asdf and mise on entering the directory"),
    any(".mise.toml", "mise on entering the directory"),
    any(".mise.local.toml", "mise on entering the directory"),
    any(".mise", "mise on entering the directory"),
    any("mise.toml", "mise on entering the directory"),
    any("mise.local.toml", "mise on entering the directory"),
    any(".config/mise", "mise on entering the directory"),
    any("mise/config.toml", "mise on entering the directory"),
    any(".rvmrc", "rvm on entering the directory"),
    any(".shadowenv.d", "shadowenv on entering the directory"),
    // A toolchain that is a directory of the project's choice.
    any("rust-toolchain", "every command of Rust in the directory"),
    any("rust-toolchain.toml", "every command of Rust in the directory"),
    any("lean-toolchain", "every command of Lean in the directory"),
    any(".bazeliskrc", "every Bazel command in the directory"),
    any("tools/bazel", "every Bazel command in the directory"),
    any("tools/bazel.linux-x86_64", "every Bazel command in the directory"),
    any("tools/bazel.linux-arm64", "every Bazel command in the directory"),
    any("tools/bazel.x86_64", "every Bazel command in the directory"),
    any("tools/bazel.arm64", "every Bazel command in the directory"),
    // Agents.
    any(".claude", AGENT),
    any(".claude.json", AGENT),
    any(".mcp.json", AGENT),
    any("mcp.json", AGENT),
    any(".cursor", AGENT),
    any(".codex", AGENT),
    any(".gemini", AGENT),
    any(".continue", AGENT),
    any(".continuerc.json", AGENT),
    any(".windsurf", AGENT),
    any(".codeium", AGENT),
    any(".trae", AGENT),
    any(".cline", AGENT),
    any(".clinerules/hooks", AGENT),
    any(".kilocode", AGENT),
    any(".qwen", AGENT),
    any(".factory", AGENT),
    any(".augment", AGENT),
    any(".junie", AGENT),
    any(".github/hooks", AGENT),
    any(".kiro", AGENT),
    any(".roo", AGENT),
    any(".amazonq", AGENT),
    any(".opencode", AGENT),
    any("opencode.json", AGENT),
    any("opencode.jsonc", AGENT),
    any(".opencode.json", AGENT),
    any(".amp", AGENT),
    any(".tabnine", AGENT),
    any(".vibe", AGENT),
    any(".iflow", AGENT),
    any(".codebuddy", AGENT),
    any(".grok", AGENT),
    any(".openhands", AGENT),
    any(".crush.json", AGENT),
    any("crush.json", AGENT),
    any(".aider.conf.yml", AGENT),
    any(".config/goose", AGENT),
    // Editors and development environments.
    any(".vscode", EDITOR),
    any("*.code-workspace", EDITOR),
    any(".vs", EDITOR),
    any(".idea", EDITOR),
    any(".fleet", EDITOR),
    any(".zed", EDITOR),
    any(".nova", EDITOR),
    any(".helix", EDITOR),
    any(".devcontainer", EDITOR),
    any(".devcontainer.json", EDITOR),
    any(".vimrc", EDITOR),
    any("_vimrc", EDITOR),
    any(".gvimrc", EDITOR),
    any(".exrc", EDITOR),
    any(".lvimrc", EDITOR),
    any(".nvimrc", EDITOR),
    any(".nvim.lua", EDITOR),
    any(".vim", EDITOR),
    any(".config/nvim", EDITOR),
    any(".config/helix", EDITOR),
    any(".config/zed", EDITOR),
    any(".config/Code", EDITOR),
    any(".config/VSCodium", EDITOR),
    any(".emacs", EDITOR),
    any(".emacs.d", EDITOR),
    any(".config/emacs", EDITOR),
    any(".dir-locals.el", EDITOR),
    any(".dir-locals-2.el", EDITOR),
    any(".projectile", EDITOR),
    any(".ycm_extra_conf.py", EDITOR),
    any("hie.yaml", EDITOR),
    any(".bsp", EDITOR),
    any("buildServer.json", EDITOR),
    any(".lsp", EDITOR),
    any("omnisharp.json", EDITOR),
    any("*.sublime-project", EDITOR),
    any(".kateproject", EDITOR),
    any(".lite_project.lua", EDITOR),
    any(".lazy.lua", EDITOR),
    any(".externalToolBuilders", EDITOR),
    any(".sourcekit-lsp", EDITOR),
    any(".gdbinit", "the debugger"),
    any(".lldbinit", "the debugger"),
    any(".pdbrc", "the Python debugger"),
    any(".perldb", "the Perl debugger"),
    any(".byebugrc", "the Ruby debugger"),
    // Shells and sessions.
    any(".bashrc", SHELL),
    any(".bash_profile", SHELL),
    any(".bash_login", SHELL),
    any(".bash_logout", SHELL),
    any(".bash_aliases", SHELL),
    any(".profile", SHELL),
    any(".zshrc", SHELL),
    any(".zshenv", SHELL),
    any(".zprofile", SHELL),
    any(".zlogin", SHELL),
    any(".zlogout", SHELL),
    any(".oh-my-zsh", SHELL),
    any(".kshrc", SHELL),
    any(".mkshrc", SHELL),
    any(".shrc", SHELL),
    any(".cshrc", SHELL),
    any(".tcshrc", SHELL),
    any(".login", SHELL),
    any(".logout", SHELL),
    any(".inputrc", SHELL),
    any(".bash_completion", SHELL),
    any(".config/bash", SHELL),
    any(".config/zsh", SHELL),
    any(".config/fish", SHELL),
    any(".config/nushell", SHELL),
    any(".config/xonsh", SHELL),
    any(".xonshrc", SHELL),
    any(".config/elvish", SHELL),
    any(".config/powershell", SHELL),
    any(".config/starship.toml", SHELL),
    any(".tmux.conf", SHELL),
    any(".config/tmux", SHELL),
    any(".screenrc", SHELL),
    any(".config/alacritty", SHELL),
    any(".config/ghostty", SHELL),
    any(".config/kitty", SHELL),
    any(".config/wezterm", SHELL),
    any(".wezterm.lua", SHELL),
    any(".cargo/env", SHELL),
    any(".lessfilter", "less"),
    any(".psqlrc", "the PostgreSQL shell"),
    any(".sqliterc", "the SQLite shell"),
    any(".pythonrc", "the Python shell"),
    any(".irbrc", "the Ruby shell"),
    any("_irbrc", "the Ruby shell"),
    any(".pryrc", "the Ruby shell"),
    any(".iex.exs", "the Elixir shell"),
    any(".ghci", "the Haskell shell"),
    any(".ocamlinit", "the OCaml shell"),
    any(".octaverc", "Octave on starting in the directory"),
    any(".Rprofile", "R on starting in the directory"),
    any(".Renviron", "R on starting in the directory"),
    any(".RData", "R on starting in the directory"),
    any(".xinitrc", LOG_IN),
    any(".xprofile", LOG_IN),
    any(".xsession", LOG_IN),
    any(".xsessionrc", LOG_IN),
    any(".pam_environment", LOG_IN),
    any(".config/autostart", LOG_IN),
    any(".config/environment.d", LOG_IN),
    any(".config/plasma-workspace", LOG_IN),
    any(".config/systemd", LOG_IN),
    any(".local/share/systemd", LOG_IN),
    any(".local/share/dbus-1", LOG_IN),
    any(".local/share/applications", "the desktop's menu"),
    any(".local/bin", "whoever types the name of a command"),
    any(".cargo/bin", "whoever types the name of a command"),
    any(".ssh", "logging in over SSH"),
    any(".gnupg", "GnuPG"),
    any(".forward", "the delivery of mail"),
    any(".procmailrc", "the delivery of mail"),
    any(".mailcap", "a mail program"),
    // Package managers whose configuration names programs to run, and hook managers.
    any(".npmrc", PACKAGES),
    any(".yarnrc", PACKAGES),
    any(".yarnrc.yml", PACKAGES),
    any(".yarn/releases", PACKAGES),
    any(".yarn/plugins", PACKAGES),
    any(".pnpmfile.cjs", PACKAGES),
    any(".pnpmfile.mjs", PACKAGES),
    any(".cargo/config", PACKAGES),
    any(".cargo/config.toml", PACKAGES),
    any(".mvn/extensions.xml", PACKAGES),
    any(".mvn/jvm.config", PACKAGES),
    any(".mvn/maven.config", PACKAGES),
    any(".gradle/init.d", PACKAGES),
    any(".gradle/init.gradle", PACKAGES),
    any(".config/pip", PACKAGES),
    any(".husky", HOOKS),
    any(".githooks", HOOKS),
    any(".pre-commit-config.yaml", HOOKS),
    any(".pre-commit-config.yml", HOOKS),
    any("prek.toml", HOOKS),
    any("lefthook.yml", HOOKS),
    any("lefthook.yaml", HOOKS),
    any("lefthook.toml", HOOKS),
    any("lefthook.json", HOOKS),
    any(".lefthook.yml", HOOKS),
    any(".lefthook.yaml", HOOKS),
    any(".lefthook.toml", HOOKS),
    any(".lefthook.json", HOOKS),
    any("lefthook-local.yml", HOOKS),
    any("lefthook-local.yaml", HOOKS),
    any("lefthook-local.toml", HOOKS),
    any("lefthook-local.json", HOOKS),
    any(".lefthook-local.yml", HOOKS),
    any(".lefthook-local.yaml", HOOKS),
    any(".lefthook-local.toml", HOOKS),
    any(".lefthook-local.json", HOOKS),
    any(".lefthook", HOOKS),
    any(".lefthook-local", HOOKS),
    any(".overcommit.yml", HOOKS),
    any(".huskyrc", HOOKS),
    any(".huskyrc.json", HOOKS),
    any(".huskyrc.js", HOOKS),
    any(".huskyrc.cjs", HOOKS),
    any(".huskyrc.yaml", HOOKS),
    any(".huskyrc.yml", HOOKS),
    any("husky.config.js", HOOKS),
    any("husky.config.cjs", HOOKS),
    any(".simple-git-hooks.json", HOOKS),
    any(".simple-git-hooks.js", HOOKS),
    any(".simple-git-hooks.cjs", HOOKS),
    any(".simple-git-hooks.mjs", HOOKS),
    any("simple-git-hooks.json", HOOKS),
    any("simple-git-hooks.js", HOOKS),
    any("simple-git-hooks.cjs", HOOKS),
    any("simple-git-hooks.mjs", HOOKS),
    any("hk.pkl", HOOKS),
];

#[cfg(test)]
mod tests;
