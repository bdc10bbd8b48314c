//! The playing field of the attacks: bait on the host of which a cage must not reach anything.
//!
//! [`Arena`] is what an attacking process is told: paths, process ids, names. It never holds a
//! secret: what an attack reports as read, it has read. [`HostArena`] is the host's side.

mod build;
mod harm;
mod host;
mod victim;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use build::{Bait, SetUp};
pub(crate) use harm::signal_arrived;
pub use host::{ArenaError, HostArena};
pub(crate) use victim::{PASSING_SOCKET, SECRET_VARIABLE, victim_main};

/// What an attacking process knows about the field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Arena {
    /// The granted directory.
    pub project: PathBuf,
    /// A directory that nothing grants, beside the home.
    pub outside: PathBuf,
    /// The caller's home, with secrets in it; the project lies below.
    pub home: PathBuf,
    /// A directory of the system, granted read-only, with a file that only its owner may read.
    pub system: PathBuf,
    /// A file in the host's `/tmp`.
    pub temporary_file: PathBuf,
    /// A process of the same user on the host.
    pub victim: Victim,
    /// The process that stands over the attack: pid 1 of the cage, the victim where there is none.
    pub overseer: u32,
    /// The names of things that processes of one user share.
    pub names: SharedNames,
    /// What the host's file system calls the secret outside.
    pub secret_handle: Option<Handle>,
}

/// A process of the same user on the host, with secrets in it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Victim {
    /// Its process id in the host's numbers.
    pub pid: u32,
    /// Where in its memory a secret is.
    pub secret_address: u64,
    /// Where in its memory marks can be left, [`LEDGER_BYTES`] long.
    pub ledger_address: u64,
    /// Its descriptor of the secret outside.
    pub descriptor: u32,
}

/// The names of things that processes of one user share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedNames {
    /// Key of a System V segment and of a message queue.
    pub key: i32,
    /// A POSIX shared memory object, and a POSIX message queue; without the leading slash.
    pub object: String,
    /// An abstract socket that takes connections.
    pub abstract_stream: String,
    /// An abstract socket that takes datagrams.
    pub abstract_datagram: String,
    /// A key in the session of whoever starts the attacks, where the kernel keeps keys.
    pub session_key: Option<String>,
}

/// See [`sys::raw::FileHandle`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handle {
    /// How to read the bytes.
    pub kind: i32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What the arena's cage grants and takes: one rule on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What the rule says.
    pub access: Access,
    /// The path, absolute.
    pub path: PathBuf,
}

/// What a rule on a path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Files can be read.
    ReadOnly,
    /// Files can be read and changed.
    ReadWrite,
    /// The same, in a layer above the host's.
    Cow,
    /// The same, in a layer that is never reviewed.
    Cache,
    /// Nothing is there.
    Hide,
}

impl Arena {
    /// Where a cage's arena is written down: inside the project, so that it can be read there.
    pub fn file(project: &Path) -> PathBuf {
        project.join("arena.json")
    }

    /// The program that runs the attacks, as it is found inside.
    pub fn attacker(project: &Path) -> PathBuf {
        project.join(build::ATTACKER)
    }

    /// The secret that nothing grants.
    pub fn secret(&self) -> PathBuf {
        self.outside.join("secret")
    }

    /// Rules of the arena's cage. The most specific wins.
    pub fn rules(&self) -> Vec<Rule> {
        let below = |access, path: &str| Rule { access, path: self.project.join(path) };
        vec![
            Rule { access: Access::ReadWrite, path: self.project.clone() },
            below(Access::ReadOnly, "readonly"),
            below(Access::ReadWrite, "readonly/open"),
            below(Access::Hide, "private"),
            below(Access::ReadOnly, "private/granted"),
            below(Access::Hide, "hidden.txt"),
            below(Access::Hide, "deep/a/b/hidden.txt"),
            Rule { access: Access::ReadOnly, path: self.system.clone() },
        ]
    }
}

/// How much of the victim's memory is kept for marks.
pub(crate) const LEDGER_BYTES: usize = 4096;
