//! Where the search of a start is at the moment, for whoever wants to say that it takes long. Changes nothing about
//! what is searched.

use std::sync::OnceLock;

use plan::HostPath;

/// Has a function called at each directory that is searched from now on. The first one stays.
pub fn observe(observer: fn(&HostPath)) {
    let _already = OBSERVER.set(observer);
}

/// A directory is searched.
pub(crate) fn at(directory: &HostPath) {
    if let Some(observer) = OBSERVER.get() {
        observer(directory);
    }
}

static OBSERVER: OnceLock<fn(&HostPath)> = OnceLock::new();
