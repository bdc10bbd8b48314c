//! Random trees and random work in a real overlay: what is applied, in one go or in parts, is what the cage saw.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::support::{Fixture, Tree, summary};
use crate::{Selection, TreePath};

const NAMES: [&str; 4] = ["a", "b", "a.x", "c"];

#[derive(Clone, Debug)]
enum Operation {
    Write(String, u8),
    Append(String, u8),
    Remove(String),
    Directory(String),
    Move(String, String),
    Link(String, String),
    Mode(String, u32),
    Copy(String, String),
}

fn name() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&NAMES[..]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn operation() -> impl Strategy<Value = Operation> {
    let mode = proptest::sample::select(vec![0o644, 0o755, 0o700, 0o600, 0o444]);
    prop_oneof![
        3 => (name(), any::<u8>()).prop_map(|(name, text)| Operation::Write(name, text)),
        2 => (name(), any::<u8>()).prop_map(|(name, text)| Operation::Append(name, text)),
        3 => name().prop_map(Operation::Remove),
        2 => name().prop_map(Operation::Directory),
        3 => (name(), name()).prop_map(|(from, to)| Operation::Move(from, to)),
        1 => (name(), name()).prop_map(|(from, to)| Operation::Link(from, to)),
        2 => (name(), mode).prop_map(|(name, mode)| Operation::Mode(name, mode)),
        1 => (name(), name()).prop_map(|(from, to)| Operation::Copy(from, to)),
    ]
}

/// Many do not work, as in life. A directory has the modes that are asked for and `open`.
fn script(operations: &[Operation], open: u32) -> String {
    let lines = operations.iter().map(|operation| match operation {
        Operation::Write(name, text) => {
            format!("mkdir -p $(dirname {name}); printf '{text}\\nx\\n' > {name}")
        }
        Operation::Append(name, text) => format!("test -f {name} && echo {text} >> {name}"),
        Operation::Remove(name) => format!("rm -rf {name}"),
        Operation::Directory(name) => format!("mkdir -p {name}"),
        Operation::Move(from, to) => format!("mv {from} {to}"),
        Operation::Link(from, to) => format!("ln -s {from} {to}"),
        Operation::Mode(name, mode) => {
            let of_directory = mode | open;
            format!(
                "if test -d {name}; then chmod {of_directory:o} {name}; else chmod {mode:o} {name}; fi"
            )
        }
        Operation::Copy(from, to) => format!("cp -r {from} {to}"),
    });
    lines.map(|line| format!("{{ {line}; }} 2>/dev/null || true\n")).collect()
}

fn without_dates(tree: Tree) -> Tree {
    tree.into_iter().map(|(name, node)| (name, (node.0, node.1, node.2, (0, 0)))).collect()
}

/// A user can look into such a directory of the view, and the cage, whose root has the view's capabilities, can write.
const SEEN: u32 = 0o500;
/// What the user closed on the host is not opened by an apply, which says so instead.
const WRITTEN: u32 = 0o700;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_applied_is_what_was_seen(
        host in proptest::collection::vec(operation(), 0..14),
        first in proptest::collection::vec(operation(), 1..12),
        second in proptest::collection::vec(operation(), 0..8),
        part in any::<u64>(),
    ) {
        let fixture = Fixture::new();
        let made = std::process::Command::new("sh")
            .args(["-c", &script(&host, WRITTEN)])
            .current_dir(&fixture.host)
            .status();
        prop_assert!(made.unwrap().success());
        fixture.start();
        let before = without_dates(fixture.host_tree());
        fixture.cage(&script(&first, SEEN));
        let seen = without_dates(fixture.cage(&script(&second, SEEN)));
        let changes = fixture.changes();
        prop_assert_eq!(without_dates(fixture.host_tree()), before.clone());
        prop_assert!(changes.list.iter().all(|change| change.conflict.is_none()), "{:?}", summary(&changes));

        // Some of it first: what is not named stays, and the view does too.
        let chosen: BTreeSet<TreePath> = changes
            .list
            .iter()
            .enumerate()
            .filter(|(index, _)| part >> (index % 64) & 1 == 1)
            .map(|(_, change)| change.path.clone())
            .collect();
        if !chosen.is_empty() {
            fixture.apply(Selection::Paths(chosen.into_iter().collect())).unwrap();
            let view = without_dates(fixture.cage("true"));
            prop_assert_eq!(&view, &seen);
            fixture.workspace().undo(&[]).unwrap();
            prop_assert_eq!(without_dates(fixture.host_tree()), before.clone());
            prop_assert_eq!(summary(&fixture.changes()), summary(&changes));
        }
        let applied = fixture.apply_all();
        prop_assert_eq!(applied.left, vec![]);
        prop_assert_eq!(without_dates(fixture.host_tree()), seen);
        prop_assert!(fixture.changes().is_empty());
        if !changes.list.is_empty() {
            fixture.workspace().undo(&[]).unwrap();
            prop_assert_eq!(without_dates(fixture.host_tree()), before);
            prop_assert_eq!(summary(&fixture.changes()), summary(&changes));
        }
    }
}
