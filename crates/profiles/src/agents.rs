//! Known agents: what each needs beyond profile `code`, as policy text for this host. One file for each agent.
//!
//! An agent gets the programs that it was installed with, a directory of settings that no other program on this
//! host reads, its key and the hosts of its model. Never the user's own settings of that agent: what an agent reads
//! there starts programs when the user starts it without a cage. Never starts a program, and never writes a file:
//! what has to be there before the first start is [`Settings`], which whoever starts the cage makes.

mod aider;
mod claude;
mod codex;
mod find;
mod gemini;
mod model;
mod opencode;

#[cfg(test)]
mod tests;

use plan::HostPath;

use crate::built_in::code;
use crate::draft::{Draft, Table, Word, quoted};
use crate::host::Host;

use find::Found;
use model::{Bases, Key};

/// A known agent.
#[derive(Clone, Copy, Debug)]
pub struct KnownAgent {
    /// Its name, which is also the name of its cage.
    pub name: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// The program.
    program: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// Directories below the home where its installer puts it, beyond those of every installer.
    places: &'static [&'static str],
    /// Where it keeps its settings.
    settings: SettingsOf,
    /// Variables with keys, of which it uses those that are set.
    keys: &'static [Key],
    /// Variables with the address of another server for its model.
    bases: &'static [&'static str],
    /// What it reaches to log in, and as somebody who has.
    log_in_hosts: &'static [&'static str],
    /// How to log in, for a person.
    log_in: &'static str,
    /// Other variables of the caller's that it understands.
    passed: &'static [&'static str],
    /// Variables that every start of it has, with why.
    environment: &'static [(&'static str, &'static str, &'static str)],
    /// Its arguments, and variables that depend on the host.
    arguments: fn(&Asked<'_>, &mut Draft) -> Vec<String>,
}

/// Where an agent keeps its settings.
#[derive(Clone, Copy, Debug)]
struct SettingsOf {
    /// The directories that it may write to, below its directory.
    directories: &'static [&'static str],
    /// Files in them that nothing but their own name makes writable, because such files run programs.
    writable: &'static [&'static str],
    /// The variables that lead it there.
    variables: &'static [(&'static str, &'static str)],
    /// What is there before the first start.
    files: fn(&Asked<'_>) -> Vec<(&'static str, String)>,
}

/// What decides about an agent's arguments.
struct Asked<'a> {
    host: &'a Host,
    /// Where its directories of settings are.
    directory: &'a HostPath,
    /// Whether a variable with one of its keys is set.
    has_key: bool,
    /// Another server for its model.
    bases: &'a Bases,
}

/// An agent on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: &'static str,
    /// The policy text, with a cage and an agent of its name.
    pub text: String,
    /// The rules of that cage, as a profile of the agent's name.
    pub rules: String,
    /// Its command, as the text has it.
    pub command: Vec<String>,
    /// What has to be there before it starts.
    pub settings: Settings,
    /// What is used, in one line.
    pub summary: String,
    /// How to log in, where no key was found.
    pub log_in: Option<String>,
}

/// Directories of settings, and files that are written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The directory of this agent, which no cage may write to itself.
    pub directory: HostPath,
    /// Directories below it, for the agent.
    pub directories: Vec<HostPath>,
    /// Files in those, written when their directory is made and never again, but for those that have to be there.
    pub files: Vec<SettingsFile>,
}

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Where: right in one of those directories.
    pub path: HostPath,
    /// What it holds when it is made.
    pub text: String,
    /// Whether the policy names it, so that nothing starts without it.
    pub is_named: bool,
}

/// Why there is no text for an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAvailable {
    /// Its program was not found.
    #[error(
        "{title} is not installed: there is no `{program}` on your `PATH`, nor where it is usually installed"
    )]
    NotInstalled {
        /// What it is called.
        title: &'static str,
        /// The program.
        program: &'static str,
        /// The command that installs it.
        install: &'static str,
    },
    /// There is no place for its settings.
    #[error("there is no place for the settings of {title}: neither HOME nor XDG_DATA_HOME is set")]
    NoPlace {
        /// What it is called.
        title: &'static str,
    },
}

/// The known agent of a name.
pub fn known_agent(name: &str) -> Option<&'static KnownAgent> {
    AGENTS.iter().find(|known| known.name == name)
}

/// All of them.
pub const AGENTS: &[KnownAgent] =
    &[aider::AIDER, claude::CLAUDE, codex::CODEX, gemini::GEMINI, opencode::OPENCODE];

impl KnownAgent {
    /// The agent as it is on this host for this caller.
    pub fn on(&self, host: &Host) -> Result<Agent, NotAvailable> {
        let Self { name, title, program, install, .. } = *self;
        let found = find::find(host, program, self.places);
        let found = found.ok_or(NotAvailable::NotInstalled { title, program, install })?;
        let directory = directory(host, name).ok_or(NotAvailable::NoPlace { title })?;
        let keys: Vec<&Key> = self.keys.iter().filter(|key| key.is_set(host)).collect();
        let elsewhere = Bases::read(host, self.bases);
        // The service asks that other server, outside. Where one key stays there no other one comes in.
        let served: Vec<&Key> = keys.iter().copied().filter(|key| key.service.is_some()).collect();
        let (bases, keys) = match served.iter().find_map(|key| key.service.as_ref()) {
            Some(service) => (Bases::service(service), served),
            None => (elsewhere.clone(), keys),
        };
        let asked = Asked { host, directory: &directory, has_key: !keys.is_empty(), bases: &bases };
        let mut draft = self.draft(&found);
        find::show(&mut draft, &found, title);
        let settings = self.settings.add(&mut draft, &asked);
        self.add_network(&mut draft, &asked, &keys);
        self.add_environment(&mut draft, &asked);
        let mut command = vec![found.command(&draft)];
        command.extend((self.arguments)(&asked, &mut draft));
        let rules = draft.clone().renamed(Table::Profile, name, &[]).text();
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        draft.after(format!(
            "[agent.{name}]\ncage = \"{name}\"\n# What stands after `--` is added to it.\ncommand = [{}]\n",
            words.join(", ")
        ));
        let key = match keys.first() {
            Some(key) if key.service.is_some() => {
                format!("key from {}, which stays outside", key.variable)
            }
            Some(key) => format!("key from {}", key.variable),
            None if bases.is_any() => "no key".to_owned(),
            None => "log-in of its own".to_owned(),
        };
        let server = elsewhere.shown().map(|base| format!(", model at {base}")).unwrap_or_default();
        let summary =
            format!("{title} at {}, {key}{server}, settings in {directory}", found.program);
        let log_in = (keys.is_empty() && !bases.is_any()).then(|| self.log_in.to_owned());
        Ok(Agent { name, text: draft.text(), rules, command, settings, summary, log_in })
    }

    fn draft(&self, found: &Found) -> Draft {
        let about = [
            &*format!(
                "{} as `stockade run --agent {}` has it on this host for you.",
                self.title, self.name
            ),
            "Copied into your configuration it takes the place of the built-in agent.",
            "",
        ];
        code(&found.host).renamed(Table::Cage, self.name, &about)
    }

    /// The hosts of its keys; of a log-in, where there is no key; and of another server instead, if one is named.
    fn add_network(&self, draft: &mut Draft, asked: &Asked<'_>, keys: &[&Key]) {
        asked.bases.allow(draft);
        for key in keys {
            if let Some(service) = &key.service {
                let why =
                    "What stands for its key, which never comes in, and where the key is added";
                draft.set(why, key.variable, NO_KEY);
                draft.set(why, service.variable, service.url);
            }
            draft.pass(asked.host, "Its key", key.variable);
            if !asked.bases.is_any() {
                key.hosts.iter().for_each(|host| draft.host("Its model", host));
            }
        }
        if keys.is_empty() && !asked.bases.is_any() {
            let hosts = self.log_in_hosts.iter();
            hosts.for_each(|host| draft.host("Its model, and to log in: no key is set", host));
        }
    }

    fn add_environment(&self, draft: &mut Draft, asked: &Asked<'_>) {
        for name in self.bases {
            draft.pass(asked.host, "Where its model is", name);
        }
        for name in self.passed {
            draft.pass(asked.host, "Its own variables", name);
        }
        for (why, name, value) in self.environment {
            draft.set(why, name, value);
        }
    }
}

impl SettingsOf {
    /// Adds the rules, and says what has to be there for them.
    fn add(&self, draft: &mut Draft, asked: &Asked<'_>) -> Settings {
        const WHY: &str = "Its settings and log-in, apart from yours: they stay from run to run";
        let below = |relative: &str| asked.directory.join(relative).ok();
        let directories: Vec<HostPath> =
            self.directories.iter().filter_map(|relative| below(relative)).collect();
        for directory in &directories {
            draft.path(asked.host, WHY, Word::Write, directory);
        }
        for file in self.writable.iter().filter_map(|relative| below(relative)) {
            let why = "Named, because such a file is read-only in a writable directory otherwise";
            draft.path(asked.host, why, Word::Write, &file);
        }
        for (variable, relative) in self.variables {
            if let Some(place) = below(relative).or_else(|| Some(asked.directory.clone())) {
                draft.set("Where its settings are", variable, &place.to_string());
            }
        }
        let files = (self.files)(asked).into_iter().filter_map(|(relative, text)| {
            let is_named = self.writable.contains(&relative);
            Some(SettingsFile { path: below(relative)?, text, is_named })
        });
        Settings { directory: asked.directory.clone(), directories, files: files.collect() }
    }
}

/// What an agent has in place of a key that stays outside. Whoever reads it knows that it is none.
pub const NO_KEY: &str = "sk-stays-outside-of-the-cage";

/// Where the settings of an agent are: not in our own state, which no cage can be given.
fn directory(host: &Host, name: &str) -> Option<HostPath> {
    let data = host.path_in("XDG_DATA_HOME").or_else(|| host.in_home(".local/share"))?;
    data.join(format!("stockade/agents/{name}")).ok()
}
