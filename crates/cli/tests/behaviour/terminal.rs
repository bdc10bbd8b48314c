//! Interactive programs: a terminal of their own, with its size, its keys and job control.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{Ended, Place, has, slowly, stockade_binary};

/// A line of shell on a terminal.
pub(super) fn on_terminal(place: &Place, line: &str) -> Command {
    let mut command = Command::new("script");
    command.args(["-qefc", line, "/dev/null"]).current_dir(&place.project).env_clear();
    command
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state())
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm-256color");
    command.env("SHELL", "/bin/sh").stdin(Stdio::null());
    command
}

fn stockade_run(rest: &str) -> String {
    format!("'{}' run {rest}", stockade_binary().display())
}

/// K168
#[test]
fn a_terminal_outside_is_a_terminal_inside() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let inside = "test -t 0 && test -t 1 && test -t 2 && echo all; tty; echo $TERM; \
                  : > /dev/tty && echo controlling";
    let line = stockade_run(&format!("-- sh -c '{inside}'"));
    let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
    ended.expect_code(0).prints("all").prints("/dev/pts/0").prints("xterm-256color");
    ended.prints("controlling");
}

/// K168: a pipe beside a terminal stays a pipe, and the terminal is left to the pipeline.
#[test]
fn a_pipe_beside_a_terminal_stays_a_pipe() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let line = stockade_run("-- sh -c 'test -t 0 || echo not-in; test -t 1 || echo piped' | cat");
    let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
    ended.expect_code(0).prints("not-in").prints("piped");
}

#[test]
fn the_window_has_the_same_size() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let line = format!("stty rows 33 cols 77; {}", stockade_run("-- stty size"));
    Ended::of(on_terminal(&place, &line).output().unwrap()).expect_code(0).prints("33 77");
}

/// T75: on a terminal the program is in the session of pid 1, where the kernel would let it join the group of
/// pid 1 and lower the priority of both.
#[test]
fn nobody_joins_the_group_of_the_first_process() {
    if !has("script") || !has("perl") {
        return;
    }
    let place = Place::new();
    place.write("join.pl", JOIN);
    let line = stockade_run("-- perl join.pl");
    let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
    ended.expect_code(0).prints("session 1").prints("refused").prints("pid 1 is as before");
    // Its own group is the program's to slow down.
    ended.prints("the program is slower");
}

/// The terminal is left as it was found.
#[test]
fn the_terminal_is_restored() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let run = stockade_run("-q -- stty raw -echo");
    let line = format!("stty -a | md5sum; {run}; stty -a | md5sum");
    let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
    // `script` types an end of file, which the terminal shows.
    let text = ended.stdout.replace("^@", "").replace("^D", "");
    let sums: Vec<&str> = text.lines().filter(|line| line.len() > 30).collect();
    assert_eq!(sums.len(), 2, "{}", ended.stdout);
    assert_eq!(sums[0], sums[1]);
}

/// K16: keys reach the program as signals, and its answer is the exit status.
#[test]
fn control_c_interrupts_the_program_inside() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let inside = "trap \"echo interrupted; exit 5\" INT; echo ready; while :; do sleep 0.05; done";
    let line = stockade_run(&format!("-- sh -c '{inside}'"));
    let mut command = on_terminal(&place, &line);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("ready") {
        assert_ne!(output.read_line(&mut text).unwrap(), 0, "{text}");
    }
    keys.write_all(b"\x03").unwrap();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{text}");
    assert!(text.contains("interrupted"), "{text}");
}

/// K16: signals to the supervisor go to the program.
#[test]
fn signals_are_passed_on() {
    let place = Place::new();
    for (signal, code) in [
        (rustix::process::Signal::TERM, 7),
        (rustix::process::Signal::INT, 7),
        (rustix::process::Signal::HUP, 7),
        (rustix::process::Signal::USR1, 7),
    ] {
        let inside = "trap 'exit 7' TERM INT HUP USR1; echo ready; while :; do sleep 0.05; done";
        let mut command = place.stockade();
        command.args(["run", "--", "sh", "-c", inside]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal:?}");
    }
}

/// T20: a program cannot put words into the caller's terminal.
#[test]
fn nothing_can_be_typed_into_the_callers_terminal() {
    if !has("script") || !has("python3") {
        return;
    }
    let place = Place::new();
    place.write(
        "type.py",
        "import fcntl, termios\n\
         for c in b'echo typed\\n':\n    fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))\n",
    );
    let line =
        format!("{}; sleep 0.2; read -t 1 x; echo \"[$x]\"", stockade_run("-- python3 type.py"));
    let ended = Ended::of(on_terminal(&place, &line).output().unwrap());
    ended.prints("PermissionError");
    assert!(!ended.stdout.contains("[echo typed]"), "{}", ended.stdout);
}

/// What a terminal got of a run, without what `script` types.
fn screen_of(place: &Place, rest: &str) -> String {
    let ended = Ended::of(on_terminal(place, &stockade_run(rest)).output().unwrap());
    ended.stdout.replace("^D\x08\x08", "").replace("^@", "")
}

/// Whether one text comes after another.
fn comes_after(screen: &str, first: &str, second: &str) -> bool {
    screen.split_once(first).is_some_and(|(_, after)| after.contains(second))
}

/// T69: on a terminal of its own, and on two streams that lead to the same terminal.
#[test]
fn a_sequence_reaches_the_terminal_whole_or_not_at_all() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let split = "printf \"begun\\033\\033\"; sleep 0.1; printf \"]52;c;eA==\\007done\" >&2";
    let cut = "printf \"begun\\033[21\\033]52;c;\\007tdone\"";
    for (line, streams) in [
        (split, " < /dev/null"),
        (split, " < /dev/null 2> /dev/tty"),
        (cut, ""),
        (cut, " < /dev/null"),
    ] {
        let screen = screen_of(&place, &format!("-- sh -c '{line}'{streams}"));
        assert!(screen.contains("begun") && screen.contains("done"), "{screen:?}");
        for sequence in ["\x1b]52;", "\x1b[21t"] {
            assert!(!screen.contains(sequence), "{streams}: {screen:?}");
        }
    }
}

/// T71: what a program leaves is undone before anything of ours is said.
#[test]
fn our_words_find_the_terminal_as_it_was() {
    if !has("script") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let leaves =
        "printf \"\\033[?1049h\\033(0\\016\\033[8m\\033[?7l\\033]0;unfinished\"; unshare -U true";
    for streams in ["", " < /dev/null"] {
        let screen = screen_of(&place, &format!("-- sh -c '{leaves}'{streams}"));
        for (left, undone) in [
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b(0", "\x1b(B"),
            ("\x0e", "\x0f"),
            ("\x1b[8m", "\x1b[0m"),
            ("\x1b[?7l", "\x1b[?7h"),
        ] {
            assert!(screen.contains(left), "{screen:?}");
            assert!(comes_after(&screen, undone, "stockade: "), "no {undone:?} in {screen:?}");
        }
        assert!(!screen.contains("unfinished"), "{screen:?}");
    }
}

/// Who has changed nothing gets nothing undone, and no question is asked on somebody else's account.
#[test]
fn ordinary_output_is_left_as_it_is() {
    if !has("script") {
        return;
    }
    let place = Place::new();
    let line = "printf \"\\033[31mred\\033[0m caf\\303\\251\\n\"; echo err >&2";
    for streams in ["", " < /dev/null"] {
        let screen = screen_of(&place, &format!("-q -- sh -c '{line}'{streams}"));
        assert_eq!(screen, "\x1b[31mred\x1b[0m caf\u{e9}\r\nerr\r\n", "{streams}");
    }
    let asks = "printf \"[\\033[6n\\033[c]\"";
    let asked = screen_of(&place, &format!("-q -- sh -c '{asks}'"));
    assert!(asked.contains("[\x1b[6n\x1b[c]"), "{asked:?}");
    assert_eq!(screen_of(&place, &format!("-q -- sh -c '{asks}' < /dev/null")), "[]");
}

/// Stop, look at the jobs, go on: as with any program under a shell.
#[test]
fn control_z_and_fg_work_under_a_shell() {
    if !has("tmux") || !has("bash") {
        return;
    }
    let place = Place::new();
    let screen = Screen::open(&place);
    screen.keys(&[&stockade_run("-- sh -c 'echo begun-$((40+2)); exec cat'"), "Enter"]);
    screen.wait_for("begun-42");
    screen.keys(&["first", "Enter"]);
    screen.wait_for_count("first", 2);
    screen.keys(&["C-z"]);
    screen.wait_for("Stopped");
    screen.keys(&["clear; jobs; echo shell-$((40+2))", "Enter"]);
    screen.wait_for("shell-42");
    screen.keys(&["clear; fg", "Enter"]);
    screen.keys(&["second", "Enter"]);
    screen.wait_for_count("second", 2);
    screen.keys(&["C-d"]);
    screen.keys(&["clear; echo status-$?", "Enter"]);
    screen.wait_for("status-0");
}

/// A job that is continued in the background runs on there, leaves the terminal to the shell, and has it
/// again in the foreground.
#[test]
fn control_z_and_bg_work_under_a_shell() {
    if !has("tmux") || !has("bash") {
        return;
    }
    let place = Place::new();
    let screen = Screen::open(&place);
    let inside = r#"echo re"a"dy; for i in 1 2; do sleep 1; done; echo went"-"on; read word; echo got $word"#;
    screen.keys(&[&stockade_run(&format!("-- bash -c '{inside}'")), "Enter"]);
    screen.wait_for("ready");
    screen.keys(&["C-z"]);
    screen.wait_for("Stopped");
    screen.keys(&["bg", "Enter"]);
    screen.wait_for("went-on");
    screen.keys(&["jobs -r | grep -c Running", "Enter"]);
    screen.wait_for("\n1\n");
    screen.keys(&["fg", "Enter", "typed", "Enter"]);
    screen.wait_for("got typed");
    screen.keys(&["echo shell is ba''ck", "Enter"]);
    screen.wait_for("shell is back");
}

/// A window that changes its size tells the program.
#[test]
fn a_changed_window_is_told_to_the_program() {
    if !has("tmux") || !has("bash") {
        return;
    }
    let place = Place::new();
    let screen = Screen::open(&place);
    let inside = "trap \"stty size\" WINCH; echo begun-$((40+2)); while :; do sleep 0.05; done";
    screen.keys(&[&stockade_run(&format!("-- bash -c '{inside}'")), "Enter"]);
    // A sum, because the line itself is on the screen before the program is.
    screen.wait_for("begun-42");
    screen.tmux(&["resize-window", "-x", "91", "-y", "27"]);
    screen.wait_for("27 91");
    screen.keys(&["C-c"]);
}

#[test]
fn a_shell_an_editor_and_a_monitor_work() {
    if !has("tmux") || !has("bash") || !has("vim") || !has("htop") {
        return;
    }
    let place = Place::new();
    place.write("file.txt", "written outside\n");
    let screen = Screen::open(&place);
    screen.keys(&[&stockade_run("--rw . -- bash --norc"), "Enter"]);
    screen.keys(&["PS1='in: '; clear; tty", "Enter"]);
    screen.wait_for("/dev/pts/0");
    screen.keys(&["vim -u NONE file.txt", "Enter"]);
    screen.wait_for("written outside");
    screen.keys(&["ggiEdited: ", "Escape", ":wq", "Enter"]);
    screen.wait_for("in: ");
    screen.keys(&["clear; cat file.txt", "Enter"]);
    screen.wait_for("Edited: written outside");
    screen.keys(&["clear; htop", "Enter"]);
    screen.wait_for("Tasks:");
    screen.keys(&["q"]);
    screen.keys(&["clear; sleep 100", "Enter"]);
    screen.keys(&["C-c"]);
    screen.keys(&["echo after-$?", "Enter"]);
    screen.wait_for("after-130");
    screen.keys(&["exit", "Enter"]);
    let text = std::fs::read_to_string(place.project.join("file.txt")).unwrap();
    assert_eq!(text, "Edited: written outside\n");
}

/// A terminal with a shell on it, driven by tmux on a socket of its own.
pub(super) struct Screen {
    socket: PathBuf,
}

impl Screen {
    pub(super) fn open(place: &Place) -> Self {
        let screen = Self { socket: place.outside().join("tmux") };
        let mut command = screen.command(&["new-session", "-d", "-x", "100", "-y", "30"]);
        command.current_dir(&place.project).env_clear();
        command
            .env("HOME", &place.home)
            .env("XDG_STATE_HOME", place.state())
            .env("PATH", "/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        command.env("SHELL", "/bin/bash");
        let ended = Ended::of(command.arg("bash --norc").output().unwrap());
        ended.expect_code(0);
        screen
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(Path::new(&self.socket)).args(["-f", "/dev/null"]).args(words);
        command
    }

    fn tmux(&self, words: &[&str]) -> Ended {
        Ended::of(self.command(words).output().unwrap())
    }

    pub(super) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).expect_code(0);
        // As a person types: one thing after the other.
        std::thread::sleep(slowly(Duration::from_millis(150)));
    }

    /// Whether a text is on the screen now.
    pub(super) fn shows(&self, text: &str) -> bool {
        self.tmux(&["capture-pane", "-p"]).stdout.contains(text)
    }

    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        self.wait_for_count(text, 1);
    }

    #[track_caller]
    fn wait_for_count(&self, text: &str, count: usize) {
        let deadline = Instant::now() + slowly(Duration::from_secs(20));
        loop {
            let shown = self.tmux(&["capture-pane", "-p"]).stdout;
            if shown.matches(text).count() >= count {
                return;
            }
            assert!(Instant::now() < deadline, "no {text:?} on the screen:\n{shown}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

const JOIN: &str = r#"
open(my $stat, '<', '/proc/self/stat'); my @fields = split(' ', <$stat>); print "session $fields[5]\n";
my ($first, $own) = (getpriority(0, 1), getpriority(0, 0));
print setpgrp(0, 1) ? "joined\n" : "refused\n";
setpriority(1, 0, $own + 3);
print getpriority(0, 1) == $first ? "pid 1 is as before\n" : "pid 1 is slower\n";
print getpriority(0, 0) == $own ? "the program is as before\n" : "the program is slower\n";
"#;
