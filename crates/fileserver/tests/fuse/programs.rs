//! Programs that know nothing of us, in a tree that is served.

use std::path::Path;
use std::process::Command;

use crate::served::{Served, alone, can_mount, gathering, host, memory, overlay, shared};

fn run(place: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place).env("HOME", place);
    let output = command.output().unwrap();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
    out
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn each(program: &str, arguments: &[&str], expected: &str) {
    if !can_mount() || !testing::has(program) {
        return;
    }
    let (_place, host) = host();
    for (what, engine, settings) in [
        ("memory", memory(), alone()),
        ("memory, gathering", memory(), gathering()),
        ("memory, shared", memory(), shared()),
        ("overlay", overlay(), alone()),
        ("host", host, shared()),
    ] {
        let served = Served::new(engine, settings);
        assert_eq!(run(served.path(), program, arguments), expected, "{what}");
    }
}

/// A24
#[test]
fn git_works() {
    if testing::has("git") {
        let script = include_str!("programs/git.sh");
        each("sh", &["-euc", script], "1\nx\n2\n60\n");
    }
}

/// A24
#[test]
fn python_and_sqlite_work() {
    let expected = "(500, 124750)\nok\nb'hello'\n300\n";
    each("python3", &["-c", include_str!("programs/base.py")], expected);
}

/// A24
#[test]
fn node_works() {
    let script = include_str!("programs/files.mjs");
    let expected = "101 7\n7more 5\nfalse\n";
    each("node", &["--input-type=module", "-e", script], expected);
}

/// A18, A24: a tree that `tar` unpacks is the one that was packed.
#[test]
fn tar_works() {
    if testing::has("tar") {
        let script = include_str!("programs/tar.sh");
        let expected = "a/h 81a4 1000 1001 2 5\nl a1ff 1000 1001 1 3\nhole 81a4 0 0 1 1048576\n\
                        a 751 now\na/b 755 -6\n";
        each("sh", &["-euc", script], expected);
    }
}
