//! Waiting by `poll_oneoff`: for time, for streams, for files.

use std::time::{Duration, Instant};

use crate::program::*;

fn clock(user: u64, clock: u32, timeout: u64, absolute: u16) -> Vec<u8> {
    let mut record = vec![0; 48];
    record[..8].copy_from_slice(&user.to_le_bytes());
    record[16..20].copy_from_slice(&clock.to_le_bytes());
    record[24..32].copy_from_slice(&timeout.to_le_bytes());
    record[40..42].copy_from_slice(&absolute.to_le_bytes());
    record
}

fn descriptor(user: u64, kind: u8, number: u32) -> Vec<u8> {
    let mut record = vec![0; 48];
    record[..8].copy_from_slice(&user.to_le_bytes());
    record[8] = kind;
    record[16..20].copy_from_slice(&number.to_le_bytes());
    record
}

/// A22: waiting takes as long as it says, and no longer than the first of several.
#[test]
fn time_passes() {
    let mut program = Program::new();
    let wanted = [clock(7, 1, 60_000_000_000, 0), clock(8, 1, 50_000_000, 0)].concat();
    let [at, _] = program.text(wanted);
    program.call("poll_oneoff", &[at, I(ROOM), I(2), I(RESULT)], 0);
    program.show(RESULT, 4);
    program.show(ROOM, 11);
    // A moment that is past.
    let [at, _] = program.text(clock(9, 0, 1, 1));
    program.of_modules_alone("the adapter takes no such moment", |program| {
        program.call("poll_oneoff", &[at, I(ROOM), I(1), I(RESULT)], 0);
    });
    program.raw(&format!("(i32.store8 (i32.const {ROOM}) (i32.const 9))"));
    program.show(ROOM, 1);
    let begun = Instant::now();
    assert_eq!(program.run(), b"\x01\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\x09");
    let passed = begun.elapsed();
    assert!(passed >= Duration::from_millis(150), "{passed:?}");
    assert!(passed < testing::slowly(Duration::from_secs(20)), "{passed:?}");
}

/// A22: files are ready, streams when they are, and what is neither is told in its event.
#[test]
fn what_is_ready_is_told() {
    let mut program = Program::new();
    let file = program.open("file", CREATE, 0);
    program.write(file, "12345");
    program.call("fd_seek", &[file, L(2), I(0), I(RESULT)], 0);
    let wanted = [
        descriptor(1, 1, 4),
        descriptor(2, 2, 1),
        descriptor(3, 1, 99),
        descriptor(4, 1, DIR),
        descriptor(5, 1, 1),
        clock(6, 9, 0, 0),
        clock(7, 1, 60_000_000_000, 0),
    ];
    let [at, _] = program.text(wanted.concat());
    program.call("poll_oneoff", &[at, I(ROOM), I(7), I(RESULT)], 0);
    program.show(RESULT, 4);
    for index in 0..6 {
        program.show(ROOM + index * 32, 1);
        program.show(ROOM + index * 32 + 8, 1);
        program.show(ROOM + index * 32 + 16, 1);
    }
    program.call("poll_oneoff", &[at, I(ROOM), I(0), I(RESULT)], INVAL);
    program.call("poll_oneoff", &[I(u32::MAX - 8), I(ROOM), I(1), I(RESULT)], FAULT);
    let [at, _] = program.text(descriptor(1, 9, 0));
    program.call("poll_oneoff", &[at, I(ROOM), I(1), I(RESULT)], INVAL);
    let shown =
        program.run_as_module("the adapter refuses a list with one descriptor that is none");
    let expected = [
        &b"\x05\0\0\0\x06\0\0\0"[..],
        &[1, 0, 3],
        &[2, 0, 1],
        &[3, 8, 0],
        &[4, 8, 0],
        &[5, 8, 0],
        &[6, 28, 0],
    ];
    assert_eq!(shown, expected.concat());
}
