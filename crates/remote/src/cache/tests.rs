//! What was read is kept within its bound.

use super::{Cache, Key};

/// A13: what was read is kept within its bound.
#[test]
fn stays_within_its_bound() {
    let cache = Cache::new(100_000);
    let key = |block| Key { path: "a".into(), version: "1".into(), block };
    for block in 0..1000 {
        cache.put(key(block), vec![0; 5000].into());
        assert!(cache.bytes() <= 100_000);
        assert!(cache.get(&key(block)).is_some());
    }
    assert!(cache.get(&key(0)).is_none());
}
