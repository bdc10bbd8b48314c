//! What is read in all, and how often.

use super::*;

fn host(directory: &std::path::Path, name: &str) -> HostPath {
    HostPath::new(directory.join(name).into_os_string()).unwrap()
}

/// T76: however many names a configuration has, it is read once.
#[test]
fn one_file_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    let text = "[core]\nhooksPath = x\n".repeat(1000);
    std::fs::write(top.join("0"), &text).unwrap();
    let mut reader = Reader::new(2 * text.len());
    for number in 0..100 {
        if number > 0 {
            std::fs::hard_link(top.join("0"), top.join(number.to_string())).unwrap();
        }
        let names = reader.configuration(&host(top, &number.to_string()));
        assert_eq!(names.map(|names| names.len()), Some(1000), "{number}");
    }
    assert_eq!(reader.bytes_left, text.len());
    assert!(reader.take_unread().is_empty());
}

/// T76: where nothing is left to read, that is told once, and nothing is taken for harmless.
#[test]
fn what_is_read_has_a_bound() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    for name in ["a", "b", "c"] {
        std::fs::write(top.join(name), "[core]\nhooksPath = x\n").unwrap();
    }
    let mut reader = Reader::new(30);
    assert!(reader.configuration(&host(top, "a")).is_some());
    for name in ["b", "c"] {
        assert!(reader.configuration(&host(top, name)).is_none(), "{name}");
    }
    assert_eq!(reader.take_unread(), [(host(top, "b"), Errno::FBIG)]);
}
