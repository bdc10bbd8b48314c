//! Which notes an acknowledgement is about.

use std::collections::BTreeSet;

use super::is_about;

#[test]
fn a_note_is_about_what_it_names() {
    let acknowledged: BTreeSet<String> =
        ["telemetry.example", "python3", "/etc/x"].map(str::to_owned).into();
    for note in [
        "refused `telemetry.example:443` ×3: the cage has no network",
        "refused `telemetry.example` ×1",
        "`python3` is `/usr/bin/python3` in the cage",
        "writing `/etc/x` was refused",
    ] {
        assert!(is_about(note, &acknowledged), "{note}");
    }
    for note in [
        "refused `other.telemetry.example` ×1",
        "telemetry.example without quotes",
        "writing `/etc/x/y` was refused",
        "2 were refused; `--json` lists them",
    ] {
        assert!(!is_about(note, &acknowledged), "{note}");
    }
}
