//! How many connections there may be, in all and from one peer: one client that opens too many must
//! not shut out the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::peer::Origin;

#[cfg(test)]
mod tests;

/// Counts connections.
#[derive(Debug)]
pub(crate) struct Admission {
    most: usize,
    most_of_one: usize,
    open: Mutex<HashMap<Origin, usize>>,
}

/// One connection that was let in. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    origin: Origin,
}

/// Why a connection was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Crowded {
    /// There are too many in all.
    #[error("there are {0} connections already, which is the most")]
    All(usize),
    /// This peer has too many.
    #[error("you have {0} connections already, which is the most for one user")]
    One(usize),
}

impl Admission {
    pub(crate) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, open: Mutex::default() })
    }

    /// Lets a connection in, if there is room.
    pub(crate) fn admit(self: &Arc<Self>, origin: Origin) -> Result<Admitted, Crowded> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.values().sum::<usize>() >= self.most {
            return Err(Crowded::All(self.most));
        }
        let own = open.entry(origin).or_default();
        if *own >= self.most_of_one {
            return Err(Crowded::One(self.most_of_one));
        }
        *own += 1;
        Ok(Admitted { admission: Arc::clone(self), origin })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.admission.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(&self.origin) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                open.remove(&self.origin);
            }
        }
    }
}
