//! Checked rules: what a table of a policy text, the flags of the command line or a request's fields
//! say. All three are read into this one type, by the same check for each word.
//!
//! [`Policy::with_user_flags`] joins the user's rules with what a file says. That is the user's own
//! authority speaking and not a derivation: it happens before anything is derived from the policy,
//! and no code that holds a policy on somebody else's behalf may call it. Derivation is
//! [`Policy::narrow`], which never adds.

use std::collections::{BTreeMap, BTreeSet};

use crate::algebra::Refusals;
use crate::net::Destination;
use plan::GuestPath;

use crate::{
    Commands, EnvironmentRule, FsAccess, FsRule, Home, Limits, Mount, Network, Policy, RuleOrigin,
    Seccomp, State,
};

/// Rules of one writer, each present or not. What is not written is decided by what they are joined
/// with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub(super) fs: Option<Vec<FsRule>>,
    pub(super) mounts: Option<BTreeMap<GuestPath, Mount>>,
    pub(super) commands: Option<Commands>,
    pub(super) env: Option<BTreeMap<String, EnvironmentRule>>,
    pub(super) net: NetworkRules,
    pub(super) state: Option<State>,
    pub(super) home: Option<Home>,
    pub(super) seccomp: Option<Seccomp>,
    pub(super) limits: Limits,
    /// Names of the user's single words that mean nothing without a cage; a text has none.
    pub(super) caged_words: Vec<String>,
}

/// The part of the rules that is about the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkRules {
    pub(super) allow: Option<BTreeMap<Destination, RuleOrigin>>,
    pub(super) deny: Option<BTreeMap<Destination, RuleOrigin>>,
    pub(super) reasons: Option<BTreeMap<Destination, String>>,
    pub(super) host_ports: Option<BTreeMap<u16, RuleOrigin>>,
    pub(super) publish: Option<BTreeMap<u16, RuleOrigin>>,
    /// Takes away what others allow; no text can say it.
    pub(super) disconnect: bool,
}

impl Rules {
    /// Adds lists to those of a policy, an own entry in the place of an equal one; single words and
    /// limits replace.
    pub(super) fn join(&self, policy: &mut Policy) {
        let own = self.fs.as_deref().unwrap_or_default();
        let named: BTreeSet<_> = own.iter().map(|rule| &rule.path).collect();
        policy.fs.retain(|rule| !named.contains(&rule.path));
        policy.fs.extend(own.iter().cloned());
        extend(&mut policy.mounts, self.mounts.as_ref());
        policy.grant_mounted_directories();
        extend(&mut policy.env, self.env.as_ref());
        let Network { allow, deny, reasons, host_ports, publish } = &mut policy.net;
        extend(allow, self.net.allow.as_ref());
        extend(deny, self.net.deny.as_ref());
        extend(reasons, self.net.reasons.as_ref());
        extend(host_ports, self.net.host_ports.as_ref());
        extend(publish, self.net.publish.as_ref());
        if self.net.disconnect {
            policy.net.disconnect();
        }
        self.replace_words(policy);
    }

    /// Puts every list and word in the place of the policy's.
    pub(super) fn replace(self, policy: &mut Policy) {
        self.replace_words(policy);
        let NetworkRules { allow, deny, reasons, host_ports, publish, disconnect: _ } = self.net;
        replace(&mut policy.fs, self.fs);
        replace(&mut policy.mounts, self.mounts);
        policy.grant_mounted_directories();
        replace(&mut policy.env, self.env);
        replace(&mut policy.net.allow, allow);
        replace(&mut policy.net.deny, deny);
        replace(&mut policy.net.reasons, reasons);
        replace(&mut policy.net.host_ports, host_ports);
        replace(&mut policy.net.publish, publish);
    }

    /// What these rules ask of a holder: their own words, and the holder's where they are silent. The holder's
    /// limits, what it denies and why stay with it by themselves.
    pub(super) fn asked_of(self, name: &str, holder: &Policy) -> Policy {
        let mut asked =
            Policy { name: name.to_owned(), limits: Limits::default(), ..holder.clone() };
        asked.net.deny.clear();
        asked.net.reasons.clear();
        if self.net.disconnect {
            asked.net.disconnect();
        }
        self.replace(&mut asked);
        asked
    }

    fn replace_words(&self, policy: &mut Policy) {
        replace(&mut policy.commands, self.commands.clone());
        replace(&mut policy.state, self.state);
        replace(&mut policy.home, self.home);
        replace(&mut policy.seccomp, self.seccomp);
        let (own, others) = (self.limits, policy.limits);
        policy.limits = Limits {
            memory_mb: own.memory_mb.or(others.memory_mb),
            cpu_weight: own.cpu_weight.or(others.cpu_weight),
            cpu_millis: own.cpu_millis.or(others.cpu_millis),
            pids: own.pids.or(others.pids),
            walltime_sec: own.walltime_sec.or(others.walltime_sec),
            tmp_mb: own.tmp_mb.or(others.tmp_mb),
            home_mb: own.home_mb.or(others.home_mb),
            workspace_mb: own.workspace_mb.or(others.workspace_mb),
        };
    }

    /// The first of the user's rules that means nothing without a cage; the time limit is the only one
    /// that does. K162
    pub fn that_needs_a_cage(&self) -> Option<String> {
        let NetworkRules { allow, host_ports, publish, .. } = &self.net;
        let origins = (self.fs.iter().flatten().map(|rule| &rule.origin))
            .chain(self.mounts.iter().flat_map(BTreeMap::values).map(|mount| &mount.origin))
            .chain(self.env.iter().flat_map(BTreeMap::values).map(|rule| &rule.origin))
            .chain(allow.iter().flat_map(BTreeMap::values))
            .chain(host_ports.iter().chain(publish).flat_map(BTreeMap::values));
        origins.map(ToString::to_string).next().or_else(|| self.caged_words.first().cloned())
    }

    /// Whether any rule names a path: without a policy file, only then is the working directory
    /// not granted by itself.
    pub fn has_paths(&self) -> bool {
        self.fs.as_ref().is_some_and(|rules| !rules.is_empty())
    }
}

impl Policy {
    /// The part of this policy that rules describe, and all of it where they are silent. Rules that only hide take from
    /// all paths.
    ///
    /// # Errors
    /// If they ask for more, with everything that is more.
    pub fn narrow_to(&self, rules: &Rules) -> Result<Self, Refusals> {
        let mut rules = rules.clone();
        // A list without an entry says nothing; only `no_net` takes all hosts away.
        rules.fs = rules.fs.filter(|list| !list.is_empty());
        rules.mounts = rules.mounts.filter(|list| !list.is_empty());
        rules.env = rules.env.filter(|list| !list.is_empty());
        rules.net.allow = rules.net.allow.filter(|list| !list.is_empty());
        rules.net.host_ports = rules.net.host_ports.filter(|list| !list.is_empty());
        rules.net.publish = rules.net.publish.filter(|list| !list.is_empty());
        if let Some(fs) = &mut rules.fs
            && fs.iter().all(|rule| rule.access == FsAccess::Hide)
        {
            fs.extend(self.fs.iter().cloned());
        }
        self.narrow(&rules.asked_of(&self.name, self))
    }

    /// This policy as the user wants it for one run: the user's rules joined with it, and a port that
    /// they name leads in their direction alone. See the module's documentation for who may call this.
    pub fn with_user_flags(&self, flags: &Rules) -> Self {
        let mut policy = self.clone();
        let Network { host_ports, publish, .. } = &mut policy.net;
        for port in flags.net.publish.iter().flat_map(BTreeMap::keys) {
            host_ports.remove(port);
        }
        for port in flags.net.host_ports.iter().flat_map(BTreeMap::keys) {
            publish.remove(port);
        }
        flags.join(&mut policy);
        policy
    }
}

fn extend<K: Ord + Clone, V: Clone>(list: &mut BTreeMap<K, V>, own: Option<&BTreeMap<K, V>>) {
    list.extend(own.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
}

fn replace<T>(word: &mut T, own: Option<T>) {
    if let Some(own) = own {
        *word = own;
    }
}
