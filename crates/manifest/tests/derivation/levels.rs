//! Every registered capability at every level of autonomy: what a call gets of it.

use manifest::Autonomy;
use manifest::autonomy::{Ask, Effect, Registered, Verdict, table};
use manifest::{Manifest, ReasonCode};
use policy::FsAccess;
use serde_json::{Value, json};

use crate::calls::{Asking, derived, host_with_executor, read};
use crate::fake_host::host;

/// A capability with the hints that it needs to give something.
fn declaring(entry: &Registered) -> Manifest {
    let hints = match (entry.effect, entry.mode) {
        (Effect::Read | Effect::Write, _) => json!(["~/notes/**"]),
        (Effect::Network, "*") | (Effect::Nothing, _) => Value::Null,
        (Effect::Network, _) => json!(["api.example.com:443"]),
    };
    let mut capability = json!({ "name": entry.to_string() });
    if !hints.is_null() {
        capability["hints"] = hints;
    }
    let value = json!({ "code_path": "main.py", "capabilities": [capability] });
    Manifest::from_value("dict", &value).unwrap_or_else(|errors| panic!("{errors}"))
}

/// M33, M34, M70, M72, M73, M89
#[test]
fn a_call_gets_what_the_level_says() {
    let here = host_with_executor();
    for entry in table() {
        let manifest = declaring(entry);
        for autonomy in Autonomy::ALL {
            let asking = Asking { autonomy, ..Asking::granting(&["declared", "network:*"]) };
            let result = derived(&here, &manifest, &asking);
            let about = format!("{entry} at {autonomy}");
            let verdict = manifest.capabilities[0].verdict(autonomy);
            if entry.effect == Effect::Nothing && verdict == Verdict::Denied {
                let refused = result.expect_err(&about);
                assert_eq!(refused.reasons[0].code, ReasonCode::Autonomy, "{about}");
                continue;
            }
            let result = result.expect(&about);
            let asks: Vec<Ask> = result.asks.iter().map(|asked| asked.ask).collect();
            let expected = match verdict {
                Verdict::ApprovalRequired(ask) => vec![ask],
                Verdict::Allowed | Verdict::Denied => Vec::new(),
            };
            assert_eq!(asks, expected, "{about}");
            assert_eq!(result.narrowed.len(), usize::from(verdict == Verdict::Denied), "{about}");
            let notes = result.policy.fs.iter().find(|rule| rule.path == host("/home/dev/notes"));
            let access = notes.map(|rule| rule.access);
            let expected = match entry.effect {
                Effect::Read => Some(FsAccess::ReadOnly),
                Effect::Write if autonomy == Autonomy::ReadOnly => Some(FsAccess::ReadOnly),
                Effect::Write => Some(FsAccess::ReadWrite),
                Effect::Network | Effect::Nothing => None,
            };
            assert_eq!(access, expected, "{about}");
            let reaches = !result.policy.net.asks_for_nothing();
            let is_network = entry.effect == Effect::Network;
            assert_eq!(reaches, is_network && verdict != Verdict::Denied, "{about}");
        }
    }
}

/// M49: without hosts every mode is the whole network, on its own ports.
#[test]
fn a_network_mode_without_hosts_is_the_whole_network() {
    let here = host_with_executor();
    for (mode, reached) in [
        ("http", vec!["**:80", "**:443"]),
        ("https", vec!["**:443"]),
        ("tcp", vec!["**"]),
        ("*", vec!["**"]),
    ] {
        let manifest = read(&format!("code = \"main.py\"\ncapabilities = [\"network:{mode}\"]"));
        for autonomy in [Autonomy::Supervised, Autonomy::Full] {
            let silent = Asking { autonomy, ..Asking::default() };
            for asking in [silent, Asking { autonomy, ..Asking::granting(&["declared"]) }] {
                let refused = derived(&here, &manifest, &asking).unwrap_err();
                assert_eq!(refused.reasons[0].code, ReasonCode::NeedsGrant, "{mode}");
            }
            let granted = Asking { autonomy, ..Asking::granting(&["network:*"]) };
            let result = derived(&here, &manifest, &granted).unwrap();
            assert!(result.whole_network);
            assert_eq!(result.asks[0].ask, Ask::Always);
            let allowed: Vec<String> =
                result.policy.net.allow.keys().map(ToString::to_string).collect();
            assert_eq!(allowed, reached, "{mode}");
        }
        let nothing = derived(&here, &manifest, &Asking::granting(&["code:exec"])).unwrap();
        assert!(nothing.policy.net.asks_for_nothing());
        assert_eq!(nothing.narrowed.len(), 1);
        let host =
            derived(&here, &manifest, &Asking::granting(&["network:example.com:443"])).unwrap();
        assert!(!host.whole_network && host.asks.is_empty());
        let allowed: Vec<String> = host.policy.net.allow.keys().map(ToString::to_string).collect();
        assert_eq!(allowed, ["example.com:443"], "{mode}");
    }
}

/// M73, M74: the caller's own paths come after, and a level narrows them too.
#[test]
fn paths_of_the_caller_are_added_and_narrowed() {
    let here = host_with_executor();
    let manifest = read("code = \"main.py\"");
    let extras = Asking {
        extra_ro: vec![host("/srv/data")],
        extra_rw: vec![host("/home/dev/notes"), host("/home/dev/executors")],
        ..Asking::default()
    };
    let given = |asking: &Asking| -> Vec<String> {
        let result = derived(&here, &manifest, asking).unwrap();
        result
            .policy
            .fs
            .iter()
            .map(|rule| format!("{} {}", rule.access.word(), rule.path))
            .collect()
    };
    assert_eq!(
        given(&extras),
        [
            "rw /home/dev/executors",
            "ro /home/dev/executors/one",
            "rw /home/dev/notes",
            "ro /opt",
            "ro /srv/data"
        ]
    );
    let read_only = Asking { autonomy: Autonomy::ReadOnly, ..extras };
    assert!(given(&read_only).iter().all(|rule| rule.starts_with("ro ")));
    for (path, code) in [
        ("/run/user/1000", ReasonCode::Ungrantable),
        ("/home/dev/.config/stockade", ReasonCode::Ungrantable),
        ("/home/dev/executors/one/data", ReasonCode::Code),
    ] {
        let asking = Asking { extra_rw: vec![host(path)], ..Asking::default() };
        let refused = derived(&here, &manifest, &asking).unwrap_err();
        assert_eq!(refused.reasons[0].code, code, "{path}");
    }
}

/// M49: what calls itself `network:*` asks each time, also where it names hosts.
#[test]
fn every_network_asks_where_it_names_hosts_too() {
    let manifest = read(
        "code = \"main.py\"\ncapabilities = [{ name = \"network:*\", hints = [\"example.com:443\"] }]",
    );
    for autonomy in [Autonomy::Supervised, Autonomy::Full] {
        for grants in [&["declared"][..], &["network:*"], &["network:example.com"]] {
            let asking = Asking { autonomy, ..Asking::granting(grants) };
            let result = derived(&host_with_executor(), &manifest, &asking).unwrap();
            assert_eq!(result.asks.len(), 1, "{autonomy} {grants:?}");
            assert_eq!(result.asks[0].ask, Ask::Always);
            assert_eq!(result.asks[0].target.as_deref(), Some("example.com:443"));
        }
    }
    let nothing = derived(&host_with_executor(), &manifest, &Asking::granting(&["network:a.org"]));
    assert_eq!(nothing.unwrap().asks, []);
}
