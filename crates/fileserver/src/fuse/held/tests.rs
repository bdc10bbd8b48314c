//! What is remembered of the kernel's inodes and of their numbers.

use vfs::{Caller, Inode, Limits, Memory};

use super::Held;

/// A18: a listing looks up what the kernel lacks, and nothing that it has under any of its names.
#[test]
fn a_number_is_known_while_the_kernel_has_what_it_is_of() {
    let engine = Memory::new(&Caller::root(), 0o755, Limits::default());
    let held = Held::new();
    let (one, other, number) = (Inode(70), Inode(71), 6);
    held.hold(one, number);
    held.hold(one, number);
    held.hold(other, number);
    assert!(held.has(number) && !held.has(one.0));
    assert_eq!(held.count(), 2);
    held.forget(&engine, one, 2);
    assert!(held.has(number));
    held.forget(&engine, one, 9);
    held.forget(&engine, other, 9);
    assert!(!held.has(number));
    assert_eq!(held.count(), 0);
    held.hold(one, number);
    held.end(&engine);
}
