//! `stockade attach` and `logs` on the user's terminal: both outputs of a program lead to it, and it is left in order.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::serving::{Serving, has, read_until, stockade_binary};

/// A client of the daemon on a terminal of its own, with a shell that shows the exit code at the end.
fn on_terminal(serving: &Serving, command: &str, rest: &str) -> Child {
    let line = format!(
        "trap : INT; '{}' {command} --socket '{}' {rest}; echo \"left $?\"",
        stockade_binary().display(),
        serving.place.socket().display()
    );
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).env("SHELL", "/bin/sh");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Everything that a client showed until it ended by itself.
fn screen_of(serving: &Serving, command: &str, rest: &str) -> String {
    let mut child = on_terminal(serving, command, rest);
    let mut screen = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut screen).unwrap();
    child.wait().unwrap();
    String::from_utf8_lossy(&screen).into_owned()
}

/// T69, T70: whichever command shows what a program wrote on its two outputs.
#[test]
fn a_sequence_reaches_the_terminal_whole_or_not_at_all() {
    if !has("script") {
        return;
    }
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell(
        "printf 'begun\\033\\033'; sleep 0.2; printf ']52;c;eA==\\007' >&2; sleep 0.2; \
         printf '\\033[%0300dt' 21; printf 'done\\033[' >&2",
    ));
    serving.wait(&id);
    for (command, rest) in [("attach", ""), ("logs", "-f"), ("logs", "")] {
        let screen = screen_of(&serving, command, &format!("{rest} {id}"));
        assert!(screen.contains("begun") && screen.contains("done"), "{screen:?}");
        assert!(!screen.contains('\u{1b}'), "{command} {rest}: {screen:?}");
    }
}

/// T71: what a program leaves is undone at the end.
#[test]
fn the_terminal_is_left_in_order() {
    if !has("script") {
        return;
    }
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("printf '\\033[?1049h\\033(0'; printf '\\033[8m' >&2"));
    serving.wait(&id);
    for (command, rest) in [("attach", ""), ("logs", "-f"), ("logs", "")] {
        let screen = screen_of(&serving, command, &format!("{rest} {id}"));
        for undone in ["\x1b[?1049l", "\x1b(B", "\x1b[0m"] {
            let is_undone =
                screen.split_once(undone).is_some_and(|(_, after)| after.contains("left"));
            assert!(is_undone, "{command} {rest}: no {undone:?} in {screen:?}");
        }
    }
}

/// T71: also where the user leaves a program that goes on.
#[test]
fn who_leaves_has_the_terminal_in_order() {
    if !has("script") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("printf '\\033[?1049h\\033(0ready'; sleep 60");
    request["terminal"] = json!({});
    let id = serving.spawn(&request);
    for (command, rest, key, last) in
        [("attach", "", b"\x1d", "left; the program goes on"), ("logs", "-f", b"\x03", "left 130")]
    {
        let mut child = on_terminal(&serving, command, &format!("{rest} {id}"));
        let mut keys = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        // Who shows it has taken the terminal, or its signals, before.
        read_until(&mut output, "ready");
        keys.write_all(key).unwrap();
        let screen = read_until(&mut output, last);
        for undone in ["\x1b[?1049l", "\x1b(B"] {
            let is_undone =
                screen.split_once(undone).is_some_and(|(_, after)| after.contains(last));
            assert!(is_undone, "{command}: no {undone:?} in {screen:?}");
        }
        drop(keys);
        child.wait().unwrap();
    }
}

/// No question is asked whose answer the user's shell would have to read.
#[test]
fn questions_pass_only_to_where_the_program_reads() {
    if !has("script") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell("printf '[\\033[6n]'; sleep 0.5");
    request["terminal"] = json!({});
    let id = serving.spawn(&request);
    let screen = screen_of(&serving, "attach", &id);
    assert!(screen.contains("[\x1b[6n]"), "{screen:?}");
    let screen = screen_of(&serving, "logs", &id);
    assert!(screen.contains("[]"), "{screen:?}");
}
