//! The application filter: the first look at the arguments of a call, before any cage and also
//! where there is none. Denies when it errs. Names arguments and rules, never a value.

use plan::HostPath;
use serde_json::{Map, Value};

use crate::model::Manifest;

/// What arguments may not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Paths that are forbidden with everything below; absolute or in the home (`~/…`).
    pub paths: Vec<String>,
    /// Regular expressions that no looked-at text may match. One that cannot be read denies every call.
    pub patterns: Vec<String>,
}

/// Arguments that a [`Filter`] has let through: of the types that the manifest says, and nothing
/// forbidden among them.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedArguments(Map<String, Value>);

/// Why arguments were not let through; names arguments, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the argument `{}` is refused: {rule}", policy::shown::Shown(.argument))]
pub struct FilterError {
    /// The argument's name, with dots to what lies inside it; empty where none is at fault.
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
}

impl Filter {
    /// Lets arguments through or says why not.
    pub fn check(
        &self,
        manifest: &Manifest,
        arguments: Map<String, Value>,
        home: Option<&HostPath>,
    ) -> Result<CheckedArguments, FilterError> {
        let _ = (manifest, arguments, home);
        Err(FilterError { argument: String::new(), rule: FilterRule::Unknown })
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self { paths: Vec::new(), patterns: Vec::new() }
    }
}

impl CheckedArguments {
    /// The arguments.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}
