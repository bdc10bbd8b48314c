//! From a selected policy to a compiled cage: resolve it on this host, give the start its name,
//! compile. The one place where both steps meet, for every command that needs a Plan.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

use plan::{Access, BindPurpose, ByteString, FileKind, HostPath, MountOp, Plan, Source};
use policy::Invocation;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::Name;
use crate::selection::Selection;

/// A cage that is ready to be built.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The cage.
    pub(crate) plan: Plan,
    /// What its sources are, open.
    pub(crate) sources: Vec<OwnedFd>,
}

/// Resolves and compiles.
pub(crate) fn prepare(selection: &Selection, argv: &[OsString]) -> Result<Prepared, Failure> {
    let resolved = cage::resolve::resolve(&selection.policy, &selection.surroundings)?;
    let name = Name::new().map_err(|errno| {
        Failure::new(Exit::CannotBuild, format!("the kernel gives no random bytes: {errno}"))
    })?;
    let invocation = Invocation {
        id: name.text,
        argv: argv.iter().map(|word| ByteString::from(word.clone())).collect(),
        unowned: name.unowned,
    };
    let plan = policy::compile(&selection.policy, &resolved.facts, &invocation)?;
    Ok(Prepared { plan, sources: resolved.sources })
}

impl Prepared {
    /// Paths that are read-only inside because they run code on the host.
    pub(crate) fn protected(&self) -> Vec<HostPath> {
        let of_purpose = |operation: &MountOp| match operation {
            MountOp::Bind { source, purpose: BindPurpose::Protected, .. } => {
                self.plan.source(*source).map(|source| source.path.clone())
            }
            _ => None,
        };
        self.plan.mounts.iter().filter_map(of_purpose).collect()
    }

    /// Grants of single files, with whether they can be written to. A file that is replaced on the
    /// host stays the old one inside.
    pub(crate) fn single_files(&self) -> impl Iterator<Item = (&Source, Access)> {
        self.plan.mounts.iter().filter_map(|operation| match operation {
            MountOp::Bind { source, access, purpose: BindPurpose::Grant, .. } => {
                let source = self.plan.source(*source)?;
                (source.kind == FileKind::File).then_some((source, *access))
            }
            _ => None,
        })
    }
}
