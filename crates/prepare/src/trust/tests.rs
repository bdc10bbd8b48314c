//! What counts as an approval, and which stores are not believed. Uses no real state.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn store() -> (tempfile::TempDir, Trust) {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state/stockade");
    let trust = Trust::open(&host_path(&state));
    (directory, trust)
}

fn host_path(path: &Path) -> HostPath {
    HostPath::new(path.as_os_str().to_owned()).unwrap()
}

fn project_file(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}

/// T50
#[test]
fn an_approval_holds_for_the_very_text_at_the_very_path() {
    let (_directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    let other = project_file("/srv/other/stockade.toml");
    assert!(!trust.is_allowed(&path, b"version = 1\n").unwrap());
    trust.allow(&path, b"version = 1\n").unwrap();
    assert!(trust.is_allowed(&path, b"version = 1\n").unwrap());
    assert!(!trust.is_allowed(&path, b"version = 1").unwrap());
    assert!(!trust.is_allowed(&path, b"").unwrap());
    assert!(!trust.is_allowed(&other, b"version = 1\n").unwrap());
}

#[test]
fn a_new_approval_replaces_the_old_one() {
    let (_directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    trust.allow(&path, b"one").unwrap();
    trust.allow(&path, b"two").unwrap();
    assert!(!trust.is_allowed(&path, b"one").unwrap());
    assert!(trust.is_allowed(&path, b"two").unwrap());
}

#[test]
fn a_denial_revokes_and_says_whether_there_was_something() {
    let (_directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    assert!(!trust.deny(&path).unwrap());
    trust.allow(&path, b"one").unwrap();
    assert!(trust.deny(&path).unwrap());
    assert!(!trust.is_allowed(&path, b"one").unwrap());
    assert!(!trust.deny(&path).unwrap());
}

#[test]
fn the_store_is_private_and_holds_no_temporary_file() {
    let (directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    trust.allow(&path, b"one").unwrap();
    let trust_directory = directory.path().join("state/stockade/trust");
    assert_eq!(std::fs::metadata(&trust_directory).unwrap().permissions().mode() & 0o777, 0o700);
    let entries: Vec<_> = std::fs::read_dir(&trust_directory).unwrap().flatten().collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(entries[0].file_name().len(), 64);
}

/// T7: names that are not text survive the store.
#[test]
fn paths_are_bytes() {
    let (_directory, trust) = store();
    let path = HostPath::new(b"/srv/\xff\n\\x/stockade.toml".to_vec()).unwrap();
    trust.allow(&path, b"\xff").unwrap();
    assert!(trust.is_allowed(&path, b"\xff").unwrap());
}

/// T50: a store that others may write to says nothing.
#[test]
fn a_store_that_others_may_write_is_refused() {
    let path = project_file("/srv/project/stockade.toml");
    for writable in ["state/stockade", "state/stockade/trust"] {
        let (directory, trust) = store();
        trust.allow(&path, b"one").unwrap();
        let part = directory.path().join(writable);
        std::fs::set_permissions(&part, PermissionsExt::from_mode(0o777)).unwrap();
        let error = trust.is_allowed(&path, b"one").unwrap_err();
        assert!(matches!(error, TrustError::Untrustworthy { .. }), "{writable}: {error}");
        assert!(trust.allow(&path, b"one").is_err());
        assert!(trust.deny(&path).is_err());
    }
    let (directory, trust) = store();
    trust.allow(&path, b"one").unwrap();
    let file = directory.path().join("state/stockade").join(approval_file(&path));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    assert!(matches!(trust.is_allowed(&path, b"one"), Err(TrustError::Untrustworthy { .. })));
}

/// T50
#[test]
fn a_store_of_another_user_is_refused() {
    if !testing::is_root() {
        return testing::skip("only root can make files of others");
    }
    let (directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    trust.allow(&path, b"one").unwrap();
    let file = directory.path().join("state/stockade").join(approval_file(&path));
    std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
    assert!(matches!(trust.is_allowed(&path, b"one"), Err(TrustError::Untrustworthy { .. })));
}

/// T1: neither the store nor an approval may be a link.
#[test]
fn links_in_the_store_are_not_followed() {
    let path = project_file("/srv/project/stockade.toml");
    let (directory, trust) = store();
    trust.allow(&path, b"one").unwrap();
    let file = directory.path().join("state/stockade").join(approval_file(&path));
    let moved = directory.path().join("moved");
    std::fs::rename(&file, &moved).unwrap();
    symlink(&moved, &file).unwrap();
    assert!(matches!(
        trust.is_allowed(&path, b"one"),
        Err(TrustError::Kernel { call: "open", source: Errno::LOOP, .. })
    ));
    let trust_directory = directory.path().join("state/stockade/trust");
    std::fs::remove_dir_all(&trust_directory).unwrap();
    symlink(directory.path(), &trust_directory).unwrap();
    assert!(trust.is_allowed(&path, b"one").is_err());
}

#[test]
fn a_file_that_is_no_approval_is_an_error() {
    let path = project_file("/srv/project/stockade.toml");
    let large = vec![b' '; 40_000];
    let table: [(&[u8], &str); 4] = [
        (b"", "EOF"),
        (b"{\"version\":2,\"path\":\"/a\",\"sha256\":\"\"}", "version is 2"),
        (b"{\"version\":1,\"path\":\"/a\",\"sha256\":\"\",\"x\":1}", "unknown field"),
        (&large, "larger than"),
    ];
    for (contents, expected) in table {
        let (directory, trust) = store();
        trust.allow(&path, b"one").unwrap();
        let file = directory.path().join("state/stockade").join(approval_file(&path));
        std::fs::write(&file, contents).unwrap();
        let error = trust.is_allowed(&path, b"one").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// An approval copied to another path's name does not count there.
#[test]
fn an_approval_under_a_foreign_name_does_not_count() {
    let (directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    let other = project_file("/srv/other/stockade.toml");
    trust.allow(&path, b"one").unwrap();
    let state = directory.path().join("state/stockade");
    std::fs::copy(state.join(approval_file(&path)), state.join(approval_file(&other))).unwrap();
    assert!(!trust.is_allowed(&other, b"one").unwrap());
}

/// T50, K193
#[test]
fn approvals_and_their_ends_are_on_record() {
    let (directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    trust.deny(&path).unwrap();
    trust.allow(&path, b"one").unwrap();
    trust.deny(&path).unwrap();
    let log = directory.path().join("state/stockade/audit");
    let reader = audit::Reader::open(&log).unwrap();
    let events: Vec<Event> = reader
        .records(audit::Filter::default())
        .filter_map(|record| record.unwrap().event())
        .collect();
    let path = || "/srv/project/stockade.toml".into();
    let [Event::LogBegun { .. }, allowed, denied] = events.as_slice() else {
        panic!("{events:?}");
    };
    let sha256 = hexadecimal_hash(b"one").as_str().into();
    assert_eq!(*allowed, Event::PolicyAllowed { path: path(), sha256 });
    assert_eq!(*denied, Event::PolicyDenied { path: path() });
}

/// K240
#[test]
fn what_cannot_be_recorded_is_not_approved() {
    let (directory, trust) = store();
    let path = project_file("/srv/project/stockade.toml");
    let log = directory.path().join("state/stockade/audit");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::set_permissions(log.parent().unwrap(), PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(&log, b"not a directory").unwrap();
    assert!(matches!(trust.allow(&path, b"one"), Err(TrustError::Record(_))));
    assert!(!trust.is_allowed(&path, b"one").unwrap());
}
