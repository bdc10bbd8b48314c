//! Narrows the thread of one call to what its tool needs: who reads does not write, who writes starts nothing, and neither
//! has the network; who has that does not write. The cage holds all of it anyway; this is beside it, so a kernel that cannot do it changes nothing of what the
//! cage holds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jail::within::{self, Narrowing};
use tools::Needs;

/// See [`tools::worker::Narrow`].
pub(crate) fn to_needs(needs: Needs, spill: &[PathBuf]) -> io::Result<()> {
    let path = |path: &Path, write| within::Path { path: path.to_owned(), write, run: false };
    let everywhere = match needs {
        Needs::Run => return Ok(()),
        Needs::Nothing => None,
        Needs::Read | Needs::Network => Some(false),
        Needs::Write => Some(true),
    };
    static HOLDS: OnceLock<bool> = OnceLock::new();
    if !HOLDS.get_or_init(within::can_narrow) {
        return Ok(());
    }
    let mut paths: Vec<within::Path> = spill.iter().map(|spill| path(spill, true)).collect();
    paths.extend(everywhere.map(|write| path(Path::new("/"), write)));
    within::narrow(&Narrowing { paths, network: needs == Needs::Network }).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
