//! What kind of failure kept a program from running, in one vocabulary: the same word stands in the
//! result of the command, in an answer of the daemon and in the record.

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for makes no sense.
    Usage,
    /// A policy text does not parse.
    PolicySyntax,
    /// A policy parses and cannot be used.
    PolicyInvalid,
    /// A path that a policy or a flag names does not exist.
    PathMissing,
    /// A project's policy asks for more than the ceiling, and nobody has approved it.
    NotApproved,
    /// What was asked for is more than the ceiling, and no approval lifts it.
    BeyondCeiling,
    /// A directory is too broad to be granted without being named.
    TooBroad,
    /// The program was to run without a cage where that is not allowed.
    UncagedNotAllowed,
    /// The limits cannot be held here.
    LimitsUnavailable,
    /// The limit of memory is too low to build the cage.
    TooLittleMemory,
    /// The cage's network cannot be had.
    NetworkError,
    /// A port that was to be published is taken.
    PortTaken,
    /// The program was not found.
    ProgramNotFound,
    /// The program was found and cannot be executed.
    ProgramNotExecutable,
    /// The start cannot be recorded, so it did not happen.
    RecordUnavailable,
    /// The program ran, and was ended because its record could not be kept up.
    RecordLost,
    /// Somebody else changed what the cage covers while it was built.
    TreeChanged,
    /// Changes that the program would add to are in use by another run or by a review.
    WorkspaceInUse,
    /// The changes that are kept take as much already as they may.
    WorkspaceFull,
    /// Another start has the same name.
    Duplicate,
    /// The supervisor is ending and starts nothing more.
    Closing,
    /// A cage cannot be built here.
    CannotBuild,
}

/// Whose fault a failure is, from which exit codes and HTTP statuses follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What was asked for makes no sense.
    Usage,
    /// The policy is wrong, or names what does not exist.
    BadPolicy,
    /// The policy asks for more than it may have.
    Refused,
    /// A cage cannot be built here.
    CannotBuild,
    /// The program was found and cannot be executed.
    NotExecutable,
    /// The program was not found.
    NotFound,
    /// The program ran, and was ended because its record could not be kept up.
    RecordLost,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Usage,
        Self::PolicySyntax,
        Self::PolicyInvalid,
        Self::PathMissing,
        Self::NotApproved,
        Self::BeyondCeiling,
        Self::TooBroad,
        Self::UncagedNotAllowed,
        Self::LimitsUnavailable,
        Self::TooLittleMemory,
        Self::NetworkError,
        Self::PortTaken,
        Self::ProgramNotFound,
        Self::ProgramNotExecutable,
        Self::RecordUnavailable,
        Self::RecordLost,
        Self::TreeChanged,
        Self::WorkspaceInUse,
        Self::WorkspaceFull,
        Self::Duplicate,
        Self::Closing,
        Self::CannotBuild,
    ];

    /// Its word, which does not change.
    pub fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::PolicySyntax => "policy_syntax",
            Self::PolicyInvalid => "policy_invalid",
            Self::PathMissing => "path_missing",
            Self::NotApproved => "not_approved",
            Self::BeyondCeiling => "beyond_ceiling",
            Self::TooBroad => "too_broad",
            Self::UncagedNotAllowed => "uncaged_not_allowed",
            Self::LimitsUnavailable => "limits_unavailable",
            Self::TooLittleMemory => "too_little_memory",
            Self::NetworkError => "network_error",
            Self::PortTaken => "port_taken",
            Self::ProgramNotFound => "program_not_found",
            Self::ProgramNotExecutable => "program_not_executable",
            Self::RecordUnavailable => "record_unavailable",
            Self::RecordLost => "record_lost",
            Self::TreeChanged => "tree_changed",
            Self::WorkspaceInUse => "workspace_in_use",
            Self::WorkspaceFull => "workspace_full",
            Self::Duplicate => "duplicate",
            Self::Closing => "closing",
            Self::CannotBuild => "cannot_build",
        }
    }

    /// Whose fault it is.
    pub fn fault(self) -> Fault {
        match self {
            Self::Usage | Self::Duplicate => Fault::Usage,
            Self::PolicySyntax | Self::PolicyInvalid | Self::PathMissing => Fault::BadPolicy,
            Self::NotApproved | Self::BeyondCeiling | Self::TooBroad | Self::UncagedNotAllowed => {
                Fault::Refused
            }
            Self::WorkspaceInUse | Self::WorkspaceFull => Fault::Refused,
            Self::LimitsUnavailable
            | Self::TooLittleMemory
            | Self::NetworkError
            | Self::PortTaken
            | Self::RecordUnavailable
            | Self::TreeChanged
            | Self::Closing
            | Self::CannotBuild => Fault::CannotBuild,
            Self::ProgramNotFound => Fault::NotFound,
            Self::ProgramNotExecutable => Fault::NotExecutable,
            Self::RecordLost => Fault::RecordLost,
        }
    }

    /// Whether a failure of this kind is on record: one that was never a request for a start is not.
    pub fn is_recorded(self) -> bool {
        match self {
            // The record is what failed.
            Self::Usage | Self::RecordUnavailable => false,
            _ => true,
        }
    }
}

/// An error and its causes in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut text = error.to_string();
    for cause in causes {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    text
}
