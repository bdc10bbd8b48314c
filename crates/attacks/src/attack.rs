//! What an attack is, what it needs, and what can come of it. Plain data and the words in which
//! attacks report; runs nothing.

use std::ops::Deref;
use std::path::PathBuf;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sys::raw::Probe;

use crate::Arena;

/// One way to break out, tried from inside.
#[derive(Debug)]
pub struct Attack {
    /// The line of SPECIFICATION.md that it belongs to.
    pub id: &'static str,
    /// Unique among all attacks; also the mark that it leaves where it gets through.
    pub name: &'static str,
    /// What it tries, for a person.
    pub summary: &'static str,
    /// Where it can be shown to succeed.
    pub twin: Twin,
    /// The system call profiles that must hold it off.
    pub profiles: Profiles,
    /// What counts as success.
    pub proof: Proof,
    /// How it is tried.
    pub tries: Tries,
    /// Paths below the project that must be the same before and after: what it would change or
    /// plant there.
    pub guards: &'static [&'static [u8]],
}

/// Where an attack can be shown to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// In an uncaged child of the caller.
    Plain,
    /// In an uncaged child of root; the kernel itself refuses it to anyone else.
    Root,
    /// As root of throw-away namespaces in which the project's rules are plain mounts: a cage that
    /// has its mounts and no other layer.
    Namespaces,
}

/// The system call profiles that must hold an attack off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiles {
    /// The default one and `relaxed`.
    Both,
    /// The default one; `relaxed` allows the call for debuggers and profilers.
    DefaultOnly,
}

/// What counts as success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The attack's own report: it saw the effect.
    OwnReport,
    /// Its report holds a secret of the arena, which it could not have made up.
    Secret,
    /// The host saw its mark: a file changed, a connection came, a signal arrived.
    Harm,
}

/// How an attack is tried.
#[derive(Clone, Copy, Debug)]
pub enum Tries {
    /// A function.
    Function(fn(&Scene<'_>) -> Result<Outcome, Refused>),
    /// One system call with harmless arguments, which must not reach the kernel's own code.
    Call(Probe),
}

/// What came of an attack, as far as the attacking process can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "snake_case")]
pub enum Outcome {
    /// It went through; the text is the evidence.
    Succeeded(String),
    /// Nothing refused it, and only the host can tell whether it had an effect.
    Attempted(String),
    /// It was refused; the text says how.
    Failed(String),
    /// It cannot be tried on this host; the text says why.
    NotApplicable(String),
    /// It did not come to an end, or ended in a way that says nothing.
    Broken(String),
}

/// A refusal on the way, which ends an attack as failed.
#[derive(Debug)]
pub struct Refused(pub String);

/// An attack in its arena.
#[derive(Debug)]
pub struct Scene<'a> {
    arena: &'a Arena,
    attack: &'static Attack,
}

impl Attack {
    /// An attack with the usual conditions: an uncaged twin, both profiles, its own report.
    pub(crate) const fn new(
        id: &'static str,
        name: &'static str,
        summary: &'static str,
        function: fn(&Scene<'_>) -> Result<Outcome, Refused>,
    ) -> Self {
        Self {
            id,
            name,
            summary,
            twin: Twin::Plain,
            profiles: Profiles::Both,
            proof: Proof::OwnReport,
            tries: Tries::Function(function),
            guards: &[],
        }
    }

    /// One system call that must not reach the kernel.
    pub(crate) const fn call(id: &'static str, name: &'static str, probe: Probe) -> Self {
        Self {
            id,
            name,
            summary: "makes a system call that a cage has no use for",
            twin: Twin::Plain,
            profiles: Profiles::Both,
            proof: Proof::OwnReport,
            tries: Tries::Call(probe),
            guards: &[],
        }
    }

    pub(crate) const fn twin(mut self, twin: Twin) -> Self {
        self.twin = twin;
        self
    }

    pub(crate) const fn default_only(mut self) -> Self {
        self.profiles = Profiles::DefaultOnly;
        self
    }

    pub(crate) const fn steals(mut self) -> Self {
        self.proof = Proof::Secret;
        self
    }

    pub(crate) const fn harms(mut self) -> Self {
        self.proof = Proof::Harm;
        self
    }

    pub(crate) const fn guards(mut self, guards: &'static [&'static [u8]]) -> Self {
        self.guards = guards;
        self.proof = Proof::Harm;
        self
    }
}

impl<'a> Scene<'a> {
    pub(crate) fn new(arena: &'a Arena, attack: &'static Attack) -> Self {
        Self { arena, attack }
    }

    /// The mark that this attack leaves where it gets through.
    pub(crate) fn mark(&self) -> &'static str {
        self.attack.name
    }

    /// This attack's own file outside of every grant.
    pub(crate) fn target(&self) -> PathBuf {
        self.arena.outside.join("targets").join(self.attack.name)
    }

    /// This attack's own file below the read-only rule.
    pub(crate) fn readonly_file(&self) -> PathBuf {
        self.arena.project.join("readonly/files").join(self.attack.name)
    }

    /// This attack's own directory, in which it may do what it likes.
    pub(crate) fn workplace(&self) -> std::io::Result<PathBuf> {
        let directory = self.arena.project.join("work").join(self.attack.name);
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }
}

impl Deref for Scene<'_> {
    type Target = Arena;

    fn deref(&self) -> &Arena {
        self.arena
    }
}

impl Outcome {
    /// Success if what was read is a secret of the arena.
    pub(crate) fn of_reading(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        match text.split_once(SECRET_PREFIX) {
            Some((_, rest)) => {
                let rest = rest.chars().take_while(|found| found.is_ascii_graphic());
                let secret: String = rest.take(SECRET_SHOWN).collect();
                Self::Succeeded(format!("{SECRET_PREFIX}{secret}"))
            }
            None => Self::Failed(format!("{} bytes, and no secret among them", bytes.len())),
        }
    }

    /// The text that goes with the outcome.
    pub fn detail(&self) -> &str {
        match self {
            Self::Succeeded(text)
            | Self::Attempted(text)
            | Self::Failed(text)
            | Self::NotApplicable(text)
            | Self::Broken(text) => text,
        }
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self(error.to_string()),
        }
    }
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self(errno_name(errno).map_or_else(|| errno.to_string(), str::to_owned))
    }
}

/// The names of the errors that walls answer with.
pub(crate) fn errno_name(errno: Errno) -> Option<&'static str> {
    let named = [
        (Errno::PERM, "EPERM"),
        (Errno::NOENT, "ENOENT"),
        (Errno::SRCH, "ESRCH"),
        (Errno::ACCESS, "EACCES"),
        (Errno::BUSY, "EBUSY"),
        (Errno::EXIST, "EEXIST"),
        (Errno::XDEV, "EXDEV"),
        (Errno::ROFS, "EROFS"),
        (Errno::NOSYS, "ENOSYS"),
        (Errno::INVAL, "EINVAL"),
        (Errno::FAULT, "EFAULT"),
        (Errno::BADF, "EBADF"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::LOOP, "ELOOP"),
        (Errno::CONNREFUSED, "ECONNREFUSED"),
        (Errno::AFNOSUPPORT, "EAFNOSUPPORT"),
        (Errno::PROTONOSUPPORT, "EPROTONOSUPPORT"),
        (Errno::SOCKTNOSUPPORT, "ESOCKTNOSUPPORT"),
        (Errno::NOKEY, "ENOKEY"),
        (Errno::NXIO, "ENXIO"),
        (Errno::TOOBIG, "E2BIG"),
        (Errno::USERS, "EUSERS"),
    ];
    named.iter().find(|(known, _)| *known == errno).map(|(_, name)| *name)
}

/// How every secret of an arena begins.
pub(crate) const SECRET_PREFIX: &str = "stockade-canary-";
const SECRET_SHOWN: usize = 80;
