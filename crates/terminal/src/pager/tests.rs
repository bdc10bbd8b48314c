//! Pagers that are there, and one that is not.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::{first_word, or_else_cat};

fn shown_by(line: &str) -> (String, String) {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(or_else_cat(line.into())).arg("sh").arg(first_word(line.as_ref()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"answer\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn a_pager_is_a_line_of_shell_and_one_that_is_missing_swallows_nothing() {
    assert_eq!(shown_by("sed s/a/A/"), ("Answer\n".into(), String::new()));
    assert_eq!(shown_by("LANG=C sed s/a/A/"), ("Answer\n".into(), String::new()));
    let (answer, said) = shown_by("no-such-pager --flag");
    assert_eq!(answer, "answer\n");
    assert!(said.contains("there is no pager 'no-such-pager'"), "{said}");
}
