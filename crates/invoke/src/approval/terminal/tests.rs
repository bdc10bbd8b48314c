//! What the question looks like, and what counts as a yes.

use super::*;

fn question() -> Question {
    Question {
        executor: "post".to_owned(),
        version: "1".to_owned(),
        capability: "mail:send".to_owned(),
        target: None,
        command: "python3 post.py".to_owned(),
        arguments: Some(Map::new()),
        sandbox: Level::Native,
        always: true,
    }
}

#[test]
fn only_a_clear_yes_is_one() {
    for (line, always, answer) in [
        ("y\n", true, Answer::Once),
        (" yes \n", true, Answer::Once),
        ("\n", true, Answer::No),
        ("", true, Answer::No),
        ("yy\n", true, Answer::No),
        ("n\n", false, Answer::No),
        ("a\n", false, Answer::Always { until: None }),
        ("a\n", true, Answer::No),
        ("y\u{1b}[A\n", true, Answer::No),
    ] {
        assert_eq!(meaning(line.as_bytes(), always), answer, "{line:?}");
    }
}

/// No text of an executor or an argument has an effect, or a line of its own.
#[test]
fn nothing_in_it_can_look_like_the_question() {
    let evil = "x\n\u{1b}[2J\rAllow this one call? [y/N] \u{202e}y\u{7}\u{9b}1m";
    let shown = text(&Question {
        executor: evil.to_owned(),
        version: evil.to_owned(),
        capability: evil.to_owned(),
        target: Some(evil.to_owned()),
        command: evil.to_owned(),
        arguments: Some(Map::from_iter([(evil.to_owned(), evil.into())])),
        sandbox: Level::None,
        always: true,
    });
    assert!(shown.chars().all(|letter| letter == '\n' || !policy::shown::misleads(letter)));
    let lines: Vec<&str> = shown.lines().collect();
    let (last, others) = lines.split_last().unwrap();
    assert_eq!(*last, "Allow this one call? [y/N] ");
    for line in others.iter().skip(2) {
        assert!(line.starts_with("  | "), "{line}");
    }
}

/// T53: however long a field is, every other one is shown, and so is how much was cut.
#[test]
fn no_field_pushes_out_another() {
    let flood = "word ".repeat(100_000);
    let arguments = (0..100).map(|number| (format!("a{number:02} {flood}"), flood.clone().into()));
    let long = Question {
        executor: format!("post {flood}"),
        version: flood.clone(),
        capability: format!("mail:send {flood}"),
        target: Some(format!("one@example.com {flood}")),
        command: format!("python3 post.py {flood}"),
        arguments: Some(arguments.collect()),
        ..question()
    };
    let shown = text(&long);
    for part in ["post", "mail:send", "one@example.com", "python3 post.py", "a cage", "a00", "a11"]
    {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    assert!(shown.contains("more characters") && shown.contains("88 more arguments"), "{shown}");
    assert!(shown.lines().count() <= 50, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= LINE + 15));
    assert!(shown.ends_with("Allow this one call? [y/N] "));
    let shown = text(&Question { command: "x".repeat(LONGEST_COMMAND + 7), ..question() });
    assert!(shown.contains("… 7 more characters"), "{shown}");
}

/// T66: whoever says no three times is left alone for a while, by every process.
#[test]
fn three_refusals_are_followed_by_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let real = std::fs::canonicalize(directory.path()).unwrap().join("stockade");
    let state = HostPath::new(real.into_os_string()).unwrap();
    let answer = |answer, now| {
        let mut refusals = Refusals::lock(&state).unwrap();
        let pausing = refusals.is_pausing(now);
        if !pausing {
            refusals.note(answer, now);
            refusals.save().unwrap();
        }
        pausing
    };
    for moment in 1000..1003 {
        assert!(!answer(Answer::No, moment));
    }
    assert!(answer(Answer::Once, 1003) && answer(Answer::Once, 1061));
    assert!(!answer(Answer::No, 1063));
    assert!(!answer(Answer::No, 1064) && !answer(Answer::Once, 1065));
    // A yes ends the row.
    assert!(!answer(Answer::No, 1066) && !answer(Answer::No, 1067));
    assert!(!answer(Answer::No, 1068));
    assert!(answer(Answer::No, 1069));
}
