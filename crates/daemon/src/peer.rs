//! Who is at the other end of a connection, and whether the daemon serves them. On the unix socket
//! the kernel says who it is (SO_PEERCRED, unix(7)); on TCP the token does.

use std::io::ErrorKind;

use rustix::process::{Pid, geteuid};
use walls::Wall;

use crate::problem::{Code, Problem};

#[cfg(test)]
mod tests;

/// Where a connection comes from, as far as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The unix socket, from a process of this user.
    User(u32),
    /// TCP.
    Network,
}

/// Who may use the unix socket.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    own: u32,
    others: Vec<u32>,
    namespace: Option<std::path::PathBuf>,
}

/// A peer that is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stranger {
    /// Another user.
    #[error("this daemon serves user {own}, and you are user {uid}")]
    OtherUser {
        /// Whom it serves.
        own: u32,
        /// Who it is.
        uid: u32,
    },
    /// The right user in a user namespace of its own, as everything in a cage is.
    #[error("you are in another user namespace than the daemon, as programs in a cage are")]
    OtherNamespace,
}

impl From<Stranger> for Problem {
    fn from(stranger: Stranger) -> Self {
        Self::new(Code::WrongPeer, stranger.to_string())
    }
}

impl Allowed {
    /// The user that runs this process, root, and the others that are named.
    pub(crate) fn new(others: Vec<u32>) -> Self {
        let namespace = std::fs::read_link("/proc/self/ns/user").ok();
        Self { own: geteuid().as_raw(), others, namespace }
    }

    /// Whether a peer is served. In a cage of an unprivileged user a program acts on the host as
    /// that user. It cannot reach the socket; if it ever could, it would be told by its namespace.
    pub(crate) fn check(&self, uid: u32, pid: Option<Pid>) -> Result<(), Stranger> {
        let Self { own, others, namespace } = self;
        let is_served = uid == 0 || uid == *own || others.contains(&uid);
        if !is_served && walls::stands(Wall::DaemonUsers) {
            return Err(Stranger::OtherUser { own: *own, uid });
        }
        let is_at_home = pid.is_some_and(|pid| {
            let process = format!("/proc/{}", pid.as_raw_nonzero());
            match std::fs::read_link(format!("{process}/ns/user")) {
                Ok(theirs) => Some(&theirs) == namespace.as_ref(),
                // A daemon that is not root is not shown the namespaces of other users. Those of its own
                // user it is shown, but for processes that hide, and these have no business here.
                Err(error) => {
                    uid != *own
                        && error.kind() == ErrorKind::PermissionDenied
                        && has_own_ids(&process)
                }
            }
        });
        if is_at_home { Ok(()) } else { Err(Stranger::OtherNamespace) }
    }
}

/// Whether the ids of a process mean what this one's do. Everybody is shown that; only root can make
/// a namespace in which they do all the same.
fn has_own_ids(process: &str) -> bool {
    ["uid_map", "gid_map"].iter().all(|map| {
        let theirs = std::fs::read(format!("{process}/{map}"));
        let own = std::fs::read(format!("/proc/self/{map}"));
        matches!((theirs, own), (Ok(theirs), Ok(own)) if theirs == own)
    })
}
