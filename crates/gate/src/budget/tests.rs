//! Shares of a budget: whatever one has, there is room for another.

use super::*;

#[test]
fn what_is_dropped_is_free_again() {
    let budget = Budget::new(3);
    let two = budget.take(2).unwrap();
    assert!(budget.take(2).is_none());
    let one = budget.take(1).unwrap();
    assert!(budget.take(1).is_none());
    drop((one, two));
    assert!(budget.take(3).is_some());
    assert!(budget.take(usize::MAX).is_none());
}

/// K15
#[test]
fn each_leaves_room_for_the_next() {
    let budget = Budget::new(3_000);
    let mut cages: Vec<Vec<Taken>> = Vec::new();
    for _ in 0..6 {
        let mut cage = Vec::new();
        while let Some(taken) = budget.take_share(cage.len()) {
            cage.push(taken);
        }
        assert!(!cage.is_empty(), "nothing was left after {} others", cages.len());
        cages.push(cage);
    }
    assert_eq!(cages[0].len(), 2_000);
    // What one gives back is there for all.
    cages.remove(0);
    assert!(budget.take_share(cages[0].len()).is_some());
}

#[test]
fn a_limit_is_divided_without_excess() {
    for serves in [Serves::OneCage, Serves::ManyCages] {
        for limit in [0, 1, 7, 64, 256, 1_024, 4_096, 20_000, 53_248, 1 << 20, u64::MAX] {
            let Division { connections, cages, questions, pipes } = Division::of(limit, serves);
            let counted = (connections + cages) * 2 + questions + pipes * 2;
            assert!(counted as u64 <= limit, "{limit}: {counted}");
        }
    }
    let many = Division { connections: 288, cages: 96, questions: 128, pipes: 32 };
    assert_eq!(Division::of(1_024, Serves::ManyCages), many);
    let one = Division { connections: 448, cages: 0, questions: 64, pipes: 16 };
    assert_eq!(Division::of(1_024, Serves::OneCage), one);
}

/// One cage among many can have as many connections as any can.
#[test]
fn the_usual_limit_is_enough_for_a_busy_cage() {
    let usual = Division::of(limits::DESCRIPTORS, Serves::ManyCages);
    let budget = Budget::new(usual.connections);
    let taken: Vec<Taken> =
        (0..limits::CONNECTIONS).map_while(|own| budget.take_share(own)).collect();
    assert_eq!(taken.len(), limits::CONNECTIONS);
    assert_eq!(usual.pipes, limits::PIPES);
}
