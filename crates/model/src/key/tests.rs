//! Keys: where they come from, and that nothing prints them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use zeroize::Zeroizing;

use super::{Key, KeyError, KeySource};

#[test]
fn keys_come_from_files_and_commands() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("key");
    fs::write(&path, "  sk-in-file\n").expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    let reference = format!("file:{}", path.display());
    let read = |text: &str| text.parse::<KeySource>().expect(text).read();
    let check = |text: &str| text.parse::<KeySource>().expect(text).check();
    assert!(check(&reference).is_ok() && check("file:/nowhere/at/all").is_err());
    assert!(check("env:PATH").is_ok() && check("env:STOCKADE_TEST_NO_SUCH").is_err());
    assert_eq!(read(&reference).expect("a key").bytes(), b"sk-in-file");
    assert_eq!(read("command:printf sk-command").expect("a key").bytes(), b"sk-command");
    assert!(matches!(read("command:false"), Err(KeyError::Failed { .. })));
    assert!(matches!(read("command:/nowhere/at/all"), Err(KeyError::Command { .. })));
    assert!(matches!(read("env:STOCKADE_TEST_NO_SUCH"), Err(KeyError::NoVariable(_))));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
    assert!(matches!(read(&reference), Err(KeyError::Readable(_))));
}

#[test]
fn what_is_no_key_is_refused() {
    for (bytes, is_key) in [
        ("", false),
        (" \n", false),
        ("a b", false),
        ("a\r\nx: y", false),
        ("schl\u{fc}ssel", false),
        ("k", false),
        ("sk-1234", false),
        ("sk-12345", true),
    ] {
        assert_eq!(
            Key::new(Zeroizing::new(bytes.as_bytes().to_vec())).is_ok(),
            is_key,
            "{bytes:?}"
        );
    }
    assert!(matches!(Key::new(Zeroizing::new(vec![b'a'; 9000])), Err(KeyError::TooLong)));
}

#[test]
fn nothing_prints_a_key() {
    let key = Key::new(Zeroizing::new(b"sk-very-secret".to_vec())).expect("a key");
    assert_eq!(format!("{key:?} {key:#?}"), "Key(_) Key(_)");
    let mistaken = "sk-very-secret-that-was-pasted".parse::<KeySource>().expect_err("no reference");
    assert!(!format!("{mistaken} {mistaken:?}").contains("very-secret"));
}
