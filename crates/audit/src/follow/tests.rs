//! Following a log: everything once, in order, across files.

use super::*;
use crate::{Event, Log};

fn event(number: u64) -> Event {
    Event::SessionEnded { session_id: "s".into(), killed: number }
}

fn sequences(follower: &mut Follower) -> Vec<u64> {
    std::iter::from_fn(|| follower.next_now().unwrap()).map(|record| record.sequence).collect()
}

#[test]
fn records_come_once_and_in_order() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path();
    let mut early = follow(directory, Filter::default(), Start::Beginning).unwrap();
    assert!(sequences(&mut early).is_empty());
    let log = Log::open_with_file_limit(directory, 1500).unwrap();
    log.append(&event(1)).unwrap();
    assert_eq!(sequences(&mut early), [1, 2]);
    assert!(sequences(&mut early).is_empty());
    let mut now = follow(directory, Filter::default(), Start::Now).unwrap();
    let mut after = follow(directory, Filter::default(), Start::After(1)).unwrap();
    assert_eq!(sequences(&mut after), [2]);
    let mut last = 2;
    for _ in 0..5 {
        (0..4).for_each(|number| last = log.append(&event(number)).unwrap().sequence);
        let expected = sequences(&mut early);
        assert_eq!(sequences(&mut now), expected);
        assert_eq!(sequences(&mut after), expected);
        assert_eq!(expected.last(), Some(&last));
    }
    let mut again = follow(directory, Filter::default(), Start::Beginning).unwrap();
    assert_eq!(sequences(&mut again), (1..=last).collect::<Vec<_>>());
}

#[test]
fn a_follower_waits_for_a_record() {
    let parent = tempfile::tempdir().unwrap();
    let log = Log::open(parent.path()).unwrap();
    log.append(&event(1)).unwrap();
    let filter = Filter { event: Some("session".to_owned()), ..Filter::default() };
    let mut follower = follow(parent.path(), filter, Start::Now).unwrap();
    assert_eq!(follower.next(Some(Duration::from_millis(1))).unwrap(), None);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| follower.next(Some(Duration::from_secs(60))));
        std::thread::sleep(Duration::from_millis(20));
        log.append(&event(2)).unwrap();
        let record = waiting.join().unwrap().unwrap().unwrap();
        assert_eq!(record.sequence, 3);
    });
}

#[test]
fn there_must_be_something_to_follow() {
    let parent = tempfile::tempdir().unwrap();
    let missing = parent.path().join("none");
    let refused = follow(&missing, Filter::default(), Start::Now);
    assert!(matches!(refused, Err(ReadError::NoLog(_))));
}
