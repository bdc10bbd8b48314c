//! Which mechanism holds limits for this caller on this machine, and making a group with it.
//!
//! Looking is cheap and changes nothing. Whoever may not make control groups is told why and what to
//! do, and nothing is quietly left out.

use plan::LimitsPlan;

use crate::group::{Degradation, Group, Holder};
use crate::hierarchy::Hierarchies;
use crate::name::GroupName;
use crate::numbers::{Limit, Numbers, listed};
use crate::rlimits::Rlimits;
use crate::sweep::{Swept, sweep};
use crate::{LimitsError, v1, v2};

/// Makes groups for cages.
#[derive(Debug)]
pub struct Limiter {
    way: Way,
}

/// Where groups are made.
#[derive(Debug)]
enum Way {
    One(v1::Base),
    Two(v2::Base),
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
    /// How that is known.
    pub why: String,
    /// What to do about those that are missing.
    pub fix: Option<String>,
}

/// A way of holding limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A delegated part of the control groups of version 2.
    CgroupV2,
    /// Control groups of version 1.
    CgroupV1,
}

/// Whether limits may be held less well than asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degraded {
    /// A limit that cannot be held in full is an error.
    Refuse,
    /// It becomes a resource limit of processes, and is told.
    Allow,
}

/// What is in the way of a limit, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) why: String,
    pub(crate) fix: String,
}

impl Obstacle {
    /// Where there is no fix but to do without.
    pub(crate) const ELSEWHERE: &str =
        "leave the limit out, or allow what can be done with --degraded-limits";
}

impl Way {
    /// Version 2 wherever it has a controller that matters: no controller is in both.
    fn find(hierarchies: &Hierarchies) -> Self {
        match v2::Base::find(hierarchies) {
            Some(base) => Self::Two(base),
            None => Self::One(v1::Base::find(hierarchies)),
        }
    }

    fn holds(&self) -> Vec<Limit> {
        match self {
            Self::One(base) => base.holds(),
            Self::Two(base) => base.holds().to_vec(),
        }
    }

    fn obstacles(&self) -> &[(Limit, Obstacle)] {
        match self {
            Self::One(base) => base.obstacles(),
            Self::Two(base) => base.obstacles(),
        }
    }

    fn mechanism(&self) -> (Mechanism, &'static str) {
        match self {
            Self::One(_) => (Mechanism::CgroupV1, "control groups of version 1"),
            Self::Two(_) => (Mechanism::CgroupV2, "a delegated control group of version 2"),
        }
    }

    fn prepare(&self, numbers: &Numbers, name: &str) -> Result<Holder, LimitsError> {
        match self {
            Self::One(base) => base.prepare(numbers, name).map(Holder::One),
            Self::Two(base) => base.prepare(numbers, name).map(Holder::Two),
        }
    }
}

impl Limiter {
    /// Looks at this machine. Cheap, and only needed where a Plan has limits.
    pub fn discover() -> Self {
        let read = |path: &str| std::fs::read(path).unwrap_or_default();
        let hierarchies =
            Hierarchies::parse(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        Self { way: Way::find(&hierarchies) }
    }

    /// What holds limits here.
    pub fn layer(&self) -> Layer {
        let held = self.way.holds();
        let missing = without(&Limit::ALL, &held);
        let (mechanism, name) = self.way.mechanism();
        let mechanism = (!held.is_empty()).then_some(mechanism);
        let (why, fix) = match self.obstacle_to(&missing) {
            None => (name.to_owned(), None),
            Some(Obstacle { why, fix }) => (why, Some(fix)),
        };
        Layer { mechanism, held, missing, why, fix }
    }

    /// Makes a group for a cage that is to be born. Without limits but that of time nothing is made.
    pub fn prepare(
        &self,
        plan: &LimitsPlan,
        invocation: &str,
        degraded: Degraded,
    ) -> Result<Group, LimitsError> {
        let numbers = Numbers::of(plan);
        let wanted = numbers.limits();
        if wanted.is_empty() {
            return Ok(Group::new(Holder::Nothing));
        }
        let name = GroupName::of_this_process(invocation)?;
        let missing = without(&wanted, &self.way.holds());
        if let (Degraded::Refuse, Some(Obstacle { why, fix })) =
            (degraded, self.obstacle_to(&missing))
        {
            return Err(LimitsError::Unusable { limits: missing, why, fix });
        }
        let held = without(&wanted, &missing);
        match self.way.prepare(&numbers.only(&held), &name.to_string()) {
            Ok(holder) if missing.is_empty() => Ok(Group::new(holder)),
            Ok(holder) => Ok(self.degrade(holder, &numbers, missing, None)),
            Err(error) if degraded == Degraded::Allow => {
                Ok(self.degrade(Holder::Nothing, &numbers, wanted, Some(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes what supervisors that are gone have left where this one makes its groups, and kills
    /// what is still in there.
    pub fn sweep(&self) -> Vec<Swept> {
        match &self.way {
            Way::One(base) => base.directories().flat_map(sweep).collect(),
            Way::Two(base) => sweep(base.directory()),
        }
    }

    /// Has resource limits take the place of those that are missing.
    fn degrade(
        &self,
        holder: Holder,
        numbers: &Numbers,
        missing: Vec<Limit>,
        failed: Option<LimitsError>,
    ) -> Group {
        let obstacle = match failed {
            Some(error) => {
                Some(Obstacle { why: error.to_string(), fix: Obstacle::ELSEWHERE.to_owned() })
            }
            None => self.obstacle_to(&missing),
        };
        let Obstacle { why, fix } = obstacle.unwrap_or_else(|| Obstacle {
            why: format!("{} cannot be limited", listed(&missing)),
            fix: Obstacle::ELSEWHERE.to_owned(),
        });
        let rlimits = Rlimits::of(&numbers.only(&missing));
        let consequences = Rlimits::consequences(&missing);
        let degradation = Degradation { limits: missing, reason: why, consequences, fix };
        Group { holder, rlimits: Some(rlimits), degradation: Some(degradation) }
    }

    /// What is in the way of the first of these that is not held.
    fn obstacle_to(&self, missing: &[Limit]) -> Option<Obstacle> {
        let known = self.way.obstacles();
        missing.iter().find_map(|limit| {
            let found = known.iter().find(|(about, _)| about == limit);
            found.map(|(_, obstacle)| obstacle.clone())
        })
    }
}

fn without(limits: &[Limit], others: &[Limit]) -> Vec<Limit> {
    limits.iter().copied().filter(|limit| !others.contains(limit)).collect()
}
