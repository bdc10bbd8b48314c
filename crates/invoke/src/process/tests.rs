//! Real commands: their input, outputs and ends.

use super::*;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn shell(script: &str) -> Vec<OsString> {
    words(&["sh", "-c", script])
}

fn job<'a>(argv: &'a [OsString]) -> Job<'a> {
    Job {
        argv,
        working_directory: Path::new("/"),
        input: b"",
        most_output: 1 << 20,
        deadline: testing::slowly(Duration::from_secs(60)),
        kind: Kind::Group,
        is_cancelled: None,
    }
}

#[test]
fn input_outputs_and_code_are_passed_on() {
    let argv = shell("cat; echo err >&2; pwd; exit 7");
    let input = vec![b'x'; 1 << 19];
    let ran = run(&Job { input: &input, ..job(&argv) }).unwrap();
    assert_eq!((ran.end, ran.ended_for), (End::Exited(7), None));
    assert_eq!(ran.stdout, [input.as_slice(), b"/\n"].concat());
    assert_eq!((ran.stderr.as_slice(), ran.report.as_slice()), (&b"err\n"[..], &b""[..]));
}

/// Nobody can change what a command reads while it reads.
#[test]
fn the_input_cannot_be_changed() {
    let argv = shell("(echo more >> /proc/self/fd/0); (echo > /proc/self/fd/0); cat");
    let ran = run(&Job { input: b"{}", ..job(&argv) }).unwrap();
    assert_eq!(ran.stdout, b"{}");
}

#[test]
fn a_supervisor_reports_on_descriptor_three() {
    let argv = shell("echo report >&3");
    let ran = run(&Job { kind: Kind::Supervisor, ..job(&argv) }).unwrap();
    assert_eq!(ran.report, b"report\n");
    // Any other command has no such descriptor.
    let ran = run(&job(&argv)).unwrap();
    assert!(ran.report.is_empty() && ran.end != End::Exited(0), "{ran:?}");
}

/// T66: an output that is too long ends the command, and no more of it is kept.
#[test]
fn too_much_output_ends_the_command() {
    for (script, why) in
        [("yes", EndedFor::Stdout), ("yes >&2", EndedFor::Stderr), ("yes & yes", EndedFor::Stdout)]
    {
        let argv = shell(script);
        let ran = run(&Job { most_output: 1000, ..job(&argv) }).unwrap();
        assert_eq!(ran.ended_for, Some(why), "{script}");
        assert!(ran.stdout.len() <= 1000 && ran.stderr.len() <= 1000);
    }
}

/// T66
#[test]
fn a_command_that_takes_too_long_is_ended() {
    let argv = shell("sleep 1000 & sleep 1000");
    let ran = run(&Job { deadline: Duration::from_millis(100), ..job(&argv) }).unwrap();
    assert_eq!(ran.ended_for, Some(EndedFor::Deadline));
}

/// T62, T66: one that does not want to hear it is killed, with its group.
#[test]
fn a_command_that_ignores_it_is_killed() {
    let marker = format!("43210.{}", std::process::id());
    let argv = shell(&format!("trap '' TERM; sleep {marker} & while :; do sleep {marker}; done"));
    let ran = run(&Job { deadline: Duration::from_millis(100), ..job(&argv) }).unwrap();
    assert_eq!((ran.ended_for, ran.end), (Some(EndedFor::Deadline), End::Signalled(libc::SIGKILL)));
    let found = std::fs::read_dir("/proc").unwrap().flatten().find(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&format!("sleep\0{marker}"))
    });
    assert!(found.is_none(), "{found:?}");
}

#[test]
fn a_cancelled_command_is_ended() {
    let argv = shell("sleep 1000");
    let begun = Instant::now();
    let asked = || begun.elapsed() > Duration::from_millis(50);
    let ran = run(&Job { is_cancelled: Some(&asked), ..job(&argv) }).unwrap();
    assert_eq!(ran.ended_for, Some(EndedFor::Cancelled));
}

#[test]
fn a_command_that_does_not_exist_is_an_error() {
    for argv in [words(&["/nonexistent/program"]), words(&[]), words(&["a\0b"])] {
        run(&job(&argv)).unwrap_err();
    }
    let argv = shell("true");
    run(&Job { working_directory: Path::new("/nonexistent"), ..job(&argv) }).unwrap_err();
}

/// A descendant in a session of its own keeps the outputs open for long after the command.
#[test]
fn outputs_that_stay_open_are_not_waited_for() {
    if !testing::has("setsid") {
        return;
    }
    let argv = shell("setsid sleep 30 & echo done");
    let begun = Instant::now();
    let ran = run(&job(&argv)).unwrap();
    assert_eq!((ran.stdout.as_slice(), ran.end), (&b"done\n"[..], End::Exited(0)));
    assert!(begun.elapsed() < Duration::from_secs(29));
}
