//! The policy of a run without one.

use plan::HostPath;

use super::policy;
use crate::FsAccess;

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

/// K46, M37
#[test]
fn only_the_working_directory_is_granted_and_only_if_it_is_no_home() {
    let homes = [path("/home/u")];
    let given = policy(&path("/home/u/project"), &homes).unwrap();
    assert_eq!(given.fs.len(), 1);
    assert_eq!(
        given.access_at(&path("/home/u/project/x")).map(|rule| rule.access),
        Some(FsAccess::ReadOnly)
    );
    assert!(given.net.allow.is_empty() && given.env.is_empty());
    for directory in ["/home/u", "/home", "/", "/etc"] {
        let refused = policy(&path(directory), &homes).unwrap_err();
        assert!(refused.hint().contains("--ro"), "{directory}");
    }
}
