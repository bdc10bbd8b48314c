//! Who commits, without what Git signs or logs in with: a few settings of the user's configuration as
//! variables. Credential helpers, aliases, rewritten addresses and included files stay outside.

use super::lines::{Setting, settings};
use crate::draft::Draft;
use crate::host::Host;

/// The name and address that commits get, and what a repository begins as.
pub(crate) fn identity(draft: &mut Draft, host: &Host) {
    const WHY: &str = "Who commits; nothing that Git signs or logs in with";
    let given = host.path_in("GIT_CONFIG_GLOBAL");
    let by_default = [host.in_home(".config/git/config"), host.in_home(".gitconfig")];
    let files: Vec<_> = match given {
        Some(file) => vec![file],
        None => by_default.into_iter().flatten().collect(),
    };
    let mut read: Vec<Setting> = Vec::new();
    for text in files.iter().filter_map(|file| host.text(file)) {
        read.extend(settings(&text));
    }
    let mut count = 0;
    for name in SETTINGS {
        let Some((section, key)) = name.split_once('.') else { continue };
        let is_it = |setting: &&Setting| {
            setting.section == section && setting.key.eq_ignore_ascii_case(key)
        };
        // The last one counts.
        let Some(setting) = read.iter().rev().find(is_it) else { continue };
        draft.set(WHY, &format!("GIT_CONFIG_KEY_{count}"), name);
        draft.set(WHY, &format!("GIT_CONFIG_VALUE_{count}"), &setting.value);
        count += 1;
    }
    if count > 0 {
        draft.set(WHY, "GIT_CONFIG_COUNT", &count.to_string());
    }
    for name in VARIABLES {
        draft.pass(host, WHY, name);
    }
}

const SETTINGS: &[&str] = &[
    "user.name",
    "user.email",
    "init.defaultBranch",
    "core.autocrlf",
    "merge.conflictStyle",
    "pull.ff",
    "pull.rebase",
    "push.default",
    "rerere.enabled",
];

const VARIABLES: &[&str] =
    &["GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME"];
