//! The application filter: the first look at the arguments of a call, before any cage and also
//! where there is none. Denies when it errs. Names arguments and rules, never a value.
//!
//! It cannot hold a program to anything: that is what the cage is for.

mod place;

use plan::HostPath;
use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::arguments;
use crate::model::{ArgumentType, Manifest};

/// What arguments may not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Paths that are forbidden with everything below; absolute or in the home (`~/…`). Well-known
    /// secrets of a home are forbidden besides. One that cannot be read denies every call.
    pub paths: Vec<String>,
    /// Regular expressions that no looked-at text may match. One that cannot be read denies every
    /// call.
    pub patterns: Vec<String>,
}

/// Arguments that a [`Filter`] has let through: of the types that the manifest says, and nothing
/// forbidden among them.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedArguments(Map<String, Value>);

/// Why arguments were not let through; names arguments, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the argument `{}` is refused: {rule}", policy::shown::shortened(.argument))]
pub struct FilterError {
    /// The argument's name, with dots to what lies inside it; empty where the filter is at fault.
    pub argument: String,
    /// What it breaks.
    pub rule: FilterRule,
}

/// What an argument breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterRule {
    /// Not one that the manifest names.
    #[error("the manifest has no such argument")]
    Unknown,
    /// One that must be there.
    #[error("it is required")]
    Required,
    /// Of another type.
    #[error("it must be of the type `{}`", .0.word())]
    WrongType(ArgumentType),
    /// With items of another type.
    #[error("its items must be of the type `{}`", .0.word())]
    WrongItems(ArgumentType),
    /// Not one of those that the manifest lists.
    #[error("it is none of the values that the manifest lists")]
    NotOneOf,
    /// A control character in a path or a URL.
    #[error("it has a control character in it")]
    ControlCharacter,
    /// A `..` in a path.
    #[error("it has a `..` in it")]
    Upwards,
    /// A URL of a file.
    #[error("it is the URL of a file")]
    FileUrl,
    /// A well-known secret, or something inside one.
    #[error("it names a well-known secret: {0}")]
    Secret(&'static str),
    /// A forbidden path, or something inside one; the place in [`Filter::paths`].
    #[error("it names a forbidden path (number {0} of the filter's)")]
    ForbiddenPath(usize),
    /// A match of a forbidden pattern; the place in [`Filter::patterns`].
    #[error("it matches a forbidden pattern (number {0} of the filter's)")]
    ForbiddenPattern(usize),
    /// Nested deeper than the filter looks.
    #[error("it is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The filter has a path that cannot be read.
    #[error(
        "path number {0} of the filter is neither absolute nor in the home, so nothing is let through"
    )]
    BadPath(usize),
    /// The filter has a pattern that cannot be read.
    #[error("pattern number {0} of the filter cannot be read, so nothing is let through")]
    BadPattern(usize),
}

/// The deepest that arguments may be nested.
pub const MAX_DEPTH: usize = 64;

impl Filter {
    /// Lets arguments through or says why not.
    pub fn check(
        &self,
        manifest: &Manifest,
        mut arguments: Map<String, Value>,
        home: Option<&HostPath>,
    ) -> Result<CheckedArguments, FilterError> {
        let look = self.look(home)?;
        arguments::check_types(manifest, &arguments)?;
        for (name, value) in &arguments {
            let kind = manifest.text_type_of(name);
            // A name that is itself forbidden is not repeated.
            let unnamed = |rule| FilterError { argument: "?".to_owned(), rule };
            look.text(ArgumentType::Text, name).map_err(unnamed)?;
            look.value(name, kind, value, 0)?;
        }
        for (name, value) in &mut arguments {
            if manifest.text_type_of(name) == ArgumentType::Path {
                expand_home(value, home);
            }
        }
        Ok(CheckedArguments(arguments))
    }

    fn look<'a>(&self, home: Option<&'a HostPath>) -> Result<Look<'a>, FilterError> {
        let at_fault = |rule| FilterError { argument: String::new(), rule };
        let mut paths = Vec::new();
        for (index, written) in self.paths.iter().enumerate() {
            match place::of(written, home) {
                place::Named::At(path) => paths.push((index, path)),
                // Without a home there is nothing of it to forbid.
                place::Named::NoHome => {}
                place::Named::NotAPath => return Err(at_fault(FilterRule::BadPath(index))),
            }
        }
        let mut patterns = Vec::new();
        for (index, written) in self.patterns.iter().enumerate() {
            let pattern = RegexBuilder::new(written).size_limit(MAX_PATTERN).build();
            patterns.push(pattern.map_err(|_| at_fault(FilterRule::BadPattern(index)))?);
        }
        Ok(Look { home, paths, patterns })
    }
}

/// Puts the home in the place of `~`: a program would take that for a name of its own.
fn expand_home(value: &mut Value, home: Option<&HostPath>) {
    match value {
        Value::String(text) => {
            if let (Some(below), Some(home)) = (text.strip_prefix("~/"), home) {
                *text = format!("{}/{below}", home.as_path().display());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| expand_home(item, home)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

impl Default for Filter {
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { paths: owned(FORBIDDEN_PATHS), patterns: owned(FORBIDDEN_PATTERNS) }
    }
}

impl CheckedArguments {
    /// The arguments.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// A filter, ready to look.
struct Look<'a> {
    home: Option<&'a HostPath>,
    paths: Vec<(usize, HostPath)>,
    patterns: Vec<Regex>,
}

impl Look<'_> {
    fn value(
        &self,
        name: &str,
        kind: ArgumentType,
        value: &Value,
        depth: usize,
    ) -> Result<(), FilterError> {
        let refuse = |rule| Err(FilterError { argument: name.to_owned(), rule });
        if depth > MAX_DEPTH {
            return refuse(FilterRule::TooDeep);
        }
        match value {
            // Free text is for the program alone.
            _ if kind == ArgumentType::Content => Ok(()),
            Value::String(text) => self.text(kind, text).or_else(refuse),
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                self.value(&format!("{name}.{index}"), kind, item, depth + 1)
            }),
            Value::Object(fields) => fields.iter().try_for_each(|(key, field)| {
                self.text(ArgumentType::Text, key).or_else(refuse)?;
                self.value(&format!("{name}.{key}"), kind, field, depth + 1)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn text(&self, kind: ArgumentType, text: &str) -> Result<(), FilterRule> {
        let has_control = text.chars().any(char::is_control);
        match kind {
            ArgumentType::Path if has_control => return Err(FilterRule::ControlCharacter),
            ArgumentType::Path if text.split('/').any(|segment| segment == "..") => {
                return Err(FilterRule::Upwards);
            }
            ArgumentType::Url if has_control || text.contains(char::is_whitespace) => {
                return Err(FilterRule::ControlCharacter);
            }
            ArgumentType::Url if place::is_file_url(text) => return Err(FilterRule::FileUrl),
            _ => {}
        }
        if let place::Named::At(path) = place::of(text, self.home) {
            self.path(&path)?;
        }
        match self.patterns.iter().position(|pattern| pattern.is_match(text)) {
            Some(index) => Err(FilterRule::ForbiddenPattern(index)),
            None => Ok(()),
        }
    }

    fn path(&self, path: &HostPath) -> Result<(), FilterRule> {
        let homes: Vec<&HostPath> = self.home.into_iter().collect();
        if let Some(secret) = policy::secrets::holding(&homes, path).first() {
            return Err(FilterRule::Secret(secret.name));
        }
        match self.paths.iter().find(|(_, forbidden)| path.is_within(forbidden)) {
            Some((index, _)) => Err(FilterRule::ForbiddenPath(*index)),
            None => Ok(()),
        }
    }
}

/// Bytes of a pattern when it is compiled.
const MAX_PATTERN: usize = 1 << 20;

/// What no executor is asked about: the host's kernel, devices and log-in data, and our own state.
const FORBIDDEN_PATHS: &[&str] = &[
    "/boot",
    "/dev",
    "/etc/gshadow",
    "/etc/shadow",
    "/etc/ssh",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/proc",
    "/run",
    "/sys",
    "/var/run",
    "~/.config/stockade",
    "~/.local/state/stockade",
];

/// Keys that were pasted, and the address at which clouds hand out credentials.
const FORBIDDEN_PATTERNS: &[&str] = &[
    "-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"\b169\.254\.169\.254\b",
    r"(?i)\bmetadata\.google\.internal\b",
];

#[cfg(test)]
mod tests;
