//! Why something is as it is inside a cage: the verdict, the rule that decides with its file and
//! line, and what to add to change it. Asks the same [`AccessMap`] and the same tables as the
//! algebra and the compiler; decides nothing of its own. Never looks at the host.

use std::fmt;

use plan::{HostPath, SCRATCH};

use policy::access::AccessMap;
use policy::compile::PROXY_VARIABLES;
use policy::net::Destination;
use policy::protected::{self, Object};
use policy::secrets::{self, HiddenPath};
use policy::shown::{misleads, shown};
use policy::text::FIXED_VARIABLES;
use policy::ungrantable;
use policy::{Commands, EnvironmentRule, FsAccess, FsRule, Place, Policy};

/// What a cage has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathVerdict {
    /// Can be read and changed.
    ReadWrite,
    /// Can be read and changed, in a layer that is reviewed before any of it is the host's.
    Cow,
    /// Can be read and changed, in a layer that the project keeps.
    Cache,
    /// Can be read.
    ReadOnly,
    /// Can be read; not changed, because it runs code on the host.
    Protected,
    /// Shows as empty inside a wider grant.
    Hidden,
    /// Does not exist.
    Absent,
    /// Is the cage's own and has nothing of the host.
    Private,
    /// Is part of the base layer, read-only.
    Base,
}

/// The answer for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAnswer {
    /// The path that was asked about.
    pub path: HostPath,
    /// What the cage has there.
    pub verdict: PathVerdict,
    /// The rule that decides, if one does.
    pub rule: Option<FsRule>,
    /// The well-known secret that the path belongs to, where that is why it is hidden.
    pub secret: Option<HiddenPath>,
    /// The entry that protects the path, where that is why it cannot be changed.
    pub protected: Option<&'static protected::Entry>,
    /// Why the path can never be granted, where that is so.
    pub ungrantable: Option<String>,
    /// What to add to get more, where more can be had.
    pub suggestion: Option<Suggestion>,
}

/// What to add to a command line or to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The flag.
    pub flag: String,
    /// The entry for a policy file; none where a project's file cannot say it.
    pub line: Option<String>,
}

/// What a cage has at a path, and why.
pub fn path(policy: &Policy, place: &Place, path: &HostPath) -> PathAnswer {
    let rules = AccessMap::new(&policy.fs);
    let rule = rules.at(path);
    let hidden = secrets::hidden_paths(place.home.as_ref(), &place.own_state);
    let secret = rule
        .filter(|rule| rule.access > FsAccess::Hide)
        .and_then(|_| secrets::covering(&hidden, &policy.fs, path))
        .cloned();
    let protected = rule
        .filter(|rule| rule.access == FsAccess::ReadWrite)
        .and_then(|rule| protected::matches_inside(rule, path, Object::Any));
    let verdict = match rule.map(|rule| rule.access) {
        _ if secret.is_some() => PathVerdict::Hidden,
        _ if protected.is_some() => PathVerdict::Protected,
        Some(FsAccess::ReadWrite) => PathVerdict::ReadWrite,
        Some(FsAccess::Cow) => PathVerdict::Cow,
        Some(FsAccess::Cache) => PathVerdict::Cache,
        Some(FsAccess::ReadOnly) => PathVerdict::ReadOnly,
        Some(FsAccess::Hide) if is_inside_a_grant(&rules, path) => PathVerdict::Hidden,
        Some(FsAccess::Hide) | None => without_rule(policy, place, path),
    };
    let ungrantable = ungrantable::check(path, &place.own_state).err();
    let suggestion = match (&ungrantable, verdict) {
        (Some(_), _) | (_, PathVerdict::ReadWrite | PathVerdict::Private | PathVerdict::Base) => {
            None
        }
        (None, verdict) => suggest_path(place, path, verdict),
    };
    PathAnswer {
        path: path.clone(),
        verdict,
        rule: rule.cloned(),
        secret,
        protected,
        ungrantable: ungrantable.map(|refused| refused.reason),
        suggestion,
    }
}

/// Whether some directory above a hidden path is shown, so that its name is seen.
fn is_inside_a_grant(rules: &AccessMap<'_>, path: &HostPath) -> bool {
    let above = std::iter::successors(path.parent(), HostPath::parent);
    above.into_iter().any(|above| rules.level(&above) > FsAccess::Hide)
}

fn without_rule(policy: &Policy, place: &Place, path: &HostPath) -> PathVerdict {
    let within = |tree: &str| HostPath::new(tree).is_ok_and(|tree| path.is_within(&tree));
    let in_home = place.home.as_ref().is_some_and(|home| path == home);
    if in_home || PRIVATE.iter().any(|tree| within(tree)) {
        PathVerdict::Private
    } else if policy.commands == Commands::Base && PROGRAMS.iter().any(|tree| within(tree)) {
        PathVerdict::Base
    } else {
        PathVerdict::Absent
    }
}

/// None for a path that cannot be printed as it is: what is shown could not be pasted.
fn suggest_path(place: &Place, path: &HostPath, verdict: PathVerdict) -> Option<Suggestion> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    if text.chars().any(misleads) {
        return None;
    }
    let word = match verdict {
        PathVerdict::Hidden | PathVerdict::Absent => FsAccess::ReadOnly.word(),
        _ => FsAccess::ReadWrite.word(),
    };
    let below = path.as_path().strip_prefix(place.project.as_path()).ok();
    // A project's file can neither name what lies outside nor lift the protection.
    let line = below.filter(|_| verdict != PathVerdict::Protected).map(|relative| {
        let relative = relative.to_string_lossy();
        let relative = if relative.is_empty() { "." } else { relative.as_ref() };
        format!("{{ {word} = {} }}", quoted(relative))
    });
    Some(Suggestion { flag: format!("--{word} {}", for_shell(text)), line })
}

/// What lets a cage reach a destination.
pub fn suggest_destination(destination: &Destination) -> Suggestion {
    let text = destination.to_string();
    let line = format!("net.allow = [{}]", quoted(&text));
    Suggestion { flag: format!("--net {}", for_shell(&text)), line: Some(line) }
}

/// What lets a cage reach a port of the host's loopback.
pub fn suggest_host_port(port: u16) -> Suggestion {
    let line = format!("net.host_ports = [{port}]");
    Suggestion { flag: format!("--host-port {port}"), line: Some(line) }
}

/// What a cage has of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableVerdict {
    /// The caller's value, where it has one.
    PassedOn,
    /// The value that the policy writes.
    Set,
    /// A value that the cage sets itself.
    Fixed,
    /// A value that the cage sets unless the policy does.
    Default,
    /// None.
    Absent,
}

/// The answer for a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableAnswer {
    /// The name that was asked about.
    pub name: String,
    /// What the cage has.
    pub verdict: VariableVerdict,
    /// The rule that decides, if one does.
    pub rule: Option<EnvironmentRule>,
    /// What to add to get it, where it can be had.
    pub suggestion: Option<Suggestion>,
}

/// What a cage has of a variable, and why.
pub fn variable(policy: &Policy, name: &str) -> VariableAnswer {
    let rule = policy.env.get(name).cloned();
    let verdict = match &rule {
        _ if FIXED_VARIABLES.contains(&name) => VariableVerdict::Fixed,
        Some(EnvironmentRule { value: Some(_), .. }) => VariableVerdict::Set,
        Some(EnvironmentRule { value: None, .. }) => VariableVerdict::PassedOn,
        None if DEFAULT_VARIABLES.contains(&name) => VariableVerdict::Default,
        None if !policy.net.asks_for_nothing() && leads_to_gatekeeper(name) => {
            VariableVerdict::Default
        }
        None => VariableVerdict::Absent,
    };
    let suggestion = (verdict == VariableVerdict::Absent).then(|| Suggestion {
        flag: format!("--env {}", shown(name)),
        line: Some(format!("env = [{}]", quoted(name))),
    });
    VariableAnswer { name: name.to_owned(), verdict, rule, suggestion }
}

fn leads_to_gatekeeper(name: &str) -> bool {
    PROXY_VARIABLES.as_flattened().contains(&name)
}

impl fmt::Display for PathAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            PathVerdict::ReadWrite => "can be read and changed",
            PathVerdict::Cow => "can be read and changed; on the host once that is applied",
            PathVerdict::Cache => "can be read and changed, for this project alone",
            PathVerdict::ReadOnly => "can be read, not changed",
            PathVerdict::Protected => "can be read, not changed: it runs code on the host",
            PathVerdict::Hidden => "is hidden",
            PathVerdict::Absent => "does not exist inside",
            PathVerdict::Private => "is the cage's own, with nothing of the host in it",
            PathVerdict::Base => "is part of the base layer, read-only",
        };
        write!(formatter, "`{}` {verdict}", shown(&self.path))?;
        if let Some(secret) = &self.secret {
            write!(formatter, "\n  secret: {} (`{}`)", secret.name, shown(&secret.path))?;
        }
        if let Some(entry) = self.protected {
            write!(formatter, "\n  protected: `{}`, run by {}", entry.pattern, entry.runs_by)?;
        }
        match &self.rule {
            Some(rule) => {
                let (word, path) = (rule.access.word(), shown(&rule.path));
                write!(formatter, "\n  rule: `{word}` on `{path}` ({})", rule.origin)?;
            }
            None => formatter.write_str("\n  rule: none covers it")?,
        }
        if let Some(reason) = &self.ungrantable {
            write!(formatter, "\n  cannot be granted: {reason}")?;
        }
        self.suggestion.iter().try_for_each(|suggestion| write!(formatter, "\n{suggestion}"))
    }
}

impl fmt::Display for VariableAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            VariableVerdict::PassedOn => "has the caller's value, if there is one",
            VariableVerdict::Set => "has the value that the policy writes",
            VariableVerdict::Fixed => "is set by the cage itself",
            VariableVerdict::Default => "is set by the cage unless the policy names it",
            VariableVerdict::Absent => "is not set inside",
        };
        write!(formatter, "`{}` {verdict}", shown(&self.name))?;
        match &self.rule {
            Some(rule) => write!(formatter, "\n  rule: {}", rule.origin)?,
            None => formatter.write_str("\n  rule: none names it")?,
        }
        self.suggestion.iter().try_for_each(|suggestion| write!(formatter, "\n{suggestion}"))
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "  to change it: `{}`", self.flag)?;
        self.line.iter().try_for_each(|line| write!(formatter, ", or in the policy `{line}`"))
    }
}

/// A TOML string that is safe to print and to copy.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", shown(escaped))
}

/// A path as a shell takes it.
fn for_shell(path: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "/._-+@%:,=".contains(character);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Variables that the cage sets unless the policy does; `SHELL` only where there is one.
const DEFAULT_VARIABLES: &[&str] = &["LANG", "PATH", "SHELL", "STOCKADE_CAGE", "TMPDIR"];

/// Trees that every cage has for itself.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", SCRATCH, "/proc", "/dev"];

/// Where the programs of the base layer are.
const PROGRAMS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

#[cfg(test)]
mod tests;
