//! What holds for every manifest, grant, level and argument.

use std::collections::BTreeSet;

use manifest::Autonomy;
use manifest::{Hint, Manifest, hints};
use plan::HostPath;
use policy::{FsAccess, is_within};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::calls::{Asking, CODE, derived, host_with_executor};
use crate::fake_host::{FakeHost, HOME, host};

const PATHS: &[&str] = &[
    "~/notes/**",
    "~/notes",
    "~/notes/todo.md",
    "~/new/",
    "~/other/**",
    "~/**",
    "~/.ssh/**",
    "/srv/data/**",
    "/srv/data/set/*",
    "/srv/**",
    "/tmp/**",
    "host:/tmp/work/**",
    "/var/lib/thing",
    "/etc/nginx/**",
    "/usr/**",
    "~/executors/**",
    "~/executors/one/**",
    "/run/**",
    "relative",
    "",
];
const HOSTS: &[&str] = &[
    "example.com",
    "*.example.com",
    "**.example.com:443",
    "https://api.example.com/x",
    "api.example.com:8443",
    "git.example.org:22",
    "10.0.0.5:22",
    "10.0.0.0/8:22",
];
const GRANTS: &[&str] = &[
    "declared",
    "fs:read:~",
    "fs:write:~",
    "fs:write:~/notes",
    "fs:read:~/notes/todo.md",
    "fs:read:/srv",
    "fs:write:/srv/data",
    "fs:read:~/.ssh",
    "fs:read:/etc",
    "fs:write:/usr",
    "fs:write:host:/tmp/work",
    "fs:write:~/executors/one/data",
    "fs:read:~/.config/stockade",
    "network:*",
    "network:example.com",
    "network:api.example.com:443",
    "network:10.0.0.0/8",
    "code:exec",
];
const VALUES: &[&str] = &[
    "~/notes/todo.md",
    "~/notes",
    "/srv/data/set/rows.csv",
    "/srv",
    "~/other/src",
    "/etc/nginx",
    "~",
    "x",
    "~/notes/new/",
    "/tmp/work/in",
    "https://api.example.com/",
    "b.example.com:443",
    "http://10.0.0.5:22/",
];

fn capability() -> impl Strategy<Value = Value> {
    let file = (
        select(&["fs:read", "fs:write"][..]),
        hints_of(PATHS),
        select(&["", "arg:path", "arg:paths"][..]),
    );
    let modes = &["network:http", "network:https", "network:tcp", "network:*"][..];
    let network = (select(modes), hints_of(HOSTS), select(&["", "arg:url"][..]));
    let with_argument = |(name, mut hints, argument): (&str, Vec<&str>, &'static str)| {
        // `arg:` alone is an error of the manifest.
        if !argument.is_empty() && hints.iter().any(|hint| hint.len() > 8) {
            hints.push(argument);
        }
        json!({ "name": name, "hints": hints })
    };
    let conditional = |mut capability: Value| {
        capability["when"] = json!({ "arg": "note", "non_empty": true });
        capability
    };
    let one = prop_oneof![
        4 => file.prop_map(with_argument),
        3 => network.prop_map(with_argument),
        1 => Just(json!("code:exec")),
    ];
    prop_oneof![3 => one.clone(), 1 => one.prop_filter_map("a table", move |capability| {
        capability.is_object().then(|| conditional(capability))
    })]
}

fn hints_of(from: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(from), 0..4)
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let capabilities = prop::collection::vec(capability(), 0..5);
    capabilities.prop_filter_map("a manifest", |capabilities| {
        let value = json!({
            "code_path": "main.py",
            "capabilities": capabilities,
            "args": {
                "path": { "type": "path" }, "paths": { "type": "list", "items": "path" },
                "url": { "type": "url" }, "note": { "type": "text" },
            },
        });
        Manifest::from_value("dict", &value).ok()
    })
}

fn arguments() -> impl Strategy<Value = Option<Map<String, Value>>> {
    let value = || prop::option::of(select(VALUES));
    let some = (value(), prop::collection::vec(select(VALUES), 0..3), value(), value());
    let some = some.prop_map(|(path, paths, url, note)| {
        let all = json!({ "path": path, "paths": paths, "url": url, "note": note });
        all.as_object().cloned()
    });
    prop_oneof![1 => Just(None), 4 => some]
}

fn asking() -> impl Strategy<Value = Asking> {
    let grants = prop_oneof![
        1 => Just(None),
        4 => prop::collection::vec(select(GRANTS), 0..6).prop_map(Some),
    ];
    (select(&Autonomy::ALL[..]), grants, arguments()).prop_map(|(autonomy, grants, arguments)| {
        let asking = grants.map_or_else(Asking::default, |texts| Asking::granting(&texts));
        Asking { autonomy, arguments, ..asking }
    })
}

/// Some of what is on the host may be missing.
fn some_host() -> impl Strategy<Value = FakeHost> {
    let missing = prop::collection::vec(
        select(&["/home/dev/notes/", "/srv/data/", "/tmp/work", "/opt/"][..]),
        0..2,
    );
    missing.prop_map(|missing| {
        let mut here = host_with_executor();
        here.entries.retain(|entry| !missing.iter().any(|gone| entry.starts_with(gone)));
        here
    })
}

/// Whether the manifest itself gives this much at this path, whatever its conditions.
fn declares(manifest: &Manifest, path: &HostPath, access: FsAccess) -> bool {
    let home = host(HOME);
    manifest.capabilities.iter().any(|capability| {
        let gives = match capability.mode() {
            "write" => FsAccess::ReadWrite,
            _ => FsAccess::ReadOnly,
        };
        let covers = |hint: &Hint| match hint {
            Hint::Path(hint) => hint.root(Some(&home)).is_some_and(|root| path.is_within(&root)),
            Hint::Hosts { .. } | Hint::Argument(_) => false,
        };
        capability.family() == "fs" && gives >= access && capability.hints.iter().any(covers)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// M74, T61: what a call gets is within its manifest, whatever is granted, at every level and with
    /// any arguments; and what is given is never the code, a socket's directory or our own state.
    #[test]
    fn what_holds_is_within_the_manifest(here in some_host(), manifest in manifest(), asking in asking()) {
        let Ok(result) = derived(&here, &manifest, &asking) else { return Ok(()) };
        let own: BTreeSet<HostPath> = [host(CODE), host("/opt")].into();
        for rule in &result.policy.fs {
            if own.contains(&rule.path) {
                prop_assert_eq!(rule.access, FsAccess::ReadOnly);
                continue;
            }
            prop_assert!(declares(&manifest, &rule.path, rule.access), "{:?}", rule);
            prop_assert!(rule.access < FsAccess::ReadWrite || asking.autonomy != Autonomy::ReadOnly);
            prop_assert!(rule.access < FsAccess::ReadWrite || !rule.path.is_within(&host(CODE)));
            prop_assert!(policy::ungrantable::check(&rule.path, &here.place().own_state).is_ok());
        }
        for to in result.policy.net.allow.keys() {
            let covers = |hint: &Hint| match hint {
                Hint::Hosts { destinations, .. } => destinations.iter().any(|one| one.covers(to)),
                Hint::Path(_) | Hint::Argument(_) => false,
            };
            let declared = manifest.capabilities.iter().any(|capability| {
                capability.is_whole_network() || capability.hints.iter().any(covers)
            });
            prop_assert!(declared, "{}", to);
            prop_assert!(asking.autonomy != Autonomy::ReadOnly);
        }
        for confined in &result.confined {
            prop_assert!(confined.path.is_within(&confined.root));
        }
    }

    /// M74: more autonomy gives no more than the manifest and the grants do; less gives no more.
    #[test]
    fn less_autonomy_gives_no_more(manifest in manifest(), asking in asking()) {
        let here = host_with_executor();
        let at = |autonomy| derived(&here, &manifest, &Asking { autonomy, ..asking.clone() });
        if let (Ok(full), Ok(supervised)) = (at(Autonomy::Full), at(Autonomy::Supervised)) {
            prop_assert_eq!(&full.policy, &supervised.policy);
            if let Ok(read_only) = at(Autonomy::ReadOnly) {
                prop_assert!(is_within(&read_only.policy, &supervised.policy).is_ok());
            }
        }
    }

    /// T61: an argument that no hint and no condition is about changes nothing; one that a hint is about leaves
    /// no more than the same manifest without that hint.
    #[test]
    fn arguments_never_widen(manifest in manifest(), asking in asking()) {
        let here = host_with_executor();
        let Ok(with) = derived(&here, &manifest, &asking) else { return Ok(()) };
        let mut plain = manifest.clone();
        for capability in &mut plain.capabilities {
            capability.hints.retain(|hint| !matches!(hint, Hint::Argument(_)));
            capability.when = None;
        }
        let silent = Asking { arguments: None, ..asking.clone() };
        let Ok(without) = derived(&here, &plain, &silent) else { return Ok(()) };
        prop_assert!(
            is_within(&with.policy, &without.policy).is_ok(),
            "{:?} and {:?}", with.policy.fs, without.policy.fs
        );
    }

    /// M38, M39, M79: to expand a root again changes nothing.
    #[test]
    fn expansion_is_idempotent(text in "(~|/|host:/)?[a-z~*?./{\\[ ]{0,24}") {
        let home = host(HOME);
        let hints::ReadPath::Hint(hint) = hints::read_path(&text) else { return Ok(()) };
        let roots = hints::roots([&hint, &hint], Some(&home));
        prop_assert!(roots.len() <= 1);
        for root in roots {
            let hints::ReadPath::Hint(again) = hints::read_path(&root.to_string()) else {
                return Err(TestCaseError::fail("a root is a hint"));
            };
            prop_assert_eq!(again.root(Some(&home)), Some(root));
        }
    }
}
