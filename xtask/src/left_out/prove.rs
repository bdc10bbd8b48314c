//! Whether `stockade prove` notices that a wall is left out, and by which attacks. As the caller alone.

use std::fs::Permissions;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use ::walls::{VARIABLE, Wall};
use serde_json::Value;

use super::programs::Programs;
use crate::command::Failure;
use crate::deadline;

/// What a proof has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing was noticed.
    Held,
    /// These attacks went through or came to nothing.
    Broken(Vec<String>),
    /// There was none: no cage starts like that.
    NoCage,
    /// It took too long, which says nothing.
    TooLong,
    /// None was made any more.
    NoTime,
}

/// Makes a proof in a directory of its own.
pub(super) fn prove(programs: &Programs, left_out: Option<Wall>) -> Result<Proof, Failure> {
    let permissions = Permissions::from_mode(0o1777);
    let field = tempfile::Builder::new().prefix("walls-").permissions(permissions).tempdir()?;
    let project = field.path().join("project");
    std::fs::create_dir(&project)?;
    let mut output = tempfile::tempfile()?;
    let stockade = |words: &[&str], output: Stdio| -> Result<Command, Failure> {
        let mut command = Command::new(programs.stockade()?);
        command
            .args(words)
            .env("TMPDIR", field.path())
            .env("HOME", field.path())
            .env("XDG_STATE_HOME", field.path().join("state"))
            .envs(left_out.map(|wall| (VARIABLE, wall.name())))
            .current_dir(&project)
            .stdout(output)
            .stderr(Stdio::null());
        Ok(command)
    };
    // Without any cage a proof would wait long for each, and say the same.
    let mut trial = stockade(&["run", "--", "true"], Stdio::null())?;
    if !deadline::finish(&mut trial, LONGEST)?.is_some_and(|status| status.success()) {
        return Ok(Proof::NoCage);
    }
    let mut proof = stockade(&["prove", "--json"], output.try_clone()?.into())?;
    let status = deadline::finish(&mut proof, LONGEST)?;
    let mut text = String::new();
    output.rewind()?;
    output.read_to_string(&mut text)?;
    Ok(match status {
        Some(status) if status.success() => Proof::Held,
        Some(_) => broken(&text),
        None => Proof::TooLong,
    })
}

/// The attacks of a report that a cage did not hold off, or that did not work.
pub(super) fn broken(report: &str) -> Proof {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let Some(rows) = report.get("rows").and_then(Value::as_array) else { return Proof::NoCage };
    let is = |judgement: &Value, words: &[&str]| {
        let word = judgement.get("judgement").and_then(Value::as_str).unwrap_or_default();
        words.contains(&word)
    };
    let is_broken = |row: &&Value| {
        let known = row.get("not_defended").is_some_and(|why| !why.is_null());
        let cages = row.get("cages").and_then(Value::as_array);
        let twin = row.get("twin").is_some_and(|twin| is(twin, &["held", "broken"]));
        let cages = cages.into_iter().flatten();
        twin || cages
            .into_iter()
            .any(|cage| is(cage, &["broken"]) || (!known && is(cage, &["went_through"])))
    };
    let names = |row: &Value| row.get("name").and_then(Value::as_str).map(str::to_owned);
    let rows = rows.iter().filter(is_broken).filter_map(names);
    let unexplained = report.get("unexplained").and_then(Value::as_array);
    let unexplained = unexplained.into_iter().flatten().filter_map(Value::as_str);
    Proof::Broken(rows.chain(unexplained.map(str::to_owned)).collect())
}

/// Some times what it promises.
const LONGEST: Duration = Duration::from_secs(90);
