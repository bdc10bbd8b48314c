//! How much files in memory may take, at the places where a program has files of its own. Bounds what is in a Plan; adds no
//! file system.

use crate::{GuestPath, MAX_TMPFS_BYTES, MountOp, SCRATCH, TmpfsPurpose};

/// Bounds in MiB.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Of all memory that the cage may have.
    pub memory_mb: Option<u64>,
    /// At `/tmp`, and at [`SCRATCH`] where it is memory.
    pub tmp_mb: Option<u64>,
    /// At the home.
    pub home_mb: Option<u64>,
}

impl Room {
    /// K225: files in memory count as memory, so no such file system is larger than all memory that the cage may
    /// have. `/tmp`, `/scratch` and the home may have all of it unless their own bound says how much.
    pub fn hold(&self, mounts: &mut [MountOp], home: &GuestPath) {
        let bytes = |mebibytes: u64| mebibytes.saturating_mul(1 << 20);
        let most = self.memory_mb.map_or(MAX_TMPFS_BYTES, bytes).min(MAX_TMPFS_BYTES);
        for operation in mounts {
            let of_place = match operation.at() {
                at if at == home => Some(self.home_mb),
                at if at.as_bytes() == b"/tmp" || at.as_bytes() == SCRATCH.as_bytes() => {
                    Some(self.tmp_mb)
                }
                _ => None,
            };
            let purpose = operation.tmpfs_purpose();
            let is_own = matches!(purpose, Some(TmpfsPurpose::Private | TmpfsPurpose::Scratch));
            let Some(size) = operation.memory_mut() else { continue };
            if let Some(own) = of_place.filter(|_| is_own) {
                size.bytes = own.or(self.memory_mb).map_or(size.bytes, bytes).min(most);
                // A larger one takes more names too, or many small files would fill it before its bytes are used.
                size.inodes = size.inodes.max(size.bytes / BYTES_PER_INODE);
            }
            size.bytes = size.bytes.min(most);
        }
    }
}

/// How many bytes of a file system in memory there is a name for.
const BYTES_PER_INODE: u64 = 1 << 10;
