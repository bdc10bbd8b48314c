//! Which mechanism holds limits for this caller on this machine, and making a group with it.
//!
//! Looking is cheap and changes nothing. Whoever may not make control groups is told why and what to
//! do, and nothing is quietly left out.

use std::fmt;

use plan::LimitsPlan;

use crate::backend::{Backend, Obstacle};
use crate::group::{Group, Holder};
use crate::hierarchy::Hierarchies;
use crate::name::GroupName;
use crate::numbers::{Limit, Numbers, listed};
use crate::{LimitsError, Swept};

/// Makes groups for cages.
#[derive(Debug)]
pub struct Limiter {
    backend: Backend,
}

/// What holds limits here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// How; none where nothing holds any.
    pub mechanism: Option<Mechanism>,
    /// Which limits are held in full.
    pub held: Vec<Limit>,
    /// Which are not.
    pub missing: Vec<Limit>,
    /// How that is known, or what is in the way of those that are missing.
    pub why: String,
    /// What to do about those.
    pub fix: Option<String>,
}

impl Layer {
    /// Which limits are not held here, and why, in a sentence; none where all are.
    pub fn shortfall(&self) -> Option<String> {
        let missing = listed(&self.missing);
        (!self.missing.is_empty()).then(|| format!("no limit on {missing} is held: {}", self.why))
    }
}

/// A way of holding limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A scope of systemd.
    Systemd,
    /// A delegated part of the control groups of version 2.
    CgroupV2,
    /// Control groups of version 1.
    CgroupV1,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Systemd => "a scope of systemd for each cage",
            Self::CgroupV2 => "a control group of version 2 for each cage",
            Self::CgroupV1 => "control groups of version 1 for each cage",
        })
    }
}

/// Whether limits may be held less well than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degraded {
    /// A limit that cannot be held in full is an error.
    Refuse,
    /// It becomes a resource limit of processes, and is told.
    Allow,
}

impl Limiter {
    /// Looks at this machine. Cheap, and only needed where a Plan has limits.
    pub fn discover() -> Self {
        let read = |path: &str| std::fs::read(path).unwrap_or_default();
        let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
        Self { backend: Backend::find(&Hierarchies::parse(&groups, &mounts)) }
    }

    /// What holds limits here. Asks systemd whether it answers, where that is what holds them.
    pub fn layer(&self) -> Layer {
        let trouble = self.backend.trouble();
        let held = if trouble.is_some() { Vec::new() } else { self.backend.holds() };
        let missing = without(&Limit::ALL, &held);
        let mechanism = self.backend.mechanism().filter(|_| !held.is_empty());
        let obstacle = trouble.or_else(|| self.backend.obstacle_to(&missing));
        let (why, fix) = match (mechanism, obstacle) {
            (Some(mechanism), None) => (mechanism.to_string(), None),
            (Some(mechanism), Some(Obstacle { why, fix })) => {
                let why = format!("{mechanism}, without {}: {why}", listed(&missing));
                (why, Some(fix))
            }
            (None, Some(Obstacle { why, fix })) => (why, Some(fix)),
            (None, None) => ("there are no control groups".to_owned(), None),
        };
        Layer { mechanism, held, missing, why, fix }
    }

    /// Makes a group for a cage that is to start. Without limits but that of time nothing is made.
    pub fn prepare(
        &self,
        plan: &LimitsPlan,
        invocation: &str,
        degraded: Degraded,
    ) -> Result<Group, LimitsError> {
        let numbers = Numbers::of(plan);
        let wanted = numbers.limits();
        if wanted.is_empty() {
            return Ok(Group::new(Holder::Nothing, numbers));
        }
        let name = GroupName::of_this_process(invocation)?;
        let missing = without(&wanted, &self.backend.holds());
        let held = without(&wanted, &missing);
        let obstacle = (!missing.is_empty()).then(|| {
            let unknown = LimitsError::NotHeld { path: name.to_string().into() };
            self.backend.obstacle_to(&missing).unwrap_or_else(|| Obstacle::without_fix(&unknown))
        });
        match (obstacle, degraded) {
            (Some(Obstacle { why, fix }), Degraded::Refuse) => {
                Err(LimitsError::Unusable { limits: missing, why, fix })
            }
            (None, Degraded::Refuse) => {
                self.backend.prepare(&numbers, &name).map(|holder| Group::new(holder, numbers))
            }
            (obstacle, Degraded::Allow) => {
                let prepared = match held.is_empty() {
                    true => Ok(Holder::Nothing),
                    false => self.backend.prepare(&numbers.only(&held), &name),
                };
                Ok(match (prepared, obstacle) {
                    (Ok(holder), None) => Group::new(holder, numbers).with_fallback(),
                    (Ok(holder), Some(obstacle)) => {
                        Group::new(holder, numbers).with_fallback().degraded(missing, obstacle)
                    }
                    (Err(error), _) => Group::new(Holder::Nothing, numbers)
                        .degraded(wanted, Obstacle::without_fix(&error)),
                })
            }
        }
    }

    /// Removes what supervisors that are gone have left where this one makes its groups, and kills
    /// what is still in there.
    pub fn sweep(&self) -> Vec<Swept> {
        self.backend.sweep()
    }
}

fn without(limits: &[Limit], others: &[Limit]) -> Vec<Limit> {
    limits.iter().copied().filter(|limit| !others.contains(limit)).collect()
}
