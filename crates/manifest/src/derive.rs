//! The policy of one call: what the manifest declares, what the caller grants and what the level of
//! autonomy leaves, brought together. Only takes away: the last step is [`Policy::narrow`].

use plan::HostPath;
use policy::autonomy::Ask;
use policy::{Autonomy, Policy};

use crate::filter::CheckedArguments;
use crate::grants::Grants;
use crate::model::Manifest;

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// How much is left to the executor.
    pub autonomy: Autonomy,
    /// What the caller gives.
    pub grants: &'a Grants,
    /// The arguments, which a [`crate::Filter`] has let through; none where the call is not known yet.
    pub arguments: Option<&'a CheckedArguments>,
    /// Paths of the caller's own choice that can be read.
    pub extra_ro: &'a [HostPath],
    /// Paths of the caller's own choice that can be written to.
    pub extra_rw: &'a [HostPath],
}

/// What has to be known about the host.
pub struct Place<'a> {
    /// The caller's home; none where it has none.
    pub home: Option<&'a HostPath>,
    /// The directory of the executor's code, with every link resolved.
    pub code_directory: &'a HostPath,
    /// The supervisor's state and configuration directories.
    pub own_state: &'a [HostPath],
    /// What is at a path of the host, links followed.
    pub found: &'a dyn Fn(&HostPath) -> Found,
}

/// What is at a path of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory.
    Directory,
    /// A file, or anything else that is no directory.
    Other,
    /// Nothing that the caller could see.
    Missing,
}

/// What one call gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Its policy. The project is the code's directory.
    pub policy: Policy,
    /// Paths that came from arguments. Whoever resolves the policy makes sure that each leads to a
    /// place within its root.
    pub confined: Vec<Confined>,
    /// What somebody has to agree to before the program is started.
    pub asks: Vec<Asked>,
    /// What the manifest declares and this call does not get, one sentence each.
    pub narrowed: Vec<String>,
    /// What a person may want to know, one sentence each.
    pub notes: Vec<String>,
    /// Directories to make before the policy is resolved. The parent of each exists and has to be
    /// a directory of the caller's own, not a link.
    pub create: Vec<HostPath>,
    /// Whether the policy has the whole public network. The caller granted it by name.
    pub whole_network: bool,
}

/// A path that an argument named, and the root of the manifest that it must stay within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// As in the rule of the policy.
    pub path: HostPath,
    /// The root that bounds it.
    pub root: HostPath,
}

/// Something that somebody has to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The capability, such as `code:exec`.
    pub capability: String,
    /// What it is limited to, for a person; none where it is not.
    pub target: Option<String>,
    /// Whether the answer may be stored.
    pub ask: Ask,
}

/// Why a call is refused; never empty. Names arguments, never their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// Every reason.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind.
    pub code: ReasonCode,
    /// One sentence, safe to print.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
}

/// What kind of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReasonCode {
    /// An argument leads out of what the manifest allows it.
    Argument,
    /// A root cannot be granted at all.
    Ungrantable,
    /// A root or the whole network is given only to a caller that grants it by name.
    NeedsGrant,
    /// The level of autonomy denies something that a cage cannot take away.
    Autonomy,
    /// The caller did not grant something that a cage cannot take away.
    NotGranted,
    /// A root to write to does not exist.
    Missing,
    /// The code's directory cannot be shown, or would be writable.
    Code,
}

/// The policy of one call.
pub fn derive(manifest: &Manifest, call: &Call<'_>, place: &Place<'_>) -> Result<Derived, Refused> {
    let _ = (manifest, call, place);
    Err(Refused { reasons: Vec::new() })
}

impl ReasonCode {
    /// The stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Ungrantable => "ungrantable",
            Self::NeedsGrant => "needs-grant",
            Self::Autonomy => "autonomy",
            Self::NotGranted => "not-granted",
            Self::Missing => "missing",
            Self::Code => "code",
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, reason) in self.reasons.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(formatter, "{separator}{}", reason.message)?;
            if !reason.help.is_empty() {
                write!(formatter, " ({})", reason.help)?;
            }
        }
        Ok(())
    }
}
