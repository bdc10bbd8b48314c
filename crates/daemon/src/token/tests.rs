//! Tokens that are made, kept and shown, and files that are no good for one.

use std::os::unix::fs::PermissionsExt as _;

use super::Token;

#[test]
fn a_token_is_made_once_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let made = Token::read_or_make(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = Token::text_in(&path).unwrap();
    assert_eq!(text.len(), 64);
    assert!(made == Token::read_or_make(&path).unwrap());
    assert!(made.is_shown_by(text.as_bytes()));
    let almost = format!("{}x", &text[..63]);
    for wrong in ["", &text[..63], &almost, &format!("{text} ")] {
        assert!(!made.is_shown_by(wrong.as_bytes()));
    }
    assert_eq!(format!("{made:?}"), "Token");
}

/// T52
#[test]
fn a_file_that_others_could_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let check = |mode: u32, text: &str, problem: &str| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let message = Token::read_or_make(&path).unwrap_err().to_string();
        assert!(message.contains(problem), "{message}");
    };
    let good = "a".repeat(32);
    check(0o644, &good, "can be read by others");
    check(0o620, &good, "can be read by others");
    check(0o600, "short", "holds no token");
    check(0o600, &format!("{good}\n{good}"), "holds no token");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert!(Token::read_or_make(&path).is_err());
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(Token::read_or_make(&path).is_err());
}
