//! Reviews of sessions, for the command and the daemon: which workspaces a caller means, what programs changed in
//! them, and bringing that to the host, throwing it away and taking it back, each on record before it happens.
//!
//! The work itself is done by `workspace`. Nothing here prints, asks or knows a policy.
#![forbid(unsafe_code)]

mod commits;
mod error;
mod find;
mod named;
mod overview;
mod place;
mod record;
mod report;

#[cfg(test)]
mod tests;

pub use commits::CommittedReport;
pub use error::ReviewError;
pub use find::{Found, Purpose, of_session};
pub use named::{Named, named};
pub use overview::{Overview, Overviews, overviews};
pub use place::{Done, Looked, Place};
pub use report::{AppliedReport, ConflictReport, DiscardedReport, HeldReport, UndoneReport};

pub use workspace::{
    Applied, Change, Changes, Conflict, FileHunks, Hunk, Kind, Merging, ObjectInfo, Progress,
    Report, Request, Selection, Style, Text, TreePath, What, WorkspaceError, quoted_name,
    report as report_changes, write_change, write_diff, write_hunk, write_names, write_notes,
    write_stat,
};
