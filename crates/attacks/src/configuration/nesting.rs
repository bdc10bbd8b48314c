//! A cage that asks for a cage of its own, with more than it has itself. T51

use std::process::Command;

use crate::Arena;
use crate::attack::{Attack, Outcome, Refused, Scene};

pub(crate) const ATTACKS: &[Attack] =
    &[Attack::new("T51", "cage-asks-for-more", "starts a cage that grants what it lacks", nested)
        .steals()];

fn nested(scene: &Scene<'_>) -> Result<Outcome, Refused> {
    let program = Arena::attacker(&scene.project);
    let version = Command::new(&program).arg("--version").output()?;
    if !version.stdout.starts_with(b"stockade ") {
        return Ok(Outcome::NotApplicable("this program builds no cages".to_owned()));
    }
    let output = Command::new(&program)
        .args(["run", "--ro"])
        .arg(scene.secret())
        .arg("--project")
        .arg(scene.workplace()?)
        .args(["--", "/bin/cat"])
        .arg(scene.secret())
        .output()?;
    if output.status.success() {
        return Ok(Outcome::of_reading(&output.stdout));
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.lines().next().unwrap_or_default().to_owned();
    Ok(Outcome::Failed(format!("{}: {complaint}", output.status)))
}
