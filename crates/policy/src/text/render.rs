//! Draws errors of a policy text: the line, the word underlined, what was expected and what to do.
//! Everything that comes from the text is made safe to print first.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Diagnostics, Span};
use super::source::Source;
use crate::shown::{misleads, shown};

/// Whether the drawing is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without escape sequences.
    Plain,
    /// With escape sequences for a terminal.
    Coloured,
}

impl Diagnostics {
    /// The drawing of every error, and their number.
    pub fn render(&self, style: Style) -> String {
        let text = printable(&self.text);
        let source = Source::new(&self.file, &text);
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let mut drawn = String::new();
        for error in &self.errors {
            drawn.push_str(&renderer.render(&[group(error, &source)]));
            drawn.push_str("\n\n");
        }
        let errors = match self.errors.len() + self.left_out {
            1 => "1 error".to_owned(),
            many => format!("{many} errors"),
        };
        drawn.push_str(&format!("{errors} in `{}`", shown(&self.file)));
        if self.left_out > 0 {
            drawn.push_str(&format!(", the first {} of which are shown", self.errors.len()));
        }
        drawn.push('\n');
        drawn
    }
}

fn group<'a>(error: &'a Diagnostic, source: &'a Source<'a>) -> Group<'a> {
    let title = Level::ERROR.primary_title(error.message.as_str()).id(error.code.as_str());
    let group = if source.text.is_empty() {
        title.element(Origin::path(shown(&*source.file)))
    } else {
        title.element(snippet(error, source))
    };
    error.help.iter().fold(group, |group, help| group.element(Level::HELP.message(help.as_str())))
}

/// Only the lines that matter: drawing costs as much as the text that it is given.
fn snippet<'a>(
    error: &'a Diagnostic,
    source: &'a Source<'a>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let spans = || std::iter::once(&error.span).chain(error.related.iter().map(|also| &also.span));
    let line_of = |offset| source.position(offset).0 as usize;
    let first = spans().map(|span| line_of(span.start)).min().unwrap_or(1);
    let last = spans().map(|span| line_of(span.end)).max().unwrap_or(first);
    let start = source.line_start(first);
    let shown_text = source.text.get(start..source.line_end(last)).unwrap_or_default();
    let within = |span: &Span| {
        let at = |offset: usize| offset.saturating_sub(start).min(shown_text.len());
        at(span.start)..at(span.end)
    };
    let mut primary = AnnotationKind::Primary.span(within(&error.span));
    if !error.label.is_empty() {
        primary = primary.label(error.label.as_str());
    }
    let related = error
        .related
        .iter()
        .map(|also| AnnotationKind::Context.span(within(&also.span)).label(also.label.as_str()));
    Snippet::source(shown_text)
        .line_start(first)
        .path(shown(&*source.file))
        .annotation(primary)
        .annotations(related)
}

/// The text with every character that could mislead a terminal replaced by one of the same
/// length, so that spans stay true.
fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match (character, character.len_utf8()) {
            ('\n' | '\t' | '\r', _) => character,
            (misleading, 1) if misleads(misleading) => '?',
            (misleading, 2) if misleads(misleading) => '\u{bf}',
            (misleading, 3) if misleads(misleading) => char::REPLACEMENT_CHARACTER,
            (misleading, _) if misleads(misleading) => '\u{1f6ab}',
            _ => character,
        })
        .collect()
}
