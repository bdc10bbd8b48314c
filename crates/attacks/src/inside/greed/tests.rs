//! Which time of a processor counts against a limit.

use std::time::Duration;

use super::{MARGIN, Work, processor_time};

fn use_up(time: Duration) {
    let end = processor_time() + time;
    while processor_time() < end {}
}

#[test]
fn only_work_after_the_beginning_counts() {
    use_up(2 * MARGIN);
    let work = Work::begin(50);
    assert!(!work.is_beyond_its_share(), "{:?}", work.used());
    use_up(4 * MARGIN);
    assert!(work.is_beyond_its_share(), "{:?} in {:?}", work.used(), work.began.elapsed());
}
