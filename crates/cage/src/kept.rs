//! What outlives a run: gives a policy the directories of the user's own that it asks for, keeps them in use, and
//! measures what is written there. The layers of a workspace lie in the session; those of caches, and a home that is
//! kept, belong to the project, whatever the session.

use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::Duration;

use plan::HostPath;
use policy::access::AccessMap;
use policy::{FsAccess, FsRule, Home, Kind, Policy};
use prepare::Selection;
use session::{AreaKind, Areas, Projects, Roots, Session, SessionError, Sessions, Use};
use workspace::{Amount, Marking, Meter, Reading, Workspace, WorkspaceError};

/// What a policy is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run a program. What it changes is kept.
    Run,
    /// To look at the cage. Nothing of it stays.
    Look,
}

/// Why a policy cannot be given what it asks for.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// A session or an area of it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A workspace that a review is at work on, or that cannot be marked.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// There is too much already.
    #[error(
        "the changes that are kept take {} MiB and {} names already, and the limit is {most_mb} MiB \
         (`limits.workspace_mb`) and {MOST_NAMES} names",
        .held.bytes >> 20, .held.names
    )]
    Full {
        /// How much there is.
        held: Amount,
        /// The limit of the policy.
        most_mb: u64,
    },
}

impl KeepError {
    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Session(SessionError::AreaInUse(_)) => Kind::WorkspaceInUse,
            Self::Full { .. } => Kind::WorkspaceFull,
            Self::Session(_) | Self::Workspace(_) => Kind::CannotBuild,
        }
    }
}

/// Enters what a policy has need of: the session that was asked for, or one for this run, and in it or beside it the
/// areas of every rule. From now on they are in use, as long as the session is.
pub fn keep(
    asked_for: Option<Session>,
    sessions: &Sessions,
    selection: &mut Selection,
    purpose: Purpose,
) -> Result<Option<Session>, KeepError> {
    let layered = layered(&selection.policy.fs);
    let mut session = match asked_for {
        Some(session) => session,
        None if !selection.policy.keeps_something() => return Ok(None),
        None => {
            let changes = layered.iter().any(|layer| layer.access == FsAccess::Cow);
            match purpose {
                Purpose::Run if changes => {
                    let name = selection.place.project.file_name().unwrap_or_default();
                    sessions.begin_for_changes(&String::from_utf8_lossy(name))?
                }
                Purpose::Run | Purpose::Look => sessions.begin_for_one_run()?,
            }
        }
    };
    let kept = &mut selection.surroundings.kept;
    kept.scratch = Some(session.scratch().clone());
    let of_session = session.areas()?;
    let project = match purpose {
        Purpose::Run if needs_project(&selection.policy, &layered) => {
            Some(Projects::open(sessions.state())?.enter(&selection.place.project)?)
        }
        Purpose::Run | Purpose::Look => None,
    };
    let of_project = project.as_ref().map_or(&of_session, |project| project.areas());
    if selection.policy.home == Home::Kept {
        let area = of_project.open(AreaKind::Home, &selection.place.project)?;
        area.occupy(Use::Shared)?;
        kept.home = Some(area.make_home()?);
        session.hold(area);
    }
    for layer in layered {
        let area = layer.area(&of_session, of_project)?;
        area.make_layers(layer.roots)?;
        if area.kind() == AreaKind::Workspace {
            workspace::mark_run(area.as_fd())?;
        }
        kept.layers.insert(layer.of, area.path().clone());
        session.hold(area);
    }
    refuse_full(&session, &selection.policy)?;
    Ok(Some(session))
}

fn needs_project(policy: &Policy, layered: &[Layer]) -> bool {
    policy.home == Home::Kept || layered.iter().any(|layer| layer.access == FsAccess::Cache)
}

/// Measures what the programs of a session write, if that is bounded.
pub(crate) fn meter(session: &Session, most_mb: u64) -> Result<Meter, SessionError> {
    let held = session.held().iter();
    let roots = held.map(|area| area.open_written()).collect::<Result<Vec<_>, _>>()?;
    let bytes = most_mb.saturating_mul(1 << 20);
    Ok(Meter::new(roots, Amount { bytes, names: MOST_NAMES }))
}

fn refuse_full(session: &Session, policy: &Policy) -> Result<(), KeepError> {
    if session.held().is_empty() {
        return Ok(());
    }
    let most_mb = policy.limits.workspace_mb.unwrap_or(policy::Limits::WORKSPACE_MB);
    match meter(session, most_mb)?.measure(LONGEST_MEASUREMENT) {
        Reading::Within => Ok(()),
        Reading::Beyond(held) => Err(KeepError::Full { held, most_mb }),
    }
}

/// A directory that is to have a layer.
struct Layer {
    access: FsAccess,
    /// Where it really is.
    of: HostPath,
    roots: Roots,
}

impl Layer {
    /// What an interrupted apply or undo left is finished before a program sees the workspace: by a descriptor of its
    /// own, because giving up its lock gives up that of all copies. Notes also what a later merge begins with.
    fn finish_review(&self, of_session: &Areas) -> Result<(), KeepError> {
        // One that is gone is refused with its reason when the rules are resolved.
        let Ok(host) = std::fs::File::open(self.of.as_path()) else { return Ok(()) };
        let area = of_session.open(AreaKind::Workspace, &self.of)?;
        workspace::note_commit(area.as_fd(), host.as_fd())?;
        let workspace = Workspace::new(host.into(), area.into_descriptor(), Marking::User);
        match workspace.recover() {
            // Whoever is at work on it is found by the lock.
            Ok(_) | Err(WorkspaceError::Busy) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn area(&self, of_session: &Areas, of_project: &Areas) -> Result<session::Area, KeepError> {
        if self.access == FsAccess::Cache {
            // A second run at the same time has a layer of its own, which others of its kind find again.
            return Ok(of_project.open_free(AreaKind::Cache, &self.of)?);
        }
        let area = of_session.open(AreaKind::Workspace, &self.of)?;
        self.finish_review(of_session)?;
        area.occupy(Use::Alone)?;
        Ok(area)
    }
}

/// Where the rules with layers lead. What cannot be found here is refused with its reason when the rules are resolved.
fn layered(rules: &[FsRule]) -> Vec<Layer> {
    let real = |rule: &FsRule| {
        let path = std::fs::canonicalize(rule.path.as_path()).ok()?;
        Some(FsRule { path: HostPath::new(path.into_os_string()).ok()?, ..rule.clone() })
    };
    let real: Vec<FsRule> = rules.iter().filter_map(real).collect();
    let access = AccessMap::new(&real);
    let layers = real.iter().filter(|rule| rule.access.is_layered()).filter_map(|rule| {
        // One inside another of the same kind is a part of it.
        let above = access.above(&rule.path).map(|above| above.access);
        let status = std::fs::metadata(rule.path.as_path()).ok()?;
        let roots =
            Roots { mode: status.permissions().mode(), owner: (status.uid(), status.gid()) };
        let is_own = above != Some(rule.access) && status.is_dir();
        is_own.then(|| Layer { access: rule.access, of: rule.path.clone(), roots })
    });
    let mut layers: Vec<Layer> = layers.collect();
    layers.sort_by(|one, other| one.of.cmp(&other.of));
    layers.dedup_by(|one, other| one.of == other.of);
    layers
}

/// More than any project has; a review looks at twice as many.
const MOST_NAMES: u64 = 1_000_000;

/// How long a start may be held up by measuring what is there; what is not seen then is measured during the run.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(2);
