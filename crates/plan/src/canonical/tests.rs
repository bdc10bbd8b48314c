//! What the hash depends on, and what not.

use serde_json::Value;

use super::*;
use crate::sample::{bind, directory, guest, plan};
use crate::seccomp::Profile;
use crate::{
    Access, BindPurpose, GatekeeperPlan, HostIds, HostPath, IdentityMap, NetworkPlan, SeccompPlan,
    SourceIndex, Start,
};

/// K38, K241: nor does the session that a cage is in, nor its program.
#[test]
fn what_belongs_to_one_start_does_not_count() {
    let scratch = bind(3, "/scratch", Access::ReadWrite, BindPurpose::Scratch);
    let mut first = plan(vec![directory("/scratch"), scratch]);
    first.walls.identity.map = IdentityMap::Unowned;
    let mut second = first.clone();
    let elsewhere = HostPath::new("/elsewhere").unwrap();
    second.start.sources[0].path = elsewhere.clone();
    second.start = Start {
        invocation: "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        hostname: "stockade-01arz3nd".to_owned(),
        unowned: HostIds { uid: 7, gid: 8 },
        sources: second.start.sources,
        argv: vec!["sh".into(), "-c".into(), "true".into()],
        summary: "another".to_owned(),
        watch: crate::seccomp::Watch::Lookups,
    };
    assert_eq!((first.check(), second.check()), (Ok(()), Ok(())));
    assert_eq!(second.source(SourceIndex(3)).unwrap().path, elsewhere);
    assert_ne!((first.host_ids(), &first), (second.host_ids(), &second));
    assert_eq!(first.hash(), second.hash());
    assert_eq!(first.hash().as_str().len(), 64);
}

/// K241
#[test]
fn everything_else_counts() {
    let cases: &[fn(&mut Plan)] = &[
        |plan| plan.version = 0,
        |plan| plan.walls.cage = "other".to_owned(),
        |plan| plan.walls.identity.uid = 1001,
        |plan| plan.walls.identity.home = guest("/elsewhere"),
        |plan| plan.walls.identity.map = IdentityMap::Caller(HostIds { uid: 5, gid: 6 }),
        |plan| plan.walls.identity.map = IdentityMap::Unowned,
        |plan| plan.walls.sources[0].inode = 99,
        |plan| plan.walls.mounts.push(directory("/a")),
        |plan| plan.walls.network = NetworkPlan::Gatekeeper(GatekeeperPlan::default()),
        |plan| plan.walls.seccomp = SeccompPlan::native(Profile::Relaxed),
        |plan| plan.walls.limits.pids = Some(3),
        |plan| plan.walls.environment.clear(),
        |plan| plan.walls.working_directory = guest("/tmp"),
        |plan| plan.walls.umask = 0,
        |plan| plan.walls.must_exist.push(guest("/a")),
        |plan| plan.walls.must_not_exist.push(guest("/a")),
        |plan| plan.walls.watched.push(HostPath::root()),
        |plan| plan.walls.reduced_isolation.push("x".to_owned()),
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
