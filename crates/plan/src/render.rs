//! A Plan in other forms: as a bubblewrap command line, as text for a person, as a list for the record. Renders what the
//! Plan says; never runs anything and never leaves something out without naming it.

mod bwrap;
mod bwrap_alone;
mod entries;
mod person;
mod shell;

#[cfg(test)]
mod tests;

pub use bwrap::{BwrapCommand, bwrap, bwrap_for_shell, bwrap_gaps};
pub use bwrap_alone::{BwrapAlone, NetworkNamespace, bwrap_alone};
pub use entries::entries;
pub use person::person;
pub use shell::for_shell;
