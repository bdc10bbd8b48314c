//! What a person is told about what a program changed in its views of directories, and about views that cannot be had.
//! Only words.

use cage::session::SessionError;
use cage::{ChangeCounts, KeepError, WorkspaceOutcome};
use policy::shown::shown;

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// One sentence for each directory: what differs, and what to type.
pub fn changed(workspaces: &[WorkspaceOutcome]) -> Vec<String> {
    workspaces.iter().map(of_one).collect()
}

fn of_one(workspace: &WorkspaceOutcome) -> String {
    let (of, session) = (shown(&workspace.of), &workspace.session);
    match &workspace.changes {
        Ok(counts) if counts.total() == 0 => format!("nothing was changed in `{of}`"),
        Ok(counts) => format!(
            "changed in `{of}`: {}; the host's files are as they were: `stockade diff {session}` shows the \
             changes, `stockade apply {session}` brings them there",
            listed(counts)
        ),
        Err(why) => format!(
            "what was changed in `{of}` cannot be told ({why}); session `{session}` keeps it"
        ),
    }
}

/// The counts that are not 0.
pub fn listed(counts: &ChangeCounts) -> String {
    let ChangeCounts { added, changed, renamed, deleted, refused } = *counts;
    let named = [
        (added, "added"),
        (changed, "changed"),
        (renamed, "renamed"),
        (deleted, "deleted"),
        (refused, "that cannot be applied"),
    ];
    let named = named.iter().filter(|(count, _)| *count > 0);
    named.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// What to do where the kernel makes no view with a layer.
pub const NO_VIEW: &str = "views (`cow`, `cache`) need overlayfs of Linux 5.11, for root 5.19, and a state directory on a local file system \
     that is not one itself: set XDG_STATE_HOME to a directory on ext4, xfs, btrfs or tmpfs (in a container a volume), \
     or grant the directory `ro` or `rw`";

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        let failure = Self::new(error.kind(), cage::with_causes(&error));
        match &error {
            KeepError::Session(SessionError::AreaInUse(_)) => failure
                .help("wait for it, or leave `--session` out: the run then has changes of its own"),
            KeepError::Full { most_mb, .. } => failure.help(format!(
                "apply or discard what is there, or raise the limit with --workspace {}M",
                most_mb.saturating_mul(2)
            )),
            KeepError::Session(_) | KeepError::Workspace(_) => failure,
        }
    }
}
