//! Counters of the kernel's files.

use super::*;

#[test]
fn counters_are_found_by_their_whole_word() {
    let text = "low 0\nhigh 3\nmax 12\noom 2\noom_kill 1\noom_group_kill x\n";
    assert_eq!(counter(text, "max"), Some(12));
    assert_eq!(counter(text, "oom"), Some(2));
    assert_eq!(counter(text, "oom_kill"), Some(1));
    assert_eq!(counter(text, "oom_group_kill"), None);
    assert_eq!(counter(text, "ax"), None);
    assert_eq!(number("4096\n"), Some(4096));
    assert_eq!(number("max\n"), None);
}

/// K188: the machine's own want of memory is not the cage's limit.
#[test]
fn only_the_cages_own_limit_counts_as_met() {
    let killed = Usage { oom_kills: 1, ..Usage::default() };
    assert!(!killed.is_out_of_memory());
    assert!(Usage { memory_limit_met: true, ..killed }.is_out_of_memory());
    assert!(!Usage { memory_limit_met: true, ..Usage::default() }.is_out_of_memory());
}

/// K147, K188: systemd removes a group while its counters are read. What was read stays.
#[test]
fn a_counter_that_is_gone_is_what_it_was() {
    let whole = Usage {
        memory_peak: Some(9),
        memory_limit: Some(10),
        memory_limit_met: true,
        oom_kills: 1,
        pids_refused: 2,
        throttled: Duration::from_secs(3),
        cpu: Some(Duration::from_secs(4)),
    };
    assert_eq!(Usage::default().after(whole), whole);
    assert_eq!(whole.after(Usage::default()), whole);
    let half = Usage { memory_peak: None, throttled: Duration::from_secs(5), ..whole };
    let later = half.after(whole);
    assert_eq!((later.memory_peak, later.throttled), (Some(9), Duration::from_secs(5)));
}
