//! What a cage makes of a host: asks the gatekeeper's own decision, on the rules that the cage would
//! have, and says which entry of which file decided. Never resolves a name: what a name would lead to
//! is told as the classes of addresses that are refused.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use cage::prepare::explain::{Suggestion, suggest_destination, suggest_host_port};
use gate::addresses::{self, AddressClass};
use gate::decision::{Denial, DenialCode, Target, Verdict, decide, decide_question};
use gate::rules::{RuleId, Rules};
use plan::network::{GATEKEEPER_PORTS, MODEL_PORT};
use plan::{GatekeeperPlan, NetworkPlan};
use policy::net::Destination;
use policy::shown::shown;
use policy::{Network, Policy, host_names};
use serde_json::{Value, json};

use super::Answer;
use cage::Kind;

use crate::failure::Failure;

#[cfg(test)]
mod tests;

/// A host and a port, or all of its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostQuestion {
    target: Target,
    port: Option<u16>,
}

impl HostQuestion {
    /// Reads `HOST[:PORT]` or a URL, as `--host` has it.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        Self::of_url(text).or_else(|| Self::read(text)).ok_or_else(|| {
            let failure = Failure::new(Kind::Usage, format!("`{}` is not a host", shown(text)));
            // The grammar of entries knows what is wrong with most that is none.
            match host_names::destination(text) {
                Ok(_) => failure.help("ask about one host, with one port or without any"),
                Err(error) => {
                    let failure = failure.help(shown(&error));
                    error.hint().into_iter().fold(failure, Failure::help)
                }
            }
        })
    }

    /// The host that a word is probably meant as: one that no file has as its name, and that says by
    /// a scheme, a dot, a port or as an address that it is no path.
    pub(super) fn meant_by(word: &Path, exists: bool) -> Option<Self> {
        let text = word.to_str().filter(|_| !exists)?;
        if let Some(question) = Self::of_url(text) {
            return Some(question);
        }
        if text.contains('/') || text.starts_with(['.', '~']) {
            return None;
        }
        let question = Self::read(text)?;
        let is_file = question.port.is_none() && has_ending_of_files(text);
        let clear = text.contains(['.', ':']) || question.is_loopback();
        (clear && !is_file).then_some(question)
    }

    /// The host that a word can mean which was taken for a file.
    pub(super) fn possible(word: &Path) -> Option<Self> {
        let text =
            word.to_str().filter(|text| text.contains('.') && !text.starts_with(['.', '~']))?;
        if text.contains('/') { None } else { Self::read(text) }
    }

    /// The host that a URL leads to, with the port of its scheme unless it names one.
    fn of_url(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let question = Self::read(authority.rsplit('@').next()?)?;
        let usual = USUAL_PORTS.iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name));
        Some(Self { port: question.port.or(usual.map(|(_, port)| *port)), ..question })
    }

    fn read(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self { target: Target::address(address), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(read_port(port)?)),
            _ => (text, None),
        };
        let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let target = match bracketed {
            Some(inner) => Target::address(IpAddr::V6(inner.parse().ok()?)),
            None => match host.parse() {
                Ok(address) => Target::address(IpAddr::V4(address)),
                Err(_) => Target::Name(host_names::name(host).ok()?),
            },
        };
        Some(Self { target, port })
    }

    /// Whether it stays in the cage, whatever the rules say.
    fn is_loopback(&self) -> bool {
        match &self.target {
            Target::Address(address) => address.is_loopback(),
            Target::Name(name) => {
                name.as_str() == "localhost" || name.as_str().ends_with(".localhost")
            }
        }
    }

    /// As an entry of `net.allow`; none for what no entry can name.
    fn as_entry(&self) -> Option<Destination> {
        self.to_string().parse().ok()
    }
}

/// Whether a word ends as names of files do. Some of these are domains too, with few hosts that anybody asks
/// about without a port.
fn has_ending_of_files(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending.as_str()))
}

#[rustfmt::skip]
const FILE_ENDINGS: &[&str] = &[
    "bak", "bash", "bat", "bin", "bz2", "c", "cc", "cfg", "cjs", "class", "conf", "cpp", "cs", "css", "csv", "cxx", "dat",
    "db", "diff", "doc", "docx", "env", "exe", "fish", "gif", "go", "gz", "h", "hpp", "htm", "html", "ini", "ipynb", "jar",
    "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "key", "kt", "lock", "log", "lua", "md", "mjs", "mk", "mod", "o",
    "out", "patch", "pdf", "pem", "php", "pl", "png", "proto", "ps1", "py", "pyc", "rb", "rs", "rst", "scss", "sh", "so",
    "sql", "sqlite", "sum", "svg", "swift", "tar", "tex", "tgz", "toml", "ts", "tsx", "txt", "vue", "wasm", "xml", "xz",
    "yaml", "yml", "zig", "zip", "zsh", "zst",
];

impl fmt::Display for HostQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.target, self.port) {
            (target, None) => target.fmt(formatter),
            (Target::Address(IpAddr::V6(address)), Some(port)) => {
                write!(formatter, "[{address}]:{port}")
            }
            (target, Some(port)) => write!(formatter, "{target}:{port}"),
        }
    }
}

/// The ports of the schemes that are asked about most; of another one all ports are told.
const USUAL_PORTS: [(&str, u16); 6] =
    [("http", 80), ("https", 443), ("ws", 80), ("wss", 443), ("ssh", 22), ("git", 9418)];

fn read_port(text: &str) -> Option<u16> {
    let decimal = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| decimal)
}

/// The answer, with what decided.
pub(super) fn about_host(policy: &Policy, question: &HostQuestion) -> Answer {
    if question.is_loopback() {
        return about_loopback(policy, question);
    }
    let net = &policy.net;
    let rules = rules_of(policy);
    let open = match question.port {
        Some(_) => Vec::new(),
        None => open_ports(&rules, net, &question.target),
    };
    let verdict = match (question.port, open.first(), &question.target) {
        (Some(port), _, target) => decide(&rules, target, port),
        (None, Some(first), _) => Verdict::Allow { rule: first.rule.clone() },
        (None, None, Target::Name(name)) => decide_question(&rules, name),
        (None, None, target) => decide(&rules, target, 1),
    };
    match verdict {
        Verdict::Allow { rule } => allowed(net, question, &rule, &open),
        Verdict::Deny(denial) => denied(net, question, &denial),
    }
}

fn allowed(net: &Network, question: &HostQuestion, rule: &RuleId, open: &[Open]) -> Answer {
    let mut text = format!("`{question}` can be reached");
    match open {
        [] => text.push_str(&format!("\n  rule: {}", allow_entry(net, rule))),
        open => {
            let shown: Vec<String> = open.iter().map(Open::to_string).collect();
            text.push_str(&format!(" on {}", shown.join(", ")));
            let mut told: Vec<&RuleId> = open.iter().map(|open| &open.rule).collect();
            told.dedup();
            for rule in told {
                text.push_str(&format!("\n  rule: {}", allow_entry(net, rule)));
            }
        }
    }
    let class = match &question.target {
        Target::Name(_) => {
            text.push_str(&format!("\n  note: {}", classes_of_names()));
            None
        }
        Target::Address(address) => {
            let class = addresses::class(*address);
            if let Some(class) = class {
                let sentence = class.sentence();
                text.push_str(&format!(
                    "\n  note: it is {sentence}; the entry names it all the same"
                ));
            }
            class
        }
    };
    let data = json!({
        "host": question.target.to_string(),
        "port": question.port,
        "verdict": "allow",
        "rule": rule_data(net, rule, "net.allow"),
        "open": open.iter().map(|open| json!({
            "first": open.ports.start(),
            "last": open.ports.end(),
            "rule": rule_data(net, &open.rule, "net.allow"),
        })).collect::<Vec<_>>(),
        "address_class": class.map(AddressClass::name),
    });
    Answer { text, data, yes: true }
}

fn denied(net: &Network, question: &HostQuestion, denial: &Denial) -> Answer {
    let mut text = format!("`{question}` cannot be reached: {}", denial.reason);
    match &denial.rule {
        Some(rule) => text.push_str(&format!("\n  rule: {}", deny_entry(net, rule))),
        None if net.asks_for_nothing() => {
            text.push_str("\n  rule: none; the cage has no network but its own loopback");
        }
        None if denial.code == DenialCode::PortNotAllowed => {
            let elsewhere = net.allow.iter().filter(|(entry, _)| names(entry, &question.target));
            for (entry, origin) in elsewhere {
                text.push_str(&format!("\n  rule: `{entry}` in `net.allow` ({origin})"));
            }
        }
        None => text.push_str("\n  rule: none covers it"),
    }
    if let Some(told) = &denial.told {
        text.push_str(&format!("\n  the program is told: {}", shown(told)));
    }
    let class = match &question.target {
        Target::Name(_) => None,
        Target::Address(address) => addresses::class(*address),
    };
    if let Some(class) = class {
        text.push_str(&format!("\n  note: it is {}", class.sentence()));
    }
    let suggestion = suggestion(question, denial, class);
    match &suggestion {
        Some(suggestion) => text.push_str(&format!("\n{suggestion}")),
        None if denial.rule.is_some() => text.push_str(
            "\n  to change it: take that entry out; nothing that is allowed wins over it",
        ),
        None => text.push_str("\n  no entry can change that"),
    }
    let data = json!({
        "host": question.target.to_string(),
        "port": question.port,
        "verdict": "deny",
        "code": denial.code.as_str(),
        "reason": denial.reason,
        "told": denial.told,
        "rule": denial.rule.as_ref().map(|rule| rule_data(net, rule, "net.deny")),
        "address_class": class.map(AddressClass::name),
        "suggestion": suggestion.as_ref().map(suggestion_data),
    });
    Answer { text, data, yes: false }
}

/// Nothing of the loopback comes to the gatekeeper but the ports that it serves there.
fn about_loopback(policy: &Policy, question: &HostQuestion) -> Answer {
    let net = &policy.net;
    let led_out = question.port.and_then(|port| Some((port, net.host_ports.get(&port)?)));
    let own = question.port.filter(|port| GATEKEEPER_PORTS.contains(port));
    let mut text;
    match (led_out, question.port) {
        (Some((MODEL_PORT, origin)), _) => {
            text = format!("`{question}` leads to the model service outside");
            text.push_str(&format!("\n  rule: `\"model\"` in `net.host_ports` ({origin})"));
        }
        (Some((port, origin)), _) => {
            text = format!("`{question}` leads to port {port} of the host's loopback");
            text.push_str(&format!("\n  rule: `{port}` in `net.host_ports` ({origin})"));
        }
        (None, Some(port)) => {
            text = format!("`{question}` is the cage's own and leads to nothing of the host");
            match (net.publish.get(&port), own) {
                (Some(origin), _) => text.push_str(&format!(
                    "\n  rule: `{port}` in `net.publish` ({origin}): what the program serves there \
                     is offered on the host's loopback"
                )),
                (None, Some(_)) if net.asks_for_nothing() => {}
                (None, Some(_)) => text.push_str("\n  note: the gatekeeper listens there"),
                (None, None) => {}
            }
        }
        (None, None) => {
            text = format!("`{question}` is the cage's own");
            for (port, origin) in &net.host_ports {
                text.push_str(&format!(
                    "\n  rule: `{port}` in `net.host_ports` ({origin}): it leads to that port of \
                     the host's loopback"
                ));
            }
        }
    }
    let taken = question.port.is_some_and(|port| net.publish.contains_key(&port));
    let asked = question.port.filter(|_| led_out.is_none() && own.is_none() && !taken);
    let suggestion = asked.map(suggest_host_port);
    if let Some(suggestion) = &suggestion {
        text.push_str(&format!("\n{suggestion}"));
    }
    let yes = led_out.is_some() || (question.port.is_none() && !net.host_ports.is_empty());
    let data = json!({
        "host": question.target.to_string(),
        "port": question.port,
        "verdict": if yes { "host_port" } else { "own_loopback" },
        "host_ports": net.host_ports.keys().collect::<Vec<_>>(),
        "origin": led_out.map(|(_, origin)| origin.to_string()),
        "suggestion": suggestion.as_ref().map(suggestion_data),
    });
    Answer { text, data, yes }
}

fn rules_of(policy: &Policy) -> Rules {
    match policy::compile::network(policy) {
        NetworkPlan::Loopback => Rules::new(&GatekeeperPlan::default()),
        NetworkPlan::Gatekeeper(gatekeeper) => Rules::new(&gatekeeper),
    }
}

/// Ports of a host that one entry opens.
struct Open {
    ports: RangeInclusive<u16>,
    rule: RuleId,
}

impl fmt::Display for Open {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self.ports.start(), *self.ports.end()) {
            (1, u16::MAX) => formatter.write_str("every port"),
            (first, last) if first == last => write!(formatter, "port {first}"),
            (first, last) => write!(formatter, "ports {first} to {last}"),
        }
    }
}

/// What is open of a host. The verdict can only change where the ports of some entry begin or end,
/// so it is asked for once between two such places.
fn open_ports(rules: &Rules, net: &Network, target: &Target) -> Vec<Open> {
    let entries = || net.allow.keys().chain(net.deny.keys()).filter(|entry| names(entry, target));
    let mut starts: Vec<u16> = entries()
        .flat_map(|entry| [Some(entry.ports().first()), entry.ports().last().checked_add(1)])
        .flatten()
        .chain([1])
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let mut open: Vec<Open> = Vec::new();
    for (position, first) in starts.iter().enumerate() {
        let last = starts.get(position + 1).map_or(u16::MAX, |next| next - 1);
        let Verdict::Allow { rule } = decide(rules, target, *first) else { continue };
        match open.last_mut() {
            Some(before) if before.rule == rule && before.ports.end() + 1 == *first => {
                before.ports = *before.ports.start()..=last;
            }
            _ => open.push(Open { ports: *first..=last, rule }),
        }
    }
    open
}

/// Whether an entry names a host, with whatever ports.
fn names(entry: &Destination, target: &Target) -> bool {
    let port = entry.ports().first();
    match target {
        Target::Name(name) => entry.covers_name(name, port),
        Target::Address(address) => entry.covers_address(*address, port),
    }
}

fn allow_entry(net: &Network, rule: &RuleId) -> String {
    entry(rule, "net.allow", origin_of(&net.allow, rule))
}

fn deny_entry(net: &Network, rule: &RuleId) -> String {
    entry(rule, "net.deny", origin_of(&net.deny, rule))
}

fn entry(rule: &RuleId, list: &str, origin: Option<String>) -> String {
    let origin = origin.map(|origin| format!(" ({origin})")).unwrap_or_default();
    format!("`{rule}` in `{list}`{origin}")
}

type Entries = std::collections::BTreeMap<Destination, policy::RuleOrigin>;

fn origin_of(entries: &Entries, rule: &RuleId) -> Option<String> {
    let destination = Destination::try_from(rule.as_str().to_owned()).ok()?;
    entries.get(&destination).map(ToString::to_string)
}

fn rule_data(net: &Network, rule: &RuleId, list: &str) -> Value {
    let entries = if list == "net.deny" { &net.deny } else { &net.allow };
    json!({ "entry": rule.as_str(), "list": list, "origin": origin_of(entries, rule) })
}

fn suggestion_data(suggestion: &Suggestion) -> Value {
    json!({ "flag": suggestion.flag, "line": suggestion.line })
}

/// What lets the program reach it. Adding to `net.allow` does nothing about a deny entry, and some
/// addresses are none that a connection could be made to.
fn suggestion(
    question: &HostQuestion,
    denial: &Denial,
    class: Option<AddressClass>,
) -> Option<Suggestion> {
    use AddressClass::{Broadcast, Multicast, Reserved, Synthetic, Unspecified};
    let pointless =
        matches!(class, Some(Broadcast | Multicast | Reserved | Synthetic | Unspecified));
    if pointless || denial.rule.is_some() {
        return None;
    }
    question.as_entry().as_ref().map(suggest_destination)
}

/// K223 in one sentence, from the list that the gatekeeper uses.
fn classes_of_names() -> String {
    let kind = |class: &AddressClass| class.sentence().split(':').next().unwrap_or_default();
    let kinds: Vec<&str> = AddressClass::ALL.iter().map(kind).collect();
    format!(
        "the connection is refused all the same if the name resolves to what is {}; unless an entry \
         of `net.allow` with that address or its network, and the port, covers it",
        kinds.join(", ")
    )
}
