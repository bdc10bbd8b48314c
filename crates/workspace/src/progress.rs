//! How far long work has come, for whoever waits for it. Never decides anything.

use std::fmt;

/// What has been done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many names of the cage and of the host were compared.
    Compared(usize),
    /// New objects were made ready; the host is as it was.
    Staged {
        /// How many.
        objects: usize,
        /// How many there will be.
        of: usize,
    },
    /// The host was changed.
    Done {
        /// In so many steps.
        steps: usize,
        /// How many there will be.
        of: usize,
    },
}

/// Whoever wants to know it.
#[derive(Default)]
pub(crate) struct Listener(Option<Function>);

type Function = Box<dyn Fn(Progress) + Send + Sync>;

impl Listener {
    pub(crate) fn new(function: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(function)))
    }

    pub(crate) fn tell(&self, progress: Progress) {
        if let Some(function) = &self.0 {
            function(progress);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Listener(Some)" } else { "Listener(None)" })
    }
}
