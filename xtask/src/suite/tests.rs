//! How results are read and what the second pass copies.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use super::binaries::{Built, TestBinary, read_messages};
use super::documentation::read_results;
use super::run::{Verdict, verdict};
use super::stage::copy_tree;
use super::totals::Totals;

#[test]
fn totals_read_as_one_plain_line() {
    let mut totals = Totals { passed: 1, failed: 0, skipped: 2 };
    totals += Totals { passed: 2, failed: 3, skipped: 0 };
    assert_eq!(totals.to_string(), "3 passed, 3 failed, 2 skipped");
}

#[test]
fn a_test_is_judged_by_its_status_first() {
    let exit = |code: i32| Some(ExitStatus::from_raw(code << 8));
    let skipped = "running 1 test\nskipped: shell_works: tmux is not installed\nok\n";
    let lines = vec!["skipped: shell_works: tmux is not installed".to_owned()];
    let longest = testing::slowly(std::time::Duration::from_secs(600)).as_secs();
    let cases = [
        (exit(0), "all fine", Verdict::Passed),
        (exit(0), skipped, Verdict::Skipped(lines)),
        (exit(101), skipped, Verdict::Failed("ended with 101".to_owned())),
        (Some(ExitStatus::from_raw(9)), "", Verdict::Failed("died of signal 9".to_owned())),
        (None, "", Verdict::Failed(format!("killed after {longest} s"))),
        // Of a test that this one has started.
        (exit(0), "skipped: another: only for root", Verdict::Passed),
    ];
    for (status, text, expected) in cases {
        assert_eq!(verdict("shell_works", status, text, Duration::from_secs(600)), expected);
    }
}

#[test]
fn the_line_before_a_skip_may_lack_its_end() {
    let text = "test shell_works ... skipped: shell_works: tmux is not installed\nok\n";
    let expected = vec!["skipped: shell_works: tmux is not installed".to_owned()];
    let verdict =
        verdict("shell_works", Some(ExitStatus::from_raw(0)), text, Duration::from_secs(600));
    assert_eq!(verdict, Verdict::Skipped(expected));
}

#[test]
fn results_of_examples_are_summed() {
    let text = "running 2 tests\n\
        test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\n\
        test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(read_results(text), Totals { passed: 3, failed: 3, skipped: 1 });
}

#[test]
fn test_programs_are_found_in_the_messages_of_cargo() {
    let message = |id: &str, target: &str, test: bool, executable: &str| {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\",\
             \"manifest_path\":\"/p/crates/jail/Cargo.toml\",\"target\":{{\"name\":\"{target}\"}},\
             \"profile\":{{\"test\":{test}}},\"executable\":{executable}}}"
        )
    };
    let text = [
        message("path+file:///p/crates/jail#stockade-jail@0.1.0", "signals", true, "\"/t/b\""),
        message("path+file:///p/crates/jail#0.1.0", "jail", true, "\"/t/a\""),
        message("path+file:///p/crates/plan#stockade-plan@0.1.0", "plan", false, "null"),
        message("path+file:///p/crates/cli#stockade-cli@0.1.0", "stockade", false, "\"/t/s\""),
        message("path+file:///p/crates/prove#stockade-prove@0.1.0", "attacker", false, "\"/t/x\""),
        message("path+file:///p/crates/guest#0.1.0", "stockade-guest", false, "\"/t/g\""),
        message("path+file:///p/crates/cli#stockade-cli@0.1.0", "embed", false, "\"/t/e\""),
        "{\"reason\":\"build-finished\",\"success\":true}".to_owned(),
    ]
    .join("\n");
    let binary = |package: &str, target: &str, executable: &str| TestBinary {
        package: package.to_owned(),
        target: target.to_owned(),
        executable: PathBuf::from(executable),
        directory: PathBuf::from("/p/crates/jail"),
    };
    let tests = vec![binary("jail", "jail", "/t/a"), binary("stockade-jail", "signals", "/t/b")];
    let [stockade, attacker, guest, embed] =
        ["/t/s", "/t/x", "/t/g", "/t/e"].map(|path| Some(PathBuf::from(path)));
    let expected = Built { tests, stockade, attacker, guest, embed };
    assert_eq!(read_messages(&text).unwrap(), expected);
}

#[test]
fn the_copy_has_the_sources_and_nothing_that_was_built() {
    let root = tempfile::tempdir().unwrap();
    let from = root.path().join("from");
    let write = |path: &str| {
        let path = from.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    };
    for path in ["target/debug/a", ".git/HEAD", "crates/cli/tests/data/p.toml", "README.md"] {
        write(path);
    }
    symlink("README.md", from.join("link")).unwrap();
    let to = root.path().join("to");
    copy_tree(&from, &to).unwrap();
    assert!(to.join("crates/cli/tests/data/p.toml").is_file());
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("README.md"));
    assert!(!to.join("target").exists() && !to.join(".git").exists());
}
