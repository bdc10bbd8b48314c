//! The coding agents that tests run in cages: packages of the npm registry in `target/agents`, of the versions that
//! `crates/cli/tests/agents/package.json` names. Installed once for each text of that file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Failure, succeeds};

/// Installs them, unless they are there. Without npm or its registry their tests are skipped.
pub(super) fn install(root: &Path) -> Result<(), Failure> {
    let Some(npm) = testing::find("npm") else { return Ok(()) };
    let wanted = fs::read(root.join("crates/cli/tests/agents/package.json"))?;
    let directory = root.join("target/agents");
    let (asked, done) = (directory.join("package.json"), directory.join("done"));
    if fs::read(&done).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    println!("installing coding agents for tests, some 700 MB");
    fs::create_dir_all(&directory)?;
    fs::write(asked, &wanted)?;
    let mut install = Command::new(npm);
    install.arg("install").arg("--prefix").arg(&directory).stdin(Stdio::null());
    install.args(["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]);
    if succeeds(&mut install)? {
        fs::write(done, wanted)?;
    } else {
        println!("the coding agents cannot be installed: their tests are skipped");
    }
    Ok(())
}
