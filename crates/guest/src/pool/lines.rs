//! The input of a pool, as lines: whole ones alone, and none that is too long.

use std::io;

use rustix::io::Errno;

use super::request::BadLine;

/// What has come and is no whole line yet.
#[derive(Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    is_over: bool,
    /// Whether what comes belongs to a line that is too long.
    skips: bool,
}

type Line = Result<Vec<u8>, BadLine>;

impl Lines {
    /// Whether nothing will come any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The lines that are whole after one more read, which waits if there is nothing.
    pub(super) fn read(&mut self) -> io::Result<Vec<Line>> {
        let mut piece = Vec::with_capacity(64 << 10);
        match rustix::io::read(rustix::stdio::stdin(), rustix::buffer::spare_capacity(&mut piece)) {
            Ok(0) => {
                self.is_over = true;
                Ok(self.take(b"\n"))
            }
            Ok(_) => Ok(self.take(&piece)),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, piece: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (part, is_whole) = match part.strip_suffix(b"\n") {
                Some(part) => (part, true),
                None => (part, false),
            };
            if !self.skips {
                self.rest.extend_from_slice(part);
            }
            if !self.skips && self.rest.len() > LONGEST_LINE {
                self.rest = Vec::new();
                self.skips = true;
                let why = format!("the line is longer than {LONGEST_LINE} bytes");
                lines.push(Err(BadLine { id: None, why }));
            }
            if is_whole {
                self.skips = false;
                let line = std::mem::take(&mut self.rest);
                if !line.trim_ascii().is_empty() {
                    lines.push(Ok(line));
                }
            }
        }
        lines
    }
}

const LONGEST_LINE: usize = 16 << 20;

#[cfg(test)]
mod tests;
