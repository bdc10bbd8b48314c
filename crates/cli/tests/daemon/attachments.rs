//! Terminals and streams over WebSocket, by the library's client and by `stockade attach`.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use daemon::client::{Attachment, Client, Heard};
use serde_json::{Value, json};

use crate::serving::{Serving, eventually, has, read_until, rest_of, slowly, stockade_binary};

fn attach(serving: &Serving, id: &str, query: &str) -> Attachment {
    let client = Client::at(&serving.place.socket());
    client.attach(&format!("/v1/cages/{id}/attach{query}")).unwrap()
}

/// Listens until the output so far satisfies somebody, or the end.
struct Listener {
    attachment: Attachment,
    stdout: String,
    stderr: String,
    notices: Vec<Value>,
}

impl Listener {
    fn new(attachment: Attachment) -> Self {
        Self { attachment, stdout: String::new(), stderr: String::new(), notices: Vec::new() }
    }

    #[track_caller]
    fn until(&mut self, enough: impl Fn(&Self) -> bool) {
        while !enough(self) {
            match self.attachment.next_heard().unwrap() {
                Some(Heard::Output(bytes)) => self.stdout += &String::from_utf8_lossy(&bytes),
                Some(Heard::Error(bytes)) => self.stderr += &String::from_utf8_lossy(&bytes),
                Some(Heard::Notice(notice)) => self.notices.push(notice),
                Some(Heard::Closed) => {
                    assert!(enough(self), "closed: {} {:#?}", self.stdout, self.notices);
                }
                None => assert!(self.attachment.listen().unwrap(), "{:#?}", self.notices),
            }
        }
    }

    fn ended(&self) -> Option<&Value> {
        self.notices.iter().find(|notice| notice["type"] == "ended")
    }
}

/// K16
#[test]
fn both_outputs_input_and_the_end_come_through() {
    let serving = Serving::new();
    let mut request = serving.shell("echo out; echo err >&2; cat; exit 4");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let mut listener = Listener::new(attach(&serving, &id, ""));
    listener.until(|so_far| so_far.stdout == "out\n" && so_far.stderr == "err\n");
    assert_eq!(listener.notices[0]["type"], "attached");
    listener.attachment.input(b"typed\n").unwrap();
    listener.until(|so_far| so_far.stdout.ends_with("typed\n"));
    listener.attachment.request(&json!({ "type": "end_of_input" })).unwrap();
    listener.until(|so_far| so_far.ended().is_some());
    assert_eq!(listener.ended().unwrap()["cage"]["end"]["exit_code"], 4);
}

/// K168: a terminal with a size, which changes; keys that are signals; its end of file.
#[test]
fn a_terminal_is_resized_and_its_keys_are_signals() {
    let serving = Serving::new();
    // A trapped signal ends the shell's `read`, and so would a loop on it.
    let line = "stty size; trap 'stty size' WINCH; trap 'echo int' INT; \
                until test \"$word\" = quit; do read word; done; cat; echo eof";
    let mut request = serving.shell(line);
    request["terminal"] = json!({ "rows": 33, "columns": 77, "kind": "xterm" });
    let id = serving.spawn(&request);
    assert_eq!(serving.get(&format!("/v1/cages/{id}"))["stderr"], Value::Null);
    let mut listener = Listener::new(attach(&serving, &id, ""));
    listener.until(|so_far| so_far.stdout.contains("33 77"));
    listener.attachment.request(&json!({ "type": "resize", "rows": 20, "columns": 60 })).unwrap();
    listener.until(|so_far| so_far.stdout.contains("20 60"));
    listener.attachment.input(b"\x03").unwrap();
    listener.until(|so_far| so_far.stdout.contains("int"));
    let path = format!("/v1/cages/{id}/resize");
    serving.post(&path, &json!({ "rows": 10, "columns": 40 })).expect(200);
    listener.until(|so_far| so_far.stdout.contains("10 40"));
    listener.attachment.input(b"quit\n").unwrap();
    listener.attachment.request(&json!({ "type": "end_of_input" })).unwrap();
    listener.until(|so_far| so_far.stdout.contains("eof") && so_far.ended().is_some());
}

/// Several clients hear the same; one that comes later hears what is kept, or what comes.
#[test]
fn any_number_of_clients_can_be_attached() {
    let serving = Serving::new();
    let mut request = serving.shell("echo early; read word; echo \"late $word\"");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    serving.wait_for_output(&id, "early");
    let mut from_start = Listener::new(attach(&serving, &id, "?from=start"));
    let mut from_now = Listener::new(attach(&serving, &id, "?from=now"));
    let mut watching = Listener::new(attach(&serving, &id, "?stdin=false"));
    from_start.until(|so_far| so_far.stdout.contains("early"));
    watching.attachment.input(b"not this\n").unwrap();
    watching.until(|so_far| so_far.notices.iter().any(|notice| notice["type"] == "error"));
    from_now.until(|so_far| !so_far.notices.is_empty());
    from_now.attachment.input(b"this\n").unwrap();
    for listener in [&mut from_start, &mut from_now, &mut watching] {
        listener.until(|so_far| so_far.ended().is_some());
        assert!(listener.stdout.ends_with("late this\n"), "{}", listener.stdout);
    }
    assert!(!from_now.stdout.contains("early"));
}

/// T52: what is no WebSocket, and what is a broken one, is told and harms nobody.
#[test]
fn malformed_messages_close_the_attachment_alone() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("sleep 60"));
    let path = format!("/v1/cages/{id}/attach");
    serving.ask("GET", &path, None).refused(400, "bad_request");
    let mut attached = Listener::new(attach(&serving, &id, ""));
    attached.attachment.request(&json!({ "type": "nonsense" })).unwrap();
    attached.attachment.request(&json!({ "type": "resize", "rows": 1, "columns": 1 })).unwrap();
    attached.until(|so_far| {
        so_far.notices.iter().filter(|notice| notice["type"] == "error").count() == 2
    });
    // A message beyond what is taken closes this attachment.
    let _cut = attached.attachment.input(&vec![0; 300 << 10]);
    loop {
        match attached.attachment.next_heard().unwrap() {
            Some(Heard::Closed) => break,
            Some(_) => {}
            None => assert!(attached.attachment.listen().unwrap()),
        }
    }
    assert_eq!(serving.get(&format!("/v1/cages/{id}"))["state"], "running");
}

/// `stockade attach` on pipes ends as the program ends.
#[test]
fn the_command_passes_streams_and_the_exit_code() {
    let serving = Serving::new();
    let mut request = serving.shell("read word; echo \"got $word\"; echo err >&2; exit 5");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let mut command = serving.client("attach", &[&id]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "got word\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "err\n");
}

/// `stockade attach` on a terminal: size, keys, leaving with `Ctrl-]`, coming back.
#[test]
fn the_command_takes_and_leaves_the_terminal() {
    if !has("script") {
        return;
    }
    let serving = Serving::new();
    let mut request = serving.shell(
        "trap 'echo int' INT; echo ready; while :; do read word && stty size && echo \"got $word\"; done",
    );
    request["terminal"] = json!({});
    let id = serving.spawn(&request);
    let line = format!(
        "stty rows 31 cols 71; '{}' attach --socket '{}' {id}; echo \"left $?\"",
        stockade_binary().display(),
        serving.place.socket().display()
    );
    let on_terminal = || {
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut child = on_terminal();
    let mut keys = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    read_until(&mut output, "ready");
    std::thread::sleep(slowly(Duration::from_millis(100)));
    keys.write_all(b"word\r").unwrap();
    let text = read_until(&mut output, "got word");
    assert!(text.contains("31 71"), "{text}");
    keys.write_all(b"\x03").unwrap();
    read_until(&mut output, "int");
    keys.write_all(b"\x1d").unwrap();
    read_until(&mut output, "left 0");
    drop(keys);
    let _rest = rest_of(&mut output);
    child.wait().unwrap();
    assert_eq!(serving.get(&format!("/v1/cages/{id}"))["state"], "running");
    let mut child = on_terminal();
    let mut output = child.stdout.take().unwrap();
    read_until(&mut output, "got word");
    serving.post(&format!("/v1/cages/{id}/signal"), &json!({ "signal": "KILL" })).expect(200);
    read_until(&mut output, "left 137");
    let _ended = child.kill();
    child.wait().unwrap();
    eventually("the cage ended", || serving.get(&format!("/v1/cages/{id}"))["state"] == "ended");
}

/// What a program has written, and how it ended, is told even if it never reads what it is offered.
#[test]
fn input_that_nobody_reads_costs_neither_output_nor_the_end() {
    let serving = Serving::new();
    for round in 0..6 {
        let mut request = serving.shell("echo hi; exit 5");
        request["stdin"] = json!("pipe");
        let id = serving.spawn(&request);
        if round % 2 == 0 {
            serving.wait(&id);
        }
        let mut command = serving.client("attach", &[&id]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // The command may have ended by then.
            let _unread = input.write_all(&vec![b'x'; 300_000]);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert_eq!(output.stdout, b"hi\n", "{output:?}");
    }
}

/// A terminal is given back with its program, however long what was written there is kept.
#[test]
fn ended_programs_hold_no_terminals() {
    let serving = Serving::new();
    let terminals = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", serving.pid())).unwrap();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| target.ends_with("ptmx")).count()
    };
    for _ in 0..5 {
        let mut request = serving.shell("echo written");
        request["terminal"] = json!({});
        let id = serving.spawn(&request);
        serving.wait(&id);
        assert_eq!(serving.output(&id, "stdout"), "written\r\n");
        let size = json!({ "rows": 10, "columns": 20 });
        serving.post(&format!("/v1/cages/{id}/resize"), &size).expect(200);
    }
    eventually("the terminals are closed", || terminals() == 0);
}

/// T29, T52: what a program has not read of its terminal when it ends is lost, and nothing else is: a
/// terminal that nobody has open any more is called writable and takes nothing.
#[test]
fn input_left_in_a_terminal_holds_up_nobody() {
    if !has("curl") {
        return;
    }
    let serving = Serving::new();
    let start = |line: &str| {
        let mut request = serving.shell(line);
        request["terminal"] = json!({});
        serving.spawn(&request)
    };
    let input = vec![b'x'; 100_000];
    // By a request, by an attachment, and by one whose client is gone before the end.
    let by_request = start("stty raw -echo; echo ready; sleep 2");
    let attached = start("stty raw -echo; echo ready; sleep 2; exit 5");
    let left = start("stty raw -echo; echo ready; sleep 2");
    for id in [&by_request, &attached, &left] {
        serving.wait_for_output(id, "ready");
    }
    let file = serving.place.root().join("input");
    std::fs::write(&file, &input).unwrap();
    let mut curl = serving.curl();
    curl.args(["-X", "POST", "--data-binary"]).arg(format!("@{}", file.display()));
    curl.arg(format!("http://stockade/v1/cages/{by_request}/stdin"));
    let mut waiting = curl.stdout(Stdio::piped()).spawn().unwrap();
    let mut listener = Listener::new(attach(&serving, &attached, ""));
    listener.attachment.input(&input).unwrap();
    attach(&serving, &left, "").input(&input).unwrap();
    listener.until(|so_far| so_far.ended().is_some());
    assert_eq!(listener.ended().unwrap()["cage"]["end"]["exit_code"], 5);
    for id in [&by_request, &left] {
        serving.wait(id);
    }
    assert_eq!(serving.get("/v1/health"), json!({ "status": "ok" }));
    assert!(waiting.wait().unwrap().success());
    assert_eq!(serving.get("/v1/health"), json!({ "status": "ok" }));
}

/// K16: signals and signs of life do not wait behind input that a program does not read.
#[test]
fn a_signal_overtakes_input_that_is_not_read() {
    let serving = Serving::new();
    let mut request = serving.shell("trap 'exit 42' INT; echo ready; while :; do sleep 0.1; done");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let mut listener = Listener::new(attach(&serving, &id, ""));
    listener.until(|so_far| so_far.stdout.contains("ready"));
    listener.attachment.input(&vec![b'x'; 200_000]).unwrap();
    listener.attachment.request(&json!({ "type": "signal", "signal": "INT" })).unwrap();
    listener.until(|so_far| so_far.ended().is_some());
    assert_eq!(listener.ended().unwrap()["cage"]["end"]["exit_code"], 42);
}

/// What is not kept any more when a client comes is told as what is lost later is.
#[test]
fn what_was_dropped_before_a_client_came_is_told() {
    let serving = Serving::new();
    let id = serving.spawn(&serving.shell("head -c 3000000 /dev/zero; echo done"));
    serving.wait(&id);
    let kept = serving.get(&format!("/v1/cages/{id}"))["stdout"]["start"].as_u64().unwrap();
    assert!(kept > 0);
    let mut listener = Listener::new(attach(&serving, &id, ""));
    listener.until(|so_far| so_far.ended().is_some());
    let gap = listener.notices.iter().find(|notice| notice["type"] == "gap").unwrap();
    assert_eq!(gap["bytes"], kept);
    assert_eq!(kept + listener.stdout.len() as u64, 3_000_005);
}

/// T29: messages without bytes take their place in the queue as well.
#[test]
fn many_small_messages_to_a_deaf_program_are_not_all_kept() {
    let serving = Serving::new();
    let mut request = serving.shell("echo ready; sleep 1000");
    request["stdin"] = json!("pipe");
    let id = serving.spawn(&request);
    let mut listener = Listener::new(attach(&serving, &id, ""));
    listener.until(|so_far| so_far.stdout.contains("ready"));
    // Fills the pipe, so that what comes next waits.
    listener.attachment.input(&vec![b'x'; 100_000]).unwrap();
    let refused = |so_far: &Listener| so_far.notices.iter().any(|notice| notice["type"] == "error");
    for _ in 0..1_800 {
        listener.attachment.request(&json!({ "type": "end_of_input" })).unwrap();
    }
    listener.until(refused);
    let notice = listener.notices.iter().find(|notice| notice["type"] == "error").unwrap();
    assert!(notice["message"].as_str().unwrap().contains("too much input"), "{notice}");
    serving.post(&format!("/v1/cages/{id}/signal"), &json!({ "signal": "KILL" })).expect(200);
    listener.until(|so_far| so_far.ended().is_some());
}
