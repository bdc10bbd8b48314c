//! Examples in documentation, which only `cargo test --doc` can run, among them those that must not
//! compile.

use std::path::Path;
use std::process::Stdio;

use super::Totals;
use crate::command::{Failure, cargo, start_failure};

/// Runs all examples; prints what cargo printed if one failed.
pub(super) fn run(root: &Path) -> Result<Totals, Failure> {
    let mut command = cargo(root);
    command.args(["test", "--doc", "--locked", "--workspace", "--no-fail-fast", "--quiet"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| start_failure(&command, source))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut totals = read_results(&text);
    if !output.status.success() {
        eprintln!("{text}{}", String::from_utf8_lossy(&output.stderr));
        // An example that does not compile ends cargo before any result is told.
        totals.failed = totals.failed.max(1);
    }
    println!("examples in documentation: {totals}");
    Ok(totals)
}

/// Sums the lines `test result: ok. 1 passed; 0 failed; 0 ignored; …`.
pub(super) fn read_results(text: &str) -> Totals {
    let mut totals = Totals::default();
    for line in text.lines().filter(|line| line.starts_with("test result:")) {
        for part in line.split(['.', ';']) {
            let count = |what: &str| part.trim().strip_suffix(what)?.trim().parse::<usize>().ok();
            totals.passed += count("passed").unwrap_or_default();
            totals.failed += count("failed").unwrap_or_default();
            totals.skipped += count("ignored").unwrap_or_default();
        }
    }
    totals
}
