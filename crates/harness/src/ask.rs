//! A question of the model to the person, at the terminal. What is shown is the model's word, made safe; nobody there, or
//! no answer, is a refusal. Questions are counted: a flood of them is refused.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU32, Ordering};

use policy::shown::shown;

/// Asks.
#[derive(Debug, Default)]
pub(crate) struct Questions(AtomicU32);

impl Questions {
    /// The answer, if there is one.
    pub(crate) fn ask(&self, question: &str) -> Option<String> {
        if !can_be_asked() || self.0.fetch_add(1, Ordering::Relaxed) >= MOST {
            return None;
        }
        let mut stderr = std::io::stderr();
        let question: String = question.chars().take(MOST_LETTERS).collect();
        let _unseen =
            write!(stderr, "\nthe agent asks: {}\nyour answer (empty for no): ", shown(question));
        let _unseen = stderr.flush();
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).ok()?;
        let line = line.trim();
        (!line.is_empty()).then(|| line.chars().take(4000).collect())
    }
}

/// Whether there is somebody.
pub(crate) fn can_be_asked() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

const MOST: u32 = 50;
const MOST_LETTERS: usize = 1000;
