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
