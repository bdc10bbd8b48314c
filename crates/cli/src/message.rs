//! What `stockade` says to a person, always on standard error: errors, warnings, notes and the help
//! that goes with them. Everything that came from a file, a path or a program is made safe to print.

use std::io::{IsTerminal as _, Write as _};

use advice::acknowledged;
use policy::shown::Shown;

/// When messages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Writes messages in one style.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    coloured: bool,
    volume: Volume,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Volume {
    /// Details too.
    Verbose,
    All,
    /// No notes.
    Quiet,
    /// Nothing: whoever started this process reads the result.
    Silent,
}

impl Messages {
    /// Messages in the colours that were asked for.
    pub(crate) fn new(colour: Colour) -> Self {
        let coloured = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal_takes_colour(),
        };
        Self { coloured, volume: Volume::All }
    }

    /// The same as flags ask for it: for a program that reads the result alone, without notes, or with details.
    pub(crate) fn as_asked(self, silent: bool, quiet: bool, verbose: bool) -> Self {
        let volume = match (silent, quiet, verbose) {
            (true, ..) => Volume::Silent,
            (false, true, _) => Volume::Quiet,
            (false, false, true) => Volume::Verbose,
            (false, false, false) => self.volume,
        };
        Self { volume, ..self }
    }

    /// How drawings of a policy's errors are styled.
    pub(crate) fn style(self) -> policy::text::Style {
        if self.coloured { policy::text::Style::Coloured } else { policy::text::Style::Plain }
    }

    /// Something failed.
    pub(crate) fn error(self, text: &str) {
        self.line("error", RED, text);
    }

    /// Something that may not be wanted.
    pub(crate) fn warning(self, text: &str) {
        self.line("warning", YELLOW, text);
    }

    /// Something worth knowing, unless nobody wants to or the user knows it.
    pub(crate) fn note(self, text: &str) {
        let is_told = match self.volume {
            Volume::Verbose => true,
            Volume::All => !acknowledged::covers(text),
            Volume::Quiet | Volume::Silent => false,
        };
        if is_told {
            self.line("note", CYAN, text);
        }
    }

    /// Something for whoever asked for everything.
    pub(crate) fn detail(self, text: &str) {
        if self.volume == Volume::Verbose {
            self.line("detail", CYAN, text);
        }
    }

    /// What to do about the message before.
    pub(crate) fn help(self, text: &str) {
        let (on, off) = self.switches(GREEN);
        self.write(&format!("  {on}help:{off} {}\n", printable(text, "        ")));
    }

    /// Text that is already drawn.
    pub(crate) fn drawn(self, text: &str) {
        self.write(text);
    }

    fn line(self, label: &str, colour: &'static str, text: &str) {
        let (on, off) = self.switches(colour);
        self.write(&format!("stockade: {on}{label}:{off} {}\n", printable(text, "  ")));
    }

    fn switches(self, colour: &'static str) -> (&'static str, &'static str) {
        if self.coloured { (colour, "\x1b[0m") } else { ("", "") }
    }

    /// In one call, so that the lines of two cages do not mix. Nobody is left to be told that
    /// standard error is closed.
    fn write(self, text: &str) {
        if self.volume == Volume::Silent {
            return;
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Text in which only line breaks have an effect; lines after the first are indented.
fn printable(text: &str, indent: &str) -> String {
    let lines = text.lines().map(|line| Shown(line).to_string());
    lines.collect::<Vec<_>>().join(&format!("\n{indent}"))
}

impl Colour {
    /// Whether what goes to standard output has colours.
    pub(crate) fn on_stdout(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::io::stdout().is_terminal() && colour_is_wanted(),
        }
    }
}

fn terminal_takes_colour() -> bool {
    std::io::stderr().is_terminal() && colour_is_wanted()
}

fn colour_is_wanted() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    !is_set("NO_COLOR") && !dumb
}

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const CYAN: &str = "\x1b[1;36m";
const GREEN: &str = "\x1b[1;32m";
