//! A policy text as it is being put together, and its writing: every part under a comment that says why
//! it is there. Whatever could not be granted is left out here, with a comment, so that the text always
//! parses. Decides nothing about what a program needs.

use std::collections::{BTreeMap, BTreeSet};

use plan::HostPath;
use policy::shown::shown;

use crate::host::Host;

/// Which table of the policy language a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `[profile.NAME]`
    Profile,
    /// `[cage.NAME]`
    Cage,
}

/// The word of a rule on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It can be read.
    Read,
    /// It can be changed.
    Write,
    /// It can be changed in a layer of the session's own.
    Cow,
    /// It can be changed in a layer of the project's own, which is never applied.
    Cache,
    /// It shows as empty.
    Hide,
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Self::Read => "ro",
            Self::Write => "rw",
            Self::Cow => "cow",
            Self::Cache => "cache",
            Self::Hide => "hide",
        }
    }
}

/// A text in the making. What is said twice counts the first time.
#[derive(Clone, Debug)]
pub struct Draft {
    table: Table,
    name: String,
    about: Vec<String>,
    words: Parts<String>,
    fs: Parts<String>,
    env: Parts<String>,
    allow: Parts<String>,
    host_ports: Parts<String>,
    after: Vec<String>,
    left_out: Vec<String>,
    paths: BTreeMap<HostPath, Word>,
    variables: BTreeMap<String, Option<String>>,
    hosts: BTreeSet<String>,
}

/// Lines of one list, each with the comment that it stands under.
type Parts<T> = Vec<(String, Vec<T>)>;

impl Draft {
    /// An empty one. `about` are lines of comment at its top.
    pub fn new(table: Table, name: &str, about: &[&str]) -> Self {
        Self {
            table,
            name: name.to_owned(),
            about: about.iter().map(|line| (*line).to_owned()).collect(),
            words: Vec::new(),
            fs: Vec::new(),
            env: Vec::new(),
            allow: Vec::new(),
            host_ports: Vec::new(),
            after: Vec::new(),
            left_out: Vec::new(),
            paths: BTreeMap::new(),
            variables: BTreeMap::new(),
            hosts: BTreeSet::new(),
        }
    }

    /// The same rules as another table, under another name and with another text at the top.
    #[must_use]
    pub fn renamed(mut self, table: Table, name: &str, about: &[&str]) -> Self {
        (self.table, self.name) = (table, name.to_owned());
        self.about = about.iter().map(|line| (*line).to_owned()).collect();
        self
    }

    /// A word of a cage, such as `seccomp` and `"relaxed"`; the value is written as it is.
    pub fn word(&mut self, why: &str, word: &str, value: &str) {
        add(&mut self.words, why, format!("{word} = {value}"));
    }

    /// The project itself; none of a project that is too broad for that.
    pub fn project(&mut self, host: &Host, why: &str, word: Word) {
        if host.is_broad(&host.project) || host.is_ungrantable(&host.project) {
            let project = shown(&host.project);
            self.left_out
                .push(format!("`{project}` is no project: a home, one above it, or the system's"));
            return;
        }
        self.paths.insert(host.project.clone(), word);
        add(&mut self.fs, why, format!("{{ {} = \".\" }}", word.text()));
    }

    /// A rule on a path of the host. What lies in the project is shown as a part of it, and what cannot
    /// be granted or written in a policy is left out with a comment.
    pub fn path(&mut self, host: &Host, why: &str, word: Word, path: &HostPath) {
        if path.is_within(&host.project) && word != Word::Hide || self.paths.contains_key(path) {
            return;
        }
        let Some(written) = written(host, path) else {
            self.left_out.push(format!("`{}` cannot be written in a policy ({why})", shown(path)));
            return;
        };
        if word != Word::Hide && (host.is_ungrantable(path) || is_around_home(host, path)) {
            self.left_out.push(format!("`{}` cannot be granted ({why})", shown(path)));
            return;
        }
        self.paths.insert(path.clone(), word);
        add(&mut self.fs, why, format!("{{ {} = {} }}", word.text(), quoted(&written)));
    }

    /// Whether a rule of this text shows a path.
    pub fn shows(&self, path: &HostPath) -> bool {
        let deciding = self.paths.iter().filter(|(rule, _)| path.is_within(rule));
        deciding.max_by_key(|(rule, _)| rule.depth()).is_some_and(|(_, word)| *word != Word::Hide)
    }

    /// Passes a variable on, whether this caller has it set or not.
    pub fn name(&mut self, why: &str, name: &str) {
        if is_name(name) && !self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), None);
            add(&mut self.env, why, format!("{name} = true"));
        }
    }

    /// Passes a variable of the caller's on, if it is set.
    pub fn pass(&mut self, host: &Host, why: &str, name: &str) {
        if host.variable(name).is_some() {
            self.name(why, name);
        }
    }

    /// Sets a variable.
    pub fn set(&mut self, why: &str, name: &str, value: &str) {
        let is_said = self.variables.contains_key(name);
        if is_name(name) && !is_said && !value.chars().any(char::is_control) {
            self.variables.insert(name.to_owned(), Some(value.to_owned()));
            add(&mut self.env, why, format!("{name} = {}", quoted(value)));
        }
    }

    /// Lets the program reach a host, written as an entry of `net.allow`.
    pub fn host(&mut self, why: &str, entry: &str) {
        if policy::host_names::destination(entry).is_err() {
            self.left_out
                .push(format!("`{}` is no host that can be allowed ({why})", shown(entry)));
        } else if self.hosts.insert(entry.to_owned()) {
            add(&mut self.allow, why, quoted(entry));
        }
    }

    /// Leads a port of the program's loopback to the same one of the host's.
    pub fn host_port(&mut self, why: &str, port: u16) {
        if self.hosts.insert(format!("loopback:{port}")) {
            add(&mut self.host_ports, why, port.to_string());
        }
    }

    /// Leads the program to the model service.
    pub fn model(&mut self, why: &str) {
        if self.hosts.insert("model service".to_owned()) {
            add(&mut self.host_ports, why, quoted("model"));
        }
    }

    /// Whether any host or port can be reached.
    pub fn reaches_any(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Takes over whom another text lets the program reach.
    pub fn take_hosts(&mut self, other: Self) {
        for (parts, theirs) in
            [(&mut self.allow, other.allow), (&mut self.host_ports, other.host_ports)]
        {
            for (why, lines) in theirs {
                lines.into_iter().for_each(|line| add(parts, &why, line));
            }
        }
        self.hosts.extend(other.hosts);
    }

    /// Says what is not here, and why.
    pub fn left_out(&mut self, sentence: impl Into<String>) {
        self.left_out.push(sentence.into());
    }

    /// Text after the table, such as another table.
    pub fn after(&mut self, text: impl Into<String>) {
        self.after.push(text.into());
    }

    /// No network but loopback.
    pub fn disconnect(&mut self) {
        self.allow.clear();
        self.host_ports.clear();
        self.hosts.clear();
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.about {
            comment(&mut text, "", line);
        }
        let table = match self.table {
            Table::Profile => "profile",
            Table::Cage => "cage",
        };
        let name = &self.name;
        text.push_str(&format!("version = 1\n\n[{table}.{name}]\n"));
        for (why, lines) in &self.words {
            comment(&mut text, "", why);
            lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        }
        list(&mut text, "fs", &self.fs);
        if !self.allow.is_empty() || !self.host_ports.is_empty() {
            text.push_str(&format!("\n[{table}.{name}.net]\n"));
            list(&mut text, "allow", &self.allow);
            list(&mut text, "host_ports", &self.host_ports);
        }
        if !self.env.is_empty() {
            text.push_str(&format!("\n[{table}.{name}.env]\n"));
            for (why, lines) in &self.env {
                comment(&mut text, "", why);
                lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
            }
        }
        for after in &self.after {
            text.push_str(&format!("\n{after}"));
        }
        if !self.left_out.is_empty() {
            text.push_str("\n# Left out:\n");
            self.left_out
                .iter()
                .for_each(|sentence| comment(&mut text, "", &format!("- {sentence}")));
        }
        text
    }
}

fn add<T>(parts: &mut Parts<T>, why: &str, line: T) {
    match parts.iter_mut().find(|(known, _)| known == why) {
        Some((_, lines)) => lines.push(line),
        None => parts.push((why.to_owned(), vec![line])),
    }
}

fn list(text: &mut String, word: &str, parts: &Parts<String>) {
    if parts.is_empty() {
        return;
    }
    text.push_str(&format!("{word} = [\n"));
    for (why, lines) in parts {
        comment(text, "  ", why);
        lines.iter().for_each(|line| text.push_str(&format!("  {line},\n")));
    }
    text.push_str("]\n");
}

/// A comment cannot end early: a control character would be refused by the parser anyway.
fn comment(text: &mut String, indent: &str, line: &str) {
    let safe = shown(line);
    text.push_str(format!("{indent}# {safe}").trim_end());
    text.push('\n');
}

/// A string of the policy language.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A path as a policy of the user's says it: `~/` for the home.
fn written(host: &Host, path: &HostPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    if text.chars().any(|character| character.is_control() || character == '*') {
        return None;
    }
    let project = std::str::from_utf8(host.project.as_bytes()).ok()?;
    if let Some(below) = text.strip_prefix(project).and_then(|below| below.strip_prefix('/')) {
        // A name that begins with what a path could begin with is still a name.
        let is_plain = !below.starts_with(['~', '$']);
        return Some(if is_plain { below.to_owned() } else { format!("./{below}") });
    }
    let home = host.home.as_ref().filter(|home| home.parent().is_some());
    let below = home.and_then(|home| text.strip_prefix(std::str::from_utf8(home.as_bytes()).ok()?));
    match below.and_then(|below| below.strip_prefix('/')) {
        Some(below) => Some(format!("~/{below}")),
        None => Some(text.to_owned()),
    }
}

/// A home, or what holds one, is never shown because something was found in it.
fn is_around_home(host: &Host, path: &HostPath) -> bool {
    host.home.as_ref().is_some_and(|home| home.is_within(path))
}

/// Whether a policy can name this variable.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_fixed = policy::text::FIXED_VARIABLES.contains(&name);
    !name.is_empty()
        && !is_fixed
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(plain)
}
