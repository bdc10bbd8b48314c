//! From a selected policy to a compiled cage: resolve it on this host, give the start its name,
//! compile. The one place where both steps meet, for every command that needs a Plan.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;

use cage::quarantine::{AtStart, Link};
use plan::{Access, BindPurpose, ByteString, FileKind, HostPath, MountOp, Plan, Source};
use policy::facts::{HostFacts, ResolvedRule};
use policy::{FsAccess, Invocation, Policy, RuleOrigin};

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
    /// Links with protected names, as they are before the run.
    pub(crate) links: Vec<Link>,
    /// What flags hide, by what the host has there.
    pub(crate) hidden_by_flags: Vec<(HostPath, ResolvedRule)>,
}

/// Resolves and compiles.
pub(crate) fn prepare(selection: &Selection, argv: &[OsString]) -> Result<Prepared, Failure> {
    let resolved = cage::resolve::resolve(&selection.policy, &selection.surroundings)?;
    if let Some(ceiling) = &selection.ceiling {
        ceiling.check_resolved(&selection.policy, &resolved.facts).map_err(|excess| {
            Failure::new(Exit::Refused, format!("through links, {excess}")).help(
                "name the real path in the policy, or raise `[ceiling]` in your own configuration",
            )
        })?;
    }
    let name = Name::new().map_err(|errno| {
        Failure::new(Exit::CannotBuild, format!("the kernel gives no random bytes: {errno}"))
    })?;
    let invocation = Invocation {
        id: name.text,
        argv: argv.iter().map(|word| ByteString::from(word.clone())).collect(),
        unowned: name.unowned,
    };
    let plan = policy::compile(&selection.policy, &resolved.facts, &invocation)?;
    let hidden_by_flags = hidden_by_flags(&selection.policy, &resolved.facts);
    Ok(Prepared { plan, sources: resolved.sources, links: resolved.links, hidden_by_flags })
}

/// A policy file may hide what one day will exist; who hides by a flag means what is there.
fn hidden_by_flags(policy: &Policy, facts: &HostFacts) -> Vec<(HostPath, ResolvedRule)> {
    let rules = policy.fs.iter().zip(&facts.rules);
    let by_flag = rules.filter(|(rule, _)| {
        rule.access == FsAccess::Hide && matches!(rule.origin, RuleOrigin::Flag(_))
    });
    by_flag.map(|(rule, found)| (rule.path.clone(), found.clone())).collect()
}

impl Prepared {
    /// What the search after the run has to know.
    pub(crate) fn at_start(&self) -> AtStart {
        let covered = self.covered().map(|source| source.path.clone()).collect();
        AtStart { covered, links: self.links.clone() }
    }

    /// What the cage has a cover over, hidden or read-only. Replacing such a path on the host takes
    /// the cover away, in every mount namespace (unlink(2), since Linux 3.18).
    pub(crate) fn covered(&self) -> impl Iterator<Item = &Source> {
        let covers: HashSet<&[u8]> = self
            .plan
            .mounts
            .iter()
            .filter(|operation| {
                let protects =
                    matches!(operation, MountOp::Bind { purpose: BindPurpose::Protected, .. });
                protects || matches!(operation, MountOp::Mask { .. })
            })
            .map(|operation| operation.at().as_bytes())
            .collect();
        self.plan.sources.iter().filter(move |source| covers.contains(source.path.as_bytes()))
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
