//! Tables of grants.

use super::*;

#[test]
fn a_grant_is_read_and_written_again() {
    for text in [
        "declared",
        "fs:read:~/notes/**",
        "fs:write:/srv/data",
        "fs:read:host:/tmp/x",
        "network:*",
        "network:example.com",
        "network:*.example.com:443",
        "network:10.0.0.0/8",
        "code:exec",
        "mail:send",
    ] {
        assert_eq!(Grant::read(text).unwrap().to_string(), text);
    }
}

#[test]
fn what_is_no_grant_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", "there are"),
        ("all", "there are"),
        ("*", "there are"),
        ("code:exce", "did you mean `code:exec`?"),
        ("fs:read", "a path is missing"),
        ("fs:read:", "is empty"),
        ("fs:read:notes", "is relative"),
        ("fs:write:/a/../b", "`..`"),
        ("network:", "names no host"),
        ("network:http", "name the host"),
        ("network:0.0.0.0/0", "network:*"),
        ("network:**", "every host"),
    ] {
        let error = Grant::read(text).expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn grants_are_plain_data() {
    let some = Grants::listed(&["declared", "network:*"]).unwrap();
    let text = serde_json::to_string(&some).unwrap();
    assert_eq!(text, r#"["declared","network:*"]"#);
    assert_eq!(serde_json::from_str::<Grants>(&text).unwrap(), some);
    assert_eq!(serde_json::to_string(&Grants::Unsaid).unwrap(), "null");
    assert_eq!(serde_json::from_str::<Grants>("null").unwrap(), Grants::Unsaid);
    assert_eq!(serde_json::from_str::<Grants>("[]").unwrap(), Grants::Listed(Vec::new()));
    assert!(serde_json::from_str::<Grants>(r#"["everything"]"#).is_err());
}
