//! Who asks. Carried by every request, so that one engine serves many guests; never taken from this process.

use std::sync::Arc;

/// The program on whose behalf an operation happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its further groups.
    pub groups: Arc<[u32]>,
    /// The bits of a mode that what it makes does not get.
    pub umask: u32,
    /// Its process, for locks; 0 where there is none.
    pub pid: u32,
}

impl Caller {
    /// The user 0, who may do everything that the file system can.
    pub fn root() -> Self {
        Self::of(0, 0)
    }

    /// A user without further groups.
    pub fn of(uid: u32, gid: u32) -> Self {
        Self { uid, gid, groups: Arc::new([]), umask: 0o022, pid: 0 }
    }

    /// Whether no permission stops it.
    pub const fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether it is in a group.
    pub fn is_in(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}
