//! The cage that every mechanism builds: the project's own policy file, resolved and compiled as the daemon
//! does it. Starts nothing.

use std::io;
use std::path::Path;

use cage::prepare::Caller;
use cage::resolve::resolve;
use plan::{ByteString, HostIds, HostPath, Plan};
use policy::{Cage, Invocation, Place};

use crate::project::POLICY_FILE;

/// Compiles the project's default cage for a program.
pub(crate) fn compile(project: &Path, argv: &[String]) -> io::Result<Plan> {
    let root = std::fs::canonicalize(project)?;
    let root = HostPath::new(root.into_os_string()).map_err(io::Error::other)?;
    let home = std::env::var_os("HOME").and_then(|home| HostPath::new(home).ok());
    let place = Place { project: root.clone(), home, own_state: Vec::new() };
    let text = std::fs::read(project.join(POLICY_FILE))?;
    let document = policy::text::parse_project(POLICY_FILE, &text, &place);
    let mut document = document.map_err(|errors| io::Error::other(format!("{errors:?}")))?;
    let Some(Cage::Enabled(policy)) = document.cages.swap_remove("default") else {
        return Err(io::Error::other("the project's policy has no default cage"));
    };
    let surroundings = Caller::of_this_process().map_err(io::Error::other)?.surroundings(root);
    let resolved = resolve(&policy, &surroundings).map_err(io::Error::other)?;
    let invocation = Invocation {
        id: INVOCATION.to_owned(),
        argv: argv.iter().map(|word| ByteString::from(word.as_str())).collect(),
        unowned: UNOWNED,
    };
    policy::compile(&policy, &resolved.facts, &invocation).map_err(io::Error::other)
}

/// Any invocation will do: these cages are never told apart.
const INVOCATION: &str = "01JD0000000000000000000000";
const UNOWNED: HostIds = HostIds { uid: 1_900_000_001, gid: 1_900_000_001 };
