//! Rules on paths as a function from paths to access, compared and met point by point.
//!
//! Access changes only at the paths that rules name: between two of them it is constant. So two
//! sets of rules are compared everywhere by comparing them at every path that either names.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use plan::HostPath;

use super::{Refusal, RefusalKind};
use crate::access::AccessMap;
use crate::{FsAccess, FsRule, Reach};

/// What is held and what is asked for, each with its rules by path.
pub(super) struct Pair<'rules> {
    held: &'rules [FsRule],
    holding: AccessMap<'rules>,
    asked: &'rules [FsRule],
    asking: AccessMap<'rules>,
}

impl<'rules> Pair<'rules> {
    pub(super) fn new(held: &'rules [FsRule], asked: &'rules [FsRule]) -> Self {
        Self { held, holding: AccessMap::new(held), asked, asking: AccessMap::new(asked) }
    }
}

/// Every rule of the request that asks, at its own path, for more than is held there.
pub(super) fn refuse_more(pair: &Pair<'_>, refused: &mut Vec<Refusal>) {
    // Of several rules on one path only the least asks for anything.
    let asks = |rule: &&FsRule| {
        pair.asking.exactly(&rule.path).is_some_and(|deciding| std::ptr::eq(deciding, *rule))
    };
    for rule in pair.asked.iter().filter(asks) {
        let holding = pair.holding.at(&rule.path);
        if rule.access > holding.map_or(FsAccess::Hide, |rule| rule.access) {
            refused.push(access_refused(&rule.path, rule, holding));
        }
    }
}

/// Every path at which the child gives more than the parent.
pub(super) fn refuse_beyond(parent: &[FsRule], child: &[FsRule], refused: &mut Vec<Refusal>) {
    let (held, given) = (AccessMap::new(parent), AccessMap::new(child));
    for path in points(parent, child).into_keys() {
        let Some(rule) = given.at(path).filter(|rule| rule.access > FsAccess::Hide) else {
            continue;
        };
        match held.at(path) {
            Some(holding) if rule.access <= holding.access => {
                if rule.reach > holding.reach {
                    refused.push(reach_refused(path, rule, holding));
                }
            }
            lesser => refused.push(access_refused(path, rule, lesser)),
        }
    }
}

/// The lesser of the two at every path. The caller has made sure that no rule asks for more at
/// its own path.
pub(super) fn meet(pair: &Pair<'_>) -> Vec<FsRule> {
    let Pair { held, holding, asked, asking } = pair;
    let met: Vec<FsRule> = points(held, asked)
        .into_keys()
        .filter_map(|path| meet_at(path, holding.at(path), asking.at(path)))
        .collect();
    without_repetition(met, asking)
}

fn meet_at(path: &HostPath, held: Option<&FsRule>, asked: Option<&FsRule>) -> Option<FsRule> {
    // Where nothing is asked for nothing is given, and no rule is needed to say so.
    let asked = asked?;
    let access = asked.access.min(held.map_or(FsAccess::Hide, |rule| rule.access));
    let reach = held.map_or(asked.reach, |rule| rule.reach.min(asked.reach));
    let decided_by = match held {
        Some(rule) if rule.access < asked.access => rule,
        _ => asked,
    };
    Some(FsRule { access, path: path.clone(), reach, origin: decided_by.origin.clone() })
}

/// Leaves out rules that say what already holds from above, unless the request names their path.
fn without_repetition(met: Vec<FsRule>, asking: &AccessMap<'_>) -> Vec<FsRule> {
    // Of use only where the request does not name everything, which it mostly does.
    let all = LazyCell::new(|| AccessMap::new(&met));
    let says = |rule: &FsRule| match rule.access {
        FsAccess::Hide => (FsAccess::Hide, Reach::BeneathProject),
        FsAccess::ReadOnly | FsAccess::Cache | FsAccess::Cow | FsAccess::ReadWrite => {
            (rule.access, rule.reach)
        }
    };
    let is_needed = |rule: &FsRule| {
        asking.exactly(&rule.path).is_some() || all.above(&rule.path).map(says) != Some(says(rule))
    };
    let needed: Vec<bool> = met.iter().map(is_needed).collect();
    let kept = met.into_iter().zip(needed).filter(|(_, needed)| *needed);
    kept.map(|(rule, _)| rule).collect()
}

/// Every path that a rule names, parents before children.
fn points<'rules>(
    one: &'rules [FsRule],
    other: &'rules [FsRule],
) -> BTreeMap<&'rules HostPath, ()> {
    one.iter().chain(other).map(|rule| (&rule.path, ())).collect()
}

fn access_refused(path: &HostPath, asked: &FsRule, held: Option<&FsRule>) -> Refusal {
    Refusal {
        kind: RefusalKind::Files,
        subject: path.to_string(),
        asked: asked.access.word().to_owned(),
        held: held.map_or_else(|| "nothing".to_owned(), |rule| format!("`{}`", rule.access.word())),
        asked_at: Some(asked.origin.clone()),
        held_at: held.map(|rule| rule.origin.clone()),
    }
}

fn reach_refused(path: &HostPath, asked: &FsRule, held: &FsRule) -> Refusal {
    Refusal {
        kind: RefusalKind::Reach,
        subject: path.to_string(),
        asked: "followed anywhere".to_owned(),
        held: "a path beneath the project".to_owned(),
        asked_at: Some(asked.origin.clone()),
        held_at: Some(held.origin.clone()),
    }
}
