//! A Plan as a bubblewrap command line that is complete in itself: nothing but words, so that any
//! process API can start it. What only descriptors could bring is left out and named.

use super::bwrap::{Command, Descriptors, bwrap_gaps};
use crate::{ByteString, Plan};

/// Which network namespace the program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkNamespace {
    /// One of its own, with loopback and nothing else.
    Own,
    /// The host's: every host can be reached.
    Shared,
}

/// A command line that needs nothing but its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BwrapAlone {
    /// From `bwrap` to the program's last argument.
    pub argv: Vec<ByteString>,
    /// What its cage lacks, one sentence each.
    pub gaps: Vec<String>,
}

/// The command line: the tree, then the network, then what every cage has. M20
pub fn bwrap_alone(plan: &Plan, network: NetworkNamespace) -> BwrapAlone {
    let mut command = Command::new(Descriptors::None);
    command.mounts_with(plan, network);
    command.process(plan);
    if network == NetworkNamespace::Own {
        command.add(["--unshare-net"]);
    }
    command.add(["--uid", &plan.walls.identity.uid.to_string()]);
    command.add(["--gid", &plan.walls.identity.gid.to_string()]);
    command.add(["--hostname", &plan.start.hostname, "--cap-drop", "ALL"]);
    command.add(["--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-uts"]);
    command.add(["--unshare-pid", "--unshare-cgroup-try", "--die-with-parent", "--new-session"]);
    command.add(["--"]);
    command.argv.extend(plan.start.argv.iter().cloned());
    BwrapAlone { gaps: gaps(plan, network, &command), argv: command.argv }
}

fn gaps(plan: &Plan, network: NetworkNamespace, command: &Command) -> Vec<String> {
    let mut gaps = bwrap_gaps(plan);
    gaps.push("there is no filter of system calls".to_owned());
    let missing: Vec<String> = command.left_out.iter().map(|path| format!("`{path}`")).collect();
    if !missing.is_empty() {
        gaps.push(format!("there is no {}", missing.join(", ")));
    }
    if network == NetworkNamespace::Shared {
        gaps.push("the program has this machine's network, also its loopback".to_owned());
    }
    gaps
}

impl Command {
    /// With the host's network come the files that say how its names are looked up.
    fn mounts_with(&mut self, plan: &Plan, network: NetworkNamespace) {
        if network == NetworkNamespace::Shared {
            self.add(["--dir", "/etc"]);
            for file in ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"] {
                self.add(["--ro-bind-try", file, file]);
            }
        }
        self.mounts(plan);
    }
}
