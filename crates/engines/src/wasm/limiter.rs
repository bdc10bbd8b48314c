//! Holds a module to its memory and tables. What is beyond is refused, as a machine without more memory does, and noted:
//! a module that fails afterwards most likely fails of that.

use wasmtime::ResourceLimiter;

use crate::limits::{GuestLimits, Limit};

/// What a module has grown to.
#[derive(Debug)]
pub(super) struct Limiter {
    memory: u64,
    max_memory: u64,
    elements: u64,
    max_elements: u64,
    /// The last limit that was refused.
    pub(super) refused: Option<Limit>,
}

impl Limiter {
    pub(super) const fn new(limits: &GuestLimits) -> Self {
        Self {
            memory: 0,
            max_memory: limits.max_memory,
            elements: 0,
            max_elements: limits.max_table_elements,
            refused: None,
        }
    }
}

/// What is used after growing, if that is allowed.
fn grown(used: u64, current: usize, desired: usize, most: u64) -> Option<u64> {
    let more = u64::try_from(desired.saturating_sub(current)).ok()?;
    used.checked_add(more).filter(|used| *used <= most)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            // It refuses this to itself.
            return Ok(false);
        }
        let grown = grown(self.memory, current, desired, self.max_memory);
        match grown {
            Some(used) => self.memory = used,
            None => self.refused = Some(Limit::Memory),
        }
        Ok(grown.is_some())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let grown = grown(self.elements, current, desired, self.max_elements);
        match grown {
            Some(used) => self.elements = used,
            None => self.refused = Some(Limit::TableElements),
        }
        Ok(grown.is_some())
    }

    fn instances(&self) -> usize {
        MOST_INSTANCES
    }

    fn tables(&self) -> usize {
        MOST_PARTS
    }

    fn memories(&self) -> usize {
        MOST_PARTS
    }
}

/// A component is made of several modules.
const MOST_INSTANCES: usize = 256;
/// Tables and memories of one program: each takes address space before it holds anything.
const MOST_PARTS: usize = 64;
