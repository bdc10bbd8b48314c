//! How a person reads what a program did not get.

use cage::{Observations, PathDenial, PathProblem};
use plan::HostPath;

use super::sentences;

fn denial(problem: PathProblem) -> PathDenial {
    let path = HostPath::new("/p/src/x").unwrap();
    PathDenial {
        example: path.clone(),
        path,
        paths: 1,
        count: 1,
        problem,
        because: "`ro` on `/p` (stockade.toml:3)".to_owned(),
        secret: None,
        flag: Some("--rw /p/src/x".to_owned()),
    }
}

#[track_caller]
fn check(denial: PathDenial, expected: &str) {
    let observations = Observations { denials: vec![denial], ..Observations::default() };
    assert_eq!(sentences(&observations), [expected]);
}

#[test]
fn each_problem_has_a_sentence() {
    check(
        denial(PathProblem::Unwritable),
        "writing `/p/src/x` was refused: `ro` on `/p` (stockade.toml:3); `--rw /p/src/x` allows it",
    );
    let unwritable = denial(PathProblem::Unwritable);
    let path = HostPath::new("/p/src").unwrap();
    check(
        PathDenial { paths: 3, count: 9, path, flag: None, ..unwritable },
        "writing `/p/src/x` and 2 more in `/p/src` was refused ×9: `ro` on `/p` (stockade.toml:3)",
    );
    let missing = denial(PathProblem::Missing);
    check(
        PathDenial {
            because: "no rule grants it".to_owned(),
            secret: Some("SSH keys"),
            flag: Some("--ro /p/src/x".to_owned()),
            ..missing
        },
        "`/p/src/x` is not in the cage, looked for: no rule grants it; a secret: SSH keys; \
         `--ro /p/src/x` shows it",
    );
    check(
        denial(PathProblem::Vanished),
        "`/p/src/x` was written to the cage's own memory and is gone with it; what is to stay is \
         written to a directory that `--rw` grants",
    );
    check(
        denial(PathProblem::Full),
        "`/p/src/x` was full at the end: it is memory of the cage's own, with a size",
    );
}

#[test]
fn more_than_anybody_reads_is_counted() {
    let denials = vec![denial(PathProblem::Missing); 8];
    let told = sentences(&Observations { denials, unlisted: 5, ..Observations::default() });
    assert_eq!(told.len(), 8);
    assert_eq!(told[6], "2 other paths were refused too; `--json` lists them");
    assert_eq!(told[7], "5 calls about other paths are in no list, because there were too many");
}
