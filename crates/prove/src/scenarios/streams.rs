//! The standard streams that a cage is started with, as ways to more than they were opened for. T77

use std::fs;
use std::os::unix::fs::PermissionsExt;

use attacks::{Outcome, Refused};
use sys::raw::landlock_version;

use crate::scenario::{Scenario, ScenarioScene, finish};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new(
    "T77",
    "reopen-standard-input",
    "opens the file that it may read as its standard input anew, for writing",
    reopen,
)];

/// Everybody may write this file, and it lies on no mount of the cage: landlock is all that is left.
fn reopen(scene: &mut ScenarioScene<'_>) -> Result<Outcome, Refused> {
    if scene.is_caged() && landlock_version() == 0 {
        return Ok(Outcome::NotApplicable("this kernel has no landlock".to_owned()));
    }
    let target = scene.target();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o666))?;
    let mut command = scene.command(&scene.script(SCRIPT, &[]));
    command.stdin(fs::File::open(&target)?);
    let finished = finish(command)?;
    Ok(scene.judge(&finished))
}

const SCRIPT: &str =
    "for name in /proc/self/fd/0 /dev/fd/0 /dev/stdin; do printf changed > $name; done";
