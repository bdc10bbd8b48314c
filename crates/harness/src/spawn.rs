//! The tool by which an agent starts children. A child is an agent of its own: another conversation with the same model,
//! with tools that run in a worker inside of its parent's cage, which has at most what the parent has. Who asks for more
//! gets an error that names it. Children spend what their parent may spend.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agent::{
    Agent, Budgets, During, Elsewhere, Exhausted, Hands, Outcome, Prompts, Purse, Ran, Settings,
    Spent, Transcript,
};
use cage::prepare::Name;
use cage::with_causes;
use model::{Cancel, Client, ToolSpec};
use policy::Policy;
use policy::shown::shown;
use serde_json::{Map, Value};
use tools::protocol::Start;

use crate::record::Record;
use crate::spawn_request::{Request, Starts, grants, narrowed, narrowing, spec};
use crate::work::Work;

/// What all agents of one tree share.
pub(crate) struct Tree<'a> {
    pub(crate) work: &'a Work,
    pub(crate) client: Client,
    /// Those of the agent that a person started.
    pub(crate) settings: Settings,
    pub(crate) purse: Purse,
    pub(crate) begun: AtomicU64,
}

/// Starts children of one agent.
pub(crate) struct Spawner<'a> {
    tree: &'a Tree<'a>,
    hands: &'a Hands,
    /// What the agent has itself.
    policy: Policy,
    invocation: String,
    /// Where directories of its children are.
    scratch: PathBuf,
    /// Of its children.
    depth: u32,
    most_depth: u32,
    tools: [ToolSpec; 1],
}

impl<'a> Spawner<'a> {
    /// Of the agent that a person started.
    pub(crate) fn new(
        tree: &'a Tree<'a>,
        hands: &'a Hands,
        invocation: &str,
        most_depth: u32,
    ) -> Self {
        let policy = tree.work.selection.policy.clone();
        let (invocation, scratch) = (invocation.to_owned(), PathBuf::from("/tmp"));
        Self {
            tree,
            hands,
            policy,
            invocation,
            scratch,
            depth: 1,
            most_depth,
            tools: [spec(hands.tools())],
        }
    }

    fn run(&self, arguments: &Map<String, Value>, during: &During<'_>) -> Result<String, String> {
        let During { limit, cancel, progress, .. } = *during;
        let request = Request::read(arguments)?;
        let missing = |tool: &&String| !self.hands.tools().contains(tool) && *tool != SPAWN;
        if let Some(tool) = request.tools.iter().find(missing) {
            let has = self.hands.tools().join(", ");
            return Err(format!("`{}` is more than you have yourself: {has}", shown(tool)));
        }
        let spawns = request.tools.iter().any(|tool| tool == SPAWN);
        if spawns && self.depth >= self.most_depth {
            let most = self.most_depth;
            return Err(format!(
                "`spawn` is more than this child can have: {most} levels are the most"
            ));
        }
        if self.tree.begun.fetch_add(1, Ordering::Relaxed) >= MOST_CHILDREN {
            return Err(format!("there have been {MOST_CHILDREN} children, which is the most"));
        }
        let surroundings = &self.tree.work.selection.surroundings;
        let place = &surroundings.working_directory;
        let policy = narrowed(&self.policy, &request, place, surroundings.home.as_ref())?;
        let prompt = self.prompt(&request)?;
        let name = Name::new().map_err(|errno| std::io::Error::from(errno).to_string())?.text;
        let record = Record::new(self.tree.work.runner.log(), &name);
        let task = request.task.as_bytes();
        let given = grants(&policy);
        record.begins_child(&self.invocation, self.depth, &request.tools, &given, task).map_err(
            |error| format!("the child was not started, as it cannot be recorded: {error}"),
        )?;
        let tools: Vec<String> =
            request.tools.iter().filter(|tool| *tool != SPAWN).cloned().collect();
        let scratch = self.scratch.join(format!("child-{name}"));
        let hands = self.hands_of(&policy, &tools, &scratch, spawns)?;
        let next = spawns.then(|| Spawner {
            tree: self.tree,
            hands: &hands,
            policy: policy.clone(),
            invocation: name.clone(),
            scratch: scratch.clone(),
            depth: self.depth + 1,
            most_depth: self.most_depth,
            tools: [spec(&tools)],
        });
        let settings = self.settings(&request, &policy, &prompt, limit)?;
        let path = self.tree.work.transcripts().map_err(|failure| failure.text())?;
        let (transcript, _) = Transcript::open(&path.join(format!("{name}.jsonl")))
            .map_err(|error| with_causes(&error))?;
        let watch = Watched { record: record.clone(), progress };
        let more = next.iter().map(|spawner| spawner as &dyn Elsewhere).collect();
        let own_cancel = Cancel::new();
        let began = (transcript, Vec::new(), Spent::default());
        let mut child = Agent::new(
            settings,
            self.tree.client.clone(),
            &hands,
            began,
            &watch,
            own_cancel.clone(),
        )
        .with(more)
        .spending(&self.tree.purse);
        let time = request.timeout.unwrap_or(limit).min(limit);
        let outcome =
            until(time, cancel, || own_cancel.cancel(), || child.run(Some(&request.task)));
        record.ended_child(word(&outcome), &child.spent());
        match outcome {
            Outcome::Finished { text } => Ok(text),
            Outcome::Cancelled if cancel.is_cancelled() => Err("the person stopped it".to_owned()),
            Outcome::Cancelled | Outcome::Exhausted { budget: Exhausted::Time } => {
                Err(format!("the child's time of {} s is over", time.as_secs()))
            }
            Outcome::Exhausted { budget } => {
                Err(format!("the budget of {} is used up", budget.word()))
            }
            Outcome::Stuck => Err("the child repeats itself and was stopped".to_owned()),
            Outcome::Refused { text } | Outcome::Failed { text } => Err(text),
        }
    }

    /// A worker inside of this agent's, with less.
    fn hands_of(
        &self,
        policy: &Policy,
        tools: &[String],
        scratch: &Path,
        spawns: bool,
    ) -> Result<Hands, String> {
        let own = advice::doctor::own_executable().map_err(|failure| failure.text())?;
        let may = Starts {
            own: own.as_path(),
            itself: spawns,
            programs: tools.iter().any(|tool| tool == "exec"),
        };
        let narrowing = narrowing(policy, scratch, may);
        let narrowing = serde_json::to_value(narrowing).map_err(|error| error.to_string())?;
        let gone = |error: std::io::Error| format!("the cage cannot be reached: {error}");
        let (from, to) = self.hands.open_child(narrowing, scratch.to_owned()).map_err(gone)?;
        let place = &self.tree.work.selection.surroundings.working_directory;
        let start = Start {
            tools: tools.to_vec(),
            working_directory: place.as_path().to_owned(),
            spill: vec![scratch.to_owned()],
            most_result: crate::caged::MOST_RESULT,
        };
        Hands::start(from, to, start, READY).map_err(|error| {
            format!(
                "the child's worker did not begin: {}; children need landlock of version 3",
                with_causes(&error)
            )
        })
    }

    fn prompt(&self, request: &Request) -> Result<String, String> {
        if let Some(system) = &request.system {
            return Ok(system.clone());
        }
        let prompts = Prompts { own: self.tree.work.own_prompts() };
        prompts.text(request.kind.as_deref().unwrap_or("task")).map_err(|error| error.to_string())
    }

    fn settings(
        &self,
        request: &Request,
        policy: &Policy,
        prompt: &str,
        limit: Duration,
    ) -> Result<Settings, String> {
        let of_root = &self.tree.settings;
        if request.model.is_some() && of_root.budgets.money.is_some() {
            return Err("money is counted, and the prices of another model are not known: leave `model` out".to_owned());
        }
        let selection = &self.tree.work.selection;
        let place = &selection.surroundings.working_directory;
        let view = crate::selection::view_of(policy, place, &request.tools);
        Ok(Settings {
            model: request.model.clone().unwrap_or_else(|| of_root.model.clone()),
            system: view.added_to(prompt),
            temperature: request.temperature.or(of_root.temperature),
            thinking: request.thinking.unwrap_or(of_root.thinking),
            budgets: Budgets {
                steps: request.steps.unwrap_or(MOST_STEPS).min(of_root.budgets.steps),
                time: Some(request.timeout.unwrap_or(limit).min(limit)),
                ..of_root.budgets
            },
            asks: false,
            ..of_root.clone()
        })
    }
}

impl Elsewhere for Spawner<'_> {
    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn call(&self, _tool: &str, arguments: &Map<String, Value>, during: &During<'_>) -> Ran {
        match self.run(arguments, during) {
            Ok(text) => Ran { text, is_error: false },
            Err(why) => Ran::failed(format!("error: {why}")),
        }
    }
}

/// Does something, and ends it when its time is over or somebody stops everything.
pub(crate) fn until<T>(
    time: Duration,
    all: &Cancel,
    end: impl FnOnce() + Send,
    act: impl FnOnce() -> T,
) -> T {
    let (is_done, over) = (AtomicBool::new(false), Instant::now() + time);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if all.is_cancelled() || Instant::now() >= over {
                    return end();
                }
                std::thread::sleep(SLICE);
            }
        });
        let done = act();
        is_done.store(true, Ordering::Relaxed);
        done
    })
}

/// Records what a child does, and shows its calls as the progress of its parent's.
struct Watched<'a> {
    record: Record,
    progress: &'a (dyn Fn(&str) + Sync),
}

impl agent::Watch for Watched<'_> {
    fn saw(&self, event: &agent::Event) {
        if let agent::Event::Call { tool, .. } = event {
            (self.progress)(&format!("child: {tool}"));
        }
    }

    fn asks(&self, call: u64, model: &str, request: &[u8]) -> std::io::Result<()> {
        self.record.asks(call, model, request)
    }

    fn answered(
        &self,
        call: u64,
        answer: &[u8],
        usage: &model::Usage,
        cost: Option<model::Cost>,
        failure: Option<&str>,
    ) {
        self.record.answered(call, answer, usage, cost, failure);
    }

    fn calls(&self, call: agent::CallId, tool: &str, arguments: &[u8]) -> std::io::Result<()> {
        self.record.calls(call, tool, arguments)
    }

    fn called(&self, call: u64, result: &[u8], is_error: bool) {
        self.record.called(call, result, is_error);
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Finished { .. } => "finished",
        Outcome::Exhausted { .. } => "exhausted",
        Outcome::Cancelled => "cancelled",
        Outcome::Stuck => "stuck",
        Outcome::Refused { .. } => "refused",
        Outcome::Failed { .. } => "failed",
    }
}

pub(crate) const SPAWN: &str = "spawn";
/// V33
const MOST_STEPS: u32 = 50;
const MOST_CHILDREN: u64 = 64;
const READY: Duration = Duration::from_secs(30);
const SLICE: Duration = Duration::from_millis(50);
