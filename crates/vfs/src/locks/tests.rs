//! Locks: who stands in whose way, what a second lock of the same owner does, and who waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::{Held, LockKind, LockTable, Patience, Range};

fn lock(owner: u64, kind: LockKind, first: u64, last: u64) -> Held {
    Held { owner, pid: u32::try_from(owner).unwrap(), range: Range { first, last }, kind }
}

/// A18: readers share a range, a writer has it alone, and an owner is never in its own way.
#[test]
fn ranges_exclude_each_other() {
    use LockKind::{Exclusive, Shared, Unlock};
    let table = LockTable::default();
    let set = |held: Held| table.lock(1, &held, Patience::None).map_err(|error| error.errno);
    assert_eq!(set(lock(1, Shared, 0, 9)), Ok(()));
    assert_eq!(set(lock(2, Shared, 5, 14)), Ok(()));
    assert_eq!(set(lock(2, Exclusive, 5, 14)), Err(Errno::AGAIN));
    assert_eq!(set(lock(2, Exclusive, 10, 14)), Ok(()));
    assert_eq!(set(lock(1, Exclusive, 0, 4)), Ok(()));
    // Only the middle of it.
    assert_eq!(set(lock(1, Unlock, 2, 3)), Ok(()));
    assert_eq!(set(lock(3, Exclusive, 2, 3)), Ok(()));
    assert_eq!(set(lock(3, Exclusive, 1, 3)), Err(Errno::AGAIN));
    assert_eq!(set(lock(3, Exclusive, 4, 4)), Err(Errno::AGAIN));
    let in_the_way = table.test(1, &lock(3, Shared, 0, u64::MAX)).unwrap();
    assert_eq!(in_the_way.owner, 2);
    table.close(1, 1);
    assert_eq!(set(lock(3, Exclusive, 0, 4)), Ok(()));
    // Another file is another matter.
    assert_eq!(table.lock(2, &lock(9, Exclusive, 0, 4), Patience::None), Ok(()));
    assert_eq!(set(lock(9, Exclusive, 5, 4)), Err(Errno::INVAL));
}

/// A18: locks of whole files belong to open files, and know nothing of ranges.
#[test]
fn whole_files_are_locked() {
    let table = LockTable::default();
    let set =
        |owner, kind| table.lock_whole(7, owner, kind, Patience::None).map_err(|error| error.errno);
    assert_eq!(set(1, LockKind::Shared), Ok(()));
    assert_eq!(set(2, LockKind::Shared), Ok(()));
    assert_eq!(set(2, LockKind::Exclusive), Err(Errno::WOULDBLOCK));
    // The kernel gives the first one up before it asks for the second.
    assert_eq!(set(1, LockKind::Exclusive), Ok(()));
    assert_eq!(table.lock(7, &lock(5, LockKind::Exclusive, 0, 1), Patience::None), Ok(()));
    assert_eq!(set(1, LockKind::Unlock), Ok(()));
    assert_eq!(set(2, LockKind::Exclusive), Ok(()));
}

/// A18: one who waits gets the lock, and two who wait for each other do not.
#[test]
fn waiting_ends() {
    let table = Arc::new(LockTable::default());
    let soon = || Patience::Until(Instant::now() + testing::slowly(Duration::from_secs(20)));
    table.lock(1, &lock(1, LockKind::Exclusive, 0, 0), Patience::None).unwrap();
    table.lock(1, &lock(2, LockKind::Exclusive, 1, 1), Patience::None).unwrap();
    let other = Arc::clone(&table);
    let waiter =
        std::thread::spawn(move || other.lock(1, &lock(2, LockKind::Exclusive, 0, 0), soon()));
    while table.state().waiting.is_empty() {
        std::thread::yield_now();
    }
    let refused = table.lock(1, &lock(1, LockKind::Exclusive, 1, 1), soon());
    assert_eq!(refused.unwrap_err().errno, Errno::DEADLK);
    table.close(1, 1);
    waiter.join().unwrap().unwrap();
    let late = table.lock(1, &lock(1, LockKind::Shared, 0, 0), Patience::Until(Instant::now()));
    assert_eq!(late.unwrap_err().errno, Errno::INTR);
}
