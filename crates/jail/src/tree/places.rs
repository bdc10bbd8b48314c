//! Whose directories the operations of a Plan work in. Looks at paths alone, never at files.

use std::collections::HashSet;

use plan::{MountOp, Plan};

/// Where the host's own files begin in a Plan's tree.
pub(super) struct HostPlaces<'a>(HashSet<&'a [u8]>);

/// Whose directory holds a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One that only this process can change.
    Own,
    /// One of a bind, or a bind itself: the host can change it at any time.
    Hosts,
}

impl<'a> HostPlaces<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let binds = plan.walls.mounts.iter().filter_map(MountOp::bind);
        // A bind has a source, and most of what has one is bound once.
        let mut places = HashSet::with_capacity(plan.walls.sources.len());
        places.extend(binds.map(|bind| bind.at.as_bytes()));
        Self(places)
    }

    /// Whether an operation mounts or covers the host's files. A mount point that is made for a
    /// bind does not.
    pub(super) fn is_at(&self, operation: &MountOp) -> bool {
        operation.bind().is_some()
            || (operation.is_mount() && self.0.contains(operation.at().as_bytes()))
    }

    /// Whose directory each operation works in.
    pub(super) fn around_each<'plan>(
        &self,
        operations: &'plan [MountOp],
    ) -> impl Iterator<Item = (&'plan MountOp, Place)> {
        // The compiler writes what is in one directory together: it is asked about once.
        let mut last: Option<(&[u8], Place)> = None;
        operations.iter().map(move |operation| {
            let directory = operation.at().ancestors().next().unwrap_or_default();
            let place = match last {
                Some((known, place)) if known == directory => place,
                _ => self.holder_of(directory),
            };
            last = Some((directory, place));
            (operation, place)
        })
    }

    fn holder_of(&self, directory: &[u8]) -> Place {
        let slashes = directory.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
        let mut tops = slashes.map(|(end, _)| end).chain([directory.len()]);
        let in_bind = tops.any(|end| directory.get(..end).is_some_and(|top| self.0.contains(top)));
        if in_bind { Place::Hosts } else { Place::Own }
    }
}
