//! The whole crate on real trees: uppers that the kernel's overlayfs wrote, and forged ones.

mod conflicts;
mod crash;
mod discard;
mod guard;
mod hostile;
mod output;
mod overlay;
mod random;
mod support;
