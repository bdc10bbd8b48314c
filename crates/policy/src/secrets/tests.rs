//! The table's shape and what it covers.

use std::collections::BTreeSet;

use plan::HostPath;

use super::{covering, hidden_paths, table};
use crate::{FsAccess, FsRule, Reach, RuleOrigin};

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

fn rule(access: FsAccess, at: &str) -> FsRule {
    FsRule { access, path: path(at), reach: Reach::Anywhere, origin: RuleOrigin::BuiltIn("test") }
}

#[test]
fn every_entry_is_a_normal_relative_path_and_named_once() {
    let mut seen = BTreeSet::new();
    for secret in table() {
        assert!(path("/home/u").join(secret.path).is_ok(), "{}", secret.path);
        assert!(seen.insert(secret.path), "{} is there twice", secret.path);
        assert!(!secret.name.is_empty());
    }
}

/// T16: histories where a person's settings may have put them, keys, wallets, tokens.
#[test]
fn well_known_places_are_in_the_table() {
    let hidden = hidden_paths(Some(&path("/home/u")), &[]);
    let rules = [rule(FsAccess::ReadOnly, "/home/u")];
    for (asked, expected) in [
        (".local/state/bash/history", true),
        (".local/share/zsh_history", true),
        (".config/zsh/.zsh_history", true),
        (".config/zsh/.zshrc", false),
        (".local/state/python_history", true),
        (".local/state/psql_history", true),
        (".local/share/mysql_history", true),
        (".local/state/sqlite_history", true),
        (".local/state/less/history", true),
        (".local/share/python_keyring/keyring_pass.cfg", true),
        (".config/syncthing/key.pem", true),
        (".local/state/syncthing/key.pem", true),
        (".config/stripe/config.toml", true),
        (".config/sops/age/keys.txt", true),
        (".config/glab-cli/config.yml", true),
        (".ethereum/keystore/x", true),
        (".terraform.d/credentials.tfrc.json", true),
        (".m2/settings-security.xml", true),
        (".m2/repository/x", false),
        (".cargo/credentials.toml", true),
        (".cargo/config.toml", false),
        (".local/share/applications", false),
    ] {
        let found = covering(&hidden, &rules, &path(&format!("/home/u/{asked}")));
        assert_eq!(found.is_some(), expected, "{asked}");
    }
}

/// T16, V16
#[test]
fn a_secret_is_hidden_unless_named_exactly() {
    let hidden = hidden_paths(Some(&path("/home/u")), &[path("/home/u/.config/stockade")]);
    let home = || vec![rule(FsAccess::ReadWrite, "/home/u")];
    let with = |access, at| vec![rule(FsAccess::ReadWrite, "/home/u"), rule(access, at)];
    for (rules, asked, expected) in [
        (home(), "/home/u/.ssh", Some("SSH keys")),
        (home(), "/home/u/.ssh/id_ed25519", Some("SSH keys")),
        (home(), "/home/u/.sshx", None),
        (home(), "/home/u/project", None),
        (home(), "/home/u/.config/stockade/config.toml", Some("stockade's own state")),
        (with(FsAccess::ReadOnly, "/home/u/.ssh"), "/home/u/.ssh/id_ed25519", None),
        (with(FsAccess::ReadOnly, "/home/u/.ssh/config"), "/home/u/.ssh/config", None),
        (with(FsAccess::ReadOnly, "/home/u/.ssh/config"), "/home/u/.ssh/id", Some("SSH keys")),
        (with(FsAccess::Hide, "/home/u/.ssh"), "/home/u/.ssh/id", Some("SSH keys")),
        (
            with(FsAccess::ReadOnly, "/home/u/.config"),
            "/home/u/.config/gh",
            Some("GitHub command line credentials"),
        ),
    ] {
        let found = covering(&hidden, &rules, &path(asked)).map(|secret| secret.name);
        assert_eq!(found, expected, "{asked}");
    }
}
