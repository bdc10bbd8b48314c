//! Tests of how a flag's path becomes absolute.

use std::path::Path;

use plan::HostPath;

use super::{PathProblem, absolute};

fn check(written: &str, expected: Result<&str, PathProblem>) {
    let working_directory = HostPath::new("/work/project/deep").unwrap();
    let home = HostPath::new("/home/user").unwrap();
    let found = absolute(Path::new(written), &working_directory, Some(&home));
    let expected = expected.map(|path| HostPath::new(path).unwrap());
    assert_eq!(found, expected, "{written:?}");
}

/// V16, T61
#[test]
fn paths_become_absolute_by_their_text() {
    check(".", Ok("/work/project/deep"));
    check("./", Ok("/work/project/deep"));
    check("a//b/./c/", Ok("/work/project/deep/a/b/c"));
    check("..", Ok("/work/project"));
    check("./../../x", Ok("/work/x"));
    check("../../../../..", Ok("/"));
    check("/", Ok("/"));
    check("/a/b/", Ok("/a/b"));
    check("~", Ok("/home/user"));
    check("~/x", Ok("/home/user/x"));
    check("./~x", Ok("/work/project/deep/~x"));
    check("a b", Ok("/work/project/deep/a b"));
}

/// V16
#[test]
fn paths_that_could_mean_something_else_are_refused() {
    check("", Err(PathProblem::Empty));
    check("a/../b", Err(PathProblem::Upwards));
    check("/a/../b", Err(PathProblem::Upwards));
    check("~/../x", Err(PathProblem::Upwards));
    check("~somebody/x", Err(PathProblem::OtherHome));
    check("a\nb", Err(PathProblem::ControlCharacter));
    check("a\u{1b}[31mb", Err(PathProblem::ControlCharacter));
    check(&"x/".repeat(3000), Err(PathProblem::TooLong));
}
