//! What the process keeps of its user's files.

use std::fs;
use std::io::ErrorKind;

use jail::within;

/// V31, T45: after it has its keys the process opens the record and what names need, and no file of its user's; nor does it
/// start a program.
#[test]
fn it_keeps_the_record_and_nothing_of_its_user() {
    if !within::can_narrow() {
        testing::skip("this kernel has no landlock of version 3");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (record, key) = (place.path().join("audit"), place.path().join("key"));
    fs::create_dir(&record).unwrap();
    fs::write(&key, "secret").unwrap();
    // For good, and of this thread alone: what the test removes in the end, another one has to.
    let narrowed = std::thread::spawn(move || {
        super::give_up_files(&record).unwrap();
        let refused = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
        assert!(fs::read(&key).is_err_and(refused));
        assert!(fs::read("/proc/self/environ").is_err_and(refused));
        assert!(fs::write(key.with_file_name("new"), "x").is_err_and(refused));
        assert!(std::process::Command::new("/bin/true").spawn().is_err_and(refused));
        fs::write(record.join("000001.jsonl"), "line").unwrap();
        assert!(fs::read("/etc/hosts").is_ok());
    });
    narrowed.join().unwrap();
}
