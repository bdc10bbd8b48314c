//! The table of walls and who notices that each is left out. Text alone.

use std::fmt;

use ::walls::{Caller, Test, Wall};

use super::prove::Proof;

/// One wall, left out.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) wall: Wall,
    /// How many tests were run.
    pub(super) tried: usize,
    /// Those that have failed.
    pub(super) noticed_by: Vec<Test>,
    pub(super) proof: Proof,
}

impl Row {
    pub(super) fn is_noticed(&self) -> bool {
        !self.noticed_by.is_empty()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall, tried, noticed_by, proof } = self;
        writeln!(formatter, "{}: {}", wall.name(), wall.sentence())?;
        if noticed_by.is_empty() {
            writeln!(formatter, "    tests: NOT NOTICED by any of {tried}")?;
        } else {
            let titles: Vec<String> = noticed_by.iter().map(title).collect();
            writeln!(formatter, "    tests: {}", titles.join(", "))?;
        }
        match proof {
            Proof::Held => write!(formatter, "    prove: does not notice"),
            Proof::Broken(attacks) => write!(formatter, "    prove: {}", attacks.join(", ")),
            Proof::NoCage => write!(formatter, "    prove: no cage starts"),
            Proof::TooLong => write!(formatter, "    prove: takes too long to say"),
            Proof::NoTime => write!(formatter, "    prove: not asked, the time is over"),
        }
    }
}

/// The last line.
pub(super) fn summary(rows: &[Row]) -> String {
    let by_tests = rows.iter().filter(|row| row.is_noticed()).count();
    let notices = |row: &&Row| matches!(row.proof, Proof::Broken(_) | Proof::NoCage);
    let by_proof = rows.iter().filter(notices).count();
    let unasked = rows.iter().filter(|row| row.proof == Proof::NoTime).count();
    let unasked = if unasked == 0 { String::new() } else { format!(" ({unasked} not asked)") };
    format!("{} walls: {by_tests} noticed by tests, {by_proof} by prove{unasked}", rows.len())
}

/// A test as a person would look for it.
pub(super) fn title(test: &Test) -> String {
    let Test { package, target, name, caller } = test;
    let caller = match caller {
        Caller::Any => "",
        Caller::Root => " (as root)",
        Caller::User => " (as a user)",
    };
    format!("{package} {target} {name}{caller}")
}
