//! The promises of the design that manifests come from, each by a translation of its own test's
//! name. None of them needs bubblewrap: the command line is looked at.

use manifest::{Hint, Manifest, PathHint, hints};
use plan::NetworkPlan;
use serde_json::json;

use crate::calls::{Asking, CODE, argv, compiled, derived, has, host_with_executor, read};
use crate::fake_host::host;

fn roots(texts: &[&str]) -> Vec<String> {
    let value = json!({
        "code_path": "x.py",
        "capabilities": [{ "name": "fs:read", "hint": texts }],
    });
    let manifest = Manifest::from_value("dict", &value).unwrap_or_else(|errors| panic!("{errors}"));
    let path = |hint: &Hint| match hint {
        Hint::Path(hint) => Some(hint.clone()),
        Hint::Hosts { .. } | Hint::Argument(_) => None,
    };
    let paths: Vec<PathHint> = manifest.capabilities[0].hints.iter().filter_map(path).collect();
    let home = host("/home/roberto");
    hints::roots(&paths, Some(&home)).iter().map(ToString::to_string).collect()
}

/// M16, M38, M39, M40, M41, M42, M43, M79: `expand_hints_tronca_al_glob`.
#[test]
fn hints_are_cut_at_the_glob() {
    assert_eq!(roots(&["~/notes/**"]), ["/home/roberto/notes"]);
    assert_eq!(roots(&["/tmp/**"]), ["/tmp"]);
    assert_eq!(roots(&["/tmp/*"]), ["/tmp"]);
    assert_eq!(roots(&["~/Pictures"]), ["/home/roberto/Pictures"]);
    assert_eq!(roots(&["/srv/data"]), ["/srv/data"]);
    assert_eq!(roots(&["/srv/a[0-9]/b", "/srv/*.txt", "/srv/{a,b}", "/srv/a?"]), ["/srv"]);
    assert_eq!(
        roots(&["~/notes/**", "~/notes/*.md", "~/notes/", "~/notes"]),
        ["/home/roberto/notes"]
    );
}

/// M16, M28, M29, M80: `capability_kind_e_mode_parse`.
#[test]
fn kind_and_mode_are_read_in_both_forms() {
    for (name, kind, mode) in [
        ("fs:read", "fs", "read"),
        ("network:http", "network", "http"),
        ("code:exec", "code", "exec"),
    ] {
        let value = json!({ "code_path": "x.py", "capabilities": [name, { "name": name }] });
        let manifest = Manifest::from_value("dict", &value).unwrap();
        for capability in &manifest.capabilities {
            assert_eq!((capability.family(), capability.mode()), (kind, mode));
            assert_eq!(capability.to_string(), name);
        }
        assert_eq!(manifest.capabilities.len(), 2);
    }
}

/// M47, M81, M85: `build_bwrap_args_isola_rete_se_no_network_cap`.
#[test]
fn without_a_network_capability_the_network_is_isolated() {
    let manifest = read("code = \"main.py\"\ncapabilities = [\"fs:read\", \"code:exec\"]");
    assert!(has(&argv(&manifest, &Asking::default()), &["--unshare-net"]));
    let host = host_with_executor();
    let derived = derived(&host, &manifest, &Asking::default()).unwrap();
    assert!(derived.policy.net.asks_for_nothing() && !derived.whole_network);
    assert_eq!(compiled(&host, &derived).0.walls.network, NetworkPlan::Loopback);
}

/// M32, M49, M85: `build_bwrap_args_lascia_rete_se_network_cap`. Named hosts go through the
/// gatekeeper; the whole network has to be granted by name.
#[test]
fn with_a_network_capability_there_is_a_network() {
    let host = host_with_executor();
    let named = read(
        "code = \"main.py\"\n[[capabilities]]\nname = \"network:http\"\nhints = [\"api.example.com\"]",
    );
    let result = derived(&host, &named, &Asking::default()).unwrap();
    assert!(!result.whole_network);
    let NetworkPlan::Gatekeeper(gatekeeper) = compiled(&host, &result).0.walls.network else {
        panic!("no gatekeeper");
    };
    let allowed: Vec<String> = gatekeeper.allow.iter().map(ToString::to_string).collect();
    assert_eq!(allowed, ["api.example.com:80", "api.example.com:443"]);

    let whole = read("code = \"main.py\"\ncapabilities = [\"network:*\"]");
    let refused = derived(&host, &whole, &Asking::default()).unwrap_err();
    assert_eq!(refused.reasons[0].code, manifest::ReasonCode::NeedsGrant);
    let result = derived(&host, &whole, &Asking::granting(&["network:*"])).unwrap();
    assert!(result.whole_network);
    assert!(matches!(compiled(&host, &result).0.walls.network, NetworkPlan::Gatekeeper(_)));
}

/// M30, M31, M83, M85: `build_bwrap_args_bind_rw_per_fs_write`.
#[test]
fn fs_write_binds_read_write_and_fs_read_binds_read_only() {
    let manifest = read(
        "code = \"main.py\"\n\
         [[capabilities]]\nname = \"fs:write\"\nhint = \"~/notes/**\"\n\
         [[capabilities]]\nname = \"fs:read\"\nhint = [\"/srv/data/**\"]",
    );
    let argv = argv(&manifest, &Asking::default());
    assert!(has(&argv, &["--bind", "/home/dev/notes", "/home/dev/notes"]), "{argv:?}");
    assert!(has(&argv, &["--ro-bind", "/srv/data", "/srv/data"]), "{argv:?}");
    assert!(!has(&argv, &["--bind", "/srv/data", "/srv/data"]));
}

/// M18, M19, M21, M22, M25, M84, M85: `build_bwrap_args_include_code_dir_ro`.
#[test]
fn the_code_directory_is_always_bound_read_only() {
    for capabilities in [
        "[]",
        "[\"fs:write\", \"code:exec\"]",
        "[{ name = \"fs:write\", hint = \"~/executors/**\" }]",
    ] {
        let manifest = read(&format!("code = \"main.py\"\ncapabilities = {capabilities}"));
        let argv = argv(&manifest, &Asking::default());
        assert!(has(&argv, &["--ro-bind", CODE, CODE]), "{argv:?}");
        assert!(!has(&argv, &["--bind", CODE, CODE]));
        // What interpreters use is there where the host has it.
        assert!(has(&argv, &["--ro-bind", "/opt", "/opt"]));
        assert!(!argv.contains(&"/var/lib/python3".to_owned()));
        for private in [["--proc", "/proc"], ["--dev", "/dev"], ["--tmpfs", "/tmp"]] {
            assert!(has(&argv, &private), "{private:?}");
        }
    }
}
