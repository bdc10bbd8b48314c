//! The mechanisms in the order in which they are preferred.
//!
//! A part of the hierarchy that systemd has delegated to this process comes first: groups in it cost
//! no conversation. Then systemd, where it runs, because every other group is its own there. Then
//! whatever part of version 2 this caller may write, and then version 1: no controller is in both.

use crate::group::Holder;
use crate::hierarchy::Hierarchies;
use crate::limiter::Mechanism;
use crate::name::GroupName;
use crate::numbers::{Limit, Numbers};
use crate::scope::Manager;
use crate::sweep::{Swept, sweep};
use crate::{LimitsError, v1, v2};

/// How this caller makes groups.
#[derive(Debug)]
pub(crate) enum Backend {
    One(v1::Base),
    Two(v2::Base),
    Scope(Manager),
    /// Not at all.
    None(Obstacle),
}

/// What is in the way of a limit, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) why: String,
    pub(crate) fix: String,
}

impl Obstacle {
    /// Where there is no fix but to do without.
    pub(crate) const ELSEWHERE: &str = "leave the limit out";

    /// For something that failed without a known fix.
    pub(crate) fn without_fix(why: &LimitsError) -> Self {
        Self { why: why.to_string(), fix: Self::ELSEWHERE.to_owned() }
    }
}

impl Backend {
    pub(crate) fn find(hierarchies: &Hierarchies) -> Self {
        let two = v2::Base::find(hierarchies);
        let two = match two {
            Some(base) if base.is_delegated() && base.obstacles().is_empty() => {
                return Self::Two(base);
            }
            other => other,
        };
        match (Manager::find(hierarchies), two) {
            (Some(Ok(manager)), _) => Self::Scope(manager),
            (_, Some(base)) if !base.holds().is_empty() => Self::Two(base),
            (Some(Err(obstacle)), _) => Self::None(obstacle),
            (None, Some(base)) => Self::Two(base),
            (None, None) => Self::One(v1::Base::find(hierarchies)),
        }
    }

    pub(crate) fn holds(&self) -> Vec<Limit> {
        match self {
            Self::One(base) => base.holds(),
            Self::Two(base) => base.holds().to_vec(),
            Self::Scope(manager) => manager.holds().to_vec(),
            Self::None(_) => Vec::new(),
        }
    }

    /// What is in the way of the first of these that has something in its way.
    pub(crate) fn obstacle_to(&self, limits: &[Limit]) -> Option<Obstacle> {
        let known = match self {
            Self::One(base) => base.obstacles(),
            Self::Two(base) => base.obstacles(),
            Self::Scope(manager) => manager.obstacles(),
            Self::None(obstacle) => return limits.first().map(|_| obstacle.clone()),
        };
        let found = limits.iter().find_map(|limit| known.iter().find(|(about, _)| about == limit));
        found.map(|(_, obstacle)| obstacle.clone())
    }

    pub(crate) fn mechanism(&self) -> Option<Mechanism> {
        match self {
            Self::One(_) => Some(Mechanism::CgroupV1),
            Self::Two(_) => Some(Mechanism::CgroupV2),
            Self::Scope(_) => Some(Mechanism::Systemd),
            Self::None(_) => None,
        }
    }

    /// Whether it works, as far as that can be known without making anything.
    pub(crate) fn trouble(&self) -> Option<Obstacle> {
        match self {
            Self::Scope(manager) => manager.trouble(),
            Self::One(_) | Self::Two(_) | Self::None(_) => None,
        }
    }

    pub(crate) fn prepare(
        &self,
        numbers: &Numbers,
        name: &GroupName,
    ) -> Result<Holder, LimitsError> {
        match self {
            Self::One(base) => base.prepare(numbers, &name.to_string()).map(Holder::One),
            Self::Two(base) => base.prepare(numbers, &name.to_string()).map(Holder::Two),
            Self::Scope(manager) => manager.prepare(numbers, name).map(Box::new).map(Holder::Scope),
            Self::None(_) => Ok(Holder::Nothing),
        }
    }

    pub(crate) fn sweep(&self) -> Vec<Swept> {
        match self {
            Self::One(base) => base.directories().flat_map(sweep).collect(),
            Self::Two(base) => sweep(base.directory()),
            Self::Scope(manager) => manager.sweep(),
            Self::None(_) => Vec::new(),
        }
    }
}
