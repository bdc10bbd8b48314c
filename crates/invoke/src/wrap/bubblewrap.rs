//! The bubblewrap command line of a call: the compiled cage of the same policy, rendered so that it
//! needs nothing but its words. What bubblewrap cannot hold is refused, or named in a note.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use plan::render::{BwrapAlone, NetworkNamespace};
use plan::{HostIds, IdentityMap, Plan};
use policy::with_causes;

use super::NO_BWRAP;
use crate::decide::{Decided, caller};
use crate::error::Failure;
use crate::executor::Executor;
use crate::options::Options;

/// The command line and what its cage lacks.
pub(super) fn command_line(
    executor: &Executor,
    command: &[OsString],
    decided: &Decided,
    options: &Options<'_>,
) -> Result<(Vec<OsString>, Vec<String>), Failure> {
    let program = cage::bwrap::installed().ok_or_else(|| Failure::unavailable(NO_BWRAP))?;
    let (plan, network) = compiled(executor, command, decided, options)?;
    let BwrapAlone { argv: words, gaps } = plan::render::bwrap_alone(&plan, network);
    let as_other = match plan.walls.identity.map {
        IdentityMap::Unowned => as_user(plan.host_ids())?,
        IdentityMap::Caller(_) => Vec::new(),
    };
    let argv = as_other.into_iter().chain([program.as_os_str().to_owned()]);
    let argv = argv.chain(words.into_iter().skip(1).map(|word| word.as_os_str().to_owned()));
    let gaps = gaps.iter().map(String::as_str).chain([UNATTENDED, COMPARED_ONCE]);
    let notes = gaps.map(|gap| format!("bubblewrap: {gap}"));
    Ok((argv.collect(), notes.collect()))
}

/// The flags of bubblewrap alone, for whoever wants to look at them: it need not be installed.
pub(super) fn flags(
    executor: &Executor,
    decided: &Decided,
    options: &Options<'_>,
) -> Result<Vec<OsString>, Failure> {
    let (plan, network) = compiled(executor, &executor.command(), decided, options)?;
    let words = plan::render::bwrap_alone(&plan, network).argv;
    // Between the program's name and the command.
    let flags = words.iter().skip(1).take_while(|word| word.as_os_str() != "--");
    Ok(flags.map(|word| word.as_os_str().to_owned()).collect())
}

/// The compiled cage, and what becomes of its network.
fn compiled(
    executor: &Executor,
    command: &[OsString],
    decided: &Decided,
    options: &Options<'_>,
) -> Result<(Arc<Plan>, NetworkNamespace), Failure> {
    let mut sealed = decided.sealed(executor, options);
    // Whoever starts the command line keeps its time.
    sealed.policy.limits.walltime_sec = None;
    let network = match decided.derived.whole_network {
        true => {
            sealed.policy.net.disconnect();
            NetworkNamespace::Shared
        }
        false => NetworkNamespace::Own,
    };
    let selection = sealed.selection(&caller()?);
    let selection =
        selection.map_err(|error| Failure::refused(error.kind().word(), with_causes(&error)))?;
    let prepared = cage::prepare::prepare(&selection, command);
    let prepared =
        prepared.map_err(|error| Failure::refused(error.kind().word(), with_causes(&error)))?;
    cage::bwrap::check(&prepared.plan)
        .map_err(|error| Failure::refused("bwrap", with_causes(&error)))?;
    Ok((prepared.plan, network))
}

const UNATTENDED: &str =
    "nothing looks after what the program leaves: no file that it made is set aside";
const COMPARED_ONCE: &str = "the code and pinned files are compared when the command line is made, and not when it is started";

/// bubblewrap maps its own id into the cage: started as root it would act as root on every file that it
/// shows. T64
fn as_user(ids: HostIds) -> Result<Vec<OsString>, Failure> {
    let setpriv = "/usr/bin/setpriv";
    if !Path::new(setpriv).is_file() {
        let what = format!("root's bubblewrap cages need `{setpriv}`, which is not installed");
        return Err(Failure::refused("bwrap", what));
    }
    let (uid, gid) = (ids.uid.to_string(), ids.gid.to_string());
    let words = [setpriv, "--reuid", &uid, "--regid", &gid, "--clear-groups", "--"];
    Ok(words.map(OsString::from).to_vec())
}
