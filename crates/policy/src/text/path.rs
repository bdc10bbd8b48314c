//! A path as it is written in a policy, made absolute and normal. Lexical only; where a symlink
//! leads is found out when the path is resolved. A project's file can name nothing outside the
//! project.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use plan::{HostPath, PathError};

use super::Author;
use super::diagnostic::Code;
use crate::shown::Shown;
use crate::{FsAccess, Place, Reach, ungrantable};

#[cfg(test)]
mod tests;

/// A path that a policy may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenPath {
    pub(super) path: HostPath,
    pub(super) reach: Reach,
}

/// Why a text is not a path that this policy may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) label: &'static str,
    pub(super) help: String,
}

/// Reads a path for a rule.
pub(super) fn read(
    written: &str,
    access: FsAccess,
    author: Author,
    place: &Place,
) -> Result<WrittenPath, Refused> {
    check_characters(written)?;
    let found = match (classify(written), author) {
        (Form::Relative(relative), _) => {
            let path = join(&place.project, relative)?;
            WrittenPath { path, reach: Reach::BeneathProject }
        }
        (Form::Absolute(below_root), Author::User) => {
            let path = join(&HostPath::root(), below_root)?;
            WrittenPath { path, reach: Reach::Anywhere }
        }
        (Form::Home(below_home), Author::User) => {
            let home = place.home.as_ref().ok_or_else(no_home)?;
            WrittenPath { path: join(home, below_home)?, reach: Reach::Anywhere }
        }
        (Form::OtherHome, _) => return Err(other_home(written)),
        (Form::Absolute(_), Author::Project) => {
            return Err(outside(Code::PathAbsolute, "an absolute path", access, written));
        }
        (Form::Home(_), Author::Project) => {
            return Err(outside(Code::PathHome, "a path in the home directory", access, written));
        }
    };
    if access > FsAccess::Hide {
        ungrantable::check(&found.path, &place.own_state).map_err(|refused| Refused {
            code: Code::PathUngrantable,
            message: refused.to_string(),
            label: "cannot be granted",
            help: refused.hint.to_owned(),
        })?;
    }
    Ok(found)
}

enum Form<'text> {
    Relative(&'text str),
    Absolute(&'text str),
    Home(&'text str),
    OtherHome,
}

fn classify(written: &str) -> Form<'_> {
    if let Some(below_root) = written.strip_prefix('/') {
        Form::Absolute(below_root)
    } else if written == "~" {
        Form::Home("")
    } else if let Some(below_home) = written.strip_prefix("~/") {
        Form::Home(below_home)
    } else if written.starts_with('~') {
        Form::OtherHome
    } else {
        Form::Relative(written)
    }
}

fn check_characters(written: &str) -> Result<(), Refused> {
    let problem = |code, message: &str, label, help: &str| {
        Err(Refused { code, message: message.to_owned(), label, help: help.to_owned() })
    };
    if written.is_empty() {
        return problem(
            Code::PathEmpty,
            "the path is empty",
            "names nothing",
            "write `\".\"` for the project's root",
        );
    }
    if written.contains('\0') {
        return problem(
            Code::PathNul,
            "the path has a NUL in it",
            "a NUL ends a path for the kernel",
            "take it out",
        );
    }
    if written.chars().any(char::is_control) {
        return problem(
            Code::PathControl,
            "the path has a control character in it",
            "has a control character",
            "take it out",
        );
    }
    if written.contains('*') {
        return problem(
            Code::PathPattern,
            "the path has a `*` in it, and paths are not patterns",
            "not expanded",
            "name the directory or the file itself; a rule holds for everything below it",
        );
    }
    if written.starts_with('$') {
        return problem(
            Code::PathVariable,
            "the path begins with `$`, and variables are not expanded",
            "not expanded",
            "write the path itself; for a name that begins with `$`, put `./` before it",
        );
    }
    Ok(())
}

/// Appends a written path to an absolute one; `.` and doubled or final slashes say nothing.
fn join(base: &HostPath, written: &str) -> Result<HostPath, Refused> {
    let components = || written.split('/').filter(|part| !part.is_empty() && *part != ".");
    if components().any(|part| part == "..") {
        return Err(Refused {
            code: Code::PathParent,
            message: format!("the path `{}` has a `..` in it", Shown(written)),
            label: "leads upwards",
            help: "write the path without `..`".to_owned(),
        });
    }
    let relative = components().collect::<Vec<_>>().join("/");
    base.join(relative.as_bytes()).map_err(|error| match error {
        PathError::TooLong => Refused {
            code: Code::PathTooLong,
            message: "the path is longer than the kernel takes".to_owned(),
            label: "too long",
            help: "a path has at most 4095 bytes".to_owned(),
        },
        PathError::Nul | PathError::NotAbsolute | PathError::NotNormal => Refused {
            code: Code::PathControl,
            message: format!("`{}` is not a path: {error}", Shown(written)),
            label: "not a path",
            help: "name a directory or a file".to_owned(),
        },
    })
}

fn outside(code: Code, what: &str, access: FsAccess, written: &str) -> Refused {
    Refused {
        code,
        message: format!("a project's file cannot name {what}: `{}`", Shown(written)),
        label: "outside the project",
        help: format!(
            "write it in your own configuration, or pass `--{} {}` on the command line",
            access.word(),
            Shown(written)
        ),
    }
}

fn other_home(written: &str) -> Refused {
    Refused {
        code: Code::PathHome,
        message: format!("`{}` names the home of somebody else", Shown(written)),
        label: "not expanded",
        help: "`~/` is your own home; for a name that begins with `~`, put `./` before it"
            .to_owned(),
    }
}

fn no_home() -> Refused {
    Refused {
        code: Code::PathHome,
        message: "`~` stands for the home directory, and there is none here".to_owned(),
        label: "no home directory",
        help: "write the path in full".to_owned(),
    }
}

/// Why a word is not a path that a flag may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// Nothing at all.
    #[error("the path is empty")]
    Empty,
    /// `a/../b`, which is not `b` where `a` is a link.
    #[error("`..` can only come first; write the path without it")]
    Upwards,
    /// A byte that could be used to show another path than the one that is meant.
    #[error("the path has a control character in it")]
    ControlCharacter,
    /// `~` without a home.
    #[error("`~` stands for the home directory, and there is none here")]
    NoHome,
    /// `~somebody`.
    #[error(
        "the homes of others are not expanded; for a name that begins with `~`, put `./` before it"
    )]
    OtherHome,
    /// More than the kernel takes.
    #[error("the path is longer than the kernel takes")]
    TooLong,
}

/// A path as it was written, absolute and normal. The working directory has no links in it, so a
/// leading `..` can be taken by its text; a later one cannot.
pub fn absolute(
    written: &Path,
    working_directory: &HostPath,
    home: Option<&HostPath>,
) -> Result<HostPath, PathProblem> {
    let bytes = written.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(PathProblem::Empty);
    }
    if bytes.iter().any(u8::is_ascii_control) {
        return Err(PathProblem::ControlCharacter);
    }
    let (mut path, rest, mut may_climb) = match bytes {
        [b'/', rest @ ..] => (HostPath::root(), rest, false),
        b"~" | [b'~', b'/', ..] => {
            let home = home.ok_or(PathProblem::NoHome)?;
            (home.clone(), bytes.get(1..).unwrap_or_default(), false)
        }
        [b'~', ..] => return Err(PathProblem::OtherHome),
        _ => (working_directory.clone(), bytes, true),
    };
    for component in rest.split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." if may_climb => path = path.parent().unwrap_or(path),
            b".." => return Err(PathProblem::Upwards),
            name => {
                may_climb = false;
                path = path.join(name).map_err(|_| PathProblem::TooLong)?;
            }
        }
    }
    Ok(path)
}
