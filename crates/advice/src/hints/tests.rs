//! Tests of the words that go with a failed start.

use std::fs;
use std::path::Path;

use super::{installed_tree, interpreter, not_executable, on_host_neither};
use rustix::io::Errno;

/// K183
#[test]
fn the_tree_that_a_program_was_installed_as() {
    let root = tempfile::tempdir().unwrap();
    let at = |relative: &str| root.path().join(relative);
    fs::create_dir_all(at("node/v20/bin")).unwrap();
    fs::create_dir_all(at("node/v20/lib")).unwrap();
    fs::create_dir_all(at("plain/bin")).unwrap();
    let table = [
        ("node/v20/bin/agent", "node/v20"),
        ("plain/bin/agent", "plain/bin"),
        ("tools/agent", "tools"),
    ];
    for (program, tree) in table {
        assert_eq!(installed_tree(&at(program)), at(tree), "{program}");
    }
    // The system's own prefix is shared by everything.
    assert_eq!(installed_tree(Path::new("/usr/bin/agent")), Path::new("/usr/bin"));
}

/// K183
#[test]
fn the_interpreter_of_a_script() {
    let root = tempfile::tempdir().unwrap();
    let table: [(&[u8], Option<&str>); 5] = [
        (b"#!/usr/bin/env python3\n", Some("/usr/bin/env")),
        (b"#! /bin/sh -e\n", Some("/bin/sh")),
        (b"\x7fELF", None),
        (b"", None),
        (b"#!\n", None),
    ];
    for (contents, expected) in table {
        let path = root.path().join("script");
        fs::write(&path, contents).unwrap();
        assert_eq!(interpreter(&path).as_deref(), expected.map(Path::new), "{contents:?}");
    }
}

/// K183
#[test]
fn help_for_a_file_that_is_no_program() {
    for errno in [Errno::ACCESS, Errno::NOEXEC, Errno::TOOBIG, Errno::TXTBSY] {
        assert_eq!(not_executable("x", errno).len(), 1, "{errno}");
    }
    assert!(not_executable("x", Errno::IO).is_empty());
}

/// K183
#[test]
fn help_for_a_name_that_no_program_has() {
    for (program, expected) in [
        ("ls -la", "sh -c 'ls -la'"),
        ("cd", "a word of the shell"),
        ("X=1", "--env X=1"),
        ("./absent", "does not exist on the host either"),
        ("./a=b", "does not exist on the host either"),
        ("pyhton", "check the spelling"),
    ] {
        let help = on_host_neither(program);
        assert!(help.contains(expected), "{program}: {help}");
    }
}
