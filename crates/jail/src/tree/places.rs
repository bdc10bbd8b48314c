//! Whose directories the operations of a Plan work in. Looks at paths alone, never at files.

use std::collections::HashMap;

use plan::{Bind, BindPurpose, MountOp, Plan};

/// Where the host's own files begin in a Plan's tree.
pub(super) struct HostPlaces<'a>(HashMap<&'a [u8], Place>);

/// Whose directory holds a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One that only this process can change.
    Own,
    /// One of a bind, or a bind itself: the host can change it at any time.
    Hosts,
    /// One of a view with a layer: the host can change it, and a program can have done so in an earlier run.
    View,
    /// One of a home that is kept: a program can have changed it in an earlier run, and what is mounted there needs
    /// names that are made first.
    Home,
}

impl<'a> HostPlaces<'a> {
    pub(super) fn of(plan: &'a Plan) -> Self {
        let of_host = plan.walls.mounts.iter().filter_map(|operation| {
            let overlay = operation.overlay().map(|overlay| (overlay.at.as_bytes(), Place::View));
            let of_bind = |bind: &Bind| match bind.purpose {
                BindPurpose::Home => Place::Home,
                BindPurpose::Base | BindPurpose::Grant | BindPurpose::Command => Place::Hosts,
                BindPurpose::Device | BindPurpose::Protected => Place::Hosts,
                BindPurpose::Pin | BindPurpose::Scratch => Place::Hosts,
            };
            operation.bind().map(|bind| (bind.at.as_bytes(), of_bind(bind))).or(overlay)
        });
        // What is mounted has a source, and most of what has one is mounted once.
        let mut places = HashMap::with_capacity(plan.walls.sources.len());
        places.extend(of_host);
        Self(places)
    }

    /// Whether an operation mounts or covers the host's files. A mount point that is made for a
    /// bind does not.
    pub(super) fn is_at(&self, operation: &MountOp) -> bool {
        operation.bind().is_some()
            || operation.overlay().is_some()
            || (operation.is_mount() && self.0.contains_key(operation.at().as_bytes()))
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
        let tops = slashes.map(|(end, _)| end).chain([directory.len()]);
        let mut places = tops.filter_map(|end| self.0.get(directory.get(..end)?).copied());
        places.next_back().unwrap_or(Place::Own)
    }
}
