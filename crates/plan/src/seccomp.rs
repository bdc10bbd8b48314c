//! System call filters: two profiles for cages, and those of processes of ours, made when this crate is
//! built from the readable lists in `profiles/`, for two architectures. There is no way to ask for another filter, and none to
//! change a single call; this module never installs one.

mod arch;
#[cfg(test)]
mod assemble;
mod beside;
mod instruction;
mod interpret;
mod list;
mod program;
mod watch;

#[cfg(test)]
mod tests;

pub use arch::{Arch, syscall_name, syscall_number};
pub use beside::Helper;
pub use instruction::Instruction;
pub use interpret::{Action, SeccompData, interpret};
pub(crate) use program::hexadecimal;
pub use program::{MAX_INSTRUCTIONS, Program, ProgramError};
pub use watch::{Watch, observer};

use serde::{Deserialize, Serialize};

/// A system call profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// For everything.
    Default,
    /// For debuggers, tracers and profilers; counts as reduced isolation.
    Relaxed,
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Default, Self::Relaxed];

    /// Its name in the policy language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Relaxed => "relaxed",
        }
    }

    /// The list that its filters were made from.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Default => include_str!("../profiles/default.list"),
            Self::Relaxed => include_str!("../profiles/relaxed.list"),
        }
    }
}

/// The filters of a cage. They allow the same calls; they differ in who answers the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeccompPlan {
    /// Which list they were made from.
    pub profile: Profile,
    /// Hands refused and killing calls to the holder of the filter's listener, which answers with
    /// [`Self::refusal`] and can tell which call it was. Calls that honest programs try often are
    /// still answered by the filter itself.
    pub with_notify: Program,
    /// Answers every call itself.
    pub without_notify: Program,
}

/// How the holder of a filter's listener answers a call that was handed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error number that the call fails with; never 0.
    pub errno: u16,
    /// Whether the process is to die of `SIGSYS`.
    pub kills: bool,
}

/// What a profile does with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call happens.
    Allow,
    /// The call fails.
    Refuse {
        /// The error number.
        errno: u16,
        /// Whether the supervisor is told, where it listens.
        reported: bool,
    },
    /// The process dies of `SIGSYS`.
    Kill {
        /// Whether the supervisor is told, where it listens.
        reported: bool,
    },
    /// The call is answered with success and does not happen.
    Ignore,
}

/// A line of a profile's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLine {
    /// Counted from 1.
    pub number: usize,
    /// As it was written.
    pub text: &'static str,
}

impl SeccompPlan {
    /// The filters of a profile for the architecture that this program was compiled for.
    pub fn native(profile: Profile) -> Self {
        Self::embedded(profile, Arch::NATIVE)
    }

    /// The filters of a profile for an architecture.
    pub fn embedded(profile: Profile, arch: Arch) -> Self {
        let (with_notify, without_notify) = match (profile, arch) {
            (Profile::Default, Arch::X86_64) => {
                (DEFAULT_X86_64_WITH_NOTIFY, DEFAULT_X86_64_WITHOUT_NOTIFY)
            }
            (Profile::Default, Arch::Aarch64) => {
                (DEFAULT_AARCH64_WITH_NOTIFY, DEFAULT_AARCH64_WITHOUT_NOTIFY)
            }
            (Profile::Relaxed, Arch::X86_64) => {
                (RELAXED_X86_64_WITH_NOTIFY, RELAXED_X86_64_WITHOUT_NOTIFY)
            }
            (Profile::Relaxed, Arch::Aarch64) => {
                (RELAXED_AARCH64_WITH_NOTIFY, RELAXED_AARCH64_WITHOUT_NOTIFY)
            }
        };
        Self {
            profile,
            with_notify: Program::embedded(with_notify),
            without_notify: Program::embedded(without_notify),
        }
    }

    /// How a call that [`Self::with_notify`] handed over is answered: as
    /// [`Self::without_notify`] would have done. A call that it would have allowed was never
    /// handed over by this plan's own filter, so it is refused.
    pub fn refusal(&self, data: &SeccompData) -> Refusal {
        match interpret(&self.without_notify, data) {
            Action::Errno(errno) if errno != 0 => Refusal { errno, kills: false },
            Action::KillProcess | Action::KillThread => Refusal { errno: EPERM, kills: true },
            _ => Refusal { errno: EPERM, kills: false },
        }
    }
}

/// The filter of a child, which may have no network in a cage that has one. No policy can ask for it.
pub fn child(network: bool) -> Program {
    Program::embedded(match (Arch::NATIVE, network) {
        (Arch::X86_64, true) => CHILD_X86_64_WITHOUT_NOTIFY,
        (Arch::X86_64, false) => OFFLINE_CHILD_X86_64_WITHOUT_NOTIFY,
        (Arch::Aarch64, true) => CHILD_AARCH64_WITHOUT_NOTIFY,
        (Arch::Aarch64, false) => OFFLINE_CHILD_AARCH64_WITHOUT_NOTIFY,
    })
}

/// What a profile does with a call, by running the very filters that a cage gets.
pub fn verdict(profile: Profile, arch: Arch, number: u32, arguments: [u64; 6]) -> Verdict {
    let plan = SeccompPlan::embedded(profile, arch);
    let data = SeccompData::of(arch, number, arguments);
    let reported = interpret(&plan.with_notify, &data) == Action::Notify;
    match interpret(&plan.without_notify, &data) {
        Action::Allow => Verdict::Allow,
        Action::Errno(0) => Verdict::Ignore,
        Action::Errno(errno) => Verdict::Refuse { errno, reported },
        _ => Verdict::Kill { reported },
    }
}

/// The lines of a profile's list that name a call; empty for one that is always allowed.
pub fn list_lines(profile: Profile, name: &str) -> Vec<ListLine> {
    // The list was read when the crate was built, so it can be read here.
    let rules = list::parse(profile.list()).unwrap_or_default().rules;
    let names_it = |rule: &&list::Rule| rule.calls.iter().any(|call| call.name == name);
    let line = |rule: &list::Rule| {
        let text = profile.list().lines().nth(rule.line.checked_sub(1)?)?;
        Some(ListLine { number: rule.line, text })
    };
    rules.iter().filter(names_it).filter_map(line).collect()
}

const EPERM: u16 = 1;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
