//! What a person sees of an agent at work: its words on standard output, everything else in short lines on standard
//! error. Or every event as a line of JSON. What the model and the tools say passes the terminal's filter.

use std::io::{IsTerminal as _, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::{Event, Outcome, Watch};
use model::{Cost, Usage};
use policy::shown::shown;
use terminal::{Answers, Filter, Source};

use crate::ask::Questions;
use crate::record::Record;

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Person,
    Json,
}

/// Shows and records what an agent does.
pub(crate) struct Show {
    form: Form,
    record: Record,
    questions: Questions,
    written: Mutex<Written>,
}

/// What is on the terminal.
struct Written {
    /// Where standard output is a terminal.
    filter: Option<Filter>,
    /// Whether the last line of text has not ended.
    is_open: bool,
}

impl Show {
    pub(crate) fn new(form: Form, record: Record) -> Self {
        let filter = std::io::stdout().is_terminal().then(|| Filter::new(Answers::ToOthers));
        Self {
            form,
            record,
            questions: Questions::default(),
            written: Mutex::new(Written { filter, is_open: false }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn person(&self, event: &Event) {
        let mut written = self.lock();
        match event {
            Event::Text { text } => written.text(text),
            Event::Thinking { .. } | Event::Begun { .. } | Event::Step { .. } => {}
            Event::Again { why } => written.line(&format!("asking again: {}", line(why))),
            Event::Waiting { why, seconds } => {
                written.line(&format!("waiting for {seconds} s: {}", line(why)))
            }
            Event::Call { tool, arguments, .. } => {
                let arguments: Vec<String> = arguments
                    .values()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    .collect();
                written.line(&format!("> {} {}", line(tool), line(&arguments.join(" "))));
            }
            Event::Progress { text, .. } => {
                text.lines().take(20).for_each(|text| written.line(&format!("  | {}", line(text))))
            }
            Event::Result { text, is_error: true, .. } => {
                written.line(&format!("  {}", line(text)))
            }
            Event::Result { .. } => {}
            Event::Compacted { before, after } => {
                written.line(&format!(
                    "the conversation was summed up: {before} messages are {after} now"
                ));
            }
            Event::Warning { text } => written.line(&line(text)),
            Event::Ended { outcome, .. } => written.ended(outcome),
        }
    }
}

impl Written {
    fn text(&mut self, text: &str) {
        let mut passed = Vec::new();
        match &mut self.filter {
            Some(filter) => {
                // Words need no control characters but these two; what is left of a sequence is plain text then.
                let plain: String = text
                    .chars()
                    .filter(|letter| !letter.is_control() || "\n\t".contains(*letter))
                    .collect();
                filter.pass(Source::Output, plain.as_bytes(), &mut passed);
            }
            None => passed.extend_from_slice(text.as_bytes()),
        }
        let mut stdout = std::io::stdout();
        // Whoever does not read any more misses nothing that is not in the transcript.
        let _unread = stdout.write_all(&passed).and_then(|()| stdout.flush());
        if let Some(last) = text.chars().last() {
            self.is_open = last != '\n';
        }
    }

    fn line(&mut self, text: &str) {
        self.close();
        let _unseen = writeln!(std::io::stderr(), "{text}");
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _unread = writeln!(std::io::stdout());
        }
    }

    fn ended(&mut self, outcome: &Outcome) {
        self.close();
        let text = match outcome {
            Outcome::Finished { .. } => return,
            Outcome::Exhausted { budget } => {
                format!("stopped: the budget of {} is used up", budget.word())
            }
            Outcome::Cancelled => "stopped".to_owned(),
            Outcome::Stuck => "stopped: the model repeats itself".to_owned(),
            Outcome::Refused { text } => format!("the model refuses: {}", line(text)),
            Outcome::Failed { text } => format!("failed: {}", line(text)),
        };
        self.line(&text);
    }
}

impl Watch for Show {
    fn saw(&self, event: &Event) {
        match self.form {
            Form::Person => self.person(event),
            Form::Json => {
                let text = serde_json::to_string(event).unwrap_or_default();
                let _written = self.lock();
                let _unread = writeln!(std::io::stdout(), "{text}");
            }
        }
    }

    fn asks(&self, call: u64, model: &str, request: &[u8]) -> std::io::Result<()> {
        self.record.asks(call, model, request)
    }

    fn answered(
        &self,
        call: u64,
        answer: &[u8],
        usage: &Usage,
        cost: Option<Cost>,
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

    fn ask(&self, question: &str) -> Option<String> {
        self.lock().close();
        self.questions.ask(question)
    }
}

/// One line of somebody else's text, short and safe.
fn line(text: &str) -> String {
    let one: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = one.chars().take(MOST_LETTERS).collect();
    shown(if cut.len() < one.len() { format!("{cut}…") } else { cut })
}

const MOST_LETTERS: usize = 160;
