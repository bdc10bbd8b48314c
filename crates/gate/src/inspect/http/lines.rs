//! Collects the lines of a head up to the empty one. Knows line ends and nothing of what is in the
//! lines; refuses every line end but CR LF, and every control character, as soon as it comes.

use super::{HttpError, MAX_HEAD};

/// The lines so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Whether the last byte was a carriage return.
    after_return: bool,
    /// How long the current line is.
    line: usize,
    /// Whether the end of the first line was told.
    first_told: bool,
}

/// What has come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collected {
    /// All input was taken.
    NeedMore,
    /// The first line has ended, and was not empty. Told once.
    FirstLine { consumed: usize },
    /// The empty line has come.
    Complete { consumed: usize },
}

impl Lines {
    /// Takes bytes up to the next thing to tell.
    pub(super) fn push(&mut self, input: &[u8]) -> Result<Collected, HttpError> {
        let mut consumed = 0;
        let mut collected = Collected::NeedMore;
        for byte in input {
            consumed += 1;
            if let Some(line) = self.step(*byte, consumed)? {
                match (line, self.first_told) {
                    (0, _) => collected = Collected::Complete { consumed },
                    (_, false) => {
                        self.first_told = true;
                        collected = Collected::FirstLine { consumed };
                    }
                    (_, true) => continue,
                }
                break;
            }
        }
        self.bytes.extend_from_slice(input.get(..consumed).unwrap_or(input));
        Ok(collected)
    }

    /// What was collected.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives what was collected, to begin anew.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }

    /// Gives the length of a line that ends here.
    fn step(&mut self, byte: u8, ahead: usize) -> Result<Option<usize>, HttpError> {
        if self.bytes.len() + ahead > MAX_HEAD {
            return Err(HttpError::HeadTooLong);
        }
        match (self.after_return, byte) {
            (true, b'\n') => {
                self.after_return = false;
                Ok(Some(std::mem::take(&mut self.line)))
            }
            (true, _) | (false, b'\n') => Err(HttpError::BareLineEnd),
            (false, b'\r') => {
                self.after_return = true;
                Ok(None)
            }
            (false, b'\t' | b' '..=b'~' | 0x80..) => {
                self.line += 1;
                Ok(None)
            }
            (false, _) => Err(HttpError::ControlCharacter),
        }
    }
}
