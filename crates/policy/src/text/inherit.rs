//! Completes cages: a cage that extends another is a part of it, found by the algebra; any other
//! takes what it does not say from `[defaults]` and then from what is built in.
//!
//! Lists of `[defaults]` (rules, variables, destinations) are joined with a cage's own, so that
//! what is hidden or denied for all cannot be lost by a cage that writes a list of its own.

use std::collections::{BTreeSet, HashMap};

use indexmap::IndexMap;
use plan::network::MOST_PORTS;

use super::MAX_RULES_IN_FILE;
use super::cage::Written;
use super::decode::Decoder;
use super::diagnostic::{Code, Diagnostic, Span};
use super::document::unknown_cage;
use crate::algebra::{Refusal, RefusalKind};
use crate::shown::shown;
use crate::{Cage, FsAccess, Policy, RuleOrigin};

/// A cage as it stands in the text.
pub(super) struct WrittenCage {
    pub(super) name: String,
    pub(super) at: Span,
    /// None where its value was no cage at all, which has been reported.
    pub(super) body: Option<Body>,
}

pub(super) enum Body {
    Disabled { origin: RuleOrigin },
    Enabled(Box<Written>),
}

/// Every cage by name, in the order of the text; none for one that could not be completed, which
/// has been reported.
pub(super) fn complete(
    decoder: &mut Decoder<'_>,
    defaults: &Written,
    cages: Vec<WrittenCage>,
) -> IndexMap<String, Option<Cage>> {
    let by_name = cages.iter().map(|cage| (cage.name.as_str(), cage)).collect();
    let mut completer = Completer { defaults, by_name, finished: HashMap::new(), rules: 0 };
    for cage in &cages {
        completer.finish(decoder, cage);
    }
    let mut finished = completer.finished;
    let mut take = |name: &str| finished.remove(name).flatten();
    cages.iter().map(|cage| (cage.name.clone(), take(&cage.name))).collect()
}

struct Completer<'a> {
    defaults: &'a Written,
    by_name: HashMap<&'a str, &'a WrittenCage>,
    finished: HashMap<&'a str, Option<Cage>>,
    rules: usize,
}

impl<'a> Completer<'a> {
    /// Completes a cage after those that it builds upon; a loop, because a chain can be long.
    fn finish(&mut self, decoder: &mut Decoder<'_>, cage: &'a WrittenCage) {
        let mut waiting = vec![cage];
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(current) = waiting.last().copied() {
            if self.finished.contains_key(current.name.as_str()) {
                waiting.pop();
                continue;
            }
            match self.unfinished_parent(current) {
                Some(parent) if seen.insert(current.name.as_str()) => waiting.push(parent),
                Some(_) => {
                    report_cycle(decoder, current);
                    self.finished.insert(&current.name, None);
                }
                None => {
                    let finished = self.build(decoder, current);
                    self.finished.insert(&current.name, finished);
                }
            }
        }
    }

    fn unfinished_parent(&self, cage: &WrittenCage) -> Option<&'a WrittenCage> {
        let parent = extends(cage)?.0.as_str();
        if self.finished.contains_key(parent) { None } else { self.by_name.get(parent).copied() }
    }

    fn build(&mut self, decoder: &mut Decoder<'_>, cage: &WrittenCage) -> Option<Cage> {
        let written = match cage.body.as_ref()? {
            Body::Disabled { origin } => {
                let limits = self.defaults.rules.limits;
                return Some(Cage::Disabled { limits, origin: origin.clone() });
            }
            Body::Enabled(written) => written,
        };
        let policy = match &written.extends {
            None => with_defaults(&cage.name, written, self.defaults),
            Some((parent, span)) => self.extend(decoder, cage, written, (parent, span))?,
        };
        report_only_hides(decoder, written, &policy);
        report_ports_in_a_circle(decoder, cage, written, &policy);
        report_too_many_ports(decoder, cage, written, &policy);
        self.rules += policy.fs.len() + policy.net.entries();
        if self.rules > MAX_RULES_IN_FILE {
            let message = format!(
                "the cages of this file have more than {MAX_RULES_IN_FILE} rules on paths and \
                 entries of `net`, with those that they inherit"
            );
            decoder.report(Diagnostic::new(Code::TooManyRules, cage.at.clone(), message));
            self.rules = 0;
            return None;
        }
        Some(Cage::Enabled(policy))
    }

    fn extend(
        &self,
        decoder: &mut Decoder<'_>,
        cage: &WrittenCage,
        written: &Written,
        (parent, span): (&String, &Span),
    ) -> Option<Policy> {
        let holder = match self.finished.get(parent.as_str()) {
            Some(Some(Cage::Enabled(holder))) => holder,
            Some(Some(Cage::Disabled { .. })) => {
                let message = format!("`{parent}` is disabled, and there is nothing to extend");
                decoder.report(Diagnostic::new(Code::ExtendsDisabled, span.clone(), message));
                return None;
            }
            // Reported where it was written.
            Some(None) => return None,
            None => {
                unknown_cage(decoder, span.clone(), parent, self.by_name.keys().copied());
                return None;
            }
        };
        match holder.narrow(&written.rules.clone().asked_of(&cage.name, holder)) {
            Ok(policy) => Some(policy),
            Err(refusals) => {
                for refusal in &refusals {
                    report_refusal(decoder, parent, written, refusal);
                }
                None
            }
        }
    }
}

fn extends(cage: &WrittenCage) -> Option<&(String, Span)> {
    match cage.body.as_ref()? {
        Body::Enabled(written) => written.extends.as_ref(),
        Body::Disabled { .. } => None,
    }
}

fn with_defaults(name: &str, own: &Written, defaults: &Written) -> Policy {
    let mut policy = Policy::closed(name);
    defaults.rules.join(&mut policy);
    own.rules.join(&mut policy);
    policy
}

fn report_only_hides(decoder: &mut Decoder<'_>, written: &Written, policy: &Policy) {
    let wrote_rules = written.rules.has_paths();
    let grants = policy.fs.iter().any(|rule| rule.access > FsAccess::Hide);
    if let (true, false, Some(span)) = (wrote_rules, grants, written.spans.get("fs")) {
        let message = "`fs` hides paths and grants none, so the cage sees no file at all";
        let mut diagnostic = Diagnostic::new(Code::FsOnlyHides, span.clone(), message)
            .help("name what it sees as well, such as `{ ro = \".\" }`");
        if written.extends.is_some() {
            diagnostic = diagnostic.help(
                "a cage's own `fs` replaces the one that it extends; hidden parts stay hidden",
            );
        }
        decoder.report(diagnostic);
    }
}

fn report_ports_in_a_circle(
    decoder: &mut Decoder<'_>,
    cage: &WrittenCage,
    written: &Written,
    policy: &Policy,
) {
    let ports: Vec<u16> = policy.net.contradictory_ports().collect();
    for port in ports {
        let origins = [&policy.net.publish, &policy.net.host_ports].map(|list| list.get(&port));
        let [published, led_out] =
            origins.map(|origin| origin.and_then(|origin| decoder.span_of(origin)));
        let whole = written.spans.get("net").unwrap_or(&cage.at).clone();
        let message = format!("port {port} is in `host_ports` and in `publish`");
        let mut diagnostic =
            Diagnostic::new(Code::ConflictingRules, published.unwrap_or(whole), message)
                .label("a connection to it would come back to where it began")
                .help("keep it in one of them");
        if let Some(led_out) = led_out {
            diagnostic = diagnostic.also_at(led_out, "and here");
        }
        decoder.report(diagnostic);
    }
}

fn report_too_many_ports(
    decoder: &mut Decoder<'_>,
    cage: &WrittenCage,
    written: &Written,
    policy: &Policy,
) {
    if let Some(word) = policy.net.list_with_too_many_ports() {
        let span = written.spans.get(word).unwrap_or(&cage.at).clone();
        let message = format!("the cage has more than {MOST_PORTS} ports in `{word}`");
        decoder.report(Diagnostic::new(Code::TooManyRules, span, message));
    }
}

fn report_cycle(decoder: &mut Decoder<'_>, cage: &WrittenCage) {
    if let Some((parent, span)) = extends(cage) {
        let message = format!("`{}` extends itself, by way of `{parent}`", cage.name);
        let diagnostic = Diagnostic::new(Code::ExtendsCycle, span.clone(), message);
        decoder.report(diagnostic.help("a cage can only be a part of another"));
    }
}

fn report_refusal(decoder: &mut Decoder<'_>, parent: &str, written: &Written, refusal: &Refusal) {
    let word = match refusal.kind {
        RefusalKind::Network
        | RefusalKind::NetworkDeny
        | RefusalKind::HostPorts
        | RefusalKind::Publish => "net",
        kind => kind.word(),
    };
    let asked_at = refusal.asked_at.as_ref().and_then(|origin| decoder.span_of(origin));
    let span = asked_at.or_else(|| written.spans.get(word).cloned()).unwrap_or(0..0);
    let message =
        format!("this cage asks for {}, and `{parent}` does not hold it", refusal.request());
    let mut diagnostic = Diagnostic::new(Code::ExtendsWidens, span, message)
        .label(format!("`{parent}` holds {}", shown(&refusal.held)))
        .help("a cage that extends another can only be a part of it");
    let held_at = refusal.held_at.as_ref().and_then(|origin| decoder.span_of(origin));
    if let Some(held_at) = held_at {
        diagnostic = diagnostic.also_at(held_at, "this holds there");
    }
    decoder.report(diagnostic);
}
