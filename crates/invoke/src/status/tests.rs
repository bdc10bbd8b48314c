//! The switch in the environment, and what a try to build a cage says.

use super::*;

fn by(name: &'static str, value: &'static str) -> bool {
    disabled_by(|asked| (asked == name).then(|| OsString::from(value))).is_some()
}

/// M7, M8, M78: `sandbox_disabled_rispetta_env` of the document.
#[test]
fn sandbox_disabled_respects_env() {
    for name in ["STOCKADE_SANDBOX", "METNOS_SANDBOX"] {
        for value in ["0", "off", "no", "false", "OFF", "False", "nO"] {
            assert!(by(name, value), "{name}={value}");
        }
        for value in ["", "1", "on", "yes", "true", " 0", "00", "disabled"] {
            assert!(!by(name, value), "{name}={value}");
        }
    }
    assert!(!by("OTHER_SANDBOX", "0"));
    assert_eq!(disabled_by(|_| None), None);
}

fn ran(end: End, stdout: &str, ended_for: Option<process::EndedFor>) -> Ran {
    let (stdout, duration) = (stdout.as_bytes().to_vec(), Duration::ZERO);
    Ran { end, stdout, stderr: Vec::new(), report: Vec::new(), ended_for, duration }
}

/// M57: only a clear answer is one; a try that broke is neither yes nor no.
#[test]
fn a_broken_probe_is_an_error_and_never_absence() {
    assert_eq!(judge(&ran(End::Exited(0), "", None)), Ok(Availability::Available));
    let told = r#"{"layers":[{"why":"no namespaces"}]}"#;
    let reason = "no namespaces".to_owned();
    assert_eq!(judge(&ran(End::Exited(122), told, None)), Ok(Availability::Unavailable { reason }));
    for end in [End::Exited(1), End::Exited(2), End::Signalled(9), End::Unknown] {
        judge(&ran(end, "", None)).unwrap_err();
    }
    judge(&ran(End::Exited(0), "", Some(process::EndedFor::Deadline))).unwrap_err();
    available(Some(Path::new("/nonexistent/stockade"))).unwrap_err();
    available(Some(Path::new("/bin/false"))).unwrap_err();
}
