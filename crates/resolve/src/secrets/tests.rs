//! Which secrets are hidden inside which grants. All of them are made up.

use std::os::unix::fs::symlink;

use super::super::fixture::{Host, directory, file, host_path, own_rule};
use super::*;

/// T16
#[test]
fn secrets_inside_a_grant_are_found() {
    let host = Host::new().with_own_state();
    file(host.home(".ssh/id_ed25519"), "key");
    file(host.home(".bash_history"), "");
    file(host.home(".config/gh/hosts.yml"), "");
    directory(host.home(".local/state/stockade"));
    for access in [FsAccess::ReadOnly, FsAccess::ReadWrite] {
        let resolved = host.resolve(vec![own_rule(access, host.home(""))]).unwrap();
        let expected = [".bash_history", ".config/gh", ".local/state/stockade", ".ssh"];
        assert_eq!(resolved.secret_paths(), expected.map(|path| host.home(path)));
        assert!(resolved.facts.secrets.iter().all(|secret| !secret.table_entry.is_empty()));
    }
    let config = own_rule(FsAccess::ReadOnly, host.home(".config"));
    let resolved = host.resolve(vec![config]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.home(".config/gh")]);
}

#[test]
fn what_no_grant_shows_is_not_looked_for() {
    let host = Host::new();
    file(host.home(".ssh/id_ed25519"), "key");
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    assert!(resolved.secret_paths().is_empty());
    let hidden = own_rule(FsAccess::Hide, host.home(""));
    assert!(host.resolve(vec![hidden]).unwrap().secret_paths().is_empty());
}

#[test]
fn a_secret_that_a_rule_names_is_the_rules_business() {
    let host = Host::new();
    file(host.home(".ssh/known_hosts"), "");
    file(host.home(".aws/config"), "");
    let home = own_rule(FsAccess::ReadOnly, host.home(""));
    for access in [FsAccess::ReadOnly, FsAccess::Hide] {
        let named = own_rule(access, host.home(".ssh"));
        let resolved = host.resolve(vec![home.clone(), named]).unwrap();
        assert_eq!(resolved.secret_paths(), [host.home(".aws")]);
    }
    // A rule inside names that alone: the rest of the directory stays hidden.
    let inside = own_rule(FsAccess::ReadOnly, host.home(".ssh/known_hosts"));
    let resolved = host.resolve(vec![home, inside]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.home(".aws"), host.home(".ssh")]);
}

/// T1: a secret kept elsewhere by a link is hidden where it is.
#[test]
fn a_linked_secret_is_hidden_where_it_really_is() {
    let host = Host::new();
    file(host.home("dotfiles/ssh/id_rsa"), "");
    symlink("dotfiles/ssh", host.home(".ssh")).unwrap();
    symlink("/nowhere/at/all", host.home(".aws")).unwrap();
    symlink(".gnupg", host.home(".gnupg")).unwrap();
    symlink(host.outside(""), host.home(".kube")).unwrap();
    let home = own_rule(FsAccess::ReadOnly, host.home(""));
    let resolved = host.resolve(vec![home]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.home("dotfiles/ssh")]);
}

#[test]
fn nothing_is_hidden_twice() {
    let host = Host::new();
    file(host.home(".mongodb/mongosh/history"), "");
    symlink(".mongodb/mongosh", host.home(".chef")).unwrap();
    let home = own_rule(FsAccess::ReadOnly, host.home(""));
    let resolved = host.resolve(vec![home]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.home(".mongodb")]);
}

/// T4
#[test]
fn a_secret_with_another_name_is_refused() {
    let host = Host::new();
    file(host.home(".netrc"), "");
    std::fs::hard_link(host.home(".netrc"), host.home("innocent")).unwrap();
    let home = own_rule(FsAccess::ReadOnly, host.home(""));
    let error = host.resolve(vec![home]).unwrap_err();
    let ResolveError::Uncoverable(problems) = &error else { panic!("{error}") };
    assert_eq!(problems[0].path.as_path(), host.home(".netrc"));
    assert_eq!(problems[0].problem, PathProblem::HardLinks { links: 2 });
}

/// T3: in a read-write home the way to a secret cannot be moved aside.
#[test]
fn directories_above_a_secret_are_pinned() {
    let host = Host::new();
    file(host.home(".config/gh/hosts.yml"), "");
    let home = own_rule(FsAccess::ReadWrite, host.home(""));
    let resolved = host.resolve(vec![home]).unwrap();
    assert_eq!(resolved.between_paths(), [host.home(".config")]);
}

/// T50: the variable alone does not say where secrets are.
#[test]
fn the_accounts_home_counts_whatever_the_variable_says() {
    let mut host = Host::new();
    host.surroundings.home = Some(host_path(host.outside("")));
    let opener = super::super::open::Opener::new().unwrap();
    let accounts = account_homes().unwrap();
    let own = rustix::process::geteuid().as_raw();
    let Some(account) = accounts.iter().find(|account| account.uid == own) else {
        return testing::skip("this user has no account");
    };
    let project = opener.anywhere(&host.surroundings.project).unwrap();
    let places = super::super::Places::new(&project, None, &host.surroundings, &opener);
    let access = AccessMap::new([]);
    let stage =
        Stage { rules: &[], allowed_ahead: &[], access: &access, places: &places, opener: &opener };
    let homes = homes(&stage).unwrap();
    let real = std::fs::canonicalize(account.home.as_path());
    let real = real.unwrap_or_else(|_| account.home.as_path().into());
    let expected = can_be_of_one_user(&host_path(&real));
    assert_eq!(homes.iter().any(|home| home.as_path() == real), expected);
}

/// What the caller cannot reach, its cage cannot either, unless the caller may change that.
#[test]
fn a_closed_directory_counts_only_if_the_caller_may_open_it() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::new();
    file(host.home(".config/gh/hosts.yml"), "");
    let closed = host.home(".config");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let outcome = host.resolve(vec![own_rule(FsAccess::ReadWrite, host.home(""))]);
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
    match outcome {
        Ok(_) => assert!(rustix::process::geteuid().is_root()),
        Err(ResolveError::Uncoverable(problems)) => {
            assert!(problems.iter().all(|known| known.problem == PathProblem::PermissionDenied));
        }
        Err(other) => panic!("{other}"),
    }
}

/// T51: what a cage made at our own places would decide about the next one.
#[test]
fn own_directories_are_there_or_out_of_reach() {
    let host = Host::new().with_own_state();
    let state = host.home(".local/state/stockade");
    let home = |access| vec![own_rule(access, host.home(""))];
    let refused = host.resolve(home(FsAccess::ReadWrite)).unwrap_err();
    let ResolveError::OwnMissing(missing) = refused else { panic!("{refused:?}") };
    assert_eq!(missing, [OwnMissing { path: host_path(&state) }]);
    host.resolve(home(FsAccess::ReadOnly)).unwrap();
    host.resolve(vec![host.writable("")]).unwrap();
    directory(&state);
    let resolved = host.resolve(home(FsAccess::ReadWrite)).unwrap();
    assert_eq!(resolved.secret_paths(), [state]);
}

/// T51
#[test]
fn own_directories_are_hidden_where_links_lead_to_them() {
    let host = Host::new().with_own_state();
    directory(host.project("dotfiles/state/stockade"));
    directory(host.home(".local"));
    symlink(host.project("dotfiles/state"), host.home(".local/state")).unwrap();
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.project("dotfiles/state/stockade")]);
    std::fs::remove_dir(host.project("dotfiles/state/stockade")).unwrap();
    let refused = host.resolve(vec![host.writable("")]).unwrap_err();
    assert!(matches!(refused, ResolveError::OwnMissing(_)), "{refused:?}");
    // The link itself can be taken away.
    directory(host.project("dotfiles/state/stockade"));
    let refused = host.resolve(vec![own_rule(FsAccess::ReadWrite, host.home(""))]).unwrap_err();
    let ResolveError::Uncoverable(problems) = refused else { panic!("{refused:?}") };
    assert!(matches!(
        problems.as_slice(),
        [Uncoverable { problem: PathProblem::LooseLink { .. }, .. }]
    ));
}

/// T16
#[test]
fn a_secret_behind_a_link_that_can_be_taken_away_is_told() {
    let host = Host::new();
    file(host.home("keys/id_ed25519"), "key");
    symlink("keys", host.home(".ssh")).unwrap();
    let home = |access| own_rule(access, host.home(""));
    let refused = host.resolve(vec![home(FsAccess::ReadWrite)]).unwrap_err();
    let ResolveError::Uncoverable(problems) = refused else { panic!("{refused:?}") };
    assert_eq!(problems.first().unwrap().path, host_path(host.home(".ssh")));
    host.resolve(vec![home(FsAccess::ReadOnly)]).unwrap();
    let keys = own_rule(FsAccess::Hide, host.home("keys"));
    host.resolve(vec![home(FsAccess::ReadWrite), keys]).unwrap();
}

/// T1: a home is one whoever's it is, also where no file has its owner.
#[test]
fn homes_are_known_by_where_they_are() {
    let home = |path: &str| {
        conventional_home_of(&HostPath::new(path).unwrap()).map(|home| home.to_string())
    };
    assert_eq!(home("/home/ada"), Some("/home/ada".to_owned()));
    assert_eq!(home("/home/ada/work/x"), Some("/home/ada".to_owned()));
    for path in ["/home", "/homes/ada", "/srv/home/ada", "/"] {
        assert_eq!(home(path), None, "{path}");
    }
}
