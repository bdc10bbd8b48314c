//! The real cage that tells whether cages can be built here: it shows nothing but this program, which
//! says its version there. Who builds it differs; what is built does not.

use std::ffi::OsString;

use cage::prepare::{Caller, Selection};
use plan::HostPath;
use policy::{FsAccess, FsRule, NetworkSettings, Place, Policy, Reach, RuleOrigin};

use cage::Kind;

use crate::failure::Failure;

/// A cage to try.
#[derive(Debug)]
pub struct ProbeCage {
    /// What it is.
    pub selection: Selection,
    /// What runs in it.
    pub argv: Vec<OsString>,
}

/// The cage that shows nothing but a program of ours.
pub fn probe_cage(caller: &Caller, binary: &HostPath) -> ProbeCage {
    let origin = RuleOrigin::BuiltIn("the program that checks itself");
    let rule =
        FsRule { access: FsAccess::ReadOnly, path: binary.clone(), reach: Reach::Anywhere, origin };
    let grantable = policy::ungrantable::check(binary, &[]).is_ok();
    let argv = if grantable {
        vec![binary.as_path().as_os_str().to_owned(), OsString::from("--version")]
    } else {
        vec![OsString::from("true")]
    };
    let policy =
        Policy { fs: if grantable { vec![rule] } else { Vec::new() }, ..Policy::closed("doctor") };
    let project = binary.parent().unwrap_or_else(HostPath::root);
    let selection = Selection {
        policy,
        agent_command: Vec::new(),
        agent: None,
        surroundings: caller.surroundings(project.clone()),
        place: Place { project, home: None, own_state: Vec::new() },
        ceiling: None,
        confined: Vec::new(),
        network: NetworkSettings::default(),
    };
    ProbeCage { selection, argv }
}

/// The same with a view of a directory, which a layer lies above.
pub fn view_cage(caller: &Caller, binary: &HostPath, directory: &HostPath) -> ProbeCage {
    let mut probe = probe_cage(caller, binary);
    let origin = RuleOrigin::BuiltIn("a view of an empty directory");
    let (access, path) = (FsAccess::Cow, directory.clone());
    probe.selection.policy.fs.push(FsRule { access, path, reach: Reach::Anywhere, origin });
    probe.selection.surroundings.project = directory.clone();
    probe.selection.place.project = directory.clone();
    probe
}

/// Whether the program in it ended as it should.
pub fn judge(end: jail::End) -> Result<(), String> {
    match end {
        jail::End::Exited(0) => Ok(()),
        end => Err(format!("a cage was built, and the program in it ended badly: {end:?}")),
    }
}

/// The file of this very program, wherever it was started from.
pub fn own_executable() -> Result<HostPath, Failure> {
    let failed = |why: String| Failure::new(Kind::CannotBuild, format!("/proc/self/exe: {why}"));
    let path = std::fs::read_link("/proc/self/exe").map_err(|error| failed(error.to_string()))?;
    HostPath::new(path.into_os_string()).map_err(|error| failed(error.to_string()))
}
