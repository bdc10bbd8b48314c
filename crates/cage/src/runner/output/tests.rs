//! Output in memory: what is kept, what is dropped, and who waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CHUNK, OutputBuffer, Resume};
use crate::runner::request::{Keep, Overflow};

#[derive(Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl Resume for Counted {
    fn resume(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn buffer(bytes: usize, overflow: Overflow) -> (Arc<OutputBuffer>, Arc<AtomicUsize>) {
    let resumed = Arc::new(AtomicUsize::new(0));
    let resume = Box::new(Counted(Arc::clone(&resumed)));
    (Arc::new(OutputBuffer::new(Keep { bytes, overflow }, resume)), resumed)
}

fn pattern(from: u64, length: usize) -> Vec<u8> {
    (from..).take(length).map(|position| (position % 251) as u8).collect()
}

/// K238: whatever the sizes, the last bytes are kept in order and no more than asked for.
#[test]
fn the_last_bytes_are_kept() {
    for keep in [0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
        for piece in [1, 3, 1000, CHUNK, 2 * CHUNK + 1] {
            let (output, _) = buffer(keep, Overflow::Discard);
            let mut written = 0;
            for _ in 0..(5 * CHUNK).div_ceil(piece).min(3000) {
                output.append(&pattern(written, piece));
                written += u64::try_from(piece).unwrap();
            }
            let kept = output.kept();
            let length = usize::try_from(kept.end - kept.start).unwrap();
            assert_eq!((kept.end, length), (written, keep.min(usize::try_from(written).unwrap())));
            let mut bytes = vec![0; length + 1];
            let read = output.reader().read_now(&mut bytes);
            assert_eq!(read.unwrap_or_default(), length, "{keep} {piece}");
            bytes.truncate(length);
            assert!(bytes == pattern(kept.start, length), "{keep} {piece}");
        }
    }
}

/// K238
#[test]
fn a_reader_that_falls_behind_is_told() {
    let (output, _) = buffer(10, Overflow::Discard);
    let mut reader = output.reader();
    output.append(b"0123456789abcde");
    let mut word = [0; 4];
    assert_eq!((reader.read_now(&mut word), &word, reader.missed()), (Some(4), b"5678", 5));
    output.close();
    let mut rest = [0; 16];
    assert_eq!(reader.read_now(&mut rest), Some(6));
    assert_eq!((reader.read_now(&mut rest), reader.position()), (Some(0), 15));
}

/// K238: the slowest reader decides, and one that leaves makes room.
#[test]
fn a_program_waits_for_its_slowest_reader() {
    let (output, resumed) = buffer(10, Overflow::Backpressure);
    output.append(b"0123456789");
    assert_eq!(output.room(), 0);
    let (mut quick, slow) = (output.reader(), output.reader());
    assert_eq!(quick.read_now(&mut [0; 6]), Some(6));
    assert_eq!((output.room(), resumed.load(Ordering::Relaxed)), (0, 0));
    drop(slow);
    assert_eq!((output.room(), resumed.load(Ordering::Relaxed)), (6, 1));
    output.append(b"abcdef");
    assert_eq!((output.kept(), output.room()), (6..16, 0));
    drop(quick);
    assert_eq!(output.room(), 0, "without a reader nothing is dropped");
    output.abandon();
    assert_eq!(resumed.load(Ordering::Relaxed), 2);
    output.append(b"ghi");
    assert_eq!(output.kept(), 9..19);
}

#[test]
fn silence_takes_no_memory() {
    let (output, _) = buffer(8 << 20, Overflow::Discard);
    assert_eq!(output.lock().chunks.capacity(), 0);
    output.append(b"a line\n");
    assert_eq!(output.lock().chunks.front().unwrap().capacity(), 64);
}
