//! What a text has that another one, its base, does not have, and the other way round: small where the two are
//! alike, and enough to make the text from its base again. Never compares anything but whole lines.

use std::collections::BTreeSet;

/// Lines with `+` are the text's own, lines with `-` are the base's alone; the line before them, which both have,
/// says where they belong. Panics on texts that it cannot tell apart by their lines.
pub(crate) fn of(base: &str, text: &str) -> String {
    let (in_base, in_text) = (distinct(base), distinct(text));
    let mut own = String::new();
    let mut from_base = base.lines().peekable();
    let mut place = None;
    let mut say = |place: &mut Option<&str>, mark: &str, line: &str| {
        if let Some(before) = place.take() {
            own.push_str(&format!("  {before}\n"));
        }
        own.push_str(&format!("{mark} {line}\n"));
    };
    for line in text.lines() {
        while let Some(gone) = from_base.next_if(|line| !in_text.contains(line)) {
            say(&mut place, "-", gone);
        }
        if in_base.contains(line) {
            assert_eq!(from_base.next(), Some(line), "the order of lines differs from the base's");
            place = Some(line);
        } else {
            say(&mut place, "+", line);
        }
    }
    for gone in from_base {
        assert!(!in_text.contains(gone), "the order of lines differs from the base's: {gone}");
        say(&mut place, "-", gone);
    }
    own
}

/// The text with this base and this part of its own; none if the two do not fit.
pub(crate) fn joined(base: &str, own: &str) -> Option<String> {
    let mut text = String::new();
    let mut from_base = base.lines();
    let mut put = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for line in own.lines() {
        match line.split_at_checked(2)? {
            ("+ ", line) => put(line),
            ("- ", line) => from_base.next().filter(|gone| *gone == line).map(drop)?,
            ("  ", place) => loop {
                let line = from_base.next()?;
                put(line);
                if line == place {
                    break;
                }
            },
            _ => return None,
        }
    }
    from_base.for_each(put);
    Some(text)
}

fn distinct(text: &str) -> BTreeSet<&str> {
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines.len(), text.lines().count(), "a line is there twice:\n{text}");
    lines
}

#[test]
fn a_text_is_its_base_and_its_own_part() {
    let base = "a\nb\nc\nd\n";
    for (text, own) in [
        ("a\nb\nc\nd\n", ""),
        ("a\nb\nx\nc\nd\n", "  b\n+ x\n"),
        ("x\na\nb\nc\nd\ny\n", "+ x\n  d\n+ y\n"),
        ("a\nx\nd\n", "  a\n- b\n- c\n+ x\n"),
        ("b\nc\n", "- a\n  c\n- d\n"),
        ("", "- a\n- b\n- c\n- d\n"),
        ("x\n", "- a\n- b\n- c\n- d\n+ x\n"),
    ] {
        assert_eq!(of(base, text), own, "{text:?}");
        assert_eq!(joined(base, own).as_deref(), Some(text), "{own:?}");
    }
}

#[test]
fn a_part_of_another_base_does_not_fit() {
    for own in ["- b\n", "  x\n+ y\n", "  c\n  b\n", "~ a\n", "+", "  d\n- d\n"] {
        assert_eq!(joined("a\nb\nc\nd\n", own), None, "{own:?}");
    }
}
