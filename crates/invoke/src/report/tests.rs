//! What the words of a result mean for a call.

use super::*;

fn outcome(text: &str) -> Result<Exited, Failure> {
    Report::read(text.as_bytes()).unwrap().outcome(30)
}

#[test]
fn every_end_has_its_failure() {
    let ended = |reason: &str, signal: &str| {
        outcome(&format!(r#"{{"exit_code":3,"signal":{signal},"reason":"{reason}"}}"#))
    };
    assert_eq!(ended("exited", "null"), Ok(Exited(3)));
    assert_eq!(ended("walltime_exceeded", "15"), Err(Failure::Timeout { seconds: 30 }));
    let killed = |reason: &str| Err(Failure::Killed { reason: reason.to_owned() });
    assert_eq!(ended("signalled", "11"), killed("signal 11"));
    for reason in ["oom", "seccomp", "cancelled", "session_ended", "supervisor_lost"] {
        assert_eq!(ended(reason, "9"), killed(reason));
    }
}

#[test]
fn a_start_that_failed_is_refused_or_unavailable() {
    let failed = |code: &str| {
        let error = format!(r#"{{"code":"{code}","message":"m","help":["h"]}}"#);
        outcome(&format!(r#"{{"exit_code":1,"reason":"{code}","error":{error}}}"#)).unwrap_err()
    };
    for code in ["cannot_build", "limits_unavailable", "record_unavailable"] {
        assert_eq!(failed(code), Failure::Unavailable { reason: "m; h".to_owned() });
    }
    for code in ["beyond_ceiling", "program_not_found", "something_new"] {
        assert!(matches!(failed(code), Failure::Refused { code: told, .. } if told == code));
    }
    assert!(matches!(failed("record_lost"), Failure::Killed { .. }));
}

/// Help is for a caller of executors, who has not every flag of `run`.
#[test]
fn no_flag_is_advised_that_a_call_does_not_have() {
    let help = r#"["`--degraded-limits` starts it", "leave it out"]"#;
    let error = format!(r#"{{"code":"limits_unavailable","message":"m","help":{help}}}"#);
    let told = outcome(&format!(r#"{{"exit_code":122,"reason":"x","error":{error}}}"#));
    assert_eq!(told, Err(Failure::Unavailable { reason: "m; leave it out".to_owned() }));
}

#[test]
fn what_is_no_report_is_none() {
    for text in ["", "{}", "x", "[]", r#"{"exit_code":"x","reason":"exited"}"#] {
        assert!(Report::read(text.as_bytes()).is_none(), "{text}");
    }
}
