//! What the list remembers.

use std::collections::BTreeSet;

use resolve::commits::hash_blob;

use super::*;

/// T78
#[test]
fn what_was_committed_in_a_cage_is_remembered_until_it_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two, three] = [b"1", b"2", b"3"].map(|text| hash_blob(text));
    let mut list = Unreviewed::read(Some(directory.path()));
    assert!(!list.holds(one));
    list.add(BTreeSet::from([one, two])).unwrap();
    list.add(BTreeSet::from([two, three])).unwrap();
    list.accept([two].into_iter()).unwrap();
    for list in [list, Unreviewed::read(Some(directory.path()))] {
        assert_eq!([one, two, three].map(|id| list.holds(id)), [true, false, true]);
    }
    // What was accepted and is committed once more by a program counts again.
    let mut list = Unreviewed::read(Some(directory.path()));
    list.add(BTreeSet::from([two])).unwrap();
    assert!(Unreviewed::read(Some(directory.path())).holds(two));
    // Where nothing is kept, nothing is known.
    assert!(!Unreviewed::read(None).holds(one));
}
