//! The kept directory behind `/scratch`: one for each cage of each project, in the user's own state
//! directory. Made for its owner alone; never removed here, because the next run expects it.

use std::os::unix::fs::DirBuilderExt as _;

use cage::project::Locations;
use plan::HostPath;
use sha2::{Digest as _, Sha256};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::selection::Selection;

/// The directory of the selected cage, which exists afterwards.
pub(crate) fn directory(locations: &Locations, selection: &Selection) -> Result<HostPath, Failure> {
    let failed = |what: String| {
        Failure::new(Exit::CannotBuild, format!("`state = \"scratch\"` needs a directory: {what}"))
    };
    let Some(state) = &locations.state else {
        return Err(failed("there is no home to keep it in".to_owned())
            .help("set HOME or XDG_STATE_HOME, or use `state = \"ephemeral\"`"));
    };
    let name = name(&selection.place.project, &selection.policy.name);
    let path = state.join("scratch").and_then(|scratch| scratch.join(name));
    let path = path.map_err(|error| failed(error.to_string()))?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path.as_path())
        .map_err(|error| failed(format!("mkdir `{path}`: {error}")))?;
    // Where it really is: nothing on the way may be a link when it is opened again.
    let real = std::fs::canonicalize(path.as_path())
        .map_err(|error| failed(format!("`{path}`: {error}")))?;
    HostPath::new(real.into_os_string()).map_err(|error| failed(error.to_string()))
}

/// Neither a project's path nor a cage's name can collide with another or lead out of the directory.
fn name(project: &HostPath, cage: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(project.as_bytes());
    hash.update([0]);
    hash.update(cage.as_bytes());
    let digest = hash.finalize();
    let text: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{cage}-{text}")
}
