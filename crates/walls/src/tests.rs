//! The list holds together, and in this build nothing of it can be left out.

use super::Wall;
#[cfg(not(stockade_leaves_out_walls))]
use super::{handed_on, stands};

/// Few enough for a person, and no fewer than were promised.
#[test]
fn every_wall_is_described_and_has_a_test() {
    assert!(Wall::ALL.len() >= 25);
    for wall in Wall::ALL {
        assert!(wall.sentence().ends_with('.'), "{wall:?}");
        assert!(!wall.tests().is_empty(), "{wall:?}");
    }
}

/// The compiler knows it, so that it can leave out the question.
#[cfg(not(stockade_leaves_out_walls))]
#[test]
fn in_an_ordinary_build_every_wall_stands() {
    const { assert!(stands(Wall::CallFilter)) };
    assert!(Wall::ALL.iter().all(|wall| stands(*wall)));
    assert_eq!(handed_on(), None);
}

/// The build in which walls can be left out is none that anybody could release.
#[test]
fn no_release_can_leave_out_a_wall() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let compile = |assertions: &str| {
        let mut rustc = std::process::Command::new("rustc");
        rustc.args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "--cfg",
            super::BUILD,
        ]);
        rustc.args(["-C", &format!("debug-assertions={assertions}"), "--out-dir"]);
        rustc.arg(directory.path()).arg(root.join("src/lib.rs")).output().unwrap()
    };
    assert!(compile("yes").status.success());
    let release = compile("no");
    let said = String::from_utf8_lossy(&release.stderr);
    assert!(!release.status.success() && said.contains("a release has all its walls"), "{said}");
}
