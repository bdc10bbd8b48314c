//! What a single task and a conversation have in common: from the command line to an agent that can be asked, and to the
//! end of its cage. The order matters: first what needs a process of one thread, then the cage, and the key last.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use advice::Failure;
use agent::{
    Agent, Budgets, Elsewhere, Outcome, Prompts, Purse, Settings, Spent, Transcript, Watch,
};
use cage::prepare::{Name, Selection};
use cage::runner::Runner;
use cage::state::{Directory, Locations, StateError};
use cage::{Kind, Note, with_causes};
use model::{Cancel, Client, Message};

use crate::Tell;
use crate::arguments::CommonArguments;
use crate::caged::{self, Caged};
use crate::code::{CODE, Code};
use crate::operator::tools::ServiceTools;
use crate::provider::Provider;
use crate::selection;
use crate::server_tools::Server;
use crate::servers::Wanted;
use crate::spawn::{SPAWN, Tree};
use crate::stop::Stop;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The task is done.
    Done,
    /// It is not.
    NotDone,
    /// Somebody stopped it.
    Stopped,
}

impl Finish {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Finished { .. } => Self::Done,
            Outcome::Cancelled => Self::Stopped,
            Outcome::Exhausted { .. }
            | Outcome::Stuck
            | Outcome::Refused { .. }
            | Outcome::Failed { .. } => Self::NotDone,
        }
    }
}

/// Everything up to the first question.
pub(crate) struct Work {
    pub(crate) selection: Selection,
    pub(crate) runner: Runner,
    pub(crate) locations: Locations,
    pub(crate) cancel: Cancel,
    pub(crate) is_final: std::sync::Arc<std::sync::atomic::AtomicBool>,
    pub(crate) tools: Vec<String>,
    pub(crate) servers: Vec<Wanted>,
    /// What runs scripts, if the agent may write some.
    engine: Option<PathBuf>,
    provider: Provider,
    prompt: String,
}

/// What an agent goes on from.
pub(crate) struct Story {
    pub(crate) name: String,
    pub(crate) transcript: Transcript,
    pub(crate) messages: Vec<Message>,
    pub(crate) spent: Spent,
}

impl Work {
    /// Finds out what is wanted, and forks what starts cages.
    pub(crate) fn begin(arguments: &CommonArguments, tell: &dyn Tell) -> Result<Self, Failure> {
        let usage = |text: String| Failure::new(Kind::Usage, text);
        let provider = Provider::find(arguments)?;
        provider.check()?;
        provider.set_aside()?;
        let mut tools = match arguments.tools.is_empty() {
            true => Prompts::tools(&arguments.kind),
            false => arguments.tools.clone(),
        };
        let mut granted = tools::granted(&tools).map_err(|error| usage(error.text))?;
        let locations = Locations::of_this_process();
        let engine = arguments.code.then(advice::guests::engine).transpose()?;
        let servers = Wanted::of(&arguments.mcp, &locations)?;
        let prompt = match &arguments.system {
            Some(text) => text.clone(),
            None => Prompts { own: prompts_beside(&locations) }
                .text(&arguments.kind)
                .map_err(|error| usage(error.to_string()))?,
        };
        let needs_write = granted
            .iter()
            .any(|tool| matches!(tool.needs(), tools::Needs::Write | tools::Needs::Run));
        let selection = selection::find(&arguments.cage, needs_write, provider.key_variable())?;
        // This may begin the process anew: before it listens to signals.
        crate::model_service::set_keys_aside(&selection.policy, &locations)?;
        // Nobody asked for those that can reach nothing.
        if arguments.tools.is_empty() && selection.policy.net.asks_for_nothing() {
            granted.retain(|tool| tool.needs() != tools::Needs::Network);
            tools.retain(|name| granted.iter().any(|tool| tool.name() == name));
        }
        for warning in tools::warnings(&selection.policy, &selection.place, &granted) {
            tell.warning(&warning.to_string());
        }
        let stop = Stop::take()?;
        let (cancel, is_final) = (Cancel::new(), std::sync::Arc::clone(&stop.is_final));
        let runner = caged::runner(&selection, &locations)?;
        stop.watch(cancel.clone())?;
        Ok(Self {
            selection,
            runner,
            locations,
            cancel,
            is_final,
            tools,
            servers,
            engine,
            provider,
            prompt,
        })
    }

    /// Starts the cage.
    pub(crate) fn cage(
        &mut self,
        session: Option<&str>,
        tell: &dyn Tell,
    ) -> Result<Caged, Failure> {
        Caged::start(
            &self.runner,
            &mut self.selection,
            session,
            (&self.tools, &self.locations, tell),
        )
    }

    /// Starts the servers whose tools the agent gets.
    pub(crate) fn servers(
        &self,
        arguments: &CommonArguments,
        tell: &dyn Tell,
    ) -> Result<Vec<Server>, Failure> {
        let of = |wanted| {
            let project = arguments.cage.project.clone();
            Server::start(wanted, self, (project, arguments.approve), tell)
        };
        self.servers.iter().map(of).collect()
    }

    /// The operator's services that the agent gets, with their keys: nothing is forked any more.
    pub(crate) fn services(&self, arguments: &CommonArguments) -> Result<ServiceTools, Failure> {
        ServiceTools::of(&arguments.services, &self.locations)
    }

    /// Where the person's own prompts are.
    pub(crate) fn own_prompts(&self) -> Option<PathBuf> {
        prompts_beside(&self.locations)
    }

    /// What an agent and its children share, if it may have any.
    pub(crate) fn tree(
        &self,
        arguments: &CommonArguments,
        settings: &Settings,
        client: &Client,
    ) -> Option<Tree<'_>> {
        (arguments.children.unwrap_or_default() > 0).then(|| Tree {
            work: self,
            client: client.clone(),
            settings: settings.clone(),
            purse: Purse::new(settings.budgets),
            begun: AtomicU64::new(0),
        })
    }

    /// What runs the agent's own scripts over its other tools, if it may write some.
    pub(crate) fn code<'a>(&'a self, others: &[&dyn Elsewhere]) -> Option<Code<'a>> {
        let others = others.iter().flat_map(|more| more.tools()).map(|tool| tool.name.clone());
        let tools: Vec<String> = self.tools.iter().cloned().chain(others).collect();
        self.engine.as_deref().map(|engine| Code::new(self, engine, &tools))
    }

    /// Reads the key: no process of a cage is forked from this one, so none has it.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.provider.client()
    }

    /// How the agent works.
    pub(crate) fn settings(&self, arguments: &CommonArguments, asks: bool) -> Settings {
        let servers = self
            .servers
            .iter()
            .flat_map(|server| server.tools.iter().map(|tool| format!("{}__{tool}", server.name)));
        let spawn = (arguments.children.unwrap_or_default() > 0).then(|| SPAWN.to_owned());
        let code = self.engine.is_some().then(|| CODE.to_owned());
        let services = arguments.services.iter().cloned();
        let more = servers.chain(services).chain(spawn).chain(code);
        let tools: Vec<String> = self.tools.iter().cloned().chain(more).collect();
        let place = &self.selection.surroundings.working_directory;
        let view = selection::view(&self.selection, place, &tools);
        Settings {
            model: self.provider.model.clone(),
            system: view.added_to(&self.prompt),
            max_tokens: arguments.max_tokens,
            temperature: arguments.temperature,
            thinking: arguments.thinking,
            context: arguments.context,
            budgets: Budgets {
                steps: arguments.steps.unwrap_or(Budgets::default().steps),
                tokens: arguments.tokens,
                money: arguments.money,
                time: arguments.time,
            },
            prices: arguments.price,
            call_time: std::time::Duration::from_secs(1200),
            asks,
        }
    }

    /// Opens the transcript of a session, or one of its own.
    pub(crate) fn story(&self, session: Option<&str>) -> Result<Story, Failure> {
        let failed =
            |error: &dyn std::error::Error| Failure::new(Kind::CannotBuild, with_causes(error));
        let name = match session {
            Some(name) => name.to_owned(),
            None => Name::new().map_err(|error| failed(&error))?.text,
        };
        let path = self.transcripts()?.join(format!("{name}.jsonl"));
        let (mut transcript, told) = Transcript::open(&path).map_err(|error| failed(&error))?;
        transcript
            .add(&Transcript::begun(&self.provider.model, session))
            .map_err(|error| failed(&error))?;
        Ok(Story { name, transcript, messages: told.messages, spent: told.spent })
    }

    /// Where transcripts are: in our own state, which no cage sees.
    pub(crate) fn transcripts(&self) -> Result<PathBuf, Failure> {
        let path = self.locations.state.as_ref().ok_or(StateError::NoPlace)?;
        let directory = Directory::open(path)?.path().as_path().join("agents");
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(|error| {
            Failure::new(Kind::CannotBuild, format!("`{}`: {error}", directory.display()))
        })?;
        Ok(directory)
    }

    /// An agent that can be asked.
    pub(crate) fn agent<'a>(
        &self,
        (settings, client): (Settings, Client),
        (caged, elsewhere): (&'a Caged, Vec<&'a dyn Elsewhere>),
        story: Story,
        watch: &'a dyn Watch,
    ) -> Agent<'a> {
        let Story { transcript, messages, spent, .. } = story;
        Agent::new(
            settings,
            client,
            &caged.hands,
            (transcript, messages, spent),
            watch,
            self.cancel.clone(),
        )
        .with(elsewhere)
    }
}

pub(crate) fn prompts_beside(locations: &Locations) -> Option<PathBuf> {
    let path = locations.configuration.as_ref()?;
    Some(path.as_path().parent()?.join("agents"))
}

/// Ends the cage, and tells what it left.
pub(crate) fn end(caged: Caged, tell: &dyn Tell) {
    let ended = caged.end();
    for finding in &ended.findings.found {
        tell.warning(&finding.to_string());
    }
    for note in &ended.findings.notes {
        match note {
            Note::Worth(text) => tell.note(text),
            Note::Warning(text) => tell.warning(text),
        }
    }
    advice::workspaces::changed(&ended.workspaces).iter().for_each(|sentence| tell.note(sentence));
    if let Some(why) = &ended.unrecorded {
        tell.warning(&format!("the end of the cage is not on record: {why}"));
    }
}
