//! Every limit in the kernel's units.

use super::*;

/// K53, K55
#[test]
fn a_plan_in_the_kernels_units() {
    let plan = LimitsPlan {
        memory_mb: Some(64),
        cpu_weight: Some(50),
        cpu_millis: Some(1500),
        pids: Some(10),
        walltime_sec: Some(3),
        workspace_mb: None,
    };
    let numbers = Numbers::of(&plan);
    let expected =
        Numbers { memory: Some(64 << 20), pids: Some(11), weight: Some(50), quota: Some(150_000) };
    assert_eq!(numbers, expected);
    assert_eq!(numbers.limits(), Limit::ALL);
    assert_eq!(numbers.only(&[Limit::Pids]).limits(), [Limit::Pids]);
}

/// K56: a time limit alone needs no control group.
#[test]
fn time_is_not_the_kernels() {
    let plan = LimitsPlan { walltime_sec: Some(3), ..LimitsPlan::default() };
    assert_eq!(Numbers::of(&plan).limits(), []);
}

#[test]
fn extreme_limits_stay_numbers() {
    let plan = LimitsPlan {
        memory_mb: Some(u64::MAX),
        cpu_weight: Some(u32::MAX),
        cpu_millis: Some(1),
        pids: Some(u32::MAX),
        walltime_sec: None,
        workspace_mb: None,
    };
    let numbers = Numbers::of(&plan);
    assert_eq!(numbers.memory, Some(u64::MAX));
    assert_eq!(numbers.pids, Some(u64::from(u32::MAX) + 1));
    assert_eq!(numbers.weight, Some(10_000));
    assert_eq!(numbers.quota, Some(1000));
}

/// K54: every weight is what the policy's formula makes of its shares.
#[test]
fn shares_are_the_inverse_of_the_documented_formula() {
    for weight in 1..=10_000 {
        let shares = u32::try_from(shares_of_weight(weight)).unwrap();
        assert!((2..=262_144).contains(&shares), "{weight}: {shares}");
        assert_eq!(policy::text::weight_of_shares(shares), weight);
    }
}

#[test]
fn several_limits_read_as_a_sentence() {
    assert_eq!(listed(&[Limit::Memory]), "memory");
    assert_eq!(listed(&Limit::ALL), "memory, pids and cpu");
}
