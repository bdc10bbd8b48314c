//! What a guest may use of this process, beside what its file system allows it.

use std::time::Duration;

/// What one guest may use. All of it is bounded by default. A25
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// The bytes of its memory: all linear memories of a module together, or the heap of JavaScript.
    pub max_memory: u64,
    /// The bytes of its stack of calls.
    pub max_stack: u64,
    /// The elements of all tables of a module together.
    pub max_table_elements: u64,
    /// Files, directories and sockets that are open at once.
    pub max_descriptors: u32,
    /// Handles that a component has at once, of whatever kind: streams, what it waits for, resources of its own.
    pub max_handles: u32,
    /// The processor time that it computes. Waiting costs nothing.
    pub max_cpu: Option<Duration>,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            max_memory: 1 << 30,
            max_stack: 1 << 20,
            max_table_elements: 1 << 20,
            max_descriptors: 1024,
            max_handles: 1 << 15,
            max_cpu: None,
        }
    }
}

/// One of [`GuestLimits`], as an end names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `max_memory`
    Memory,
    /// `max_stack`
    Stack,
    /// `max_table_elements`
    TableElements,
    /// `max_descriptors`
    Descriptors,
    /// `max_handles`
    Handles,
    /// `max_cpu`
    Cpu,
}

impl Limit {
    /// The name of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "max_memory",
            Self::Stack => "max_stack",
            Self::TableElements => "max_table_elements",
            Self::Descriptors => "max_descriptors",
            Self::Handles => "max_handles",
            Self::Cpu => "max_cpu",
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
