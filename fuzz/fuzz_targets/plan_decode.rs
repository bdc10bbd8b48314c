//! Any bytes as a Plan, and a good Plan with some bytes replaced: taken or refused, never a panic;
//! what is taken can be sent again, hashed and rendered.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plan::{ByteString, HostIds, HostPath, Source};
use policy::facts::{BaseEntry, Caller, HostFacts, ResolvedRule};
use policy::{FsAccess, FsRule, Invocation, Policy, Reach, RuleOrigin};

fuzz_target!(|data: &[u8]| {
    try_bytes(data);
    // Two bytes say where, one how much is cut out, the rest goes in.
    if let [low, high, cut, insert @ ..] = data {
        let start = usize::from(u16::from_le_bytes([*low, *high])) % GOOD.len();
        let end = (start + usize::from(*cut)).min(GOOD.len());
        try_bytes(&[&GOOD[..start], insert, &GOOD[end..]].concat());
    }
});

fn try_bytes(bytes: &[u8]) {
    let Ok(plan) = plan::decode(bytes) else { return };
    let encoded = plan::encode(&plan);
    let again = plan::decode(&encoded).expect("what was taken is taken again");
    assert_eq!(again, plan);
    assert_eq!(plan::encode(&again), encoded);
    assert_eq!(again.hash(), plan.hash());
    let command = plan::render::bwrap(&plan, 3);
    assert!(command.argv.iter().all(|word| !word.as_bytes().contains(&0)));
    plan::render::bwrap_gaps(&plan);
    plan::render::person(&plan);
    assert!(!plan.one_line().contains('\n'));
}

/// A Plan with one of everything.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let host = |path: &str| HostPath::new(path).expect("a path");
    let source = |path: &str, kind| Source { path: host(path), kind, device: 1, inode: 2 };
    let rule = |access, path: &str| FsRule {
        access,
        path: host(path),
        reach: Reach::BeneathProject,
        origin: RuleOrigin::BuiltIn("fuzzing"),
    };
    let found = |index| ResolvedRule::Found {
        source: plan::SourceIndex(index),
        owner: (1, 1),
        caller_owned: true,
    };
    let base = |at: &str, index| BaseEntry::Device {
        at: plan::GuestPath::new(at).expect("a path"),
        source: plan::SourceIndex(index),
    };
    let policy = Policy {
        fs: vec![
            rule(FsAccess::ReadWrite, "/home/u/p"),
            rule(FsAccess::Hide, "/home/u/p/s"),
            rule(FsAccess::ReadOnly, "/home/u/p/s/f"),
        ],
        ..Policy::closed("default")
    };
    let facts = HostFacts {
        caller: Caller {
            ids: HostIds { uid: 1, gid: 1 },
            privileged: true,
            home: Some(host("/home/u")),
        },
        sources: vec![
            source("/home/u/p", plan::FileKind::Directory),
            source("/home/u/p/s", plan::FileKind::Directory),
            source("/home/u/p/s/f", plan::FileKind::File),
            source("/dev/null", plan::FileKind::File),
        ],
        rules: vec![found(0), found(1), found(2)],
        base: vec![base("/dev/null", 3)],
        commands: Vec::new(),
        secrets: Vec::new(),
        protected: Vec::new(),
        between: Vec::new(),
        environment: Vec::new(),
        kept: Default::default(),
        project: host("/home/u/p"),
        working_directory: host("/home/u/p"),
        umask: 0o022,
    };
    let invocation = Invocation {
        id: "01JCQZX8V5T3M9N4K2B7R6W1AD".to_owned(),
        argv: vec![ByteString::from("true")],
        unowned: HostIds { uid: 1_900_000_001, gid: 1_900_000_001 },
    };
    let plan = policy::compile(&policy, &facts, &invocation).expect("a plan");
    plan::encode(&plan)
});
