//! What a run says about itself beside failures: what the program may do, in one line at the beginning, that a
//! start takes long, and with `--verbose` its rules, its layers and how long each step took.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cage::prepare::agents::Agent;
use cage::session::SessionId;
use cage::{DeniedCall, Ended};
use plan::{HostPath, LimitsPlan, OverlayPurpose, Plan};
use policy::shown::shown;
use policy::{Policy, RuleOrigin};

use crate::message::Messages;
use crate::session;

/// How long the steps of a run took.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    steps: Vec<(&'static str, Duration)>,
}

impl Clock {
    /// Begins now.
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), steps: Vec::new() }
    }

    /// A step has ended, and the next one begins.
    pub(super) fn step(&mut self, name: &'static str) {
        let before: Duration = self.steps.iter().map(|(_, took)| *took).sum();
        self.steps.push((name, self.began.elapsed().saturating_sub(before)));
    }
}

/// Which built-in agent is used, and how to log in before that has been done.
pub(super) fn agent(agent: &Agent, messages: Messages) {
    messages.note(&shown(&agent.summary).to_string());
    if let Some(log_in) = &agent.log_in
        && !agent.settings.directory.as_path().exists()
    {
        messages.note(&format!("to log in: {log_in}"));
    }
}

/// Says in one line what the program may do, to a person who starts it at a terminal.
pub(super) fn opening(plan: &Plan, home: Option<&HostPath>, messages: Messages) {
    if std::io::stderr().is_terminal() {
        messages.note(&advice::opening::sentence(plan, home));
    }
}

/// Says of a new copy that others have changes which it does not show.
pub(super) fn kept_beside(plan: &Plan, own: &SessionId, messages: Messages) {
    let views = plan.walls.mounts.iter().filter_map(|operation| operation.view());
    let copies = views.filter(|view| view.purpose == OverlayPurpose::Workspace);
    for source in copies.filter_map(|view| plan.source(view.lower)) {
        let beside = session::beside(own, &source.path);
        let Some(newest) = beside.last() else { continue };
        let more = match beside.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        messages.note(&format!(
            "`{}` is a new copy: what session `{newest}`{more} changed is not in it; `--session {newest}` goes on there",
            shown(&source.path)
        ));
    }
}

/// Every rule, and where it stands.
pub(super) fn rules(policy: &Policy, plan: &Plan, messages: Messages) {
    let line = |word: &str, what: String, origin: &RuleOrigin| {
        messages.detail(&format!("{word} `{what}` ({origin})"));
    };
    for rule in &policy.fs {
        line(rule.access.word(), shown(&rule.path), &rule.origin);
    }
    for (host, origin) in &policy.net.allow {
        line("net", host.to_string(), origin);
    }
    for (port, origin) in &policy.net.host_ports {
        line("host port", port.to_string(), origin);
    }
    for (port, origin) in &policy.net.publish {
        line("publish", port.to_string(), origin);
    }
    for (name, rule) in &policy.env {
        line("env", shown(name), &rule.origin);
    }
    messages.detail(&plan.start.summary);
    messages.detail(&format!("plan {}", plan.hash().as_str()));
}

/// Which layers held, and where the time went.
pub(super) fn end(ended: &Ended, clock: &Clock, messages: Messages) {
    if let Some(layers) = &ended.layers {
        messages.detail(&format!("layers: {layers:?}"));
    }
    let mut text = String::new();
    for (name, took) in &clock.steps {
        let _ = write!(text, "{name} {:.1} ms, ", took.as_secs_f64() * 1000.0);
    }
    let steps: Duration = clock.steps.iter().map(|(_, took)| *took).sum();
    let rest = clock.began.elapsed().saturating_sub(steps + ended.duration);
    let (rest, program) = (rest.as_secs_f64() * 1000.0, ended.duration.as_secs_f64() * 1000.0);
    messages.detail(&format!("{text}cage and its end {rest:.1} ms, program {program:.1} ms"));
}

/// Which limits the program ran into.
pub(super) fn limits(limits: &LimitsPlan, ended: &Ended, messages: Messages) {
    let Ended { reason, usage, duration, .. } = ended;
    if let Some(sentence) = advice::limits::ended_by(limits, *reason, usage.as_ref()) {
        messages.error(&sentence);
    }
    for sentence in advice::limits::met(limits, usage.as_ref(), *duration) {
        messages.note(&sentence);
    }
}

/// Refused system calls in one line; programs often try and go on without.
pub(super) fn denials(plan: &Plan, ended: &Ended, messages: Messages) {
    if ended.denials.is_empty() {
        return;
    }
    let shown_call = |denial: &DeniedCall| {
        let verb = if denial.killed { " (killed)" } else { "" };
        format!("{} ×{}{verb}", shown(&denial.name), denial.count)
    };
    let mut calls: Vec<String> =
        ended.denials.iter().take(MOST_DENIALS_TOLD).map(shown_call).collect();
    if ended.denials.len() > MOST_DENIALS_TOLD {
        calls.push(format!("{} more", ended.denials.len() - MOST_DENIALS_TOLD));
    }
    let first = ended.denials.first().map(|denial| shown(&denial.name)).unwrap_or_default();
    messages.note(&format!(
        "refused {} (seccomp {} profile); `stockade why --syscall {first}` tells more",
        calls.join(", "),
        plan.walls.seccomp.profile.name(),
    ));
}

/// Has a start that searches for more than a second say so, once, at a terminal.
pub(super) fn watch_the_search(messages: Messages) {
    if std::io::stderr().is_terminal() && BEGAN.set((Instant::now(), messages)).is_ok() {
        cage::resolve::progress::observe(tell_of_search);
    }
}

fn tell_of_search(directory: &HostPath) {
    let Some((began, messages)) = BEGAN.get() else { return };
    if began.elapsed() > PATIENCE && !TOLD.swap(true, Ordering::Relaxed) {
        let directory = shown(directory);
        messages.note(&format!(
            "still looking for files that run code on the host, at `{directory}`; a grant of a smaller \
             directory starts faster"
        ));
    }
}

static BEGAN: OnceLock<(Instant, Messages)> = OnceLock::new();
static TOLD: AtomicBool = AtomicBool::new(false);
const PATIENCE: Duration = Duration::from_secs(1);
const MOST_DENIALS_TOLD: usize = 5;
