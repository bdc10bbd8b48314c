//! Rules beside a policy file as the user writes them: flags of the command line, or fields of a
//! request. They may name any path that can be granted at all. Paths are made absolute by their text;
//! where a link leads is found out when they are resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use plan::{Access, ByteString, GuestPath, HostPath};
use serde::{Deserialize, Deserializer};

use super::path::WrittenPath;
use super::rules::{NetworkRules, Rules};
use super::{MAX_NETWORK_ENTRIES, cage, limits, mounts, net, path, variables};
use crate::shown::shown;
use crate::ungrantable::{self, Ungrantable};
use crate::{Commands, EnvironmentRule, FsAccess, FsRule, Limits, Mount, Reach, RuleOrigin};

/// Rules as they are written, one field for each flag of the command line and each field of a
/// request's `rules`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WrittenRules {
    /// Files and directories to show.
    pub ro: Vec<PathBuf>,
    /// Files and directories to show and let the program change.
    pub rw: Vec<PathBuf>,
    /// Directories to show and let the program change in a layer of the session's own.
    pub cow: Vec<PathBuf>,
    /// The same, in a layer that the project keeps.
    pub cache: Vec<PathBuf>,
    /// Paths inside a grant at which nothing is shown.
    pub hide: Vec<PathBuf>,
    /// Mounts, as `AT=FROM` or `AT=FROM,rw`.
    pub mount: Vec<String>,
    /// Variables, as `NAME`, `NAME,NAME` or `NAME=VALUE`.
    #[serde(deserialize_with = "texts")]
    pub env: Vec<OsString>,
    /// Programs of the system; or `base` or `none` alone. An empty list names no program.
    pub commands: Option<Vec<String>>,
    /// The system call profile.
    pub seccomp: Option<String>,
    /// Whether `/scratch` is kept.
    pub state: Option<String>,
    /// Whether the home is kept.
    pub home: Option<String>,
    /// Most memory.
    pub memory: Option<String>,
    /// Most processes and threads.
    #[serde(deserialize_with = "number")]
    pub pids: Option<String>,
    /// Most processors' worth of time.
    #[serde(deserialize_with = "number")]
    pub cpus: Option<String>,
    /// Longest life.
    pub time: Option<String>,
    /// Room in `/tmp`, and in `/scratch` where it is memory.
    pub tmp_size: Option<String>,
    /// Room in the home.
    pub home_size: Option<String>,
    /// Most that layers take.
    pub workspace: Option<String>,
    /// Hosts, several with commas between them.
    pub net: Vec<String>,
    /// Whether the policy's network is taken away.
    pub no_net: bool,
    /// Ports of the host's loopback, several with commas between them.
    #[serde(deserialize_with = "numbers")]
    pub host_ports: Vec<String>,
    /// Ports of the program that are offered on the host's loopback, several with commas between them.
    #[serde(deserialize_with = "numbers")]
    pub publish: Vec<String>,
    /// Who wrote them; what is deserialized is a request.
    #[serde(skip, default = "Writer::request")]
    pub writer: Writer,
}

/// How the user gave the rules, which decides how a message names one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// `--memory 512M`.
    #[default]
    Flags,
    /// `rules.memory: 512M`.
    Request,
}

/// Why a rule cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// One sentence that names the rule as it was given, safe to print.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// What kind of mistake it is.
    pub fault: RuleFault,
}

/// What kind of mistake a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFault {
    /// It is not a rule.
    Unreadable,
    /// It names a path that nobody can grant, which is as wrong here as in a policy file.
    Ungrantable,
    /// It grants the directory around it without naming it, and that is a home or the system's.
    TooBroad,
}

impl WrittenRules {
    /// What they mean for a user who stands in a directory.
    pub fn read(
        &self,
        working_directory: &HostPath,
        home: Option<&HostPath>,
        own_state: &[HostPath],
    ) -> Result<Rules, RuleError> {
        Ok(Rules {
            fs: self.read_files(working_directory, home, own_state)?,
            mounts: self.read_mounts(working_directory, home, own_state)?,
            env: self.read_variables()?,
            commands: self.read_commands()?,
            seccomp: {
                let expected = "`default` or `relaxed`";
                self.word("seccomp", self.seccomp.as_ref(), cage::seccomp, expected)?
            },
            state: {
                let expected = "`ephemeral` or `scratch`";
                self.word("state", self.state.as_ref(), cage::state, expected)?
            },
            home: {
                let expected = "`memory` or `kept`";
                self.word("home", self.home.as_ref(), cage::home, expected)?
            },
            limits: self.read_limits()?,
            net: self.read_network()?,
            caged_words: self.caged_words(),
        })
    }

    fn read_files(
        &self,
        working_directory: &HostPath,
        home: Option<&HostPath>,
        own_state: &[HostPath],
    ) -> Result<Option<Vec<FsRule>>, RuleError> {
        let Self { ro, rw, cow, cache, hide, .. } = self;
        let mut rules: Vec<FsRule> = Vec::new();
        for (access, paths) in [
            (FsAccess::ReadOnly, ro),
            (FsAccess::ReadWrite, rw),
            (FsAccess::Cow, cow),
            (FsAccess::Cache, cache),
            (FsAccess::Hide, hide),
        ] {
            for written in paths {
                let (word, given) = (access.word(), &written.display());
                let path = path::absolute(written, working_directory, home)
                    .map_err(|problem| self.refuse(word, given, problem))?;
                if access > FsAccess::Hide {
                    ungrantable::check(&path, own_state)?;
                    self.check_named(word, written, &path, home)?;
                }
                let origin = self.origin(word, given);
                match rules.iter().find(|rule| rule.path == path) {
                    Some(earlier) if earlier.access != access => {
                        return Err(contradiction(&earlier.origin, &origin));
                    }
                    Some(_) => {}
                    None => rules.push(FsRule { access, path, reach: Reach::Anywhere, origin }),
                }
            }
        }
        Ok(Some(rules).filter(|rules| !rules.is_empty()))
    }

    /// `.` and `..` are refused where a run without flags is: a home may be granted by its name alone.
    fn check_named(
        &self,
        word: &str,
        written: &Path,
        path: &HostPath,
        home: Option<&HostPath>,
    ) -> Result<(), RuleError> {
        let is_around = |part| matches!(part, Component::CurDir | Component::ParentDir);
        let homes = home.map_or(&[][..], std::slice::from_ref);
        if !written.components().all(is_around) || !ungrantable::is_home_or_system_tree(path, homes)
        {
            return Ok(());
        }
        let problem = format!("`{}` is a home, one above it or the system's", shown(path));
        let named = shown(self.given(word, path));
        let help = format!("start in a project; `{named}` grants the whole directory all the same");
        Err(RuleError {
            fault: RuleFault::TooBroad,
            ..self.refuse(word, written.display(), problem).help(Some(help))
        })
    }

    fn read_mounts(
        &self,
        working_directory: &HostPath,
        home: Option<&HostPath>,
        own_state: &[HostPath],
    ) -> Result<Option<BTreeMap<GuestPath, Mount>>, RuleError> {
        let mut all = BTreeMap::new();
        for given in &self.mount {
            let refuse = |problem: String| self.refuse("mount", given, problem);
            let Some((at, from)) = given.split_once('=') else {
                return Err(refuse("expected `AT=FROM` or `AT=FROM,rw`".to_owned()));
            };
            let (from, access) = match from.strip_suffix(",rw") {
                Some(from) => (from, Access::ReadWrite),
                None => (from.strip_suffix(",ro").unwrap_or(from), Access::ReadOnly),
            };
            let path = |written: &str| {
                let path = path::absolute(Path::new(written), working_directory, home)
                    .map_err(|problem| problem.to_string())?;
                ungrantable::check(&path, own_state).map_err(|refused| refused.to_string())?;
                Ok(WrittenPath { path, reach: Reach::Anywhere })
            };
            let at = mounts::place(at).map_err(refuse)?;
            let (from, reach) = mounts::source(from, path).map_err(refuse)?;
            let mount = Mount { from, access, reach, origin: self.origin("mount", given) };
            all.insert(at, mount);
        }
        Ok(Some(all).filter(|all| !all.is_empty()))
    }

    fn read_variables(&self) -> Result<Option<BTreeMap<String, EnvironmentRule>>, RuleError> {
        let mut variables = BTreeMap::new();
        for given in &self.env {
            // A comma is between names; in a value it is part of the value.
            let mut parts = given.as_bytes().splitn(2, |byte| *byte == b'=');
            let names = std::str::from_utf8(parts.next().unwrap_or_default())
                .map_err(|_| self.refuse("env", given.display(), "the name is not text"))?;
            let value = parts.next();
            if value.is_some() && names.contains(',') {
                let problem = "several variables cannot be given one value";
                let help = "give each that has a value an `env` of its own";
                return Err(self
                    .refuse("env", format_args!("{names}=…"), problem)
                    .help(Some(help)));
            }
            for name in names.split(',') {
                variables::check_name(name)
                    .map_err(|problem| self.refuse("env", given.display(), problem))?;
                variables::check_value(value.unwrap_or_default())
                    .map_err(|problem| self.refuse("env", name, problem))?;
                let value = value.map(|value| ByteString::from(value.to_vec()));
                // Without the value, which may be a secret.
                let rule = EnvironmentRule { value, origin: self.origin("env", name) };
                variables.insert(name.to_owned(), rule);
            }
        }
        Ok(Some(variables).filter(|variables| !variables.is_empty()))
    }

    fn read_commands(&self) -> Result<Option<Commands>, RuleError> {
        let Some(given) = &self.commands else { return Ok(None) };
        if let [set] = given.as_slice()
            && let Some(set) = cage::command_set(set)
        {
            return Ok(Some(set));
        }
        let mut names = BTreeSet::new();
        for name in given {
            if cage::command_set(name).is_some() {
                return Err(self.not_a_program(name));
            }
            cage::check_command_name(name)
                .map_err(|(problem, _)| self.refuse("commands", name, problem))?;
            names.insert(name.clone());
        }
        Ok(Some(cage::listed_commands(names)))
    }

    /// `base` and `none` are choices that stand alone.
    pub fn not_a_program(&self, name: &str) -> RuleError {
        let help = match self.writer {
            Writer::Flags => format!("for that choice pass `--commands {name}`"),
            Writer::Request => format!("for that choice give `\"commands\": [\"{name}\"]`"),
        };
        let message = format!("`{name}` is not a program");
        RuleError { message, help: Some(help), fault: RuleFault::Unreadable }
    }

    fn read_limits(&self) -> Result<Limits, RuleError> {
        let Self { memory, pids, cpus, time, tmp_size, home_size, workspace, .. } = self;
        let room = "a size such as `512M` or `4G`, at least `1M`";
        let size = "a size such as `512M` or `2G`, at least `16M`";
        let processors = "a number of processors such as `1.5`, at least `0.01`";
        let duration =
            "a time such as `90s`, `10m` or `2h`, at least one second; leave it out for no limit";
        let count = "a number from 1 to 4194304";
        Ok(Limits {
            memory_mb: self.word("memory", memory.as_ref(), limits::memory, size)?,
            cpu_weight: None,
            cpu_millis: self.word("cpus", cpus.as_ref(), limits::cpus, processors)?,
            pids: self.word("pids", pids.as_ref(), limits::pids, count)?,
            walltime_sec: self.word("time", time.as_ref(), limits::time, duration)?,
            tmp_mb: self.word("tmp_size", tmp_size.as_ref(), limits::room, room)?,
            home_mb: self.word("home_size", home_size.as_ref(), limits::room, room)?,
            workspace_mb: self.word(
                "workspace",
                workspace.as_ref(),
                limits::workspace,
                "a size such as `500M`",
            )?,
        })
    }

    fn read_network(&self) -> Result<NetworkRules, RuleError> {
        let mut allow = BTreeMap::new();
        for given in self.net.iter().flat_map(|several| several.split(',')) {
            let destination = net::allowed(given)
                .map_err(|error| self.refuse("net", given, &error).help(error.hint()))?;
            allow.insert(destination, self.origin("net", given));
        }
        if allow.len() > MAX_NETWORK_ENTRIES {
            let word = self.name("net");
            return Err(plain(format!(
                "there are more than {MAX_NETWORK_ENTRIES} destinations of `{word}`, which is the most"
            )));
        }
        let host_ports = self.read_ports("host_ports", &self.host_ports, &BTreeMap::new())?;
        let publish = self.read_ports("publish", &self.publish, &host_ports)?;
        Ok(NetworkRules {
            allow: Some(allow),
            host_ports: Some(host_ports),
            publish: Some(publish),
            disconnect: self.no_net,
            ..NetworkRules::default()
        })
    }

    /// A port can lead outward or inward, not both.
    fn read_ports(
        &self,
        word: &str,
        written: &[String],
        others: &BTreeMap<u16, RuleOrigin>,
    ) -> Result<BTreeMap<u16, RuleOrigin>, RuleError> {
        let mut ports = BTreeMap::new();
        for given in written.iter().flat_map(|several| several.split(',')) {
            // Also for `8080:80`, which others take.
            let not_one_number = "one number is expected; a port is the same inside and outside";
            let number = limits::whole_number(given).ok_or(not_one_number);
            let named = Some(net::MODEL).filter(|(name, _)| (word, given) == ("host_ports", *name));
            let port =
                named.map(|(_, port)| Ok(port)).unwrap_or_else(|| number.and_then(net::port));
            let port = port.map_err(|problem| {
                self.refuse(word, given, problem).help(Some(net::port_help()))
            })?;
            let origin = self.origin(word, given);
            if let Some(earlier) = others.get(&port) {
                return Err(contradiction(earlier, &origin));
            }
            ports.insert(port, origin);
        }
        Ok(ports)
    }

    /// A word with a meaning of its own, if it is given.
    fn word<T>(
        &self,
        word: &str,
        given: Option<&String>,
        meaning: fn(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, RuleError> {
        let Some(given) = given else { return Ok(None) };
        let meant = meaning(given);
        let refuse = || self.refuse(word, given, format_args!("expected {expected}"));
        meant.ok_or_else(refuse).map(Some)
    }

    /// Every single word that is given, but the time limit.
    fn caged_words(&self) -> Vec<String> {
        let given = [
            ("commands", self.commands.is_some()),
            ("no_net", self.no_net),
            ("state", self.state.is_some()),
            ("home", self.home.is_some()),
            ("seccomp", self.seccomp.is_some()),
            ("memory", self.memory.is_some()),
            ("pids", self.pids.is_some()),
            ("cpus", self.cpus.is_some()),
            ("tmp_size", self.tmp_size.is_some()),
            ("home_size", self.home_size.is_some()),
            ("workspace", self.workspace.is_some()),
        ];
        given.iter().filter(|(_, given)| *given).map(|(word, _)| self.name(word)).collect()
    }

    fn refuse(&self, word: &str, given: impl Display, problem: impl Display) -> RuleError {
        plain(format!("`{}`: {problem}", shown(self.given(word, given))))
    }

    fn origin(&self, word: &str, given: impl Display) -> RuleOrigin {
        RuleOrigin::Flag(self.given(word, given))
    }

    fn given(&self, word: &str, given: impl Display) -> String {
        match self.writer {
            Writer::Flags => format!("{} {given}", self.name(word)),
            Writer::Request => format!("{}: {given}", self.name(word)),
        }
    }

    fn name(&self, word: &str) -> String {
        match (self.writer, word) {
            (Writer::Request, word) => format!("rules.{word}"),
            (Writer::Flags, "commands") => "--command".to_owned(),
            (Writer::Flags, "host_ports") => "--host-port".to_owned(),
            (Writer::Flags, "home") => "--keep-home".to_owned(),
            (Writer::Flags, word) => format!("--{}", word.replace('_', "-")),
        }
    }
}

impl Writer {
    fn request() -> Self {
        Self::Request
    }
}

impl RuleError {
    fn help(self, help: Option<impl Display>) -> Self {
        Self { help: help.map(|help| help.to_string()), ..self }
    }
}

impl From<Ungrantable> for RuleError {
    fn from(refusal: Ungrantable) -> Self {
        let help = Some(refusal.hint.to_owned());
        Self { message: refusal.to_string(), help, fault: RuleFault::Ungrantable }
    }
}

fn plain(message: String) -> RuleError {
    RuleError { message, help: None, fault: RuleFault::Unreadable }
}

fn contradiction(earlier: &RuleOrigin, later: &RuleOrigin) -> RuleError {
    plain(format!("`{}` and `{}` contradict each other", shown(earlier), shown(later)))
}

/// A number, written as one or as a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        match number {
            Number::Whole(number) => number.to_string(),
            Number::Fraction(number) => number.to_string(),
            Number::Text(text) => text,
        }
    }
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Number>::deserialize(deserializer)?.map(Into::into))
}

fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Vec::<Number>::deserialize(deserializer)?.into_iter().map(Into::into).collect())
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.into_iter().map(Into::into).collect())
}
