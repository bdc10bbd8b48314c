//! Takes a key out of what a provider answers: some repeat it in their errors. Works on a stream, however it is split.

/// Looks for one key in one stream.
#[derive(Debug)]
pub(super) struct Redactor<'a> {
    key: &'a [u8],
    /// The last bytes, which could be the beginning of the key.
    held: Vec<u8>,
}

impl<'a> Redactor<'a> {
    pub(super) fn new(key: &'a [u8]) -> Self {
        Self { key, held: Vec::new() }
    }

    /// Takes the next bytes, and appends those that may be passed on.
    pub(super) fn feed(&mut self, bytes: &[u8], passed: &mut Vec<u8>) {
        if self.key.is_empty() {
            return passed.extend_from_slice(bytes);
        }
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let Some(at) = find(rest, self.key) {
            let (before, found) = rest.split_at(at);
            passed.extend_from_slice(before);
            passed.extend(std::iter::repeat_n(b'*', STARS));
            rest = found.get(self.key.len()..).unwrap_or_default();
        }
        let longest = self.key.len().saturating_sub(1).min(rest.len());
        let begins = (1..=longest)
            .rev()
            .find(|length| rest.ends_with(self.key.get(..*length).unwrap_or_default()));
        let (sure, unsure) = rest.split_at(rest.len() - begins.unwrap_or_default());
        passed.extend_from_slice(sure);
        self.held = unsure.to_vec();
    }

    /// The stream has ended: the last bytes were not the key.
    pub(super) fn end(&mut self, passed: &mut Vec<u8>) {
        passed.append(&mut self.held);
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

const STARS: usize = 8;

#[cfg(test)]
mod tests;
