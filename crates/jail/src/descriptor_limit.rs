//! Room for a Plan's descriptors: a privileged launcher holds two for every grant, and the usual
//! soft limit is 1024. The program starts with the limit that the caller had.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

/// The caller's limit, put back when this is dropped.
pub(crate) struct DescriptorLimit {
    before: Rlimit,
    raised: bool,
}

impl DescriptorLimit {
    /// Makes room for this many descriptors on top of those that are open, as far as the hard
    /// limit goes.
    pub(crate) fn make_room_for(descriptors: usize) -> Result<Self, Errno> {
        let before = rustix::process::getrlimit(Resource::Nofile);
        let wanted = u64::try_from(descriptors).unwrap_or(u64::MAX).saturating_add(OTHERS);
        let raised = before.current.is_some_and(|soft| soft < wanted);
        if raised {
            let soft = before.maximum.map_or(wanted, |hard| hard.min(wanted));
            let more = Rlimit { current: Some(soft), maximum: before.maximum };
            rustix::process::setrlimit(Resource::Nofile, more)?;
        }
        Ok(Self { before, raised })
    }

    /// Puts the caller's limit back.
    pub(crate) fn restore(&self) -> Result<(), Errno> {
        if self.raised {
            rustix::process::setrlimit(Resource::Nofile, self.before)?;
        }
        Ok(())
    }
}

impl Drop for DescriptorLimit {
    fn drop(&mut self) {
        // Lowering a soft limit to what it was cannot be refused.
        let _restored = self.restore();
    }
}

/// What a caller may have open besides.
const OTHERS: u64 = 128;
