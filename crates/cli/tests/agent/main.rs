//! `stockade agent` and `stockade repl` against a scripted model that speaks every protocol: tasks from end to end, what
//! a hostile or broken model comes to, and that the key is nowhere where a program could find it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod ask;
mod children;
mod code;
mod golden;
mod mcp;
mod mcp_packages;
mod place;
mod services;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use place::{KEY, Place};
use serde_json::{Value, json};
use testing::model_server::{Fault, ModelServer, Step};
use testing::slowly;

const PROTOCOLS: [&str; 3] = ["anthropic", "completions", "responses"];

fn mends(place: &Place) -> Vec<Step> {
    let path = place.project.join("sum.py");
    vec![
        Step::Together(vec![
            Step::Read(path.clone()),
            Step::Run("python3 -B test_sum.py".to_owned()),
        ]),
        Step::Edit { path, old: "a - b".to_owned(), new: "a + b".to_owned() },
        Step::Run("python3 -B test_sum.py".to_owned()),
    ]
}

/// V24, V30, V31, V40: reads, runs the tests, edits, runs them again and reports; the host's file is as it was until the
/// change is applied; every step is on record.
#[test]
fn a_task_is_done_through_each_protocol() {
    if !testing::has("python3") {
        return;
    }
    for protocol in PROTOCOLS {
        let place = Place::new();
        let server = ModelServer::start(&mends(&place), "the sum adds now");
        let ended =
            place.agent(&server, &["--protocol", protocol, "--session", "mend", "mend the sum"]);
        assert_eq!(ended.code, 0, "{protocol}\n{}\n{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("the sum adds now"), "{protocol}: {}", ended.stdout);
        let results = server.results();
        let [read, failing, edited, passing] = results.as_slice() else {
            panic!("{protocol}: {results:?}")
        };
        assert!(
            read.contains("1\tdef add") && failing.contains("[exit status 1]"),
            "{protocol}: {results:?}"
        );
        assert!(
            edited.contains("in line 2") && passing.contains("tested"),
            "{protocol}: {results:?}"
        );
        assert!(place.read("sum.py").contains("a - b"));
        let applied = place.ask(&["apply", "mend"]);
        assert_eq!(applied.code, 0, "{}", applied.stderr);
        assert!(place.read("sum.py").contains("a + b"));
        let records = place.records();
        let count = |name: &str| records.iter().filter(|record| record["event"] == name).count();
        assert_eq!(
            [count("model.call"), count("model.answer"), count("tool.call"), count("tool.result")],
            [4, 4, 4, 4]
        );
        let whole = records.iter().map(Value::to_string).collect::<String>();
        assert!(!whole.contains("the sum adds now") && !whole.contains(KEY));
    }
}

/// V31: the key is in no file, no process and no variable that the cage has, nor in the transcript or the record.
#[test]
fn the_key_is_nowhere() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    // The expression does not have itself in it.
    let search = "grep -rlaE 'sk-tes[t]-of-the-key' /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/maps \
                  /home /tmp /scratch /run /etc /var $HOME . 2>/dev/null; env; cat /proc/self/mountinfo; \
                  python3 -c \"import re,glob\nfor m in glob.glob('/proc/[0-9]*/mem'):\n  try:\n    maps=open(m[:-3]+'maps').read()\n  except OSError: continue\n  for l in maps.splitlines():\n    a,b=[int(x,16) for x in l.split()[0].split('-')]\n    try:\n      f=open(m,'rb'); f.seek(a); d=f.read(min(b-a,1<<24))\n    except (OSError,OverflowError,ValueError): continue\n    if re.search(b'sk-tes[t]-of-the-key', d): print('FOUND', m)\n\"; \
                  cd /tmp; ulimit -c unlimited; python3 -c 'import os; os.abort()'; sh -c 'kill -SEGV $$'; \
                  grep -rlaE 'sk-tes[t]-of-the-key' /tmp | sed 's/^/FOUND /'; echo searched";
    let steps = [
        Step::Run(search.to_owned()),
        Step::Run("echo $STOCKADE_TEST_KEY; cat $HOME/key 2>&1".to_owned()),
    ];
    let server = ModelServer::start(&steps, "nothing");
    let ended = place.agent(&server, &["--session", "s", "search"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let results = server.results().join("\n");
    assert!(
        results.contains("searched") && !results.contains(KEY) && !results.contains("FOUND"),
        "{results}"
    );
    for request in server.requests() {
        assert!(
            request["headers"].to_string().contains(KEY)
                && !request["body"].to_string().contains(KEY)
        );
    }
    let mut files = 0;
    place.each_file_of_state(&mut |path, bytes| {
        files += 1;
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", path.display());
    });
    assert!(files > 2);
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains(KEY));
}

/// V31: no process that starts cages or is in one was ever started with the key in its memory. Root sees all of it.
#[test]
fn no_process_below_has_the_key_in_its_memory() {
    if !testing::has("python3") {
        return;
    }
    if !testing::is_root() {
        return testing::skip("only root reads the memory of a cage's first process");
    }
    let place = Place::new();
    let server = ModelServer::start(&[Step::Run("sleep 30".to_owned())], "");
    let mut child =
        place.command(&server, &["--json", "wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"event\":\"call\"") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut output, &mut line).unwrap() > 0);
    }
    std::thread::sleep(Duration::from_millis(300));
    let own = i32::try_from(child.id()).unwrap();
    assert!(!place::has_key(&fs::read(format!("/proc/{own}/environ")).unwrap()));
    let below = place::below(own);
    // Launchers, the gatekeepers' one, the cage's first process, the worker, the reaper, the shell, `sleep`.
    assert!(below.len() >= 6, "{below:?}");
    let (mut bytes, mut found) = (0, Vec::new());
    for pid in &below {
        place::each_piece_of_memory(*pid, &mut |piece| {
            bytes += piece.len();
            if place::has_key(piece) {
                found.push(*pid);
            }
        });
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(bytes > 1 << 20, "{bytes}");
    assert!(found.is_empty(), "{found:?} of {below:?}");
}

/// Ctrl-C stops within a second, the transcript is kept, and the task goes on from there.
#[test]
fn an_interrupted_task_goes_on() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let steps = [
        Step::Run("echo begun > mark; sleep 100 & setsid sleep 100".to_owned()),
        Step::Read(place.project.join("mark")),
    ];
    let server = ModelServer::start(&steps, "went on");
    let mut child = place
        .command(&server, &["--json", "--session", "s", "wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"event\":\"call\"") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut output, &mut line).unwrap() > 0);
    }
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut stopped = None;
    while stopped.is_none() {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut output, &mut line).unwrap() > 0);
        stopped = line.contains("\"outcome\":\"cancelled\"").then(|| began.elapsed());
    }
    assert!(stopped.unwrap() < slowly(Duration::from_secs(1)), "{stopped:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ended = place.agent(&server, &["--session", "s"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("went on"), "{}", ended.stdout);
    let results = server.results();
    assert!(
        results[0].contains("stopped this call") || results[0].contains("was cancelled"),
        "{results:?}"
    );
    assert!(results[1].contains("begun"), "{results:?}");
}

/// A model that calls what there is not, with what makes no sense, or without end.
#[test]
fn a_wrong_model_is_told_so_or_stopped() {
    if !testing::has("python3") {
        return;
    }
    let call = |tool: &str, arguments: Value| Step::Call { tool: tool.to_owned(), arguments };
    let place = Place::new();
    let steps = [
        call("launch", json!({})),
        call("read", json!({ "path": "x".repeat(1_200_000) })),
        call("read", json!({ "path": "/etc/shadow" })),
        call("edit", json!({ "file": 1 })),
        Step::Together(
            (0..10)
                .map(|number| Step::Run(format!("sleep 0.{}; echo number {number}", 9 - number)))
                .collect(),
        ),
    ];
    for protocol in PROTOCOLS {
        let server = ModelServer::start_faulty(
            &steps,
            "I give up",
            &[Fault::Cut(2), Fault::Raw("data: {\n\n".to_owned())],
        );
        let ended = place.agent(&server, &["--protocol", protocol, "try"]);
        assert_eq!(ended.code, 0, "{protocol}: {}", ended.stderr);
        let results = server.results();
        assert!(results[0].contains("there is no tool `launch`"), "{protocol}: {}", results[0]);
        assert!(results[1].contains("longer than"), "{protocol}: {}", results[1]);
        assert!(results[2].starts_with("error:"), "{protocol}: {}", results[2]);
        assert!(results[3].contains("`file` is no parameter"), "{protocol}: {}", results[3]);
        // V21, V33: ten at one time, in the order of the calls.
        for (number, result) in results[4..].iter().enumerate() {
            assert!(result.contains(&format!("number {number}\n")), "{protocol}: {results:?}");
        }
        assert_eq!(results.len(), 14);
    }
    let endless = [Step::Forever(Box::new(Step::Run("true".to_owned())))];
    let server = ModelServer::start(&endless, "");
    let ended = place.agent(&server, &["go"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("repeats itself") && server.requests().len() <= 7,
        "{}",
        ended.stderr
    );
    let counted = [Step::Forever(Box::new(Step::Run("date +%N".to_owned())))];
    for (flags, word) in [
        (&["--steps", "3"][..], "steps"),
        (&["--tokens", "5"], "tokens"),
        (&["--money", "0.00001", "--price", "3,3"], "money"),
    ] {
        let server = ModelServer::start(&counted, "");
        let ended = place.agent(&server, &[flags, &["go"]].concat());
        assert_eq!(ended.code, 1);
        assert!(
            ended.stderr.contains(&format!("the budget of {word} is used up")),
            "{}",
            ended.stderr
        );
        assert!(server.requests().len() <= 5);
    }
}

/// V24: the budget of time ends what runs when it is over: a command, a script's call, and the answer of a model.
#[test]
fn the_budget_of_time_ends_what_runs() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let sleeps = [Step::Run("sleep 60".to_owned())];
    for faults in [&[][..], &[Fault::Silent(30.0)]] {
        let server = ModelServer::start_faulty(&sleeps, "slept", faults);
        let began = Instant::now();
        let ended = place.agent(&server, &["--time", "3s", "wait"]);
        assert!(began.elapsed() < slowly(Duration::from_secs(12)), "{:?}", began.elapsed());
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("the budget of time is used up"), "{}", ended.stderr);
        // What goes on is asked of the same model; tools that nobody named and that reach nothing are not offered.
        let again = format!("--model m --url {} --protocol anthropic --key env:", server.url());
        assert!(ended.stderr.contains(&again), "{again}: {}", ended.stderr);
        assert!(!ended.stderr.contains("can reach nothing"), "{}", ended.stderr);
        let offered = server.requests()[0]["body"]["tools"].to_string();
        assert!(offered.contains("\"exec\"") && !offered.contains("webfetch"), "{offered}");
    }
}

/// V22, V24, V39: everything that a command started is killed at its time-out; what is long is spilled and can be read.
#[test]
fn commands_end_with_all_they_started_and_results_are_bounded() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let escape = "for i in 1 2 3; do setsid sh -c 'sleep 77 & sleep 77' & done; (setsid sleep 77 &) ; sleep 77";
    let steps = [
        Step::Call {
            tool: "exec".to_owned(),
            arguments: json!({ "command": escape, "timeout": 1 }),
        },
        Step::Run("grep -la 'sleep.7[7]' /proc/[0-9]*/cmdline; echo left over".to_owned()),
        Step::Run("seq 100000".to_owned()),
        Step::Run(
            "tail -n 1 /scratch/results/exec-1.txt /tmp/results/exec-1.txt 2>/dev/null".to_owned(),
        ),
        Step::Run("printf '\\033]0;title\\007'; kill -9 $$".to_owned()),
    ];
    let server = ModelServer::start(&steps, "done \u{1b}]0;spoof\u{7}");
    let ended = place.agent(&server, &["run"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let results = server.results();
    assert!(
        results[0].contains("took longer than") && results[0].starts_with("error:"),
        "{results:?}"
    );
    assert_eq!(results[1], "left over\n[exit status 0]", "{results:?}");
    assert!(results[2].contains("exec-1.txt") && results[2].len() < 40_000, "{}", results[2]);
    assert!(
        results[3].contains("100000") || results[3].contains("exit status 0"),
        "{}",
        results[3]
    );
    assert!(results[4].contains("signal 9"), "{}", results[4]);
}

/// The same events for everybody who reads them.
#[test]
fn events_are_lines_of_json() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&[Step::Read("sum.py".into())], "read it");
    let ended = place.agent(&server, &["--json", "--type", "explore", "look"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let events: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["begun", "step", "call", "result", "text", "step", "ended"]);
    assert!(!events[0]["tools"].to_string().contains("exec"));
    assert_eq!(events[6]["outcome"], json!({ "outcome": "finished", "text": "read it" }));
    // V38: the model is told what there is.
    let system = server.requests()[0]["body"]["system"].to_string();
    assert!(
        system.contains(place.project.to_str().unwrap()) && system.contains("no network"),
        "{system}"
    );
}

/// V39: a conversation that comes near to what the model takes is summed up, and goes on.
#[test]
fn a_long_conversation_is_summed_up() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let counted = [Step::Forever(Box::new(Step::Run("date +%N".to_owned())))];
    let server = ModelServer::start(&counted, "");
    let ended = place
        .agent(&server, &["--json", "--context", "2", "--steps", "12", "--session", "s", "count"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let compacted =
        ended.stdout.lines().filter(|line| line.contains("\"event\":\"compacted\"")).count();
    assert!(compacted >= 2, "{}", ended.stdout);
    let longest = server
        .requests()
        .iter()
        .filter_map(|request| Some(request["body"]["messages"].as_array()?.len()))
        .max();
    assert!(longest < Some(16), "{longest:?}");
    let asked = server
        .requests()
        .iter()
        .any(|request| request["body"]["system"].to_string().contains("sum up a conversation"));
    assert!(asked);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_runs() {
    let place = Place::new();
    for (words, code, text) in [
        (&["agent", "x"][..], 2, "no model is named"),
        (&["agent", "--model", "m", "x"], 2, "no provider of models"),
        (
            &[
                "agent",
                "--model",
                "m",
                "--url",
                "http://example.com",
                "--key",
                "file:key",
                "--tools",
                "read",
                "x",
            ],
            2,
            "without TLS",
        ),
        (
            &["agent", "--model", "m", "--url", "http://127.0.0.1:1", "--tools", "fly", "x"],
            2,
            "there is no tool `fly`",
        ),
        (
            &["agent", "--model", "m", "--url", "http://127.0.0.1:1", "--type", "x", "x"],
            2,
            "no type of agent",
        ),
        (&["agent", "--money", "1", "x"], 2, "--price"),
        (&["agent"], 2, "TASK"),
    ] {
        place.write("key", "k");
        let ended = place.ask(words);
        assert_eq!(ended.code, code, "{words:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(text) || text == "without TLS",
            "{words:?}: {}",
            ended.stderr
        );
    }
}

/// A conversation over a pipe: tasks, words for us, and lines that go on.
#[test]
fn a_conversation_has_its_own_words() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&mends(&place), "the sum adds now");
    let mut command = place.command_of(&server, "repl", &["--session", "talk"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"/tools\n/why sum.py\n/nonsense\nmend \\\nthe sum\n/usage\n/diff\n/apply\nand now?\n/quit\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{stderr}");
    assert!(
        stdout.contains("the sum adds now") && stdout.contains("+    return a + b"),
        "{stdout}\n{stderr}"
    );
    // What the agent may do with it, who works on a view of the project.
    assert!(stdout.contains("--cow") && !stdout.contains("cannot be changed"), "{stdout}");
    for text in ["edit: Replaces a text", "`/nonsense` means nothing", "4 answers"] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
    assert!(place.read("sum.py").contains("a + b"), "{stderr}");
    let asked = server.requests()[0]["body"].to_string();
    assert!(asked.contains("mend \\nthe sum"), "{asked}");
}

/// The transcript is for its owner alone, and no part of what a cage sees.
#[test]
fn a_transcript_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&[], "hello");
    assert_eq!(place.agent(&server, &["--session", "s", "greet"]).code, 0);
    let path = place.state().join("stockade/agents/s.jsonl");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let lines: Vec<Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = lines.iter().map(|line| line["line"].as_str().unwrap()).collect();
    assert_eq!(names, ["begun", "said", "said", "spent", "ended"]);
}
