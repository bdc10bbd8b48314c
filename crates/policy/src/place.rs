//! Where a policy is read: what its relative paths, `~` and the supervisor's own directories
//! stand for. Given by whoever looked at the host; never looked up here.

use plan::HostPath;

/// The places that paths of a policy refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The project's root, to which relative paths belong.
    pub project: HostPath,
    /// The caller's home, for which `~` stands; none where it has none.
    pub home: Option<HostPath>,
    /// The supervisor's own state and configuration directories.
    pub own_state: Vec<HostPath>,
}

impl Place {
    /// Whether the project's root is too broad to count as a project: a home, above one, or a
    /// system directory.
    pub fn project_is_too_broad(&self) -> bool {
        crate::ungrantable::is_home_or_system_tree(&self.project, self.home.as_slice())
    }
}
