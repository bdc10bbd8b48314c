//! What a conversation has read already: the same lines of a file that has not changed are not sent to it twice. Never
//! answers for anybody else: who has not seen the lines gets them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What was read, by file and range.
#[derive(Debug, Default)]
pub(crate) struct Reads(HashMap<((u64, u64), u64, u64), u64>);

impl Reads {
    /// Whether these lines were read before and are the same; they count as read from now on.
    pub(crate) fn is_known(
        &mut self,
        identity: (u64, u64),
        offset: u64,
        limit: u64,
        content: &str,
    ) -> bool {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert((identity, offset, limit), hasher.finish()) == Some(hasher.finish())
    }

    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

const MOST: usize = 10_000;
