//! A policy text and its lines: turns byte offsets into lines and columns. Never reads a file.

use std::cell::Cell;
use std::sync::Arc;

/// A text with its name.
#[derive(Debug)]
pub(super) struct Source<'text> {
    pub(super) file: Arc<str>,
    pub(super) text: &'text str,
    line_starts: Vec<usize>,
    /// An offset, and how many characters its line has before it. What is asked about next mostly
    /// stands behind it, and a generated policy can have all its rules in one line.
    counted: Cell<(usize, usize)>,
}

impl<'text> Source<'text> {
    pub(super) fn new(file: &str, text: &'text str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_newline).collect();
        Self { file: file.into(), text, line_starts, counted: Cell::new((0, 0)) }
    }

    /// Line and column of an offset, both from 1; the column counts characters.
    pub(super) fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_start(line);
        let (known, counted) = self.counted.get();
        let on_this_line = (start..=offset).contains(&known);
        let (from, counted) = if on_this_line { (known, counted) } else { (start, 0) };
        let Some(between) = self.text.get(from..offset) else { return (saturating(line), 1) };
        let before = counted + between.chars().count();
        self.counted.set((offset, before));
        (saturating(line), saturating(before + 1))
    }

    /// Where a line begins; lines count from 1.
    pub(super) fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0)
    }

    /// The offset behind the last character of a line.
    pub(super) fn line_end(&self, line: usize) -> usize {
        self.line_starts.get(line).map_or(self.text.len(), |next| next.saturating_sub(1))
    }
}

fn saturating(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
