//! A policy text and its lines: turns byte offsets into lines and columns. Never reads a file.

use crate::RuleOrigin;
use crate::text::diagnostic::Span;

/// A text with its name.
#[derive(Debug)]
pub(super) struct Source<'text> {
    pub(super) file: &'text str,
    pub(super) text: &'text str,
    line_starts: Vec<usize>,
}

impl<'text> Source<'text> {
    pub(super) fn new(file: &'text str, text: &'text str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { file, text, line_starts: std::iter::once(0).chain(after_newline).collect() }
    }

    /// Line and column of an offset, both from 1; the column counts characters.
    pub(super) fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_start(line);
        let before = self.text.get(start..offset).unwrap_or_default();
        (saturating(line), saturating(before.chars().count() + 1))
    }

    /// Where a line begins; lines count from 1.
    pub(super) fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0)
    }

    /// The offset behind the last character of a line.
    pub(super) fn line_end(&self, line: usize) -> usize {
        self.line_starts.get(line).map_or(self.text.len(), |next| next.saturating_sub(1))
    }

    pub(super) fn origin(&self, span: &Span) -> RuleOrigin {
        let (line, column) = self.position(span.start);
        RuleOrigin::File { file: self.file.to_owned(), line, column }
    }
}

fn saturating(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
