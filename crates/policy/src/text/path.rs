//! A path as it is written in a policy, made absolute and normal. Lexical only; where a symlink
//! leads is found out when the path is resolved. A project's file can name nothing outside the
//! project.

use plan::{HostPath, PathError};

use super::Author;
use super::diagnostic::Code;
use crate::shown::Shown;
use crate::{FsAccess, Place, Reach, ungrantable};

/// A path that a policy may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenPath {
    pub(super) path: HostPath,
    pub(super) reach: Reach,
}

/// Why a text is not a path that this policy may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathProblem {
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
) -> Result<WrittenPath, PathProblem> {
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
        ungrantable::check(&found.path, &place.own_state).map_err(|refused| PathProblem {
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

fn check_characters(written: &str) -> Result<(), PathProblem> {
    let problem = |code, message: &str, label, help: &str| {
        Err(PathProblem { code, message: message.to_owned(), label, help: help.to_owned() })
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
fn join(base: &HostPath, written: &str) -> Result<HostPath, PathProblem> {
    let components = || written.split('/').filter(|part| !part.is_empty() && *part != ".");
    if components().any(|part| part == "..") {
        return Err(PathProblem {
            code: Code::PathParent,
            message: format!("the path `{}` has a `..` in it", Shown(written)),
            label: "leads upwards",
            help: "write the path without `..`".to_owned(),
        });
    }
    let relative = components().collect::<Vec<_>>().join("/");
    base.join(relative.as_bytes()).map_err(|error| match error {
        PathError::TooLong => PathProblem {
            code: Code::PathTooLong,
            message: "the path is longer than the kernel takes".to_owned(),
            label: "too long",
            help: "a path has at most 4095 bytes".to_owned(),
        },
        PathError::Nul | PathError::NotAbsolute | PathError::NotNormal => PathProblem {
            code: Code::PathControl,
            message: format!("`{}` is not a path: {error}", Shown(written)),
            label: "not a path",
            help: "name a directory or a file".to_owned(),
        },
    })
}

fn outside(code: Code, what: &str, access: FsAccess, written: &str) -> PathProblem {
    PathProblem {
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

fn other_home(written: &str) -> PathProblem {
    PathProblem {
        code: Code::PathHome,
        message: format!("`{}` names the home of somebody else", Shown(written)),
        label: "not expanded",
        help: "`~/` is your own home; for a name that begins with `~`, put `./` before it"
            .to_owned(),
    }
}

fn no_home() -> PathProblem {
    PathProblem {
        code: Code::PathHome,
        message: "`~` stands for the home directory, and there is none here".to_owned(),
        label: "no home directory",
        help: "write the path in full".to_owned(),
    }
}
