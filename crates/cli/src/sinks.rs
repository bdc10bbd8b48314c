//! Where the two outputs of a program that the daemon runs go: this process's own. What leads to a terminal is kept from
//! doing there what only the user may, and leaves it in order.

use std::io::{IsTerminal as _, Write as _};

use terminal::{Answers, Filter, Source, is_same_terminal};

use crate::exit::Exit;
use crate::failure::Failure;

/// Both outputs of this process.
pub(crate) struct Sinks {
    /// The filter of the terminal that standard output is.
    output: Option<Filter>,
    /// That of standard error, if it is another terminal.
    error: Option<Filter>,
    is_one_terminal: bool,
}

impl Sinks {
    pub(crate) fn of_this_process() -> Self {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let are_terminals = stdout.is_terminal() && stderr.is_terminal();
        let is_one_terminal = are_terminals && is_same_terminal(&stdout, &stderr);
        let filter = || Filter::new(Answers::ToOthers);
        Self {
            output: stdout.is_terminal().then(filter),
            error: (stderr.is_terminal() && !is_one_terminal).then(filter),
            is_one_terminal,
        }
    }

    pub(crate) fn have_terminal(&self) -> bool {
        self.output.is_some() || self.error.is_some()
    }

    /// From here on the program reads what is typed on standard input, and what the terminal answers if that is the one
    /// on standard output.
    pub(crate) fn program_reads_terminal(&mut self) {
        if let Some(filter) = &mut self.output
            && is_same_terminal(std::io::stdin(), std::io::stdout())
        {
            filter.answer(Answers::ToProgram);
        }
    }

    /// Writes what the program wrote.
    pub(crate) fn write(&mut self, source: Source, bytes: &[u8]) -> Result<(), Failure> {
        let filter = match source {
            Source::Error if !self.is_one_terminal => &mut self.error,
            Source::Output | Source::Error => &mut self.output,
        };
        let written = match filter {
            Some(filter) => {
                let mut safe = Vec::with_capacity(bytes.len());
                filter.pass(source, bytes, &mut safe);
                put(source, &safe)
            }
            None => put(source, bytes),
        };
        written.map_err(|error| Failure::new(Exit::No, format!("cannot write: {error}")))
    }

    /// Undoes what the program has left on the terminals, before words that are not its own.
    pub(crate) fn restore(&mut self) {
        let filters = [(Source::Output, &mut self.output), (Source::Error, &mut self.error)];
        for (source, filter) in filters {
            let mut undo = Vec::new();
            if let Some(filter) = filter {
                filter.restore(&mut undo);
            }
            if !undo.is_empty() {
                // Nobody is left to be told that the terminal is gone.
                let _unwritten = put(source, &undo);
            }
        }
    }
}

impl Drop for Sinks {
    fn drop(&mut self) {
        self.restore();
    }
}

fn put(source: Source, bytes: &[u8]) -> std::io::Result<()> {
    match source {
        Source::Output => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        }
        Source::Error => std::io::stderr().lock().write_all(bytes),
    }
}
