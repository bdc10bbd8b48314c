//! What the first bytes of a client say about where it wants to go. Parsers of what comes from inside
//! a cage: each takes bytes as they arrive, in any split, keeps a bounded amount of them and never
//! panics.

pub mod client_hello;
pub mod socks;
