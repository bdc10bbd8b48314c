//! Stored grants: for whom they hold, until when, and who may read them.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct World {
    _directory: tempfile::TempDir,
    state: HostPath,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(directory.path()).unwrap().join("stockade");
        let state = HostPath::new(real.into_os_string()).unwrap();
        Self { _directory: directory, state }
    }

    fn store(&self) -> Store {
        Store::open(&self.state)
    }

    fn file(&self) -> PathBuf {
        self.state.as_path().join(FILE_NAME)
    }
}

fn grant() -> NewGrant {
    NewGrant {
        executor: "runner".to_owned(),
        code_sha256: "00".to_owned(),
        capability: "code:exec".to_owned(),
        target: None,
        until: None,
    }
}

#[test]
fn a_grant_holds_for_exactly_what_it_names() {
    let world = World::new();
    let (store, now) = (world.store(), SystemTime::now());
    assert!(!store.has(&grant(), now).unwrap());
    store.add(&grant()).unwrap();
    assert!(store.has(&grant(), now).unwrap());
    for other in [
        NewGrant { executor: "other".to_owned(), ..grant() },
        NewGrant { code_sha256: "01".to_owned(), ..grant() },
        NewGrant { capability: "notify:send".to_owned(), ..grant() },
        NewGrant { target: Some("x".to_owned()), ..grant() },
    ] {
        assert!(!store.has(&other, now).unwrap(), "{other:?}");
    }
    // The same again takes its place.
    store.add(&grant()).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_grant_ends_when_it_expires() {
    let world = World::new();
    let (store, now) = (world.store(), SystemTime::now());
    let until = Some(now + Duration::from_secs(100));
    store.add(&NewGrant { until, ..grant() }).unwrap();
    assert!(store.has(&grant(), now).unwrap());
    assert!(!store.has(&grant(), now + Duration::from_secs(101)).unwrap());
    // What has expired goes with the next one.
    store.add(&NewGrant { until: Some(UNIX_EPOCH), ..grant() }).unwrap();
    assert!(!store.has(&grant(), now).unwrap());
    store.add(&NewGrant { executor: "other".to_owned(), ..grant() }).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_grant_can_be_revoked() {
    let world = World::new();
    let store = world.store();
    assert!(store.revoke(|_| true).unwrap().is_empty());
    store.add(&grant()).unwrap();
    store.add(&NewGrant { executor: "other".to_owned(), ..grant() }).unwrap();
    let id = store.list().unwrap().first().unwrap().id.clone();
    let revoked = store.revoke(|grant| grant.id == id).unwrap();
    assert_eq!(revoked.len(), 1);
    assert!(!store.has(&grant(), SystemTime::now()).unwrap());
    assert_eq!(store.revoke(|_| true).unwrap().len(), 1);
    assert!(store.list().unwrap().is_empty());
    // It is on record.
    let log = std::fs::read_dir(world.state.as_path().join("audit")).unwrap();
    let logs = log.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    assert_eq!(logs.collect::<String>().matches("grant.revoked").count(), 2);
}

#[test]
fn what_others_could_have_written_is_refused() {
    let world = World::new();
    let store = world.store();
    store.add(&grant()).unwrap();
    let mode = std::fs::metadata(world.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let open = std::fs::Permissions::from_mode(0o622);
    std::fs::set_permissions(world.file(), open).unwrap();
    assert!(matches!(store.list(), Err(StoreError::Malformed { .. })));
    std::fs::remove_file(world.file()).unwrap();
    for text in
        ["", "{}", "[]", r#"{"version":2,"grants":[]}"#, r#"{"version":1,"grants":[],"x":1}"#]
    {
        std::fs::write(world.file(), text).unwrap();
        assert!(matches!(store.list(), Err(StoreError::Malformed { .. })), "{text}");
        store.has(&grant(), SystemTime::now()).unwrap_err();
    }
    std::fs::remove_file(world.file()).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.file()).unwrap();
    store.list().unwrap_err();
}

#[test]
fn many_writers_lose_nothing() {
    let world = World::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let store = world.store();
            scope.spawn(move || {
                for turn in 0..5 {
                    let executor = format!("e{number}-{turn}");
                    store.add(&NewGrant { executor, ..grant() }).unwrap();
                }
            });
        }
    });
    assert_eq!(world.store().list().unwrap().len(), 40);
}
