//! The store under the suite that every engine passes: POSIX by family, and limits; and as the upper layer of an overlay.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]
#![allow(dead_code, reason = "the suite has more ways to ask than are asked here")]

mod engines;
#[path = "../../../vfs/tests/suite/limits.rs"]
mod limits;
#[path = "../../../vfs/tests/suite/overlay.rs"]
mod overlay;
#[path = "../../../vfs/tests/suite/posix.rs"]
mod posix;
#[path = "../../../vfs/tests/suite/trusted.rs"]
mod trusted;
