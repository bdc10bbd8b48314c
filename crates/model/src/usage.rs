//! What an answer took, in tokens and in money. Prices are the operator's: none are built in, because they change.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tokens of one answer or of many. No token is in two of the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read anew.
    pub input: u64,
    /// Read from the provider's cache.
    pub cached: u64,
    /// Written into the provider's cache.
    pub cache_written: u64,
    /// Written, with what was thought.
    pub output: u64,
}

impl Usage {
    /// All tokens.
    pub fn total(&self) -> u64 {
        [self.cached, self.cache_written, self.output]
            .iter()
            .fold(self.input, |sum, part| sum.saturating_add(*part))
    }

    /// Those of the conversation so far: what the next request holds at least.
    pub fn context(&self) -> u64 {
        self.total()
    }

    /// Adds those of another answer.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.output = self.output.saturating_add(other.output);
    }

    /// From a `usage` of any of the protocols. Later reports of one answer repeat or complete the earlier ones.
    pub(crate) fn read(&mut self, usage: &Value) {
        let number = |names: &[&str]| names.iter().find_map(|name| usage.pointer(name)?.as_u64());
        if let Some(output) = number(&["/output_tokens", "/completion_tokens"]) {
            self.output = output;
        }
        let within = number(&[
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
        ]);
        if let Some(cached) = number(&["/cache_read_input_tokens"]).or(within) {
            self.cached = cached;
        }
        if let Some(written) = number(&["/cache_creation_input_tokens"]) {
            self.cache_written = written;
        }
        if let Some(input) = number(&["/input_tokens", "/prompt_tokens"]) {
            // Where the count of the cache is a detail, the whole includes it.
            self.input = input.saturating_sub(within.unwrap_or_default());
        }
    }
}

/// Money, in millionths of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cost(pub u64);

impl std::fmt::Display for Cost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "${}.{:04}", self.0 / 1_000_000, self.0 % 1_000_000 / 100)
    }
}

/// What a million tokens cost, each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Read anew.
    pub input: Cost,
    /// Read from the provider's cache.
    pub cached: Cost,
    /// Written into the provider's cache.
    pub cache_written: Cost,
    /// Written.
    pub output: Cost,
}

impl Prices {
    /// What these tokens cost, rounded up.
    pub fn of(&self, usage: &Usage) -> Cost {
        let parts = [
            (usage.input, self.input),
            (usage.cached, self.cached),
            (usage.cache_written, self.cache_written),
            (usage.output, self.output),
        ];
        let sum: u128 =
            parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.0)).sum();
        Cost(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
