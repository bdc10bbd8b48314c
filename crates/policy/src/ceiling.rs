//! How much a project's own file counts for: up to the user's ceiling. One that asks for more is
//! refused with the list of what it asks, until the user has approved that very text. Decides
//! nothing about approval; only compares.

use std::fmt;

use plan::HostPath;

use crate::algebra::{Refusal, Refusals};
use crate::facts::ResolvedRule;
use crate::secrets;
use crate::shown::{Shown, shown};
use crate::{
    Cage, Commands, FsAccess, FsRule, Home, HostFacts, Place, Policy, Reach, RuleOrigin, Seccomp,
    State,
};

/// The most that a project's file may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Everything but variables; its `env` is not used.
    pub bound: Policy,
    /// Names of variables that may be passed on; a final `*` stands for any ending. A value that
    /// the file itself writes tells the program nothing about the user and needs no entry.
    pub variables: Vec<String>,
    /// The caller's home. Well-known secrets of it are not part of a wider grant: who may have the
    /// directory above may not name them either.
    pub home: Option<HostPath>,
}

/// Everything that was asked for beyond the ceiling; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Excess {
    /// One for each thing, by part.
    pub asked: Vec<Asked>,
}

/// One thing that was asked for beyond the ceiling. Safe to print: nothing in it can mislead the
/// person who is asked to approve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What was asked for.
    pub request: String,
    /// What the ceiling has instead.
    pub ceiling: String,
    /// Where it was asked for, if it is known that closely.
    pub origin: Option<RuleOrigin>,
}

impl Ceiling {
    /// What holds unless the user says otherwise: the project's own tree (not if that is a home, a
    /// directory above one or a system directory), the programs of the system, a few variables,
    /// the default profile, no network.
    pub fn built_in(place: &Place) -> Self {
        let origin = RuleOrigin::BuiltIn("the project's own tree");
        let tree = FsRule {
            access: FsAccess::ReadWrite,
            path: place.project.clone(),
            reach: Reach::BeneathProject,
            origin,
        };
        let bound = Policy {
            fs: if place.project_is_too_broad() { Vec::new() } else { vec![tree] },
            state: State::Scratch,
            home: Home::Kept,
            seccomp: Seccomp::Default,
            ..Policy::closed("ceiling")
        };
        let variables = BUILT_IN_VARIABLES.iter().map(|name| (*name).to_owned()).collect();
        Self { bound, variables, home: place.home.clone() }
    }

    /// The policy under this ceiling: what the ceiling hides, denies or bounds inside of what is
    /// asked for stays hidden, denied and bounded.
    pub fn apply(&self, policy: &Policy) -> Result<Policy, Excess> {
        let mut bound = self.bound.clone();
        for (name, rule) in &policy.env {
            if rule.value.is_some() || self.passes_on(name) {
                bound.env.insert(name.clone(), rule.clone());
            }
        }
        let secrets = policy.fs.iter().filter_map(|rule| self.secret_asked(rule, None)).collect();
        match bound.narrow(policy) {
            Ok(narrowed) => Excess::none_of(secrets).map(|()| narrowed),
            Err(refusals) => Err(Excess::of(&refusals).and(secrets)),
        }
    }

    /// As [`Ceiling::apply`], for what a file may define: a cage that is disabled is beyond any
    /// ceiling.
    pub fn apply_to_cage(&self, cage: &Cage) -> Result<Cage, Excess> {
        match cage {
            Cage::Enabled(policy) => self.apply(policy).map(Cage::Enabled),
            Cage::Disabled { origin, .. } => Err(Excess {
                asked: vec![Asked {
                    request: "to run without any cage (`\"disabled\"`)".to_owned(),
                    ceiling: "a cage".to_owned(),
                    origin: Some(origin.clone()),
                }],
            }),
        }
    }

    /// What a rule asks for that shows a secret which no rule of this ceiling names.
    fn secret_asked(&self, rule: &FsRule, real_home: Option<&HostPath>) -> Option<Asked> {
        if rule.access == FsAccess::Hide {
            return None;
        }
        let homes: Vec<&HostPath> = self.home.iter().chain(real_home).collect();
        let holding = secrets::holding(&homes, &rule.path);
        let secret = secrets::covering(&holding, &self.bound.fs, &rule.path)?;
        let (access, path) = (rule.access.word(), shown(&rule.path));
        Some(Asked {
            request: format!("`{access}` on `{path}` ({})", secret.name),
            ceiling: "no well-known secret that it does not name".to_owned(),
            origin: Some(rule.origin.clone()),
        })
    }

    /// Whether a policy stays under this ceiling.
    pub fn check(&self, policy: &Policy) -> Result<(), Excess> {
        self.apply(policy).map(|_| ())
    }

    /// Compares once more when links have been resolved: a project's rule under this ceiling may
    /// lead, through a link inside the project, to a place that the ceiling does not give or to a
    /// secret, and so may a plugin's capability wherever it is. Rules that the user's own configuration or flags wrote
    /// are not the ceiling's concern.
    pub fn check_resolved(&self, policy: &Policy, facts: &HostFacts) -> Result<(), Excess> {
        let real_path = |rule: &ResolvedRule| match rule {
            ResolvedRule::Found { source, .. } => {
                let index = usize::try_from(source.0).ok()?;
                facts.sources.get(index).map(|source| source.path.clone())
            }
            ResolvedRule::NothingToHide | ResolvedRule::AllowedAhead { .. } => None,
        };
        let of_others = |rule: &FsRule| {
            rule.reach == Reach::BeneathProject || matches!(rule.origin, RuleOrigin::Capability(_))
        };
        let rules = policy.fs.iter().zip(&facts.rules).filter(|(rule, _)| of_others(rule));
        let (mut led_elsewhere, mut secrets) = (Vec::new(), Vec::new());
        for (rule, resolved) in rules {
            let Some(path) = real_path(resolved) else { continue };
            let led = FsRule { path, ..rule.clone() };
            secrets.extend(self.secret_asked(&led, facts.caller.home.as_ref()));
            if led.path != rule.path {
                led_elsewhere.push(led);
            }
        }
        Excess::none_of(secrets)?;
        if led_elsewhere.is_empty() {
            return Ok(());
        }
        let (fs, commands) = (led_elsewhere, Commands::None);
        self.check(&Policy { fs, commands, ..Policy::closed(&policy.name) })
    }

    fn passes_on(&self, name: &str) -> bool {
        self.variables.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(stem) => name.starts_with(stem),
            None => name == allowed,
        })
    }
}

impl Excess {
    /// Success if nothing was asked.
    fn none_of(asked: Vec<Asked>) -> Result<(), Self> {
        if asked.is_empty() { Ok(()) } else { Err(Self { asked }) }
    }

    fn and(mut self, others: Vec<Asked>) -> Self {
        self.asked.extend(others);
        self
    }

    fn of(refusals: &Refusals) -> Self {
        let asked = |refusal: &Refusal| Asked {
            request: refusal.request(),
            ceiling: Shown(&refusal.held).to_string(),
            origin: refusal.asked_at.clone(),
        };
        Self { asked: refusals.iter().map(asked).collect() }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.request)?;
        if let Some(origin) = &self.origin {
            write!(formatter, " ({origin})")?;
        }
        write!(formatter, "; the ceiling gives {}", self.ceiling)
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the policy asks for more than its ceiling:")?;
        self.asked.iter().try_for_each(|asked| write!(formatter, "\n  {asked}"))
    }
}

/// Variables that say how to print, and nothing about who prints.
const BUILT_IN_VARIABLES: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "TERM",
    "TZ",
];

#[cfg(test)]
mod tests;
