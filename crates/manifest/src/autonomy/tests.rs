//! The table of levels, written a second time.

use super::*;

/// M69, M70: the words of the levels; who says nothing is supervised.
#[test]
fn the_words_of_a_level_are_read() {
    for (word, level) in [
        ("read_only", Autonomy::ReadOnly),
        ("readonly", Autonomy::ReadOnly),
        ("ReadOnly", Autonomy::ReadOnly),
        ("supervised", Autonomy::Supervised),
        ("Supervised", Autonomy::Supervised),
        ("full", Autonomy::Full),
        ("Full", Autonomy::Full),
    ] {
        assert_eq!(word.parse(), Ok(level), "{word}");
        assert_eq!(serde_json::from_value::<Autonomy>(word.into()).unwrap(), level);
    }
    for word in ["", "FULL", "root", "read-only ", "none"] {
        assert_eq!(word.parse::<Autonomy>(), Err(UnknownAutonomy), "{word}");
    }
    for level in Autonomy::ALL {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    assert_eq!(Autonomy::default(), Autonomy::Supervised);
}

/// M70, M72, M89: every capability at every level. `+` is allowed, `?` asks once, `!` asks each time,
/// `-` is denied.
#[test]
fn every_capability_at_every_level() {
    let expected = "fs:read +++, fs:write -++, network:http -++, network:https -++, network:tcp -++, \
                    network:* -!!, code:exec -?+, time:read +++, calendar:read +++, \
                    contacts:read +++, mail:read +++, messages:read +++, memory:read +++, \
                    clipboard:read +++, calendar:write -?+, contacts:write -?+, memory:write -?+, \
                    clipboard:write -?+, notify:send -?+, schedule:write -?+, mail:send -!!, \
                    messages:send -!!, payment:send -!!, secret:read -!!, device:control -!!";
    let sign = |verdict| match verdict {
        Verdict::Allowed => '+',
        Verdict::ApprovalRequired(Ask::Storable) => '?',
        Verdict::ApprovalRequired(Ask::Always) => '!',
        Verdict::Denied => '-',
    };
    let row = |entry: &Registered| {
        let signs: String =
            Autonomy::ALL.into_iter().map(|level| sign(entry.verdict(level))).collect();
        format!("{entry} {signs}")
    };
    let found: Vec<String> = table().iter().map(row).collect();
    assert_eq!(found.join(", "), expected);
}

#[test]
fn only_what_is_in_the_table_exists() {
    for entry in table() {
        assert_eq!(registered(&entry.to_string()), Some(entry));
    }
    for name in ["", "fs", "fs:", "fs:read:x", "fs:exec", "Fs:read", "mail:*", "network"] {
        assert_eq!(registered(name), None, "{name}");
    }
}
