//! The words of a refusal. What is derived is tested from the outside.

use super::*;

#[test]
fn a_refusal_says_every_reason_and_what_to_do() {
    let reason = |message: &str, help: &str| Reason {
        code: ReasonCode::Argument,
        message: message.to_owned(),
        help: help.to_owned(),
    };
    let refused = Refused { reasons: vec![reason("one", "do this"), reason("two", "")] };
    assert_eq!(refused.to_string(), "one (do this); two");
    assert_eq!(ReasonCode::NeedsGrant.word(), "needs-grant");
}
