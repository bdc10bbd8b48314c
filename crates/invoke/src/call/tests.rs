//! What counts as an answer.

use super::*;

/// M68
#[test]
fn an_answer_is_exactly_one_object() {
    let (value, exited) = answer(b" {\"a\": [1]}\n", Exited(0)).unwrap();
    assert_eq!((value.len(), exited), (1, Exited(0)));
    // An executor's own way to say that it failed.
    assert_eq!(answer(b"{\"error\":\"x\"}", Exited(2)).unwrap().1, Exited(2));
    let deep = "[".repeat(1000);
    for text in ["", "\n", "[]", "1", "null", "{} {}", "{}x", "{", "\u{ff}", deep.as_str()] {
        let failure = answer(text.as_bytes(), Exited(0)).unwrap_err();
        assert!(matches!(failure, Failure::NonJson { .. }), "{text}");
        assert_eq!(answer(text.as_bytes(), Exited(3)), Err(Failure::Exited { code: 3 }));
    }
    answer(b"\xff\xfe", Exited(0)).unwrap_err();
}

/// A failure says what is wrong with an output and never repeats it.
#[test]
fn a_failure_does_not_repeat_the_output() {
    let failure = answer(b"{\"key\": SECRET}", Exited(0)).unwrap_err();
    assert!(!failure.to_string().contains("SECRET"), "{failure}");
}

#[test]
fn the_tail_of_a_text_begins_with_a_whole_letter() {
    let text = format!("x{}", "ä".repeat(LONGEST_TAIL));
    assert!(tail(&text).len() <= LONGEST_TAIL);
    assert!(tail(&text).chars().all(|letter| letter == 'ä'));
    assert_eq!(tail("short"), "short");
}
