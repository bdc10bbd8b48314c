//! Any bytes as a manifest and, behind a NUL, as the arguments of a call: reading ends, errors can be
//! shown, and what a call gets is within the manifest and is no directory of sockets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manifest::{
    Call, CheckedArguments, Derived, Filter, Found, Grants, Hint, Manifest, ManifestErrors, Place,
    derive,
};
use plan::HostPath;
use manifest::Autonomy;
use policy::{FsAccess};
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let text = parts.next().unwrap_or_default();
    let json = parts.next().and_then(|json| serde_json::from_slice::<Value>(json).ok());
    if let Some(value) = &json {
        show(Manifest::from_value("dict", value));
    }
    let Some(manifest) = show(Manifest::from_toml("manifest.toml", text)) else { return };
    let home = path("/home/u");
    let arguments = json.as_ref().and_then(Value::as_object).cloned();
    let checked = arguments.and_then(|map| Filter::default().check(&manifest, map, Some(&home)).ok());
    let by_name = ["fs:write:~", "fs:read:/etc", "network:*", "network:10.0.0.0/8", "code:exec"];
    for grants in [Grants::Unsaid, Grants::listed(&by_name).expect("these are grants")] {
        for autonomy in Autonomy::ALL {
            call(&manifest, autonomy, &grants, checked.as_ref(), &home);
        }
    }
});

fn show(read: Result<Manifest, ManifestErrors>) -> Option<Manifest> {
    match read {
        Ok(manifest) => Some(manifest),
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            let text = errors.to_string();
            let misleads = |letter: char| letter != '\n' && policy::shown::misleads(letter);
            assert!(!text.contains(misleads), "{text:?}");
            None
        }
    }
}

fn call(
    manifest: &Manifest,
    autonomy: Autonomy,
    grants: &Grants,
    arguments: Option<&CheckedArguments>,
    home: &HostPath,
) {
    let code = path("/home/u/executors/one");
    let own_state = [path("/home/u/.config/stockade")];
    let found = |path: &HostPath| match path.as_bytes().last() {
        Some(b'x') => Found::Missing,
        Some(b'y') => Found::Other,
        _ => Found::Directory,
    };
    let place =
        Place { home: Some(home), code_directory: &code, own_state: &own_state, found: &found };
    let call = Call { autonomy, grants, arguments, extra_ro: &[], extra_rw: &[] };
    match derive(manifest, &call, &place) {
        Ok(derived) => check(manifest, &derived, &place),
        Err(refused) => assert!(!refused.reasons.is_empty()),
    }
}

fn check(manifest: &Manifest, derived: &Derived, place: &Place<'_>) {
    let own = [place.code_directory.clone(), path("/opt"), path("/var/lib/python3")];
    for rule in &derived.policy.fs {
        assert!(policy::ungrantable::check(&rule.path, place.own_state).is_ok());
        if own.contains(&rule.path) && rule.access == FsAccess::ReadOnly {
            continue;
        }
        let declared = manifest.capabilities.iter().any(|capability| {
            let is_enough = rule.access < FsAccess::ReadWrite || capability.mode() == "write";
            let covers = |hint: &Hint| match hint {
                Hint::Path(hint) => {
                    hint.root(place.home).is_some_and(|root| rule.path.is_within(&root))
                }
                Hint::Hosts { .. } | Hint::Argument(_) => false,
            };
            capability.family() == "fs" && is_enough && capability.hints.iter().any(covers)
        });
        assert!(declared, "{rule:?}");
    }
    for confined in &derived.confined {
        assert!(confined.path.is_within(&confined.root));
    }
}

fn path(text: &str) -> HostPath {
    HostPath::new(text).expect("it is absolute and normal")
}
