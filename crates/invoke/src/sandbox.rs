//! What was around a program, as every result says it.

use serde::Serialize;
use serde_json::Value;

/// What is around a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sandbox {
    /// Who builds the cage, if there is one.
    pub level: Level,
    /// Why there is none.
    pub reason: Option<String>,
    /// What the kernel holds of the layers that not every kernel has; known after a native run.
    pub layers: Option<Value>,
}

/// Who builds a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Stockade.
    Native,
    /// bubblewrap, with fewer walls.
    Bwrap,
    /// Nobody: the program has everything that the caller has.
    None,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bwrap => "bwrap",
            Self::None => "none",
        }
    }
}

impl Sandbox {
    pub(crate) fn native() -> Self {
        Self { level: Level::Native, reason: None, layers: None }
    }

    pub(crate) fn bwrap() -> Self {
        Self { level: Level::Bwrap, reason: None, layers: None }
    }

    pub(crate) fn none(reason: impl Into<String>) -> Self {
        Self { level: Level::None, reason: Some(reason.into()), layers: None }
    }
}
