//! What the hash depends on, and what not.

use serde_json::Value;

use super::*;
use crate::sample::{directory, guest, plan};
use crate::seccomp::Profile;
use crate::{Access, Execution, GatekeeperPlan, Mapping, SourceIndex};

/// K241
#[test]
fn what_belongs_to_one_start_does_not_count() {
    let mut first = plan(Vec::new());
    first.identity.map = IdentityMap::Unowned(HostIds { uid: 5, gid: 6 });
    let mut second = first.clone();
    second.invocation = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    second.identity.hostname = "stockade-01arz3nd".to_owned();
    second.identity.map = IdentityMap::Unowned(HostIds { uid: 7, gid: 8 });
    second.summary.line = "another".to_owned();
    assert_ne!(first, second);
    assert_eq!(first.hash(), second.hash());
    assert_eq!(first.hash().as_str().len(), 64);
}

/// K38, K241: a cage is the same whichever session it is in.
#[test]
fn the_session_does_not_count() {
    let with_scratch = |at: &str| {
        let scratch = MountOp::Bind {
            source: SourceIndex(0),
            at: guest(at),
            access: Access::ReadWrite,
            execution: Execution::Allowed,
            mapping: Mapping::Plain,
            purpose: BindPurpose::Base,
        };
        let first = plan(vec![scratch]);
        let mut second = first.clone();
        second.sources[0].path = HostPath::new("/elsewhere").unwrap();
        second.sources[0].inode += 1;
        (first.hash(), second.hash())
    };
    let (first, second) = with_scratch("/scratch");
    assert_eq!(first, second);
    let (first, second) = with_scratch("/usr");
    assert_ne!(first, second);
}

/// K241
#[test]
fn everything_else_counts() {
    let cases: &[fn(&mut Plan)] = &[
        |plan| plan.cage = "other".to_owned(),
        |plan| plan.identity.uid = 1001,
        |plan| plan.identity.home = guest("/elsewhere"),
        |plan| plan.identity.map = IdentityMap::Caller(HostIds { uid: 5, gid: 6 }),
        |plan| plan.identity.map = IdentityMap::Unowned(HostIds { uid: 1001, gid: 1001 }),
        |plan| plan.sources[0].inode = 99,
        |plan| plan.mounts.push(directory("/a")),
        |plan| plan.network = NetworkPlan::Gatekeeper(GatekeeperPlan::default()),
        |plan| plan.seccomp = SeccompPlan::native(Profile::Relaxed),
        |plan| plan.limits.pids = Some(3),
        |plan| plan.environment.clear(),
        |plan| plan.argv.push("x".into()),
        |plan| plan.working_directory = guest("/tmp"),
        |plan| plan.umask = 0,
        |plan| plan.must_exist.push(guest("/a")),
        |plan| plan.must_not_exist.push(guest("/a")),
        |plan| plan.watched.push(HostPath::root()),
        |plan| plan.summary.reduced_isolation.push("x".to_owned()),
    ];
    let mut hashes = std::collections::BTreeSet::from([plan(Vec::new()).hash()]);
    for change in cases {
        let mut changed = plan(Vec::new());
        change(&mut changed);
        assert!(hashes.insert(changed.hash()));
    }
}

/// K241: the order of keys in a text does not matter, nor where a Plan went on its way.
#[test]
fn the_order_of_keys_in_a_text_does_not_matter() {
    fn reversed(value: &Value) -> String {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by(|one, other| other.0.cmp(one.0));
                let fields: Vec<String> = fields
                    .into_iter()
                    .map(|(name, field)| {
                        format!("{}:{}", Value::from(name.as_str()), reversed(field))
                    })
                    .collect();
                format!("{{{}}}", fields.join(","))
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(","))
            }
            plain => plain.to_string(),
        }
    }
    let plan = plan(vec![directory("/a")]);
    let text = reversed(&serde_json::to_value(&plan).unwrap());
    assert_ne!(text.as_bytes(), crate::encode(&plan));
    let again: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(again, plan);
    assert_eq!(again.hash(), plan.hash());
}
