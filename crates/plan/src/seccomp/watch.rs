//! What of a program's calls pid 1 is handed although they are allowed, so that it can note what they are
//! about. Never changes an answer: every watched call goes on as it was made.

use serde::{Deserialize, Serialize};

use super::*;

/// What is noted of a program's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// Nothing: no call is slower for it.
    #[default]
    Nothing,
    /// Writes that fail because of the cage. Calls that change files are slower.
    Writes,
    /// That, and look-ups of what the cage does not have. All calls that name a file are slower.
    Lookups,
    /// That, and what the program opened: what a policy for it would have to have.
    Uses,
}

impl Watch {
    /// Whether no call is watched.
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl SeccompPlan {
    /// The filter that hands over what is watched as well; none where nothing is.
    pub fn watching(&self, watch: Watch) -> Option<Program> {
        Self::watching_for(self.profile, watch, Arch::NATIVE)
    }

    pub(super) fn watching_for(profile: Profile, watch: Watch, arch: Arch) -> Option<Program> {
        let instructions = match (profile, watch, arch) {
            (_, Watch::Nothing, _) => return None,
            (Profile::Default, Watch::Writes, Arch::X86_64) => DEFAULT_WRITES_X86_64_WITH_NOTIFY,
            (Profile::Default, Watch::Writes, Arch::Aarch64) => DEFAULT_WRITES_AARCH64_WITH_NOTIFY,
            (Profile::Relaxed, Watch::Writes, Arch::X86_64) => RELAXED_WRITES_X86_64_WITH_NOTIFY,
            (Profile::Relaxed, Watch::Writes, Arch::Aarch64) => RELAXED_WRITES_AARCH64_WITH_NOTIFY,
            (Profile::Default, Watch::Lookups | Watch::Uses, Arch::X86_64) => {
                DEFAULT_LOOKUPS_X86_64_WITH_NOTIFY
            }
            (Profile::Default, Watch::Lookups | Watch::Uses, Arch::Aarch64) => {
                DEFAULT_LOOKUPS_AARCH64_WITH_NOTIFY
            }
            (Profile::Relaxed, Watch::Lookups | Watch::Uses, Arch::X86_64) => {
                RELAXED_LOOKUPS_X86_64_WITH_NOTIFY
            }
            (Profile::Relaxed, Watch::Lookups | Watch::Uses, Arch::Aarch64) => {
                RELAXED_LOOKUPS_AARCH64_WITH_NOTIFY
            }
        };
        Some(Program::embedded(instructions))
    }

    /// Whether a call that a watching filter handed over only had to be noted: the profile allows it. Any
    /// other is answered with [`Self::refusal`].
    pub fn allows(&self, data: &SeccompData) -> bool {
        interpret(&self.without_notify, data) == Action::Allow
    }
}

/// The filter of pid 1's thread that notes watched calls, for the architecture that this program was compiled
/// for.
pub fn observer() -> Program {
    Program::embedded(match Arch::NATIVE {
        Arch::X86_64 => OBSERVER_X86_64_WITHOUT_NOTIFY,
        Arch::Aarch64 => OBSERVER_AARCH64_WITHOUT_NOTIFY,
    })
}
