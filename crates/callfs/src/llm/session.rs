//! One conversation with a model: how it is asked, what was said, and what it took. Only whoever knows its name gets here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Content, Message, Request, Thinking, Usage};

use super::{Speaks, in_a_thread};
use crate::answer::{Answer, Answers};

/// A conversation.
pub(super) struct Session {
    name: String,
    talk: Mutex<Talk>,
}

/// How it is asked, and what was said.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) temperature: Option<f64>,
    pub(super) thinking: Thinking,
    pub(super) usage: Usage,
    pub(super) answers: u64,
    pub(super) messages: Vec<Message>,
    /// One question at a time.
    is_asking: bool,
}

impl Session {
    pub(super) fn new(name: String) -> Self {
        Self { name, talk: Mutex::default() }
    }

    /// Takes as long whatever is asked for.
    pub(super) fn is_named(&self, name: &[u8]) -> bool {
        let own = self.name.as_bytes();
        let differs = own.iter().zip(name).fold(0, |all, (one, other)| all | (one ^ other));
        differs == 0 && own.len() == name.len()
    }

    pub(super) fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `ask` or `stream` of a session.
pub(super) struct Question {
    pub(super) session: Arc<Session>,
    pub(super) by: Arc<dyn Speaks>,
    /// Words are shown while they come.
    pub(super) streams: bool,
}

impl Answers for Question {
    fn answer(&self, question: Vec<u8>, answer: &Arc<Answer>) {
        let (session, by, streams) =
            (Arc::clone(&self.session), Arc::clone(&self.by), self.streams);
        let coming = Arc::clone(answer);
        let ask = move || {
            if let Err(why) = ask(&session, &*by, question, streams, &coming) {
                coming.add(format!("error: {why}\n").as_bytes());
            }
            coming.end();
        };
        in_a_thread(answer, ask);
    }
}

fn ask(
    session: &Session,
    by: &dyn Speaks,
    question: Vec<u8>,
    streams: bool,
    answer: &Answer,
) -> Result<(), String> {
    let question = String::from_utf8(question).map_err(|_| "the question is no text".to_owned())?;
    let request = begin(session, question)?;
    let mut has_shown = false;
    let asked = by.ask(&request, answer.cancel(), &mut |text| {
        if streams {
            has_shown = true;
            answer.add(text.as_bytes());
        }
    });
    let mut talk = session.talk();
    talk.is_asking = false;
    let reply = asked?;
    talk.usage.add(&reply.usage);
    talk.answers += 1;
    talk.messages = request.messages;
    let text = reply.message.text();
    // What was thought is not said again.
    let words = vec![Content::Text { text: text.clone() }];
    talk.messages.push(Message { role: reply.message.role, content: words });
    drop(talk);
    if !has_shown {
        answer.add(text.as_bytes());
    }
    answer.add(b"\n");
    Ok(())
}

/// The whole of what is asked, and nobody else asks until it is answered.
fn begin(session: &Session, question: String) -> Result<Request, String> {
    let mut talk = session.talk();
    if talk.model.is_empty() {
        return Err(
            "no model is chosen: write its name into `model`; `models` names them".to_owned()
        );
    }
    if talk.is_asking {
        return Err("this session is being answered: ask in another one, or wait".to_owned());
    }
    let said: usize = talk.messages.iter().map(|message| message.text().len()).sum();
    if said + question.len() > MOST_SAID {
        return Err("the conversation is too long: write `reset` into `ctl`".to_owned());
    }
    talk.is_asking = true;
    let mut messages = talk.messages.clone();
    messages.push(Message::user(question));
    Ok(Request {
        model: talk.model.clone(),
        system: talk.system.clone(),
        messages,
        tools: Vec::new(),
        max_tokens: MOST_TOKENS,
        temperature: talk.temperature,
        thinking: talk.thinking,
    })
}

const MOST_SAID: usize = 8 << 20;
const MOST_TOKENS: u32 = 8192;
