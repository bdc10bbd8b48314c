//! What a cage makes of a path, a host, a system call or a variable, which rule says
//! so, and what to change. Asks the compiled cage, the filter and the gatekeeper that it would get and
//! the algebra's own look-up; decides nothing.

pub mod host;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cage::prepare::explain::{self, PathAnswer, PathVerdict, Suggestion, VariableVerdict};
use cage::prepare::{Selection, TooBroad, prepare};
use plan::render::for_shell;
use plan::seccomp::{Arch, Profile, Verdict, list_lines, syscall_number, verdict};
use plan::{ByteString, HostPath, MountedFrom, Plan};
use policy::Policy;
use policy::protected::{self, Object};
use policy::secrets;
use policy::shown::shown;
use serde_json::{Value, json};

use cage::Kind;

use crate::failure::Failure;
use crate::flags::absolute;
use crate::view::{View, view};
use host::about_host;

/// What is asked about.
#[derive(Clone, Debug)]
pub enum Question {
    /// A path, as it is on the host.
    Path(PathBuf),
    /// A host, with a port or without.
    Host(host::HostQuestion),
    /// A system call, by its name.
    Syscall(String),
    /// A variable, by its name.
    Variable(String),
}

/// An answer for a person, for a program and for a shell.
#[derive(Clone, Debug)]
pub struct Answer {
    /// For a person.
    pub text: String,
    /// For a program.
    pub data: Value,
    /// Whether the program inside has what was asked about.
    pub yes: bool,
}

impl Question {
    /// A word without a flag is a path, unless it can only be meant as a host.
    pub fn about_word(word: &Path) -> Self {
        let exists = rustix::fs::lstat(word).is_ok();
        let host = host::HostQuestion::meant_by(word, exists);
        host.map_or_else(|| Self::Path(word.to_owned()), Self::Host)
    }

    /// `HOST[:PORT]`.
    pub fn about_host(text: &str) -> Result<Self, Failure> {
        host::HostQuestion::parse(text).map(Self::Host)
    }

    /// A question about anything but a path can be answered anywhere.
    pub fn too_broad(&self) -> TooBroad {
        match self {
            Self::Path(_) => TooBroad::Refuse,
            _ => TooBroad::GrantNothing,
        }
    }
}

/// Asks a cage.
pub fn why(selection: &Selection, question: &Question) -> Result<Answer, Failure> {
    match question {
        Question::Path(path) => about_path(selection, path),
        Question::Host(host) => Ok(about_host(&selection.policy, host)),
        Question::Syscall(name) => about_syscall(selection, name),
        Question::Variable(name) => about_variable(selection, name),
    }
}

fn about_path(selection: &Selection, written: &Path) -> Result<Answer, Failure> {
    let surroundings = &selection.surroundings;
    let path = absolute(written, &surroundings.working_directory, selection.place.home.as_ref())
        .map_err(|problem| Failure::new(Kind::Usage, problem.to_string()))?;
    if let Some(answer) = about_mount(&selection.policy, &path) {
        return Ok(answer);
    }
    let real = real_path(&path);
    let plan = prepare(selection, &[OsString::from("PROGRAM")])?.plan;
    let view = view(&plan, &real);
    let mut answer = explain::path(&selection.policy, &selection.place, &real);
    let exists = rustix::fs::lstat(real.as_path()).is_ok();
    correct(&mut answer, view, exists);
    let known = Known::of(&mut answer, selection.place.home.as_ref());
    let mut text = answer.to_string();
    if path != real {
        text = format!("`{}` leads to `{}`\n{text}", shown(&path), shown(&real));
    }
    match view {
        View::Made { what } => text.push_str(&format!("\n  it is {what}")),
        View::InsideOwn => text.push_str("\n  the directory around it is the cage's own"),
        _ => {}
    }
    text.push_str(&known.text);
    match view {
        View::Host { .. } | View::Hidden | View::Absent | View::InsideOwn if !exists => {
            text.push_str("\n  note: there is no such file on the host at the moment");
            if let Some(host) = host::HostQuestion::possible(written) {
                text.push_str(&format!("; a host is asked about with `--host {host}`"));
            }
        }
        _ => {}
    }
    let data = json!({
        "path": real.to_string(),
        "asked": path.to_string(),
        "verdict": verdict_word(answer.verdict),
        "exists_on_host": exists,
        "rule": answer.rule.as_ref().map(|rule| json!({
            "access": rule.access.word(),
            "path": rule.path.to_string(),
            "origin": rule.origin.to_string(),
        })),
        "secret": known.secret,
        "protected": known.runs_by,
        "ungrantable": answer.ungrantable,
        "suggestion": answer.suggestion.as_ref().map(|suggestion| json!({
            "flag": suggestion.flag,
            "line": suggestion.line,
        })),
    });
    let yes = !matches!(answer.verdict, PathVerdict::Hidden | PathVerdict::Absent);
    Ok(Answer { text, data, yes })
}

/// A path on a mount of the policy: what is on the host there says nothing about it.
fn about_mount(policy: &Policy, path: &HostPath) -> Option<Answer> {
    let inside = plan::GuestPath::same_as(path);
    let mounts = policy.mounts.iter().filter(|(at, _)| inside.is_within(at));
    let (at, mount) = mounts.max_by_key(|(at, _)| at.depth())?;
    let from = mount.from.to_string();
    let writes = mount.access == plan::Access::ReadWrite
        || matches!(mount.from, MountedFrom::Memory | MountedFrom::Inside(_));
    let (verdict, can) = match writes {
        true => (PathVerdict::ReadWrite, "read and changed"),
        false => (PathVerdict::ReadOnly, "read"),
    };
    let by = match &mount.from {
        MountedFrom::Memory => "the kernel keeps it in memory, and it is gone with the cage",
        MountedFrom::Directory(_) => "it is a link to where the kernel shows the host's directory",
        MountedFrom::Store(_) => {
            "a process of ours serves it, because the kernel cannot read a store"
        }
        MountedFrom::Remote(_) => {
            "a process of ours serves it, because the files are not on this machine"
        }
        MountedFrom::Inside(_) => {
            "what is written there is a call, which a process inside of the cage answers"
        }
    };
    let origin = &mount.origin;
    let text = format!(
        "`{}` can be {can}\n  mount: `{}` on `{}` ({origin})\n  {by}",
        shown(path),
        shown(&from),
        shown(at)
    );
    let data = json!({
        "path": path.to_string(),
        "asked": path.to_string(),
        "verdict": verdict_word(verdict),
        "mount": { "at": at.to_string(), "from": from, "rw": writes, "origin": origin.to_string() },
    });
    Some(Answer { text, data, yes: true })
}

/// What the tables know of a path, whether or not a grant brings it up.
struct Known {
    /// Lines that an answer does not have yet.
    text: String,
    secret: Option<&'static str>,
    runs_by: Option<&'static str>,
}

impl Known {
    /// A secret that nothing grants is one all the same, and so is a file that would run code: whoever grants
    /// more learns it before.
    fn of(answer: &mut PathAnswer, home: Option<&HostPath>) -> Self {
        let mut known = Self {
            text: String::new(),
            secret: answer.secret.as_ref().map(|secret| secret.name),
            runs_by: answer.protected.map(|entry| entry.runs_by),
        };
        let homes: Vec<&HostPath> = home.into_iter().collect();
        let is_shown = matches!(answer.verdict, PathVerdict::ReadOnly | PathVerdict::ReadWrite);
        let secret = secrets::holding(&homes, &answer.path).into_iter().next();
        if let (Some(secret), None, false) = (secret, known.secret, is_shown) {
            let (name, path) = (secret.name, shown(&secret.path));
            known.secret = Some(name);
            known.text = format!(
                "\n  secret: {name} (`{path}`); it stays hidden in a grant that does not name it"
            );
        }
        let entry = protected::holding(home, &answer.path, Object::Any);
        let can_be_read = matches!(answer.verdict, PathVerdict::ReadOnly | PathVerdict::Absent);
        if let (Some(entry), None, true, None) = (entry, known.runs_by, can_be_read, known.secret) {
            known.runs_by = Some(entry.runs_by);
            known.text.push_str(&format!(
                "\n  protected: `{}`, run by {}; it stays read-only in a read-write grant that does not \
                 name it",
                entry.pattern, entry.runs_by
            ));
        }
        known
    }
}

/// The compiled cage has the last word: links may lead a rule elsewhere, and the base layer has
/// files that no rule names.
fn correct(answer: &mut PathAnswer, view: View, exists: bool) {
    // No grant of what is not there can be made.
    if !exists && answer.verdict == PathVerdict::Absent {
        answer.suggestion = None;
    }
    let seen = match view {
        View::Host { verdict } => verdict,
        View::Made { .. } => PathVerdict::Base,
        View::Own => PathVerdict::Private,
        // What the host has there is not what the program finds.
        View::InsideOwn => PathVerdict::Absent,
        View::Hidden => PathVerdict::Hidden,
        View::Absent => PathVerdict::Absent,
    };
    // The cage covers what exists. One that appears is set aside when the program has ended.
    let appears =
        answer.verdict == PathVerdict::Protected && seen == PathVerdict::ReadWrite && !exists;
    if seen == answer.verdict || appears {
        return;
    }
    answer.verdict = seen;
    if matches!(seen, PathVerdict::Base | PathVerdict::Private | PathVerdict::ReadWrite) {
        answer.suggestion = None;
    } else if answer.suggestion.is_none() && answer.ungrantable.is_none() && exists {
        let path = for_shell(&ByteString::from(answer.path.as_bytes()));
        let more = match seen {
            PathVerdict::ReadOnly | PathVerdict::Protected => "--rw",
            PathVerdict::Cow | PathVerdict::Cache => "--rw",
            _ => "--ro",
        };
        answer.suggestion = Some(Suggestion { flag: format!("{more} {path}"), line: None });
    }
}

fn about_syscall(selection: &Selection, name: &str) -> Result<Answer, Failure> {
    let profile = match selection.policy.seccomp {
        policy::Seccomp::Default => Profile::Default,
        policy::Seccomp::Relaxed => Profile::Relaxed,
    };
    let Some(number) = syscall_number(Arch::NATIVE, name) else {
        let arch = Arch::NATIVE.name();
        return Err(Failure::new(
            Kind::Usage,
            format!("{arch} has no system call `{}`", shown(name)),
        )
        .help("use the kernel's name, such as `openat` or `process_vm_readv`"));
    };
    let lines = list_lines(profile, name);
    let plain = verdict(profile, Arch::NATIVE, number, [0; 6]);
    let conditional = lines.iter().any(|line| line.text.contains(" if "));
    let sentence = match plain {
        _ if conditional => "depends on its arguments".to_owned(),
        Verdict::Allow => "is allowed".to_owned(),
        Verdict::Refuse { errno, .. } => {
            let errno = rustix::io::Errno::from_raw_os_error(i32::from(errno));
            format!("is refused: {}", std::io::Error::from(errno))
        }
        Verdict::Kill { .. } => "kills the program (SIGSYS)".to_owned(),
        Verdict::Ignore => "is answered with success and not made".to_owned(),
    };
    let mut text = format!("`{name}` {sentence}\n  profile: {}", profile.name());
    for line in &lines {
        let (file, number, rule) = (profile.name(), line.number, line.text.trim());
        text.push_str(&format!("\n  rule: profiles/{file}.list:{number}: `{rule}`"));
    }
    let yes = plain == Verdict::Allow || conditional;
    let relaxed = verdict(Profile::Relaxed, Arch::NATIVE, number, [0; 6]) == Verdict::Allow;
    let fix = (!yes && relaxed && profile == Profile::Default)
        .then_some("`--seccomp relaxed`, or in the policy `seccomp = \"relaxed\"`");
    match fix {
        Some(fix) => text.push_str(&format!("\n  to change it: {fix} (reduced isolation)")),
        None if !yes => text.push_str("\n  no profile allows it"),
        None => {}
    }
    let data = json!({
        "syscall": name,
        "number": number,
        "profile": profile.name(),
        "verdict": match plain {
            _ if conditional => "depends",
            Verdict::Allow => "allow",
            Verdict::Refuse { .. } => "refuse",
            Verdict::Kill { .. } => "kill",
            Verdict::Ignore => "ignore",
        },
        "rules": lines.iter().map(|line| json!({ "line": line.number, "text": line.text.trim() }))
            .collect::<Vec<_>>(),
        "suggestion": fix,
    });
    Ok(Answer { text, data, yes })
}

fn about_variable(selection: &Selection, name: &str) -> Result<Answer, Failure> {
    if let Some((name, _)) = name.split_once('=') {
        let name = shown(name);
        return Err(Failure::new(
            Kind::Usage,
            "a variable is asked about by its name, without a value",
        )
        .help(format!("`stockade why --env {name}`")));
    }
    let answer = explain::variable(&selection.policy, name);
    let plan = prepare(selection, &[OsString::from("PROGRAM")])?.plan;
    let value = value_in(&plan, name);
    let mut text = answer.to_string();
    match &value {
        Some(value) => text.push_str(&format!("\n  value: {}", shown(value))),
        None if answer.verdict == VariableVerdict::PassedOn => {
            text.push_str("\n  value: none, because it is not set here");
        }
        None => {}
    }
    let data = json!({
        "variable": name,
        "set": value.is_some(),
        "value": value,
        "rule": answer.rule.as_ref().map(|rule| rule.origin.to_string()),
        "suggestion": answer.suggestion.as_ref().filter(|_| value.is_none()).map(|suggestion| json!({
            "flag": suggestion.flag,
            "line": suggestion.line,
        })),
    });
    Ok(Answer { text, data, yes: value.is_some() })
}

fn value_in(plan: &Plan, name: &str) -> Option<String> {
    let variable = plan
        .walls
        .environment
        .iter()
        .find(|variable| variable.name.as_bytes() == name.as_bytes())?;
    Some(variable.value.to_string())
}

/// Where a path really leads, as far as it exists.
fn real_path(path: &HostPath) -> HostPath {
    let steps = std::iter::successors(Some(path.clone()), HostPath::parent);
    for existing in steps {
        let Ok(real) = std::fs::canonicalize(existing.as_path()) else { continue };
        let rest = path.as_path().strip_prefix(existing.as_path()).unwrap_or(Path::new(""));
        if let Ok(real) = HostPath::new(real.join(rest).into_os_string()) {
            return real;
        }
    }
    path.clone()
}

fn verdict_word(verdict: PathVerdict) -> &'static str {
    match verdict {
        PathVerdict::ReadWrite => "read-write",
        PathVerdict::Cow => "cow",
        PathVerdict::Cache => "cache",
        PathVerdict::ReadOnly => "read-only",
        PathVerdict::Protected => "protected",
        PathVerdict::Hidden => "hidden",
        PathVerdict::Absent => "absent",
        PathVerdict::Private => "private",
        PathVerdict::Base => "base",
    }
}
