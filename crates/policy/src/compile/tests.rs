//! The compiler on small policies and made-up facts.
