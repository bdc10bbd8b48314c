//! When a turn ends, and how.

use super::*;

/// T29: only what comes faster than in passing has to wait, and only between turns.
#[test]
fn quick_turns_end_with_a_breath() {
    let begun = Instant::now();
    for (per_second, expected) in [
        (limits::CONNECTIONS_IN_PASSING / 2, Next::Others),
        (limits::CONNECTIONS_IN_PASSING * 2, Next::Breath),
    ] {
        let mut turns = Turns { taken: 0, begun };
        for count in 1..=3 * limits::ACCEPTS_PER_TURN as u64 {
            let now = begun + Duration::from_micros(count * 1_000_000 / per_second);
            let is_last = count.is_multiple_of(limits::ACCEPTS_PER_TURN as u64);
            let expected = if is_last { expected } else { Next::SameTurn };
            assert_eq!(turns.next(|| now), expected, "{count} at {per_second} a second");
        }
    }
}
