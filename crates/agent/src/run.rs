//! The loop: asks the model, runs what it calls, gives the results back, until it has nothing to call. Every turn is in
//! the transcript before the next thing happens.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::{
    Arguments, Cancel, Client, Content, Delta, Message, ModelError, Prices, Reply, Request, Role,
    Stop, Thinking, ToolCall, ToolResult, ToolSpec,
};
use serde_json::{Map, json};

use crate::budget::{Budgets, Purse, Spent};
use crate::compact;
use crate::elsewhere::{self, Elsewhere, Errand};
use crate::event::{CallId, Event, Outcome, Watch};
use crate::hands::{Hands, Ran};
use crate::inner::{self, Dispatch};
use crate::stuck::{Advice, Stuck};
use crate::transcript::{Line, Transcript, TranscriptError, shown};

/// How an agent works.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The model's name at its provider.
    pub model: String,
    /// What it is told first.
    pub system: String,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// From 0.0 to 2.0.
    pub temperature: Option<f64>,
    /// How much it thinks.
    pub thinking: Thinking,
    /// Tokens that the model takes at one time: the conversation is summed up before that.
    pub context: u64,
    /// The most it may spend.
    pub budgets: Budgets,
    /// What tokens cost.
    pub prices: Option<Prices>,
    /// The longest call of a tool.
    pub call_time: Duration,
    /// Whether the model may ask the person.
    pub asks: bool,
}

/// An agent with its conversation.
pub struct Agent<'a> {
    settings: Settings,
    client: Client,
    hands: &'a Hands,
    elsewhere: Vec<&'a dyn Elsewhere>,
    /// Shared with parents and children.
    purse: Option<&'a Purse>,
    transcript: Transcript,
    watch: &'a dyn Watch,
    cancel: Cancel,
    messages: Vec<Message>,
    spent: Spent,
    stuck: Stuck,
    /// Tokens of the conversation when the model last answered.
    context: u64,
    asked: u64,
    called: AtomicU64,
}

impl<'a> Agent<'a> {
    /// One that goes on with what a transcript told.
    pub fn new(
        settings: Settings,
        client: Client,
        hands: &'a Hands,
        (transcript, messages, spent): (Transcript, Vec<Message>, Spent),
        watch: &'a dyn Watch,
        cancel: Cancel,
    ) -> Self {
        Self {
            settings,
            client,
            hands,
            elsewhere: Vec::new(),
            purse: None,
            transcript,
            watch,
            cancel,
            messages,
            spent,
            stuck: Stuck::default(),
            context: 0,
            asked: 0,
            called: AtomicU64::new(0),
        }
    }

    /// The same with more tools.
    #[must_use]
    pub fn with(mut self, elsewhere: Vec<&'a dyn Elsewhere>) -> Self {
        self.elsewhere = elsewhere;
        self
    }

    /// The same, which spends what others spend too.
    #[must_use]
    pub fn spending(mut self, purse: &'a Purse) -> Self {
        self.purse = Some(purse);
        self
    }

    /// What was spent so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Does a task, or goes on with the one before.
    pub fn run(&mut self, task: Option<&str>) -> Outcome {
        let outcome = match self.steps(task) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed { text: with_causes(&error) },
        };
        // The outcome is told even where it cannot be written down any more.
        let _unwritten = self.transcript.add(&Line::Ended { outcome: outcome.clone() });
        self.watch.saw(&Event::Ended { outcome: outcome.clone(), spent: self.spent });
        outcome
    }

    fn steps(&mut self, task: Option<&str>) -> Result<Outcome, TranscriptError> {
        if let Some(task) = task {
            self.say(Message::user(task))?;
        }
        // What was spent on an earlier task of the conversation is not taken from this one.
        let (began, before) = (Instant::now(), self.spent);
        let until = self.settings.budgets.time.and_then(|most| began.checked_add(most));
        self.stuck = Stuck::default();
        let mut cut_short = 0;
        loop {
            if self.cancel.is_cancelled() {
                return Ok(Outcome::Cancelled);
            }
            let spent = since(&self.spent, &before, self.settings.prices.as_ref());
            if let Some(budget) = spent.exhausts(&self.settings.budgets, began.elapsed()) {
                return Ok(Outcome::Exhausted { budget });
            }
            if let Some(budget) = self.purse.and_then(Purse::exhausted) {
                return Ok(Outcome::Exhausted { budget });
            }
            if self.context >= self.settings.context * 4 / 5 {
                self.compact(until)?;
            }
            let reply = match self.ask(until) {
                Err(error)
                    if error.is_of_length() && compact::kept_from(&self.messages).is_some() =>
                {
                    self.compact(until)?;
                    continue;
                }
                // Nobody stopped it: its time is over, as the next look at the budgets says.
                Err(ModelError::Cancelled) if !self.cancel.is_cancelled() => continue,
                Err(ModelError::Cancelled) => return Ok(Outcome::Cancelled),
                Err(error) => return Ok(Outcome::Failed { text: with_causes(&error) }),
                Ok(reply) => reply,
            };
            self.spend(&reply.usage);
            self.context = reply.usage.context();
            let (text, stop) = (reply.message.text(), reply.stop.clone());
            let calls: Vec<ToolCall> = reply.message.calls().cloned().collect();
            if !reply.message.content.is_empty() {
                self.say(reply.message)?;
            }
            self.transcript.add(&Line::Spent { spent: self.spent })?;
            self.watch.saw(&Event::Step { spent: self.spent });
            if !calls.is_empty() {
                if self.call(&calls, until)? == Advice::End {
                    return Ok(Outcome::Stuck);
                }
                continue;
            }
            match stop {
                Stop::Refused => return Ok(Outcome::Refused { text }),
                Stop::MaxTokens if cut_short < MOST_CUT_SHORT => {
                    cut_short += 1;
                    self.say(Message::user(
                        "Your answer was cut off by its bound on tokens. Go on where it ended.",
                    ))?;
                }
                _ => return Ok(Outcome::Finished { text }),
            }
        }
    }

    fn spend(&mut self, usage: &model::Usage) {
        let prices = self.settings.prices.as_ref();
        self.spent.add(usage, prices);
        if let Some(purse) = self.purse {
            purse.add(usage, prices);
        }
    }

    fn say(&mut self, message: Message) -> Result<(), TranscriptError> {
        self.transcript.add(&Line::Said { message: message.clone() })?;
        // Two turns of the person become one: some providers take no others.
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.content.extend(message.content)
            }
            _ => self.messages.push(message),
        }
        Ok(())
    }

    fn request(&self) -> Request {
        let granted = tools::granted(self.hands.tools()).unwrap_or_default();
        let spec = |tool: &&dyn tools::Tool| ToolSpec {
            name: tool.name().to_owned(),
            description: tool.doc().to_owned(),
            schema: tool.schema(),
        };
        let mut tools: Vec<ToolSpec> = granted.iter().map(spec).collect();
        tools.extend(self.elsewhere.iter().flat_map(|more| more.tools()).cloned());
        if self.settings.asks {
            tools.push(ask_spec());
        }
        Request {
            model: self.settings.model.clone(),
            system: self.settings.system.clone(),
            messages: self.messages.clone(),
            tools,
            max_tokens: self.settings.max_tokens,
            temperature: self.settings.temperature,
            thinking: self.settings.thinking,
        }
    }

    fn ask(&mut self, until: Option<Instant>) -> Result<Reply, ModelError> {
        let (request, cancel) = (self.request(), self.cancel.at(until));
        self.ask_recorded(&request, &cancel, true)
    }

    fn ask_recorded(
        &mut self,
        request: &Request,
        cancel: &Cancel,
        is_shown: bool,
    ) -> Result<Reply, ModelError> {
        self.asked += 1;
        let call = self.asked;
        let encoded = self.client.endpoint().protocol().encode(request).to_string();
        // A call that is not on record is not made.
        self.watch.asks(call, &request.model, encoded.as_bytes()).map_err(ModelError::Broken)?;
        let watch = self.watch;
        let reply = self.client.ask(request, cancel, &mut |delta| {
            if let Some(event) = event_of(delta, is_shown) {
                watch.saw(&event);
            }
        });
        match &reply {
            Ok(reply) => {
                let answer = serde_json::to_vec(&reply.message).unwrap_or_default();
                let cost = self.settings.prices.map(|prices| prices.of(&reply.usage));
                watch.answered(call, &answer, &reply.usage, cost, None);
            }
            Err(error) => {
                watch.answered(call, &[], &model::Usage::default(), None, Some(&error.to_string()))
            }
        }
        reply
    }

    /// Runs the calls of one answer, for no longer than the budget of time, and says what they came to.
    fn call(
        &mut self,
        calls: &[ToolCall],
        until: Option<Instant>,
    ) -> Result<Advice, TranscriptError> {
        let first = self.called.fetch_add(calls.len() as u64, Ordering::Relaxed) + 1;
        let mut results: HashMap<usize, Ran> = HashMap::new();
        let mut runs: Vec<(usize, &str, &Map<String, serde_json::Value>)> = Vec::new();
        let mut errands: Vec<Errand<'_>> = Vec::new();
        let dispatch = self.dispatch(until);
        for (place, call) in calls.iter().enumerate() {
            let number = first + place as u64;
            let text = serde_json::to_vec(&call.arguments).unwrap_or_default();
            let (id, arguments) = (CallId::outermost(number), shown(&call.arguments));
            if let Err(refused) = dispatch.begins(id, &call.name, arguments, &text) {
                results.insert(place, refused);
                continue;
            }
            match (&call.arguments, call.name.as_str()) {
                (Arguments::Unreadable(why), _) => {
                    results.insert(place, Ran::failed(format!("error: {why}")));
                }
                (Arguments::Object(arguments), ASK) if self.settings.asks => {
                    let question = arguments
                        .get("question")
                        .and_then(|question| question.as_str())
                        .unwrap_or_default();
                    results.insert(place, self.ask_person(question));
                }
                (Arguments::Object(arguments), tool) => match dispatch.elsewhere(tool) {
                    Some(by) => errands.push(Errand { place, number, by, tool, arguments }),
                    None if dispatch.is_of_hands(tool) => runs.push((place, tool, arguments)),
                    None => {
                        results.insert(place, dispatch.unknown(tool));
                    }
                },
            }
        }
        let watch = self.watch;
        let wanted: Vec<_> = runs.iter().map(|(_, name, arguments)| (*name, *arguments)).collect();
        let places: Vec<usize> = runs.iter().map(|(place, ..)| *place).collect();
        let (limit, hands, cancel) = (dispatch.limit(), self.hands, &self.cancel);
        let shows = |place: usize, text: &str| {
            let (call, text) = (first + place as u64, text.to_owned());
            watch.saw(&Event::Progress { call, text });
        };
        let (ran, came) = std::thread::scope(|scope| {
            let others = scope.spawn(|| elsewhere::run(&errands, &dispatch, cancel, &shows));
            let reader = tools::Reader::Conversation;
            let ran = hands.run_all(&wanted, reader, limit, cancel, &mut |run, text| {
                shows(places.get(run).copied().unwrap_or_default(), text);
            });
            (ran, others.join().unwrap_or_default())
        });
        results.extend(places.iter().copied().zip(ran).chain(came));
        let lines = dispatch.lines.into_inner().unwrap_or_else(PoisonError::into_inner);
        for line in &lines {
            self.transcript.add(line)?;
        }
        self.results(calls, first, results)
    }

    fn dispatch(&self, until: Option<Instant>) -> Dispatch<'_> {
        Dispatch {
            hands: self.hands,
            elsewhere: &self.elsewhere,
            watch: self.watch,
            longest: self.settings.call_time,
            until,
            called: &self.called,
            lines: Mutex::default(),
        }
    }

    fn results(
        &mut self,
        calls: &[ToolCall],
        first: u64,
        mut results: HashMap<usize, Ran>,
    ) -> Result<Advice, TranscriptError> {
        let mut content = Vec::new();
        let (mut asked, mut came) = (String::new(), String::new());
        for (place, call) in calls.iter().enumerate() {
            let ran = results
                .remove(&place)
                .unwrap_or_else(|| Ran::failed("error: the call was not made"));
            let number = first + place as u64;
            inner::ended(self.watch, number, &ran);
            asked.push_str(&format!("{} {:?}\n", call.name, call.arguments));
            came.push_str(&ran.text);
            content.push(Content::Result(ToolResult {
                id: call.id.clone(),
                text: ran.text,
                is_error: ran.is_error,
            }));
        }
        let advice = self.stuck.step(&asked, &came);
        if advice == Advice::Tell {
            content.push(Content::Text { text: STUCK.to_owned() });
            self.watch.saw(&Event::Warning { text: "the model repeats itself".to_owned() });
        }
        self.say(Message { role: Role::User, content })?;
        Ok(advice)
    }

    fn ask_person(&self, question: &str) -> Ran {
        match self.watch.ask(question) {
            Some(answer) => Ran { text: answer, is_error: false },
            None => Ran::failed(
                "error: nobody answered, which counts as no; decide without it, or stop and say what you need",
            ),
        }
    }

    /// Sums up what is far back. Without the model's help where it cannot be asked.
    fn compact(&mut self, until: Option<Instant>) -> Result<(), TranscriptError> {
        self.context = 0;
        let Some(at) = compact::kept_from(&self.messages) else { return Ok(()) };
        let before = self.messages.get(..at).unwrap_or_default();
        let most = usize::try_from(self.settings.context).unwrap_or(usize::MAX).saturating_mul(2);
        let request =
            compact::request(&self.settings.model, before, self.settings.max_tokens, most);
        let summary = match self.ask_recorded(&request, &self.cancel.at(until), false) {
            Ok(reply) => {
                self.spend(&reply.usage);
                reply.message.text()
            }
            Err(_) => String::new(),
        };
        let summary = match summary.trim() {
            "" => compact::without_model(self.messages.get(..at).unwrap_or_default()),
            text => text.to_owned(),
        };
        let (messages, count) =
            (compact::with_summary(&self.messages, at, &summary), self.messages.len());
        self.transcript.add(&Line::Compacted { messages: messages.clone() })?;
        self.watch.saw(&Event::Compacted { before: count, after: messages.len() });
        self.messages = messages;
        self.hands.forget();
        Ok(())
    }
}

fn event_of(delta: Delta, is_shown: bool) -> Option<Event> {
    match delta {
        Delta::Text(text) => is_shown.then_some(Event::Text { text }),
        Delta::Thinking(text) => is_shown.then_some(Event::Thinking { text }),
        // It is told of with its arguments, when they are complete.
        Delta::Call { .. } => None,
        Delta::Again { why } => Some(Event::Again { why }),
        Delta::Waiting { why, seconds } => Some(Event::Waiting { why, seconds }),
    }
}

/// What was spent since then.
fn since(spent: &Spent, before: &Spent, prices: Option<&Prices>) -> Spent {
    let (now, then) = (&spent.usage, &before.usage);
    let usage = model::Usage {
        input: now.input.saturating_sub(then.input),
        cached: now.cached.saturating_sub(then.cached),
        cache_written: now.cache_written.saturating_sub(then.cache_written),
        output: now.output.saturating_sub(then.output),
    };
    Spent {
        steps: spent.steps.saturating_sub(before.steps),
        usage,
        cost: prices.map(|prices| prices.of(&usage)),
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn ask_spec() -> ToolSpec {
    ToolSpec {
        name: ASK.to_owned(),
        description:
            "Asks the person a question, and waits for the answer. No answer counts as no."
                .to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "question": { "type": "string", "maxLength": 2000, "description": "The question." } },
            "required": ["question"],
            "additionalProperties": false,
        }),
    }
}

const ASK: &str = "ask";
const MOST_CUT_SHORT: u32 = 3;
const STUCK: &str = "[You have made the same calls with the same results several times. Try something else, or say what \
keeps you from going on.]";
