//! Durability: who waits for whom, and what a failure means for everybody after it.

use super::*;
use crate::Hash;

fn written(file: OwnedFd, sequence: u64) -> Written {
    let reached = Reached { sequence, hash: Hash::NONE, file: 1, offset: 0 };
    Written { file: Arc::new(file), reached }
}

#[test]
fn what_is_durable_is_not_waited_for_again() {
    let commit = Commit::default();
    commit.wait_for(7).unwrap();
    commit.note_written(written(tempfile::tempfile().unwrap().into(), 7));
    commit.wait_for(7).unwrap();
    assert_eq!(commit.state().durable, 7);
    // Another file would not be asked: a pipe cannot be made durable.
    let (_reader, writer) = std::io::pipe().unwrap();
    commit.note_written(written(writer.into(), 8));
    commit.wait_for(6).unwrap();
    commit.wait_for(8).unwrap_err();
}

/// K240
#[test]
fn after_a_failure_nothing_is_durable_any_more() {
    let commit = Commit::default();
    let (_reader, writer) = std::io::pipe().unwrap();
    commit.note_written(written(writer.into(), 1));
    assert_eq!(commit.wait_for(1), Err(Errno::INVAL));
    assert_eq!(commit.failure(), Some(Errno::INVAL));
    commit.note_written(written(tempfile::tempfile().unwrap().into(), 2));
    assert_eq!(commit.wait_for(2), Err(Errno::INVAL));
}

#[test]
fn everybody_waits_for_their_own() {
    let commit = Commit::default();
    let file = tempfile::tempfile().unwrap();
    std::thread::scope(|scope| {
        for sequence in 1..=64 {
            let file = file.try_clone().unwrap();
            let commit = &commit;
            scope.spawn(move || {
                // Whoever notes an earlier record after a later one must not set anybody back.
                let mut state = commit.state();
                let is_later =
                    state.written.as_ref().is_none_or(|last| last.reached.sequence < sequence);
                if is_later {
                    state.written = Some(written(file.into(), sequence));
                }
                drop(state);
                commit.wait_for(sequence).unwrap();
                assert!(commit.state().durable >= sequence);
            });
        }
    });
}
