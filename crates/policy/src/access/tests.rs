//! The most specific path wins, in both directions.

use plan::HostPath;

use super::AccessMap;
use crate::{FsAccess, FsRule, Reach, RuleOrigin};

fn rule(access: FsAccess, path: &str) -> FsRule {
    FsRule {
        access,
        path: HostPath::new(path).unwrap(),
        reach: Reach::Anywhere,
        origin: RuleOrigin::BuiltIn("test"),
    }
}

/// K236, T60
#[test]
fn the_longest_path_decides_whatever_the_order() {
    use FsAccess::{Hide, ReadOnly, ReadWrite};
    let mut rules = vec![
        rule(ReadOnly, "/p"),
        rule(ReadWrite, "/p/build"),
        rule(Hide, "/p/secrets"),
        rule(ReadOnly, "/p/secrets/public"),
        rule(Hide, "/p/build/keys/k"),
    ];
    for _ in 0..rules.len() {
        rules.rotate_left(1);
        let map = AccessMap::new(&rules);
        for (path, expected) in [
            ("/", Hide),
            ("/pp", Hide),
            ("/p", ReadOnly),
            ("/p/x/y", ReadOnly),
            ("/p/build", ReadWrite),
            ("/p/buildx", ReadOnly),
            ("/p/build/keys", ReadWrite),
            ("/p/build/keys/k/z", Hide),
            ("/p/secrets/x", Hide),
            ("/p/secrets/public/x", ReadOnly),
        ] {
            assert_eq!(map.level(&HostPath::new(path).unwrap()), expected, "{path}");
        }
    }
}

/// K236
#[test]
fn of_two_rules_on_one_path_the_lesser_counts() {
    let rules = [rule(FsAccess::ReadWrite, "/p"), rule(FsAccess::Hide, "/p")];
    let path = HostPath::new("/p/x").unwrap();
    assert_eq!(AccessMap::new(&rules).level(&path), FsAccess::Hide);
    assert_eq!(AccessMap::new(rules.iter().rev()).level(&path), FsAccess::Hide);
}

#[test]
fn a_rule_is_found_from_above_and_exactly() {
    let rules = [rule(FsAccess::ReadOnly, "/p"), rule(FsAccess::Hide, "/p/s")];
    let map = AccessMap::new(&rules);
    let secret = HostPath::new("/p/s").unwrap();
    assert_eq!(map.above(&secret).map(|rule| rule.access), Some(FsAccess::ReadOnly));
    assert_eq!(map.exactly(&secret).map(|rule| rule.access), Some(FsAccess::Hide));
    assert_eq!(map.exactly(&HostPath::new("/p/s/x").unwrap()), None);
    assert_eq!(map.above(&HostPath::root()), None);
}
