//! What an agent asks of a child, and what the child gets: by `Policy::narrow` of what the agent has itself. Pure.

use std::path::Path;
#[cfg(test)]
use std::path::PathBuf;
use std::time::Duration;

use jail::within::{self, Narrowing};
use model::{Thinking, ToolSpec};
use plan::HostPath;
use policy::access::AccessMap;
use policy::shown::shown;
use policy::{Commands, FsAccess, FsRule, Policy, Reach, RuleOrigin};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A request for a child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) task: String,
    pub(crate) tools: Vec<String>,
    /// All that the parent has without it.
    paths: Option<Vec<String>>,
    /// Those of its parent without it.
    commands: Option<Vec<String>>,
    network: bool,
    pub(crate) kind: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) thinking: Option<Thinking>,
    pub(crate) system: Option<String>,
    pub(crate) steps: Option<u32>,
    pub(crate) timeout: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    task: String,
    tools: Vec<String>,
    paths: Option<Vec<String>>,
    commands: Option<Vec<String>>,
    #[serde(default)]
    network: bool,
    agenttype: Option<String>,
    model: Option<String>,
    temperature: Option<f64>,
    thinking: Option<Value>,
    system: Option<String>,
    steps: Option<u32>,
    timeout: Option<u64>,
}

impl Request {
    pub(crate) fn read(arguments: &Map<String, Value>) -> Result<Self, String> {
        let written: Written = serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| shown(error.to_string()))?;
        if written.task.trim().is_empty() || written.tools.is_empty() {
            return Err("a child needs a `task`, and `tools` to do it with".to_owned());
        }
        if written.temperature.is_some_and(|number| !(0.0..=2.0).contains(&number)) {
            return Err("`temperature` is a number from 0.0 to 2.0".to_owned());
        }
        let thinking = match written.thinking {
            None => None,
            Some(Value::String(word)) if word == "off" => Some(Thinking::Off),
            Some(Value::String(word)) if word == "max" => Some(Thinking::Max),
            Some(value) => match value.as_u64().and_then(|tokens| u32::try_from(tokens).ok()) {
                Some(0) => Some(Thinking::Off),
                Some(tokens) if tokens <= 30_000 => Some(Thinking::Budget(tokens)),
                _ => return Err("`thinking` is `off`, `max` or 0 to 30000".to_owned()),
            },
        };
        Ok(Self {
            task: written.task,
            tools: written.tools,
            paths: written.paths,
            commands: written.commands,
            network: written.network,
            kind: written.agenttype,
            model: written.model,
            temperature: written.temperature,
            thinking,
            system: written.system,
            steps: written.steps,
            timeout: written.timeout.map(|seconds| Duration::from_secs(seconds.max(1))),
        })
    }
}

/// What a child has, of what its parent has.
pub(crate) fn narrowed(
    parent: &Policy,
    request: &Request,
    place: &HostPath,
    home: Option<&HostPath>,
) -> Result<Policy, String> {
    let fs = match &request.paths {
        None => parent.fs.clone(),
        Some(paths) => paths
            .iter()
            .map(|written| rule(parent, written, place, home))
            .collect::<Result<_, _>>()?,
    };
    less_inside(&fs, parent)?;
    let asked = Policy {
        fs,
        commands: match &request.commands {
            Some(names) => listed(names)?,
            None => parent.commands.clone(),
        },
        seccomp: parent.seccomp,
        limits: parent.limits,
        net: if request.network { parent.net.clone() } else { policy::Network::default() },
        ..Policy::closed("child")
    };
    if request.network && parent.net.asks_for_nothing() {
        return Err("`network` is more than you have yourself: there is none".to_owned());
    }
    parent.narrow(&asked).map_err(|refusals| refusals.to_string())
}

/// Names of programs.
pub(crate) fn listed(names: &[String]) -> Result<Commands, String> {
    let is_name = |name: &&String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
        !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(is_plain)
    };
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(format!("`{}` is no name of a command", shown(name))),
        None if names.is_empty() => Ok(Commands::None),
        None => Ok(Commands::Listed(names.iter().cloned().collect())),
    }
}

/// `PATH` as the parent has it, `ro:PATH` or `rw:PATH`.
fn rule(
    parent: &Policy,
    written: &str,
    place: &HostPath,
    home: Option<&HostPath>,
) -> Result<FsRule, String> {
    let (word, path) = match written.split_once(':') {
        Some((word @ ("ro" | "rw"), path)) => (word, path),
        _ => ("", written),
    };
    let path = policy::text::absolute(Path::new(path), place, home)
        .map_err(|problem| format!("`{}`: {problem}", shown(written)))?;
    let level = AccessMap::new(&parent.fs).level(&path);
    let access = match word {
        "ro" => FsAccess::ReadOnly,
        "rw" if level <= FsAccess::ReadOnly => FsAccess::ReadWrite,
        // What is not granted is asked for, and refused by name.
        _ => level.max(FsAccess::ReadOnly),
    };
    let origin = RuleOrigin::BuiltIn("spawn");
    Ok(FsRule { access, path, reach: Reach::Anywhere, origin })
}

/// The kernel adds up what is granted on the way to a file: a child cannot have less inside of what it may change than its
/// parent has there.
fn less_inside(fs: &[FsRule], parent: &Policy) -> Result<(), String> {
    let parents = AccessMap::new(&parent.fs);
    for inner in fs {
        let wider = |outer: &&FsRule| {
            inner.path != outer.path
                && inner.path.is_within(&outer.path)
                && inner.access < outer.access
        };
        if let Some(outer) = fs.iter().find(wider)
            && parents.level(&inner.path) > inner.access
        {
            return Err(format!(
                "`{}` lies in `{}`, which the child may change: name them apart",
                shown(&inner.path),
                shown(&outer.path)
            ));
        }
    }
    Ok(())
}

/// What a child may start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starts<'a> {
    /// Our own program, which is a worker.
    pub(crate) own: &'a Path,
    /// Whether it may: for children of its own.
    pub(crate) itself: bool,
    /// Whether it may start others, and our own with them.
    pub(crate) programs: bool,
}

/// The same for the kernel. The parent's own mounts hold what is hidden or protected in it.
pub(crate) fn narrowing(policy: &Policy, directory: &Path, may: Starts<'_>) -> Narrowing {
    let Starts { own, itself, programs: runs } = may;
    let path = |path: &Path, write, run| within::Path { path: path.to_owned(), write, run };
    let mut paths = system(&policy.commands, runs);
    paths.extend(DEVICES.iter().map(|device| path(Path::new(device), true, false)));
    paths.push(path(Path::new("/proc"), false, false));
    paths.push(path(own, false, runs || itself));
    paths.push(path(directory, true, runs));
    let granted = policy.fs.iter().filter(|rule| rule.access > FsAccess::Hide);
    paths.extend(
        granted.map(|rule| path(rule.path.as_path(), rule.access > FsAccess::ReadOnly, runs)),
    );
    Narrowing { paths, network: !policy.net.asks_for_nothing() }
}

/// What of the system a child reads and starts. Of listed commands the files themselves and where libraries are, and no other
/// directory with programs: a loader that may be started could load whatever can be read.
pub(crate) fn system(commands: &Commands, runs: bool) -> Vec<within::Path> {
    let path = |path: &str, run| within::Path { path: path.into(), write: false, run };
    let names = match commands {
        Commands::Listed(names) if runs => names,
        Commands::Base | Commands::Listed(_) => {
            return SYSTEM.iter().map(|system| path(system, runs)).collect();
        }
        Commands::None => return SYSTEM.iter().map(|system| path(system, false)).collect(),
    };
    let own = SHELLS.iter().copied().chain(names.iter().map(String::as_str));
    let files = own.flat_map(|name| {
        PROGRAMS.iter().map(move |directory| path(&format!("{directory}/{name}"), true))
    });
    let libraries = LIBRARIES.iter().map(|library| path(library, true));
    let texts = TEXTS.iter().map(|text| path(text, false));
    libraries.chain(texts).chain(files).collect()
}

/// What a child is given, for the record.
pub(crate) fn grants(policy: &Policy) -> String {
    let rules = policy.fs.iter().filter(|rule| rule.access > FsAccess::Hide);
    let mut words: Vec<String> =
        rules.map(|rule| format!("{}:{}", rule.access.word(), shown(&rule.path))).collect();
    match &policy.commands {
        Commands::Base => {}
        Commands::None => words.push("commands:none".to_owned()),
        Commands::Listed(names) => words.extend(names.iter().map(|name| format!("command:{name}"))),
    }
    if !policy.net.asks_for_nothing() {
        words.push("network".to_owned());
    }
    words.join(" ")
}

/// The tool, for an agent with these tools.
pub(crate) fn spec(tools: &[String]) -> ToolSpec {
    let one_of: Vec<&str> = tools.iter().map(String::as_str).chain(["spawn"]).collect();
    ToolSpec {
        name: crate::spawn::SPAWN.to_owned(),
        description: DOC.to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "task": { "type": "string", "description": "What the child is to do, with all that it has to know: it has no part of this conversation." },
                "tools": { "type": "array", "items": { "type": "string", "enum": one_of }, "description": "Its tools, of yours." },
                "paths": { "type": "array", "items": { "type": "string" }, "description": "What it sees of what you see: `PATH` as you have it, `ro:PATH` to read only. All of it without this." },
                "commands": { "type": "array", "items": { "type": "string" }, "description": "Programs that it may start beside a shell, by name; all of yours without this." },
                "network": { "type": "boolean", "description": "Whether it has your network. Not without this." },
                "agenttype": { "type": "string", "description": "`default`, `explore`, `plan` or `task`." },
                "model": { "type": "string" },
                "temperature": { "type": "number", "minimum": 0, "maximum": 2 },
                "thinking": { "description": "`off`, `max` or a number of tokens up to 30000.", "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                "system": { "type": "string", "description": "In place of the prompt of its type." },
                "steps": { "type": "integer", "minimum": 1, "description": "Most answers; 50 without it." },
                "timeout": { "type": "integer", "minimum": 1, "description": "Seconds." },
            },
            "required": ["task", "tools"],
            "additionalProperties": false,
        }),
    }
}

const DOC: &str = "Starts a child: an agent of its own that does a task with some of your tools and paths, and reports. It never has \
more than you have. Several calls in one answer run at one time. Your budgets are spent by children too.";
/// What every cage has to read and to start.
pub(crate) const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/run/stockade"];
/// Where programs are.
const PROGRAMS: &[&str] =
    &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
const SHELLS: &[&str] = &["sh", "bash", "dash"];
/// With the loader, which starts every program.
const LIBRARIES: &[&str] =
    &["/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"];
const TEXTS: &[&str] = &["/etc", "/usr/share", "/run/stockade"];
pub(crate) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Where a child's paths lie, for tests.
#[cfg(test)]
pub(crate) fn paths_of(policy: &Policy) -> Vec<(PathBuf, FsAccess)> {
    policy.fs.iter().map(|rule| (rule.path.as_path().to_owned(), rule.access)).collect()
}

#[cfg(test)]
mod tests;
