//! Systems that do not let a user make namespaces. `stockade` must refuse there, and the fix that
//! `stockade doctor` prints must be the one that helps: it is carried out word by word.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::guest::{PROGRAMS, code};
use super::passes::{USER_ID, USER_PROJECT};
use crate::command::{Failure, start_failure};
use crate::suite::Totals;

/// Settings of the kernel that forbid it, and the value with which they do.
const SETTINGS: &[(&str, &str)] = &[
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("kernel/unprivileged_userns_clone", "0"),
    ("user/max_user_namespaces", "0"),
];

/// A profile for the program without any capability, also in a namespace of its own: what systems
/// give to programs for which they have no other one.
const PROFILE: &str = "profile restricted /payload/programs/stockade {\n  \
    file,\n  network,\n  signal,\n  ptrace,\n  unix,\n  mount,\n  umount,\n  pivot_root,\n}\n";

/// Tries each restriction, as the user without privilege.
pub(super) fn run() -> Result<Totals, Failure> {
    let shim = Path::new("/usr/local/bin/sudo");
    fs::write(shim, "#!/bin/sh\nexec \"$@\"\n")?;
    fs::set_permissions(shim, Permissions::from_mode(0o755))?;
    let mut totals = Totals::default();
    for (name, value) in SETTINGS {
        let path = Path::new("/proc/sys").join(name);
        if !path.exists() {
            println!("skipped: {name}: this kernel does not have it");
            totals.skipped += 1;
            continue;
        }
        fs::write(&path, value)?;
        count(&mut totals, name, setting(name)?);
    }
    count(&mut totals, "AppArmor profile", profile()?);
    Ok(totals)
}

/// Refused with the reserved status; allowed after the printed fix.
fn setting(name: &str) -> Result<Result<(), String>, Failure> {
    let refused = stockade(&["run", "--", "true"])?;
    if code(refused.status) != CANNOT_BUILD {
        return Ok(Err(format!("a run ended with {}", described(&refused))));
    }
    println!("{name}: {}", String::from_utf8_lossy(&refused.stderr).trim());
    let report = stockade(&["doctor", "--json"])?;
    if code(report.status) != CANNOT_BUILD {
        return Ok(Err(format!("doctor ended with {}", described(&report))));
    }
    let report: Value = serde_json::from_slice(&report.stdout)?;
    let Some(fix) = fix(&report) else {
        return Ok(Err("doctor prints no fix for user namespaces".to_owned()));
    };
    println!("{name}: the fix is:\n{fix}");
    // Like a person who copies it to a shell.
    let fixed = output(Command::new("sh").args(["-e", "-c", fix]))?;
    if !fixed.status.success() {
        return Ok(Err(format!("the fix itself ended with {}", described(&fixed))));
    }
    let allowed = stockade(&["run", "--", "true"])?;
    match code(allowed.status) {
        0 => Ok(Ok(())),
        _ => Ok(Err(format!("after the fix a run ended with {}", described(&allowed)))),
    }
}

fn profile() -> Result<Result<(), String>, Failure> {
    let file = Path::new("/etc/apparmor.d/restricted");
    fs::write(file, PROFILE)?;
    let loaded = output(Command::new("apparmor_parser").arg("--replace").arg(file))?;
    if !loaded.status.success() {
        return Ok(Err(format!("the profile could not be loaded: {}", described(&loaded))));
    }
    let refused = stockade(&["run", "--", "true"])?;
    let removed = output(Command::new("apparmor_parser").arg("--remove").arg(file))?;
    let allowed = stockade(&["run", "--", "true"])?;
    println!("AppArmor profile: {}", String::from_utf8_lossy(&refused.stderr).trim());
    match (code(refused.status), removed.status.success(), code(allowed.status)) {
        (CANNOT_BUILD, true, 0) => Ok(Ok(())),
        (CANNOT_BUILD, _, _) => Ok(Err(format!("without it: {}", described(&allowed)))),
        _ => Ok(Err(format!("a run ended with {}", described(&refused)))),
    }
}

/// What `doctor` says would allow user namespaces.
pub(super) fn fix(report: &Value) -> Option<&str> {
    let layers = report.get("layers")?.as_array()?;
    let layer = layers
        .iter()
        .find(|layer| layer.get("name").and_then(Value::as_str) == Some("user namespaces"))?;
    layer.get("fix")?.as_str()
}

/// Runs `stockade` as the user without privilege.
fn stockade(words: &[&str]) -> Result<Output, Failure> {
    let mut command = Command::new(Path::new(PROGRAMS).join("stockade"));
    command.args(words).uid(USER_ID).gid(USER_ID).env("HOME", "/home/tester");
    output(command.current_dir(USER_PROJECT))
}

fn output(command: &mut Command) -> Result<Output, Failure> {
    command.stdin(Stdio::null());
    command.output().map_err(|source| start_failure(command, source))
}

fn described(output: &Output) -> String {
    format!(
        "{}: {}{}",
        code(output.status),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr).trim()
    )
}

fn count(totals: &mut Totals, name: &str, result: Result<(), String>) {
    match result {
        Ok(()) => totals.passed += 1,
        Err(why) => {
            eprintln!("FAILED {name}: {why}");
            totals.failed += 1;
        }
    }
}

/// The exit status for "no cage can be built here".
const CANNOT_BUILD: i32 = 122;
