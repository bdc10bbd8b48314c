//! The tree of a service: `ask` is asked by writing into it and reading from it, `doc` says what it is for. Knows nothing of what is
//! asked; whoever makes the tree does.

use std::fmt;
use std::sync::Arc;

use model::Cancel;
use rustix::io::Errno;

use crate::answer::{Answer, Answers, CallFile};
use crate::tree::{Node, Opened, ROOT, Tree};

/// Whoever asks a service.
pub trait AsksService: Send + Sync {
    /// What it is for.
    ///
    /// # Errors
    /// In words for whoever reads.
    fn doc(&self, cancel: &Cancel) -> Result<Vec<u8>, String>;

    /// Asks it.
    ///
    /// # Errors
    /// In words for whoever reads.
    fn ask(&self, question: Vec<u8>, cancel: &Cancel) -> Result<Vec<u8>, String>;
}

/// The tree of one service.
#[derive(Clone)]
pub struct ServiceFiles(Arc<dyn AsksService>);

impl ServiceFiles {
    /// Of a service.
    pub fn new(by: Arc<dyn AsksService>) -> Self {
        Self(by)
    }
}

impl fmt::Debug for ServiceFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServiceFiles")
    }
}

impl Tree for ServiceFiles {
    fn node(&self, number: u64) -> Option<Node> {
        match number {
            ROOT => Some(Node::Directory),
            ASK | DOC => Some(Node::Stream),
            _ => None,
        }
    }

    fn child(&self, directory: u64, name: &[u8]) -> Option<u64> {
        match (directory, name) {
            (ROOT, b"ask") => Some(ASK),
            (ROOT, b"doc") => Some(DOC),
            _ => None,
        }
    }

    fn parent(&self, _: u64) -> u64 {
        ROOT
    }

    fn names(&self, directory: u64) -> Vec<(String, u64)> {
        match directory {
            ROOT => vec![("ask".to_owned(), ASK), ("doc".to_owned(), DOC)],
            _ => Vec::new(),
        }
    }

    fn open(&self, number: u64) -> Result<Opened, Errno> {
        let by = Arc::clone(&self.0);
        match number {
            ASK => Ok(stream(CallFile::new(Arc::new(Call { by, asks: true }), UNASKED))),
            DOC => Ok(stream(CallFile::readable(Arc::new(Call { by, asks: false })))),
            _ => Err(Errno::ISDIR),
        }
    }
}

fn stream(file: CallFile) -> Opened {
    Opened::Stream(Box::new(file))
}

struct Call {
    by: Arc<dyn AsksService>,
    /// Whether it is the question that is passed on, or what the service is for.
    asks: bool,
}

impl Answers for Call {
    fn answer(&self, question: Vec<u8>, answer: &Arc<Answer>) {
        let (by, asks, coming) = (Arc::clone(&self.by), self.asks, Arc::clone(answer));
        let call = move || {
            let answered = match asks {
                true => by.ask(question, coming.cancel()),
                false => by.doc(coming.cancel()),
            };
            match answered {
                Ok(bytes) => coming.add(&bytes),
                Err(why) => coming.add(format!("error: {why}\n").as_bytes()),
            }
            coming.end();
        };
        if std::thread::Builder::new().name("service".to_owned()).spawn(call).is_err() {
            answer.add(b"error: too many questions at one time\n");
            answer.end();
        }
    }
}

const ASK: u64 = 2;
const DOC: u64 = 3;
const UNASKED: &str = "error: nothing was asked: write the question into this open file first\n";

#[cfg(test)]
mod tests;
