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

/// A failure says what is wrong with an output and how that begins, and no more of it.
#[test]
fn a_failure_shows_how_the_output_begins() {
    let failure = answer(b"\n \nhello\x1b\nSECRET", Exited(0)).unwrap_err().to_string();
    assert!(
        failure.contains("it begins with `hello\\u{1b}`") && !failure.contains("SECRET"),
        "{failure}"
    );
    let long = format!("{}SECRET", "\u{e4}".repeat(MOST_SHOWN));
    let failure = answer(long.as_bytes(), Exited(0)).unwrap_err().to_string();
    assert!(failure.contains("\u{e4}…`") && !failure.contains("SECRET"), "{failure}");
}

#[test]
fn the_tail_of_a_text_begins_with_a_whole_letter() {
    let text = format!("x{}", "ä".repeat(LONGEST_TAIL));
    assert!(tail(&text).len() <= LONGEST_TAIL);
    assert!(tail(&text).chars().all(|letter| letter == 'ä'));
    assert_eq!(tail("short"), "short");
}
