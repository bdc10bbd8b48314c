//! `stockade repl`: a conversation. Lines are edited with a history; a line that ends with a backslash goes on in the
//! next one. Ctrl-C stops what the agent does and keeps the conversation. Words that begin with a slash are for us.

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::Ordering;

use advice::Failure;
use agent::{Agent, Elsewhere, Outcome};
use cage::Kind;
use model::Client;
use policy::shown::shown;
use policy::{FsAccess, Policy, RuleOrigin};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::Tell;
use crate::arguments::{CageArguments, CommonArguments, ReplArguments};
use crate::caged::Caged;
use crate::record::Record;
use crate::show::{Form, Show};
use crate::spawn::Spawner;
use crate::types;
use crate::work::{Finish, Story, Work, end};

/// What a line asks for.
enum Wanted {
    Task(String),
    Tools,
    Usage,
    Help,
    Why(Vec<OsString>),
    Diff,
    Apply,
    Nothing,
    Unknown(String),
    Quit,
}

/// The command. Before the first thread of the process.
///
/// # Errors
/// If nothing could be begun, or its cage not be started again.
pub fn repl(arguments: &ReplArguments, tell: &dyn Tell) -> Result<Finish, Failure> {
    let common = &types::completed(&arguments.common)?;
    let mut work = Work::begin(common, tell)?;
    let mut session = common.cage.session.clone();
    let mut editor = Lines::new(&work)?;
    // The key is read once: what it was read from may be gone.
    let mut client = None;
    loop {
        let caged = work.cage(session.as_deref(), tell)?;
        session = caged.session.clone().or(session);
        let known = client.take().map_or_else(|| work.client(), Ok);
        let went = known.and_then(|known| {
            client = Some(known.clone());
            converse(common, (&work, known), &caged, &mut editor, tell)
        });
        end(caged, tell);
        match went? {
            Went::Over => {
                if let Some(session) = &session {
                    let model = common.of_model();
                    tell.note(&format!("it can go on: `stockade repl --session {session}{model}`"));
                }
                return Ok(Finish::Done);
            }
            // The workspace is free while no cage uses it.
            Went::Apply => match &session {
                Some(session) => ourselves(&["apply".into(), session.into()], tell),
                None => tell.note("nothing is kept aside: what is changed is so on the host"),
            },
        }
    }
}

enum Went {
    Over,
    Apply,
}

fn converse(
    common: &CommonArguments,
    (work, client): (&Work, Client),
    caged: &Caged,
    editor: &mut Lines,
    tell: &dyn Tell,
) -> Result<Went, Failure> {
    let story: Story = work.story(caged.session.as_deref())?;
    let asks = crate::ask::can_be_asked();
    let show = Show::new(Form::Person, Record::new(work.runner.log(), caged.invocation()));
    let (services, servers) = (work.services(common)?, work.servers(common, tell)?);
    let settings = work.settings(common, asks);
    let tree = work.tree(common, &settings, &client);
    let spawner = tree.as_ref().map(|tree| {
        Spawner::new(tree, &caged.hands, caged.invocation(), common.children.unwrap_or_default())
    });
    let mut more: Vec<&dyn Elsewhere> =
        servers.iter().map(|server| server as &dyn Elsewhere).collect();
    more.push(&services);
    more.extend(spawner.iter().map(|spawner| spawner as &dyn Elsewhere));
    let code = work.code(&more);
    more.extend(code.iter().map(|code| code as &dyn Elsewhere));
    let mut agent = work.agent((settings, client), (caged, more), story, &show);
    if let Some(tree) = &tree {
        agent = agent.spending(&tree.purse);
    }
    if !agent.messages().is_empty() {
        tell.note(&format!("the conversation goes on: {} messages so far", agent.messages().len()));
    }
    loop {
        match editor.next()? {
            Wanted::Quit => return Ok(Went::Over),
            Wanted::Nothing => {}
            Wanted::Task(task) => {
                work.cancel.renew();
                tree.iter().for_each(|tree| tree.purse.renew());
                let outcome = agent.run(Some(&task));
                work.cancel.renew();
                if work.is_final.load(Ordering::Relaxed) {
                    return Ok(Went::Over);
                }
                if let Outcome::Finished { text } = &outcome
                    && !text.ends_with('\n')
                {
                    eprintln!();
                }
            }
            Wanted::Tools => work.tools.iter().for_each(|tool| tell.note(&described(tool))),
            Wanted::Usage => tell.note(&usage(&agent)),
            Wanted::Help => tell.note(HELP),
            Wanted::Unknown(word) => {
                tell.note(&format!("`{}` means nothing here; {HELP}", shown(word)))
            }
            Wanted::Why(words) => {
                let flags = flags(&common.cage, &work.selection.policy);
                ourselves(&[vec!["why".into()], flags, words].concat(), tell)
            }
            Wanted::Diff => match &caged.session {
                Some(session) => ourselves(&["diff".into(), session.into()], tell),
                None => tell.note("nothing is kept aside: what is changed is so on the host"),
            },
            Wanted::Apply => return Ok(Went::Apply),
        }
    }
}

fn described(name: &str) -> String {
    let tool = tools::all().iter().find(|tool| tool.name() == name);
    let doc = tool.map_or("", |tool| tool.doc());
    format!("{name}: {}", doc.split_once(". ").map_or(doc, |(first, _)| first))
}

fn usage(agent: &Agent<'_>) -> String {
    let spent = agent.spent();
    let cost = spent.cost.map_or_else(String::new, |cost| format!(", {cost}"));
    let (usage, read) = (spent.usage, spent.usage.total() - spent.usage.output);
    format!(
        "{} answers, {read} tokens in ({} of them from the cache), {} out{cost}",
        spent.steps, usage.cached, usage.output
    )
}

/// The flags that say which cage it is, for our own commands: with what is granted to the agent beside the policy file.
fn flags(common: &CageArguments, policy: &Policy) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |flag: &str, value: OsString| words.extend([flag.into(), value]);
    common.project.iter().for_each(|path| add("--project", path.into()));
    common.name.iter().for_each(|name| add("--cage", name.into()));
    common.profile.iter().for_each(|name| add("--profile", name.into()));
    for rule in policy.fs.iter().filter(|rule| matches!(rule.origin, RuleOrigin::Flag(_))) {
        let flag = match rule.access {
            FsAccess::ReadOnly => "--ro",
            FsAccess::Cow => "--cow",
            FsAccess::ReadWrite => "--rw",
            // No flag of an agent grants these.
            FsAccess::Hide | FsAccess::Cache => continue,
        };
        add(flag, rule.path.as_path().into());
    }
    common.net.iter().for_each(|host| add("--net", host.into()));
    words
}

/// Runs another command of ours, with this terminal.
fn ourselves(words: &[OsString], tell: &dyn Tell) {
    let own = std::env::current_exe();
    if let Err(error) = own.and_then(|own| Command::new(own).args(words).status()) {
        tell.warning(&format!("the command cannot be run: {error}"));
    }
}

/// Lines that a person types.
struct Lines {
    editor: Editor<(), FileHistory>,
    history: std::path::PathBuf,
}

impl Lines {
    fn new(work: &Work) -> Result<Self, Failure> {
        let failed = |error: ReadlineError| {
            Failure::new(Kind::CannotBuild, format!("lines cannot be read: {error}"))
        };
        let config = Config::builder()
            .auto_add_history(true)
            .max_history_size(1000)
            .map_err(failed)?
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        let history = work.transcripts()?.join("history");
        // There is none the first time.
        let _none_yet = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    fn next(&mut self) -> Result<Wanted, Failure> {
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { "> " } else { ". " };
            match self.editor.readline(prompt) {
                Ok(line) => match line.strip_suffix('\\') {
                    Some(begun) => {
                        text.push_str(begun);
                        text.push('\n');
                    }
                    None => {
                        text.push_str(&line);
                        break;
                    }
                },
                Err(ReadlineError::Interrupted) => return Ok(Wanted::Nothing),
                Err(ReadlineError::Eof) => return Ok(Wanted::Quit),
                Err(error) => {
                    return Err(Failure::new(
                        Kind::CannotBuild,
                        format!("lines cannot be read: {error}"),
                    ));
                }
            }
        }
        // What was typed is worth less than what comes of it.
        let _unsaved = self.editor.save_history(&self.history);
        Ok(wanted(text.trim()))
    }
}

fn wanted(text: &str) -> Wanted {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    match first {
        "" => Wanted::Nothing,
        "/quit" | "/exit" => Wanted::Quit,
        "/help" => Wanted::Help,
        "/tools" => Wanted::Tools,
        "/usage" => Wanted::Usage,
        "/diff" => Wanted::Diff,
        "/apply" => Wanted::Apply,
        "/why" => Wanted::Why(words.map(Into::into).collect()),
        // A path is no command of ours.
        slash if slash.starts_with('/') && !slash.get(1..).unwrap_or_default().contains('/') => {
            Wanted::Unknown(slash.to_owned())
        }
        _ => Wanted::Task(text.to_owned()),
    }
}

const HELP: &str = "there are `/tools`, `/why PATH|HOST`, `/diff`, `/apply`, `/usage`, `/help` and `/quit`; a line that \
ends with a backslash goes on in the next one, and Ctrl-C stops what the agent does";
