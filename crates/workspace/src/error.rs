//! Why a review, an apply, an undo or a discard did not happen. A conflict is not an error: it is a part of the
//! answer.

use plan::HostPath;
use policy::shown::shortened;
use rustix::io::Errno;

use crate::path::TreePath;

/// Why something about a workspace did not happen. Unless it says otherwise, nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The kernel refused a step.
    #[error("{call} `{}` {}{}", shortened(.path), .layer.words(), .advice.words())]
    Kernel {
        /// What was tried.
        call: &'static str,
        /// On what.
        path: TreePath,
        /// Where that lies.
        layer: Layer,
        /// What the user can do.
        advice: Advice,
        /// The kernel's answer.
        source: Errno,
    },
    /// The program made more than is looked at.
    #[error(
        "the workspace holds more than {most} names, and a review of a part would mislead: discard it, or discard \
         directories that nobody needs"
    )]
    TooLarge {
        /// How many there may be.
        most: usize,
    },
    /// Another process reviews or applies.
    #[error("the workspace is in use by another command: try again when it has ended")]
    Busy,
    /// What is applied would be made where a cage can change it before it is in its place.
    #[error(
        "a cage that runs may write here (`rw`), and could change what is applied on its way: the state directory is \
         on another file system, so an apply makes its files in the project first. Try again when that cage has \
         ended, or have the state directory (`XDG_STATE_HOME`) on the file system of the project"
    )]
    WritableInCage,
    /// A cage may not begin to write where an apply makes its files.
    #[error("changes are being applied in `{}`, or another program has locked it: try again", shortened(.0))]
    ApplyAtWork(HostPath),
    /// What was reviewed is no longer what is there.
    #[error("`{}` was changed since it was reviewed: look at the changes again", shortened(.0))]
    ChangedSinceReview(TreePath),
    /// The host's object is not the one that was found before.
    #[error("`{}` was changed on the host meanwhile: look at the changes again", shortened(.0))]
    HostChanged(TreePath),
    /// What an apply left on the host was changed since, so it cannot be undone.
    #[error(
        "the last apply cannot be undone: changed since on the host: {}",
        listed(.0)
    )]
    CannotUndo(Vec<TreePath>),
    /// There is no apply to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// A part of something that is one change.
    #[error(
        "`{}` is gone because `{}` is no directory any more: name that one instead",
        shortened(.path),
        shortened(.whole)
    )]
    PartOf {
        /// What was named.
        path: TreePath,
        /// What would have to be.
        whole: TreePath,
    },
    /// Nothing of that name was changed.
    #[error("`{}` was not changed", shortened(.0))]
    NotAChange(TreePath),
    /// The kept state cannot be understood.
    #[error(
        "`{file}` of the session cannot be read: {why}; `session end` removes it with all unapplied changes"
    )]
    Malformed {
        /// Which file.
        file: &'static str,
        /// What is wrong.
        why: String,
    },
    /// An interrupted apply was being taken back, and something of the user's own is in the way.
    #[error(
        "an interrupted apply cannot be taken back: on the host something else is at {}; what was there before is \
         kept: move that aside and try again",
        listed(.0)
    )]
    InTheWay(Vec<TreePath>),
    /// The host is done, and something after that is not.
    #[error(
        "the host has the changes, and the next command for this workspace will tidy up what is left"
    )]
    Unfinished(#[source] Box<WorkspaceError>),
    /// Output could not be written.
    #[error("the output cannot be written")]
    Output(#[source] std::io::Error),
}

/// Where an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// In the project itself.
    Host,
    /// In what the cage wrote.
    Upper,
    /// In the session's own files.
    Area,
}

/// What a user can do about an error of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing is known to help.
    None,
    /// Make room.
    MakeRoom,
    /// Get permission.
    GetPermission,
    /// Try again.
    LookAgain,
    /// The file system cannot do it.
    OtherFileSystem,
}

impl WorkspaceError {
    pub(crate) fn kernel(
        call: &'static str,
        path: &TreePath,
        layer: Layer,
    ) -> impl FnOnce(Errno) -> Self + use<> {
        let path = path.clone();
        move |source| Self::Kernel { call, path, layer, advice: Advice::about(source), source }
    }

    pub(crate) fn area(call: &'static str) -> impl FnOnce(Errno) -> Self + use<> {
        Self::kernel(call, &TreePath::root(), Layer::Area)
    }
}

impl Layer {
    fn words(self) -> &'static str {
        match self {
            Self::Host => "on the host",
            Self::Upper => "in what the cage wrote",
            Self::Area => "in the session's files",
        }
    }
}

impl Advice {
    fn about(errno: Errno) -> Self {
        match errno {
            Errno::NOSPC | Errno::DQUOT => Self::MakeRoom,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::GetPermission,
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::EXIST => {
                Self::LookAgain
            }
            Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS => Self::OtherFileSystem,
            _ => Self::None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::MakeRoom => " (make room on that file system and try again)",
            Self::GetPermission => " (make it writable for you and try again)",
            Self::LookAgain => " (it was changed meanwhile: look at the changes again)",
            Self::OtherFileSystem => " (that file system cannot do it)",
        }
    }
}

fn listed(paths: &[TreePath]) -> String {
    let mut shown: Vec<String> =
        paths.iter().take(MOST_LISTED).map(|path| format!("`{}`", shortened(path))).collect();
    if paths.len() > MOST_LISTED {
        shown.push(format!("{} more", paths.len() - MOST_LISTED));
    }
    shown.join(", ")
}

const MOST_LISTED: usize = 10;
