//! Lines about refused targets.

use gate::account::DeniedTarget;

use super::line;

fn denied(target: &str, port: Option<u16>, code: &str, rule: Option<&str>) -> DeniedTarget {
    DeniedTarget {
        target: target.to_owned(),
        port,
        rule: rule.map(str::to_owned),
        code: Some(code.to_owned()),
        reason: "because".to_owned(),
        way: None,
        count: 3,
    }
}

/// K189: what was refused, how often, why, and what would allow it if a flag can.
#[test]
fn a_refused_target_is_one_line() {
    let cases = [
        (
            denied("a.example", Some(443), "not_allowed", None),
            "refused `a.example:443` ×3: because; `--net a.example:443` would allow it",
        ),
        (
            denied("a.example", None, "not_allowed", None),
            "refused `a.example` ×3: because; `--net a.example` would allow it",
        ),
        (
            denied("2001:db8::1", Some(80), "not_allowed", None),
            "refused `[2001:db8::1]:80` ×3: because; `--net [2001:db8::1]:80` would allow it",
        ),
        (
            denied("127.0.0.1", Some(5432), "not_allowed", None),
            "refused `127.0.0.1:5432` ×3: because; `--host-port 5432` leads to that port of the host",
        ),
        (
            denied("a.example", Some(443), "denied_by_rule", Some("*.example")),
            "refused `a.example:443` ×3: because",
        ),
        (
            denied("a.example", Some(443), "server_name_differs", None),
            "refused `a.example:443` ×3: because",
        ),
    ];
    for (denied, expected) in cases {
        assert_eq!(line(&denied), expected);
    }
}
