//! One error of a policy text, as data: a stable code, a sentence, the place and what was meant.
//! Never printed from here: `render` draws it, `--json` takes it as it is.

use std::ops::Range;

use serde::{Serialize, Serializer};

/// What kind of error it is. The text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The text is larger than the cap.
    TextTooLarge,
    /// The text is not UTF-8.
    NotUtf8,
    /// The text has a NUL or another control character in it.
    ControlCharacter,
    /// The text is not TOML.
    Syntax,
    /// A key stands twice in one table.
    DuplicateKey,
    /// Lists or tables are nested too deeply.
    NestingTooDeep,
    /// There is no `version`.
    VersionMissing,
    /// `version` is not one that this program knows.
    VersionUnsupported,
    /// A word that does not exist here.
    UnknownWord,
    /// A word that must be there is not.
    MissingWord,
    /// A value of another type than expected.
    WrongType,
    /// A value that is not one of the known ones.
    UnknownValue,
    /// `fs = []`.
    FsEmpty,
    /// `fs` hides and grants nothing.
    FsOnlyHides,
    /// More rules than the cap.
    TooManyRules,
    /// More cages than the cap.
    TooManyCages,
    /// One path with two kinds of access.
    ConflictingRules,
    /// An empty path.
    PathEmpty,
    /// A path with a NUL.
    PathNul,
    /// A path with another control character.
    PathControl,
    /// A path with `..`.
    PathParent,
    /// An absolute path in a project's file.
    PathAbsolute,
    /// A `~` path in a project's file, or where it cannot be resolved.
    PathHome,
    /// A path with `*`.
    PathPattern,
    /// A path that begins with `$`.
    PathVariable,
    /// A path that the kernel would not take.
    PathTooLong,
    /// A path that nobody can grant.
    PathUngrantable,
    /// A name that is not letters, digits, `-` and `_`.
    BadName,
    /// A cage that does not exist.
    UnknownCage,
    /// A cage that extends itself, directly or not.
    ExtendsCycle,
    /// A cage that extends a disabled one.
    ExtendsDisabled,
    /// A cage that asks for more than the one it extends.
    ExtendsWidens,
    /// A name that no variable can have, or one that the cage sets itself.
    EnvironmentName,
    /// A value that no variable can have.
    EnvironmentValue,
    /// A name that no program can have.
    CommandName,
    /// An entry of `net` that is none.
    Destination,
    /// A sentence of `net.reasons` that cannot be shown.
    Reason,
    /// A port of a loopback that cannot be named.
    Port,
    /// A part of a mount that cannot be used.
    Mount,
    /// A value of `[network]` that cannot be used.
    NetworkSetting,
    /// A number outside its range.
    OutOfRange,
    /// Two words for the same limit.
    LimitTwice,
}

impl Code {
    /// The stable text form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TextTooLarge => "text-too-large",
            Self::NotUtf8 => "not-utf8",
            Self::ControlCharacter => "control-character",
            Self::Syntax => "syntax",
            Self::DuplicateKey => "duplicate-key",
            Self::NestingTooDeep => "nesting-too-deep",
            Self::VersionMissing => "version-missing",
            Self::VersionUnsupported => "version-unsupported",
            Self::UnknownWord => "unknown-word",
            Self::MissingWord => "missing-word",
            Self::WrongType => "wrong-type",
            Self::UnknownValue => "unknown-value",
            Self::FsEmpty => "fs-empty",
            Self::FsOnlyHides => "fs-only-hides",
            Self::TooManyRules => "too-many-rules",
            Self::TooManyCages => "too-many-cages",
            Self::ConflictingRules => "conflicting-rules",
            Self::PathEmpty => "path-empty",
            Self::PathNul => "path-nul",
            Self::PathControl => "path-control",
            Self::PathParent => "path-parent",
            Self::PathAbsolute => "path-absolute",
            Self::PathHome => "path-home",
            Self::PathPattern => "path-pattern",
            Self::PathVariable => "path-variable",
            Self::PathTooLong => "path-too-long",
            Self::PathUngrantable => "path-ungrantable",
            Self::BadName => "bad-name",
            Self::UnknownCage => "unknown-cage",
            Self::ExtendsCycle => "extends-cycle",
            Self::ExtendsDisabled => "extends-disabled",
            Self::ExtendsWidens => "extends-widens",
            Self::EnvironmentName => "env-name",
            Self::EnvironmentValue => "env-value",
            Self::CommandName => "command-name",
            Self::Destination => "net-entry",
            Self::Reason => "net-reason",
            Self::Port => "net-port",
            Self::Mount => "mount",
            Self::NetworkSetting => "network-setting",
            Self::OutOfRange => "out-of-range",
            Self::LimitTwice => "limit-twice",
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A stretch of the text, in bytes.
pub type Span = Range<usize>;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What kind.
    pub code: Code,
    /// One sentence, safe to print.
    pub message: String,
    /// Where, counted from 1.
    pub line: u32,
    /// Where, counted from 1, in characters.
    pub column: u32,
    /// Where, in bytes of the text.
    pub span: Span,
    /// What stands under the marked word; may be empty.
    pub label: String,
    /// Other places that matter.
    pub related: Vec<Related>,
    /// What to do.
    pub help: Vec<String>,
}

/// Another place that matters for an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Where, in bytes of the text.
    pub span: Span,
    /// Why it matters.
    pub label: String,
}

impl Diagnostic {
    /// An error at a place that [`super::source::Source`] fills in later.
    pub(super) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            line: 0,
            column: 0,
            span,
            label: String::new(),
            related: Vec::new(),
            help: Vec::new(),
        }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    pub(super) fn also_at(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Related { span, label: label.into() });
        self
    }
}

/// Every error of one text; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostics {
    /// The file as the user knows it.
    pub file: String,
    /// In the order of the text.
    pub errors: Vec<Diagnostic>,
    /// How many more there are beyond the cap.
    pub left_out: usize,
    /// The text, for drawing; empty where it was too large to be looked at.
    #[serde(skip)]
    pub(super) text: String,
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.render(super::Style::Plain))
    }
}

impl std::error::Error for Diagnostics {}
