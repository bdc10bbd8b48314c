//! The policy of one call: what the manifest declares, what the caller grants and what the level of
//! autonomy leaves, brought together. Only takes away: the last step is [`Policy::narrow`].

mod code;
mod files;
mod network;

use std::collections::BTreeMap;

use crate::Autonomy;
use crate::autonomy::{Ask, Effect, Verdict};
use plan::HostPath;
use policy::capabilities::without_implied;
use policy::net::Destination;
use policy::shown::Shown;
use policy::{FsAccess, FsRule, Policy, RuleOrigin};

use crate::filter::CheckedArguments;
use crate::grants::{Grant, Grants};
use crate::model::{Capability, Manifest};

/// What a caller asks for.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// How much is left to the executor.
    pub autonomy: Autonomy,
    /// What the caller gives.
    pub grants: &'a Grants,
    /// The arguments, which a [`crate::Filter`] has let through; none where the call is not known yet.
    pub arguments: Option<&'a CheckedArguments>,
    /// Paths of the caller's own choice that can be read.
    pub extra_ro: &'a [HostPath],
    /// Paths of the caller's own choice that can be written to.
    pub extra_rw: &'a [HostPath],
}

/// What has to be known about the host.
pub struct Place<'a> {
    /// The caller's home; none where it has none.
    pub home: Option<&'a HostPath>,
    /// The directory of the executor's code, with every link resolved.
    pub code_directory: &'a HostPath,
    /// The supervisor's state and configuration directories.
    pub own_state: &'a [HostPath],
    /// What is at a path of the host, links followed.
    pub found: &'a dyn Fn(&HostPath) -> Found,
}

/// What is at a path of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory.
    Directory,
    /// A file, or anything else that is no directory.
    Other,
    /// Nothing that the caller could see.
    Missing,
}

/// What one call gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Its policy. The project is the code's directory.
    pub policy: Policy,
    /// Paths from the manifest, each its own root, and from arguments. Whoever resolves the policy makes
    /// sure that each leads to a place within its root, which must have no link in it.
    pub confined: Vec<Confined>,
    /// What somebody has to agree to before the program is started.
    pub asks: Vec<Asked>,
    /// What the manifest declares and this call does not get, one sentence each.
    pub narrowed: Vec<String>,
    /// What a person may want to know, one sentence each.
    pub notes: Vec<String>,
    /// Directories to make before the policy is resolved, once everything is agreed to. The manifest names
    /// each. Its parent exists and has to be a directory of the caller's own, with no link on its path.
    pub create: Vec<HostPath>,
    /// Whether the policy has the whole public network. The caller granted it by name.
    pub whole_network: bool,
}

/// A path, and the root that it must stay within: of an argument what the manifest and the grants leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// As in the rule of the policy.
    pub path: HostPath,
    /// The root that bounds it.
    pub root: HostPath,
}

/// Something that somebody has to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The capability, such as `code:exec`.
    pub capability: String,
    /// What it is limited to, for a person; none where it is not.
    pub target: Option<String>,
    /// Whether the answer may be stored.
    pub ask: Ask,
}

/// Why a call is refused; never empty. Names arguments, never their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// Every reason.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind.
    pub code: ReasonCode,
    /// One sentence, safe to print.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
}

/// What kind of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReasonCode {
    /// An argument leads out of what the manifest allows it.
    Argument,
    /// A root cannot be granted at all.
    Ungrantable,
    /// A root or the whole network is given only to a caller that grants it by name.
    NeedsGrant,
    /// The level of autonomy denies something that a cage cannot take away.
    Autonomy,
    /// The caller did not grant something that a cage cannot take away.
    NotGranted,
    /// A root to write to does not exist.
    Missing,
    /// The code's directory cannot be shown, or would be writable.
    Code,
}

/// The policy of one call.
pub fn derive(manifest: &Manifest, call: &Call<'_>, place: &Place<'_>) -> Result<Derived, Refused> {
    let mut derivation = Derivation::new(manifest, call, place);
    derivation.code();
    for capability in &manifest.capabilities {
        if derivation.is_there(capability) {
            capability.ignored.iter().for_each(|ignored| derivation.note(ignored.clone()));
            match capability.registered.effect {
                Effect::Read => derivation.files(capability, FsAccess::ReadOnly),
                Effect::Write => derivation.files(capability, FsAccess::ReadWrite),
                Effect::Network => derivation.network(capability),
                Effect::Nothing => derivation.outside(capability),
            }
        }
    }
    derivation.extras();
    derivation.finish()
}

/// One derivation under way.
struct Derivation<'a> {
    manifest: &'a Manifest,
    call: &'a Call<'a>,
    place: &'a Place<'a>,
    /// What the manifest gives at most.
    declared: Rules,
    /// What is left of it.
    effective: Rules,
    /// What the caller adds for itself.
    extra: Rules,
    confined: Vec<Confined>,
    asks: Vec<Asked>,
    narrowed: Vec<String>,
    notes: Vec<String>,
    create: Vec<HostPath>,
    whole_network: bool,
    reasons: Vec<Reason>,
}

/// Rules that add up: of two on one path the one that gives more counts.
#[derive(Default)]
struct Rules {
    fs: BTreeMap<HostPath, FsRule>,
    net: BTreeMap<Destination, RuleOrigin>,
}

impl<'a> Derivation<'a> {
    fn new(manifest: &'a Manifest, call: &'a Call<'a>, place: &'a Place<'a>) -> Self {
        Self {
            manifest,
            call,
            place,
            declared: Rules::default(),
            effective: Rules::default(),
            extra: Rules::default(),
            confined: Vec::new(),
            asks: Vec::new(),
            narrowed: Vec::new(),
            notes: Vec::new(),
            create: Vec::new(),
            whole_network: false,
            reasons: Vec::new(),
        }
    }

    /// Whether a capability is there in this call.
    fn is_there(&mut self, capability: &Capability) -> bool {
        match (&capability.when, self.call.arguments) {
            (None, _) => true,
            (Some(when), Some(arguments)) => when.holds(arguments.as_map()),
            (Some(when), None) => {
                self.note(format!(
                    "`{capability}` depends on the argument `{}`, and no arguments are known",
                    Shown(&when.argument)
                ));
                false
            }
        }
    }

    /// A capability that means nothing to the cage: it cannot be taken away, so a call that may not
    /// have it is refused.
    fn outside(&mut self, capability: &Capability) {
        let granted = match self.call.grants {
            Grants::Unsaid => true,
            Grants::Listed(grants) => grants.iter().any(|grant| match grant {
                Grant::Declared => true,
                Grant::Named(named) => *named == capability.registered,
                Grant::Read(_) | Grant::Write(_) | Grant::Host(_) | Grant::WholeNetwork => false,
            }),
        };
        if !granted {
            let message = format!("`{capability}` is not granted, and a cage cannot take it away");
            self.refuse(ReasonCode::NotGranted, message, &format!("grant `{capability}`"));
            return;
        }
        match capability.verdict(self.call.autonomy) {
            Verdict::Allowed => {}
            Verdict::ApprovalRequired(ask) => self.ask(capability, None, ask),
            Verdict::Denied => {
                let message = format!(
                    "`{capability}` is denied when the autonomy is `{}`, and a cage cannot take it away",
                    self.call.autonomy
                );
                self.refuse(ReasonCode::Autonomy, message, "call it with more autonomy");
            }
        }
    }

    fn ask(&mut self, capability: &Capability, target: Option<String>, ask: Ask) {
        let asked = Asked { capability: capability.to_string(), target, ask };
        if !self.asks.contains(&asked) {
            self.asks.push(asked);
        }
    }

    fn refuse(&mut self, code: ReasonCode, message: String, help: &str) {
        let reason = Reason { code, message, help: help.to_owned() };
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// Reports something that the call does not get, once.
    fn narrow(&mut self, what: String) {
        if !self.narrowed.contains(&what) {
            self.narrowed.push(what);
        }
    }

    fn note(&mut self, what: String) {
        if !self.notes.contains(&what) {
            self.notes.push(what);
        }
    }

    fn origin(&self, capability: &Capability, hint: &str) -> RuleOrigin {
        RuleOrigin::Capability(format!("{capability} {hint} of {}", self.manifest.name))
    }

    /// Whether everything ordinary that the manifest declares is granted.
    fn grants_ordinary(&self) -> bool {
        match self.call.grants {
            Grants::Unsaid => true,
            Grants::Listed(grants) => grants.contains(&Grant::Declared),
        }
    }

    fn listed_grants(&self) -> &'a [Grant] {
        match self.call.grants {
            Grants::Unsaid => &[],
            Grants::Listed(grants) => grants,
        }
    }

    fn finish(self) -> Result<Derived, Refused> {
        if !self.reasons.is_empty() {
            return Err(Refused { reasons: self.reasons });
        }
        let declared = self.policy(&self.declared);
        // What was put together above is within the manifest. This is what makes sure of it.
        let narrowed = declared.narrow(&self.policy(&self.effective));
        let mut policy = narrowed.map_err(|_| Refused {
            reasons: vec![Reason {
                code: ReasonCode::NotGranted,
                message: "what is left of the grants is not within the manifest".to_owned(),
                help: "grant the roots that the manifest names".to_owned(),
            }],
        })?;
        policy.fs = self.with_extras(policy.fs);
        let Self { confined, asks, narrowed, notes, create, whole_network, .. } = self;
        Ok(Derived { policy, confined, asks, narrowed, notes, create, whole_network })
    }

    fn policy(&self, rules: &Rules) -> Policy {
        let limits = &self.manifest.limits;
        let mut policy = Policy::closed(self.manifest.name.clone());
        policy.fs = self.with_own(without_implied(rules.fs.clone(), self.place.home));
        policy.net.allow = rules.net.clone();
        policy.limits = policy::Limits {
            memory_mb: limits.memory_mb,
            cpu_weight: None,
            cpu_millis: limits.cpu_millis,
            pids: limits.pids,
            walltime_sec: Some(limits.timeout_sec),
            ..policy::Limits::default()
        };
        policy
    }
}

impl Rules {
    fn grant(&mut self, rule: FsRule) {
        let held = self.fs.entry(rule.path.clone()).or_insert_with(|| rule.clone());
        if rule.access > held.access {
            *held = rule;
        }
    }
}

impl ReasonCode {
    /// The stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Ungrantable => "ungrantable",
            Self::NeedsGrant => "needs-grant",
            Self::Autonomy => "autonomy",
            Self::NotGranted => "not-granted",
            Self::Missing => "missing",
            Self::Code => "code",
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, reason) in self.reasons.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(formatter, "{separator}{}", reason.message)?;
            if !reason.help.is_empty() {
                write!(formatter, " ({})", reason.help)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
