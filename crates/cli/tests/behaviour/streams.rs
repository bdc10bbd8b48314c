//! Standard input, output and error where they are not a terminal: plain, binary-clean, and never a
//! door to more than they are.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use super::support::{Ended, Place};

/// K168, K238
#[test]
fn ten_megabytes_go_through_a_pipe_unchanged() {
    let place = Place::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let sent: Vec<u8> = (0..10 << 20)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect();
    let mut command = place.stockade();
    command.args(["run", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let to_send = sent.clone();
    let writer = std::thread::spawn(move || input.write_all(&to_send).unwrap());
    let mut received = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

/// K168
#[test]
fn the_three_streams_stay_apart() {
    let place = Place::new();
    let ended = place.shell(&[], "echo out; echo err >&2; cat");
    ended.expect_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
}

/// V13
#[test]
fn a_closed_stream_is_dev_null_inside() {
    let place = Place::new();
    let binary = super::support::stockade_binary();
    let line = format!(
        "'{}' run -- sh -c 'readlink /proc/self/fd/0; cat; echo out; echo err >&2; exit 5' 0<&-",
        binary.display()
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .current_dir(&place.project)
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    let ended = Ended::of(command.output().unwrap());
    ended.expect_code(5).prints("/dev/null\nout");
    let line = line.replace("0<&-", "1>&- 2>&-").replace("readlink /proc/self/fd/0; ", "");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .current_dir(&place.project)
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    Ended::of(command.stdin(Stdio::null()).output().unwrap()).expect_code(5);
}

/// T9, V7: a directory as a stream would be a way out.
#[test]
fn a_directory_is_not_taken_as_a_stream() {
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--", "true"]).stdin(File::open("/").unwrap());
    Ended::of(command.output().unwrap()).expect_code(2).says("standard input");
}

/// T9, K228, V13
#[test]
fn other_descriptors_do_not_get_in() {
    let place = Place::new();
    let binary = super::support::stockade_binary();
    let line = format!(
        "exec 3</ 4</etc/passwd 9</; exec '{}' run -- sh -c 'ls /proc/self/fd'",
        binary.display()
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .current_dir(&place.project)
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    let ended = Ended::of(command.stdin(Stdio::null()).output().unwrap());
    // The fourth is the directory that `ls` lists.
    ended.expect_code(0).prints("0\n1\n2\n3\n");
    assert_eq!(ended.stdout.lines().count(), 4, "{}", ended.stdout);
}

/// K168: a reader that goes away ends the writer as it would outside.
#[test]
fn a_broken_pipe_ends_the_program() {
    let place = Place::new();
    let binary = super::support::stockade_binary();
    let line = format!("'{}' run -- yes | head -n 1", binary.display());
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &line])
        .current_dir(&place.project)
        .env("HOME", &place.home)
        .env("XDG_STATE_HOME", place.state());
    let ended = Ended::of(command.stdin(Stdio::null()).output().unwrap());
    ended.expect_code(0);
    assert_eq!(ended.stdout, "y\n");
    let ended = place.shell(&[], "grep SigIgn /proc/self/status");
    let ignored = ended.stdout.split_whitespace().next_back().unwrap();
    let pipe = 1 << (13 - 1);
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & pipe, 0, "SIGPIPE is ignored inside");
}

/// K168
#[test]
fn a_file_can_be_a_stream() {
    let place = Place::new();
    let input = place.outside().join("input");
    let output = place.outside().join("output");
    std::fs::write(&input, "through").unwrap();
    let mut command = place.stockade();
    command.args(["run", "--", "cat"]);
    command.stdin(File::open(&input).unwrap()).stdout(File::create(&output).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(std::fs::read_to_string(output).unwrap(), "through");
}

/// T19, T62: a program that stops itself does not stop what watches over it.
#[test]
fn a_program_without_a_terminal_cannot_stop_its_supervisor() {
    use std::os::unix::process::CommandExt as _;
    let place = Place::new();
    let mut command = place.stockade();
    command.args(["run", "--", "sh", "-c", "echo ready; kill -STOP $$; echo on"]);
    // A group of its own in this session: one that the kernel would stop.
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0_u8; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let state = stat.rsplit(") ").next().unwrap().chars().next();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(state, Some('T'), "{stat}");
}

/// What a program writes without ending its line neither becomes part of the result nor takes its place.
#[test]
fn the_result_has_a_line_of_its_own() {
    let place = Place::new();
    let ended = place.shell(&["--json"], "printf '{\"exit_code\":0}' >&2; exit 9");
    let result: serde_json::Value =
        serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(result["exit_code"], 9, "{}", ended.stderr);
}
