//! Who may do what, as a table.

use rustix::io::Errno;

use super::{
    Wish, after_write, chmod, chown, inherit, may, may_open_to_create, may_remove, may_xattr,
};
use crate::attributes::{Attributes, Kind, Timestamp};
use crate::caller::Caller;

fn file(kind: Kind, mode: u32, uid: u32, gid: u32) -> Attributes {
    let never = Timestamp::default();
    Attributes {
        number: 1,
        kind,
        mode,
        links: 1,
        uid,
        gid,
        device: 0,
        size: 0,
        blocks: 0,
        accessed: never,
        modified: never,
        changed: never,
    }
}

fn of_groups(uid: u32, groups: &[u32]) -> Caller {
    Caller { groups: groups.into(), ..Caller::of(uid, uid) }
}

/// A18: the owner's bits count for the owner alone, the group's for its members, and root executes nothing that nobody
/// executes.
#[test]
fn modes_decide() {
    let check = |caller: &Caller, mode: u32, wish: Wish, is_allowed: bool| {
        let asked = may(caller, &file(Kind::File, mode, 10, 20), wish);
        assert_eq!(asked.is_ok(), is_allowed, "{caller:?} {mode:o} {wish:?}");
    };
    check(&Caller::of(10, 99), 0o400, Wish::READ, true);
    check(&Caller::of(10, 20), 0o077, Wish::READ, false);
    check(&Caller::of(11, 20), 0o040, Wish::READ, true);
    check(&of_groups(11, &[3, 20]), 0o040, Wish::READ, true);
    check(&Caller::of(11, 20), 0o707, Wish::READ, false);
    check(&Caller::of(11, 11), 0o604, Wish::READ.and(Wish::WRITE), false);
    check(&Caller::of(11, 11), 0o606, Wish::READ.and(Wish::WRITE), true);
    check(&Caller::root(), 0o000, Wish::READ.and(Wish::WRITE), true);
    check(&Caller::root(), 0o666, Wish::EXECUTE, false);
    check(&Caller::root(), 0o010, Wish::EXECUTE, true);
}

/// A18: in a sticky directory names belong to who owns the file or the directory.
#[test]
fn sticky_directories_keep_names() {
    let check = |uid: u32, mode: u32, expected: Result<(), Errno>| {
        let directory = file(Kind::Directory, mode, 1, 1);
        let asked = may_remove(&Caller::of(uid, uid), &directory, &file(Kind::File, 0o644, 2, 2));
        assert_eq!(asked.map_err(|error| error.errno), expected, "{uid} {mode:o}");
    };
    check(3, 0o1777, Err(Errno::PERM));
    check(2, 0o1777, Ok(()));
    check(1, 0o1777, Ok(()));
    check(0, 0o1777, Ok(()));
    check(3, 0o777, Ok(()));
    check(3, 0o1755, Err(Errno::ACCESS));
}

/// A18: in a sticky directory for all, another user's link is not opened by who would have made a file there; not even
/// by root.
#[test]
fn sticky_directories_hold_no_traps() {
    let check = |uid: u32, mode: u32, kind: Kind, expected: Result<(), Errno>| {
        let directory = file(Kind::Directory, mode, 1, 1);
        let asked = may_open_to_create(&Caller::of(uid, uid), &directory, &file(kind, 0o777, 2, 2));
        assert_eq!(asked.map_err(|error| error.errno), expected, "{uid} {mode:o}");
    };
    check(3, 0o1777, Kind::Link, Err(Errno::ACCESS));
    check(0, 0o1777, Kind::Link, Err(Errno::ACCESS));
    check(2, 0o1777, Kind::Link, Ok(()));
    check(3, 0o777, Kind::Link, Ok(()));
    check(3, 0o1775, Kind::Link, Ok(()));
    check(3, 0o1777, Kind::File, Ok(()));
}

/// A18: what acts as somebody else does so no longer when it is changed, given away or copied into a group.
#[test]
fn privileges_are_dropped() {
    let owner = Caller::of(10, 20);
    let program = file(Kind::File, 0o6755, 10, 20);
    assert_eq!(after_write(&owner, &program), Some(0o755));
    assert_eq!(after_write(&Caller::root(), &program), None);
    assert_eq!(after_write(&owner, &file(Kind::File, 0o2745, 10, 20)), None);
    assert_eq!(chown(&Caller::root(), &program, Some(5), None), Ok(Some(0o755)));
    assert_eq!(chown(&owner, &program, None, Some(20)), Ok(Some(0o755)));
    assert_eq!(chown(&owner, &program, Some(11), None).unwrap_err().errno, Errno::PERM);
    assert_eq!(chown(&owner, &program, None, Some(21)).unwrap_err().errno, Errno::PERM);
    assert_eq!(chmod(&Caller::of(10, 5), &program, 0o2755), Ok(0o755));
    assert_eq!(chmod(&owner, &program, 0o2755), Ok(0o2755));
    assert_eq!(chmod(&Caller::of(9, 20), &program, 0).unwrap_err().errno, Errno::PERM);
    let shared = file(Kind::Directory, 0o2775, 1, 30);
    assert_eq!(inherit(&owner, &shared, Kind::Directory, 0o755), (0o2755, 30));
    assert_eq!(inherit(&owner, &shared, Kind::File, 0o2755), (0o755, 30));
    assert_eq!(
        inherit(&owner, &file(Kind::Directory, 0o755, 1, 30), Kind::File, 0o644),
        (0o644, 20)
    );
}

/// A18: attributes of users go with the file's mode, those of the trusted are root's, and others mean nothing here.
#[test]
fn xattrs_have_owners() {
    let check =
        |caller: &Caller, kind: Kind, name: &str, wish: Wish, expected: Result<(), Errno>| {
            let asked = may_xattr(caller, &file(kind, 0o644, 10, 10), name.as_bytes(), wish);
            assert_eq!(asked.map_err(|error| error.errno), expected, "{name}");
        };
    let (owner, other) = (Caller::of(10, 10), Caller::of(11, 11));
    check(&owner, Kind::File, "user.a", Wish::WRITE, Ok(()));
    check(&other, Kind::File, "user.a", Wish::WRITE, Err(Errno::ACCESS));
    check(&other, Kind::File, "user.a", Wish::READ, Ok(()));
    check(&owner, Kind::Link, "user.a", Wish::WRITE, Err(Errno::PERM));
    check(&owner, Kind::Link, "user.a", Wish::READ, Err(Errno::NODATA));
    check(&owner, Kind::File, "trusted.a", Wish::WRITE, Err(Errno::PERM));
    check(&Caller::root(), Kind::File, "trusted.a", Wish::WRITE, Ok(()));
    check(&owner, Kind::File, "system.posix_acl_access", Wish::READ, Err(Errno::OPNOTSUPP));
}
