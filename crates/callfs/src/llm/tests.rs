//! Sessions with a model: who finds them, what they are asked, what they keep.

use std::sync::Arc;

use model::{Cancel, Message, Reply, Request, Stop, Thinking, Usage};
use rustix::io::Errno;

use super::{Models, Speaks};
use crate::tree::{Opened, ROOT, Stream, Tree as _};

/// Answers with what it was asked.
struct Mirror;

impl Speaks for Mirror {
    fn models(&self, _: &Cancel) -> Result<Vec<String>, String> {
        Ok(vec!["one".to_owned(), "two".to_owned()])
    }

    fn ask(
        &self,
        request: &Request,
        _: &Cancel,
        shown: &mut dyn FnMut(&str),
    ) -> Result<Reply, String> {
        let said: Vec<String> = request.messages.iter().map(Message::text).collect();
        let said = format!("{} {} {}", request.model, request.system, said.join("|"));
        if said.contains("fail") {
            return Err("refused".to_owned());
        }
        said.split_inclusive(' ').for_each(shown);
        let usage = Usage { input: 3, output: 2, ..Usage::default() };
        let message = Message { role: model::Role::Assistant, ..Message::user(said) };
        Ok(Reply { message, stop: Stop::Finished, usage, model: request.model.clone() })
    }
}

fn stream(models: &Models, path: &str) -> Option<Box<dyn Stream>> {
    let number = path
        .split('/')
        .try_fold(ROOT, |directory, name| models.child(directory, name.as_bytes()))?;
    match models.open(number).ok()? {
        Opened::Stream(stream) => Some(stream),
        Opened::Text(_) => None,
    }
}

fn text(stream: &dyn Stream) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 64]);
    loop {
        match stream.read(&mut part, &|| false).unwrap() {
            0 => return String::from_utf8(all).unwrap(),
            count => all.extend_from_slice(&part[..count]),
        }
    }
}

fn ask(models: &Models, path: &str, question: &str) -> String {
    let file = stream(models, path).unwrap();
    file.write(question.as_bytes()).unwrap();
    text(&*file)
}

fn begin(models: &Models) -> String {
    text(&*stream(models, "new").unwrap()).trim().to_owned()
}

/// V31: a session is found by its name alone, which is random and in no listing.
#[test]
fn a_session_is_found_by_whoever_knows_its_name() {
    let models = Models::new(Arc::new(Mirror));
    let (one, other) = (begin(&models), begin(&models));
    assert!(one.len() == 32 && one != other, "{one} {other}");
    let listed: Vec<String> = models.names(ROOT).into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed, ["new", "models"]);
    for guess in ["0", "1", &one[..31], &"0".repeat(32)] {
        assert!(models.child(ROOT, guess.as_bytes()).is_none(), "{guess}");
    }
    assert_eq!(text(&*stream(&models, "models").unwrap()), "one\ntwo\n");
    stream(&models, &format!("{one}/ctl")).unwrap().write(b"close\n").unwrap();
    assert!(stream(&models, &format!("{one}/ask")).is_none());
    assert!(stream(&models, &format!("{other}/ask")).is_some());
}

/// V31: what is written into its files is how the model is asked, the conversation goes on, and tokens are counted.
#[test]
fn settings_are_asked_by_and_the_conversation_goes_on() {
    let models = Models::new(Arc::new(Mirror));
    let name = begin(&models);
    let file = |word: &str| format!("{name}/{word}");
    assert!(ask(&models, &file("ask"), "hello").starts_with("error: no model is chosen"));
    let set = |word: &str, value: &str| {
        stream(&models, &file(word)).unwrap().write(value.as_bytes()).map(drop)
    };
    assert_eq!(set("model", "one\n"), Ok(()));
    assert_eq!(set("system", "be short"), Ok(()));
    assert_eq!(ask(&models, &file("ask"), "hello"), "one be short hello\n");
    assert_eq!(
        ask(&models, &file("stream"), "again"),
        "one be short hello|one be short hello|again\n"
    );
    assert_eq!(ask(&models, &file("ask"), "fail"), "error: refused\n");
    let usage = text(&*stream(&models, &file("usage")).unwrap());
    assert!(usage.contains("input 6\n") && usage.contains("answers 2\n"), "{usage}");
    assert_eq!(set("ctl", "reset"), Ok(()));
    assert_eq!(ask(&models, &file("ask"), "new"), "one be short new\n");
    for (word, value) in
        [("temperature", "2.5"), ("thinking", "lots"), ("ctl", "explode"), ("model", "two words")]
    {
        assert_eq!(set(word, value), Err(Errno::INVAL), "{word} {value}");
    }
    assert_eq!((set("temperature", "0.5"), set("thinking", "1000")), (Ok(()), Ok(())));
    assert_eq!(text(&*stream(&models, &file("temperature")).unwrap()), "0.5\n");
    assert_eq!(
        models.session(super::FIRST + super::STEP).unwrap().0.talk().thinking,
        Thinking::Budget(1000)
    );
}

/// V31: sessions are bounded.
#[test]
fn sessions_without_end_are_refused() {
    let models = Models::new(Arc::new(Mirror));
    let names: Vec<String> = (0..70).map(|_| begin(&models)).collect();
    let refused = names.iter().filter(|name| name.starts_with("error:")).count();
    assert_eq!(refused, 6);
}
