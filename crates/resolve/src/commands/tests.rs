//! What listed commands bring, tried by running them in a root made of just that.
//! Where the caller may not change the root, what was found is only looked at.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use policy::Policy;

use super::super::fixture::Host;
use super::super::{Resolved, resolve as resolve_policy};
use super::*;

fn with(names: &[&str]) -> Result<Resolved, ResolveError> {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let policy = Policy { commands: policy::Commands::Listed(names), ..Policy::closed("test") };
    resolve_policy(&policy, &Host::new().surroundings)
}

/// Rebuilds the files and links in an empty directory, as the compiler's Plan would.
fn rebuild(resolved: &Resolved) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let inside = |at: &GuestPath| {
        let path = root.path().join(at.as_path().strip_prefix("/").unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    for file in &resolved.facts.commands {
        match file {
            CommandFile::File { at, source } => {
                let source = resolved.source(*source);
                assert_eq!(source.path.as_path(), at.as_path());
                std::fs::copy(source.path.as_path(), inside(at)).unwrap();
            }
            CommandFile::Symlink { at, target } => {
                std::os::unix::fs::symlink(target.as_os_str(), inside(at)).unwrap();
            }
        }
    }
    root
}

fn run_in(root: &Path, program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new("/usr/sbin/chroot")
        .arg(root)
        .arg(program)
        .args(arguments)
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// V11: the shell and the listed programs run with what was found, and nothing else of the system.
#[test]
fn listed_programs_run_with_what_was_found() {
    let resolved = with(&["cat", "ls"]).unwrap();
    let shown: Vec<PathBuf> = resolved
        .facts
        .commands
        .iter()
        .map(|file| match file {
            CommandFile::File { at, .. } | CommandFile::Symlink { at, .. } => at.as_path().into(),
        })
        .collect();
    assert!(shown.contains(&"/usr/bin/cat".into()) || shown.contains(&"/bin/cat".into()));
    let unique: HashSet<_> = shown.iter().collect();
    assert_eq!(unique.len(), shown.len());
    assert!(shown.len() < 60, "{shown:?}");
    assert!(!shown.iter().any(|path| path.ends_with("bash") || path.ends_with("env")));
    if rustix::process::geteuid().is_root() {
        let root = rebuild(&resolved);
        assert_eq!(run_in(root.path(), "/bin/sh", &["-c", "echo hello | cat"]), "hello\n");
        assert_eq!(run_in(root.path(), "/bin/ls", &["-d", "/bin"]), "/bin\n");
    }
}

/// Links through the directory of alternatives, and interpreters of scripts.
#[test]
fn links_and_scripts_bring_what_they_lead_to() {
    if !testing::is_root() {
        return testing::skip("only root can enter another root");
    }
    if Path::new("/etc/alternatives/awk").exists() {
        let root = rebuild(&with(&["awk"]).unwrap());
        assert_eq!(run_in(root.path(), "/usr/bin/awk", &["BEGIN { print 7 }"]), "7\n");
    }
    if Path::new("/usr/bin/ldd").exists() {
        let resolved = with(&["ldd"]).unwrap();
        let shows_bash = resolved.facts.commands.iter().any(
            |file| matches!(file, CommandFile::File { at, .. } if at.as_path().ends_with("bash")),
        );
        assert!(shows_bash);
    }
}

#[test]
fn an_unknown_command_is_told_with_what_was_meant() {
    let error = with(&["catt", "no-such-program-at-all", "ls"]).unwrap_err();
    let ResolveError::Commands(problems) = &error else { panic!("{error}") };
    assert_eq!(problems.len(), 2);
    assert!(matches!(
        &problems[0].reason,
        CommandReason::NotFound { similar: Some(similar) } if similar.len() <= 5
    ));
    assert_eq!(problems[1].reason, CommandReason::NotFound { similar: None });
    assert!(error.is_policy_fault());
}

#[test]
fn first_lines_of_scripts_are_read_as_the_kernel_does() {
    let table: [(&[u8], &[&str]); 7] = [
        (b"#!/bin/sh\n", &["/bin/sh"]),
        (b"#! /bin/sh -e\necho", &["/bin/sh"]),
        (b"#!/usr/bin/env sh\n", &["/usr/bin/env", "sh"]),
        (b"#!/usr/bin/env -S sh -x\n", &["/usr/bin/env", "sh"]),
        (b"#!/usr/bin/env A=1 sh\n", &["/usr/bin/env", "sh"]),
        (b"#!/bin/sh env\n", &["/bin/sh"]),
        (b"#!/bin/sh", &["/bin/sh"]),
    ];
    for (text, expected) in table {
        let file = written(text);
        let words = script_interpreter(&file).unwrap();
        let files: Vec<_> = interpreter_files(&words).collect();
        assert_eq!(files.len(), expected.len());
        for (file, expected) in files.iter().zip(expected) {
            assert!(file.ends_with(expected.as_bytes()));
        }
    }
    for text in [b"".as_slice(), b"#!", b"#!\n", b"echo", b"#"] {
        assert!(script_interpreter(&written(text)).is_none());
    }
}

fn written(text: &[u8]) -> std::fs::File {
    use std::io::Write as _;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    file
}

#[test]
fn links_in_a_circle_end() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    std::os::unix::fs::symlink(&one, &other).unwrap();
    std::os::unix::fs::symlink(&other, &one).unwrap();
    let opener = Opener::new().unwrap();
    let mut sources = Sources::default();
    let mut collection = Collection {
        opener: &opener,
        sources: &mut sources,
        libraries: Libraries::of_this_host(),
        files: Vec::new(),
        shown: HashSet::new(),
        plain_directories: HashSet::new(),
    };
    let failed = collection.follow(one.as_os_str().as_bytes()).unwrap_err();
    assert!(matches!(failed, CommandReason::Unusable { problem: PathProblem::SymlinkLoop, .. }));
}
