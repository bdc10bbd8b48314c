//! What a sweep says when there are more names than it reads.

use std::os::unix::ffi::OsStrExt as _;

use super::*;

/// T5: a directory that is not read to its end is told, also where it is the last one.
#[test]
fn names_beyond_the_bound_are_never_passed_over_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..5 {
        std::fs::write(directory.path().join(number.to_string()), "").unwrap();
    }
    let root = directory.path().canonicalize().unwrap();
    let root = HostPath::new(root.as_os_str().as_bytes()).unwrap();
    for (bound, is_told) in [(3, true), (100, false)] {
        let at_start = AtStart::default();
        let limits = Limits { names: bound, ..Limits::default() };
        let mut sweep = Sweep::new(&at_start, Began::now(), "01ABC", limits);
        sweep.below(&root);
        let (found, _) = sweep.into_findings();
        let why = Unsearched::TooManyNames;
        let expected = Finding::NotSearched { path: root.clone(), why };
        assert_eq!(found.contains(&expected), is_told, "{bound}: {found:?}");
    }
}
