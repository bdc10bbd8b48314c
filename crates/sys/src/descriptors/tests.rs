//! That what is closed together is closed, and nothing beside it. Never closes what it did not open.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::fcntl_getfd;
use rustix::pipe::{PipeFlags, pipe_with};

use super::*;

fn pipes(count: usize) -> Vec<OwnedFd> {
    (0..count)
        .flat_map(|_| {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            [read, write]
        })
        .collect()
}

/// Its other end tells whether the last descriptor of a pipe was closed, whoever has its number since.
fn is_closed(other_end: BorrowedFd<'_>) -> bool {
    let mut ends = [rustix::event::PollFd::new(&other_end, rustix::event::PollFlags::OUT)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut ends, Some(&now)).unwrap();
    ends[0].revents().contains(rustix::event::PollFlags::ERR)
}

#[test]
fn descriptors_in_any_order_are_closed_and_no_others() {
    let mut all = pipes(100);
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    while let (Some(writer), Some(reader)) = (all.pop(), all.pop()) {
        writers.push(writer);
        readers.push(reader);
    }
    let kept = readers.split_off(50);
    readers.rotate_left(17);
    close_together(readers);
    let closed: Vec<bool> = writers.iter().map(|writer| is_closed(writer.as_fd())).collect();
    assert_eq!(closed, [vec![true; 50], vec![false; 50]].concat());
    assert!(kept.iter().chain(&writers).all(|one| fcntl_getfd(one).is_ok()));
}

#[test]
fn closing_nothing_is_no_mistake() {
    close_together(Vec::new());
    close_copies(&[]);
}

#[test]
fn copies_are_closed_whatever_their_order() {
    let mut all = pipes(20);
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    while let (Some(writer), Some(reader)) = (all.pop(), all.pop()) {
        writers.push(writer);
        readers.push(reader);
    }
    close_copies(&readers);
    // Their numbers may be somebody else's by now.
    readers.into_iter().for_each(|closed| _ = closed.into_raw_fd());
    assert!(writers.iter().all(|writer| is_closed(writer.as_fd())));
}
