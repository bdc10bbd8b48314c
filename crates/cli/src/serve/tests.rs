//! Users by name and by number.

use super::uid_of;

#[test]
fn users_are_found_by_name_and_number() {
    let directory = tempfile::tempdir().unwrap();
    let accounts = directory.path().join("passwd");
    std::fs::write(&accounts, "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/home/ann:\n").unwrap();
    assert_eq!(uid_of("ann", &accounts).unwrap(), 1001);
    assert_eq!(uid_of("4711", &accounts).unwrap(), 4711);
    assert!(uid_of("bob", &accounts).is_err());
    assert!(uid_of("ann", &directory.path().join("missing")).is_err());
}
