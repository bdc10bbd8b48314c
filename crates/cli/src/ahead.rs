//! What `run` begins before its command line is read: making a cage's namespaces takes longer than finding
//! out what goes into it. Decides nothing; whatever fails is told when the cage is due.

use cage::prepare::Name;
use jail::{Nursery, StartError};

/// A start that has begun.
pub(crate) struct Ahead {
    /// Where the cage will be born.
    pub(crate) nursery: Result<Nursery, StartError>,
    /// What the start is called, and so who its cage is.
    pub(crate) name: Option<Name>,
}

impl Ahead {
    pub(crate) fn begin() -> Self {
        let mut nursery = Nursery::open();
        let name = Name::new().ok();
        if let (Ok(opened), Some(name)) = (&mut nursery, &name)
            && let Err(error) = opened.assign(name.ids())
        {
            nursery = Err(error);
        }
        Self { nursery, name }
    }
}
