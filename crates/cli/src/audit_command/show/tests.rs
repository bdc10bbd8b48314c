//! Rows for a person.

use super::*;

fn row_of(fields: &str) -> String {
    let body = format!(
        "{{\"v\":1,\"seq\":7,\"time\":\"2026-01-31T10:20:30.123456Z\",\"prev\":\"{}\",{fields}",
        "0".repeat(64)
    );
    let hash = audit::Hash::of(body.as_bytes());
    row(&Record::parse(format!("{body},\"hash\":\"{hash}\"}}").as_bytes()).unwrap())
}

/// T52
#[test]
fn a_row_is_one_line_whatever_is_in_the_record() {
    assert_eq!(
        row_of(
            "\"event\":\"subagent.exit\",\"invocation_id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"exit_code\":0,\
             \"signal\":null,\"reason\":\"exited\",\"usage\":{\"cpu_us\":5}"
        ),
        "2026-01-31 10:20:30.123  subagent.exit                 01ARZ3NDEKTSV exit_code=0 reason=exited \
         usage.cpu_us=5"
    );
    let forged = row_of(
        "\"event\":\"x\",\"a\\u001b\":\"\\u001b[2J\\n\\u202e\",\"b\":\"x\\\" reason=\\\"y\",\"c\":[\"\\u0007\"]",
    );
    assert!(forged.chars().all(|character| !policy::shown::misleads(character)), "{forged}");
    assert!(forged.contains("b=\"x\\x22 reason=\\x22y\""), "{forged}");
}
