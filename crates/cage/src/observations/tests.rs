//! What becomes of notes about calls: which are told, together with which, and with which flag.

use jail::{Observation, Observed};
use plan::{GuestPath, HostPath};
use policy::{FsAccess, FsRule, Place, Policy, Reach, RuleOrigin};
use prepare::Grounds;

use super::*;

fn host(path: &str) -> HostPath {
    HostPath::new(path).unwrap()
}

/// A project that is read-only, below a home.
fn grounds() -> Grounds {
    let origin = RuleOrigin::Flag("--ro .".to_owned());
    let rule = FsRule {
        access: FsAccess::ReadOnly,
        path: host("/home/u/src/p"),
        reach: Reach::Anywhere,
        origin,
    };
    let place = Place {
        project: host("/home/u/src/p"),
        home: Some(host("/home/u")),
        own_state: Vec::new(),
    };
    Grounds { policy: Policy { fs: vec![rule], ..Policy::closed("test") }, place }
}

fn seen(what: Observation, paths: &[&str]) -> Vec<Observed> {
    let one = |path: &&str| Observed { what, path: GuestPath::new(*path).unwrap(), count: 1 };
    paths.iter().map(one).collect()
}

#[track_caller]
fn check(what: Observation, paths: &[&str], expected: &[(&str, usize, Option<&str>)]) {
    let found = denials(seen(what, paths), Some(&grounds()), &|_| true);
    let mut found: Vec<_> =
        found.iter().map(|one| (one.path.to_string(), one.paths, one.flag.clone())).collect();
    found.sort();
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, paths, flag)| ((*path).to_owned(), *paths, flag.map(str::to_owned)))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn paths_that_one_grant_would_give_are_told_together() {
    check(
        Observation::Missing,
        &["/home/u/.nvm/v20/bin/node", "/home/u/.nvm/v20/lib/x.js", "/home/u/.config/tool/a"],
        &[
            ("/home/u/.config/tool/a", 1, Some("--ro /home/u/.config/tool/a")),
            ("/home/u/.nvm/v20", 2, Some("--ro /home/u/.nvm/v20")),
        ],
    );
    check(
        Observation::Unwritable,
        &["/home/u/src/p/target/a", "/home/u/src/p/target/b"],
        &[("/home/u/src/p/target", 2, Some("--rw /home/u/src/p/target"))],
    );
}

/// T5: no hint grants a home, a tree of the system or a directory of secrets.
#[test]
fn no_hint_grants_more_than_was_missing() {
    check(
        Observation::Missing,
        &["/home/u/.ssh/id_rsa", "/home/u/.ssh/config", "/home/u/.gitconfig", "/home/u/.profile"],
        &[
            ("/home/u/.gitconfig", 1, Some("--ro /home/u/.gitconfig")),
            ("/home/u/.profile", 1, Some("--ro /home/u/.profile")),
            ("/home/u/.ssh/config", 1, Some("--ro /home/u/.ssh/config")),
            ("/home/u/.ssh/id_rsa", 1, Some("--ro /home/u/.ssh/id_rsa")),
        ],
    );
    let found =
        denials(seen(Observation::Missing, &["/home/u/.ssh/id_rsa"]), Some(&grounds()), &|_| true);
    assert_eq!(found[0].secret, Some("SSH keys"));
    check(Observation::Unwritable, &["/usr/bin/x"], &[("/usr/bin/x", 1, None)]);
    check(Observation::Unwritable, &["/opt"], &[("/opt", 1, None)]);
}

#[test]
fn what_is_nowhere_is_not_told() {
    let nowhere = denials(seen(Observation::Missing, &["/opt/x"]), Some(&grounds()), &|_| false);
    assert_eq!(nowhere, []);
    // Without a policy to ask, only what is of the cage's own is told.
    let gone = denials(seen(Observation::Vanished, &["/home/u/out"]), None, &|_| true);
    assert_eq!(gone.len(), 1);
    assert_eq!(denials(seen(Observation::Missing, &["/opt/x"]), None, &|_| true), []);
}

/// Pid 1 lives in the cage.
#[test]
fn what_pid_1_tells_is_bounded() {
    let mut noted = Noted::default();
    for _ in 0..5 {
        noted.take(vec![seen(Observation::Missing, &["/x"])[0].clone(); 9000], 1);
    }
    assert_eq!((noted.observed.len(), noted.unlisted), (20_000, 25_005));
}
