//! What a manifest pins must be what it was.

use std::os::unix::fs::symlink;

use super::*;

fn code_file(path: &str, text: &str) -> CodeFile {
    CodeFile { path: path.to_owned(), sha256: hexadecimal(&Sha256::digest(text)) }
}

#[test]
fn a_file_of_another_digest_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::write(root.join("a.py"), "one").unwrap();
    let pinned = pin(&[code_file("a.py", "one")], &root, &root).unwrap();
    verify(&pinned).unwrap();
    std::fs::write(root.join("a.py"), "two").unwrap();
    assert!(verify(&pinned).unwrap_err().problem.contains("digest"));
    std::fs::remove_file(root.join("a.py")).unwrap();
    verify(&pinned).unwrap_err();
    // A link to the right text is still another file.
    std::fs::write(root.join("b.py"), "one").unwrap();
    symlink(root.join("b.py"), root.join("a.py")).unwrap();
    assert!(verify(&pinned).unwrap_err().problem.contains("link"));
}

#[test]
fn a_file_outside_of_the_executor_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    let own = root.join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(root.join("outside.py"), "one").unwrap();
    symlink(root.join("outside.py"), own.join("link.py")).unwrap();
    pin(&[code_file("link.py", "one")], &own, &own).unwrap_err();
    pin(&[code_file("none.py", "one")], &own, &own).unwrap_err();
    let absolute = root.join("outside.py");
    pin(&[code_file(absolute.to_str().unwrap(), "one")], &own, &own).unwrap_err();
}

#[test]
fn what_is_no_file_does_not_hang() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    let fifo = root.join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(digest(&fifo).unwrap_err().problem.contains("regular"));
}
