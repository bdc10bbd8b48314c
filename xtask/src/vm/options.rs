//! The command line of `cargo xtask vm`.

use crate::command::Failure;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The longest that the machine may run.
    pub(super) minutes: u64,
    pub(super) purpose: Purpose,
}

/// What the machine is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Tests with one of the words in their names; those that need this machine without words.
    Tests(Vec<String>),
    /// One command, as root.
    Command(Vec<String>),
    /// The benchmark of the daemon, with these words.
    Benchmark(Vec<String>),
    /// A shell for a person.
    Console,
}

impl Options {
    /// Reads the words after `vm`.
    pub(super) fn read(words: &[&str]) -> Result<Self, Failure> {
        let (minutes, rest) = match words {
            ["--minutes", number, rest @ ..] => match number.parse() {
                Ok(minutes) if minutes > 0 => (minutes, rest),
                _ => return Err(Failure::Usage(format!("`{number}` is no number of minutes"))),
            },
            rest => (MINUTES, rest),
        };
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let purpose = match rest {
            ["--shell"] => Purpose::Console,
            ["--bench", words @ ..] => Purpose::Benchmark(owned(words)),
            ["--"] => return Err(Failure::Usage("a command stands after `--`".to_owned())),
            ["--", command @ ..] => Purpose::Command(owned(command)),
            words => match words.iter().find(|word| word.starts_with('-')) {
                Some(unknown) => {
                    return Err(Failure::Usage(format!("there is no option `{unknown}`")));
                }
                None => Purpose::Tests(owned(words)),
            },
        };
        Ok(Self { minutes, purpose })
    }
}

/// Without hardware support a machine is some twenty times slower.
const MINUTES: u64 = 60;
