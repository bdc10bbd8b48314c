//! Scripts that a model writes over its tools: one call, each inner one on record under a number of its own, and nothing to be
//! had by a script that the agent has not.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::model_server::{ModelServer, Step};
use testing::slowly;

use crate::place::{Ended, Place};

/// Whether this build has the program that runs guests: cargo builds it with the tests of its own crate.
fn can_run() -> bool {
    let stockade = testing::program("STOCKADE_BIN", env!("CARGO_BIN_EXE_stockade"));
    let beside = std::path::Path::new(&stockade).with_file_name("stockade-guest");
    testing::has("python3")
        && testing::found_or_skip(beside.is_file(), "stockade-guest is not built")
}

fn script(text: &str) -> Step {
    timed(text, 60)
}

fn timed(text: &str, seconds: u64) -> Step {
    let arguments = json!({ "script": text, "timeout": seconds });
    Step::Call { tool: "code".to_owned(), arguments }
}

/// What a model got for its scripts, one after the other.
fn results(place: &Place, flags: &[&str], scripts: &[Step]) -> (Vec<String>, Ended) {
    let server = ModelServer::start(scripts, "done");
    let ended = place.agent(&server, &[&["--code"], flags, &["go"]].concat());
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    (server.results(), ended)
}

/// V40, V41: a script goes through files by the agent's tools; each call is on record before it is made, within the script's, and
/// is in the transcript with what it came to.
#[test]
fn a_script_uses_the_tools() {
    if !can_run() {
        return;
    }
    let place = Place::new();
    for (name, text) in [("a/one", "x 1\n"), ("a/two", "x 22\n"), ("a/three", "y 3\n")] {
        place.write(name, text);
    }
    let counts = "const found = (await tools.grep({ pattern: '^x', path: 'a' })).split('\\n').filter((line) => line.includes('x '));
        console.log('lines', found.length);
        const all = await Promise.all(['a/one', 'a/three'].map((path) => tools.read({ path })));
        await tools.exec({ command: 'cat a/one a/two > a/both' });
        return { read: all.length, both: (await tools.read({ path: 'a/both' })).includes('x 22') };";
    let (results, ended) = results(&place, &["--session", "s", "--json"], &[script(counts)]);
    assert!(results[0].contains("lines 2\n"), "{results:?}");
    assert!(
        results[0].contains("\"read\": 2") && results[0].contains("\"both\": true"),
        "{results:?}"
    );
    let records = place.records();
    let of = |name: &str| -> Vec<&Value> {
        records.iter().filter(|record| record["event"] == name).collect()
    };
    let calls: Vec<(u64, &str, u64)> = of("tool.call")
        .iter()
        .map(|call| {
            (
                call["call"].as_u64().unwrap(),
                call["tool"].as_str().unwrap(),
                call["within"].as_u64().unwrap(),
            )
        })
        .collect();
    let within = 1;
    assert_eq!(
        calls,
        [
            (1, "code", 0),
            (2, "grep", within),
            (3, "read", within),
            (4, "read", within),
            (5, "exec", within),
            (6, "read", within),
        ]
    );
    let answered: Vec<u64> =
        of("tool.result").iter().map(|result| result["call"].as_u64().unwrap()).collect();
    assert_eq!(answered, [2, 3, 4, 5, 6, 1]);
    let shown = ended.stdout.lines().filter(|line| line.contains("\"within\":1")).count();
    assert_eq!(shown, 5, "{}", ended.stdout);
    let mut transcript = String::new();
    place.each_file_of_state(&mut |path, bytes| {
        if path.ends_with("agents/s.jsonl") {
            transcript = String::from_utf8(bytes).unwrap();
        }
    });
    let called = transcript.lines().filter(|line| line.contains("\"line\":\"called\"")).count();
    assert_eq!(called, 5, "{transcript}");
    // It goes on from there.
    let server = ModelServer::start(&[], "went on");
    let again = place.agent(&server, &["--session", "s", "and now"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
}

/// V41: a tool that the agent was not given is refused and on record, whatever name it is asked by; and so is the script itself.
#[test]
fn a_script_has_no_more_than_its_agent() {
    if !can_run() {
        return;
    }
    let place = Place::new();
    place.write("secret", "the secret\n");
    let asks = "for (const name of ['exec', 'write', 'code', 'spawn', 'ask', 'no such', '__proto__', 'constructor']) {
            try { console.log(name, 'DID', await tools[name]({ command: 'id', path: 'made', content: 'x', script: '1', question: 'x' })); }
            catch (error) { console.log(name, error.message.split(';')[0]); }
        }
        for (const wrong of [null, 5, 'text', [1]]) await tools.read(wrong).catch((error) => console.log(error.code));
        await tools.read({ path: 'nothing' }).catch((error) => console.log(error.message.startsWith('nothing is at')));
        console.log((await tools.read({ path: 'secret' })).includes('the secret'));";
    let alone = "const fs = require('fs');
        const tell = (act) => { try { console.log(act()); } catch (error) { console.log(error.code); } };
        tell(() => fs.readdirSync('/').sort().join()); tell(() => fs.readFileSync('/etc/passwd', 'utf8')); tell(() => fs.readFileSync('/proc/self/environ'));
        tell(() => require('child_process').execSync('id')); tell(() => process.kill(1)); tell(() => Object.keys(process.env).length);
        await fetch('http://127.0.0.1:9/').catch((error) => console.log(error.cause.code));";
    let (results, _) = results(&place, &["--tools", "read"], &[script(asks), script(alone)]);
    let lines: Vec<&str> = results[0].lines().collect();
    assert!(!results[0].contains("DID"), "{results:?}");
    assert!(lines[0].starts_with("exec there is no tool `exec`"), "{results:?}");
    assert!(lines[2].starts_with("code `code` cannot be called by itself"), "{results:?}");
    let is_refused = |line: &&str| line.contains("there is no tool") || line.contains("by itself");
    assert!(lines[..8].iter().all(is_refused), "{results:?}");
    assert_eq!(lines[8..], [&["ERR_INVALID_ARG_TYPE"; 4][..], &["true", "true"]].concat());
    assert!(!place.project.join("made").exists());
    let refused = place.records().iter().filter(|record| record["tool"] == "exec").count();
    assert_eq!(refused, 1);
    let told: Vec<&str> = results[1].lines().collect();
    assert_eq!(told[..4], ["script.js,tmp", "ENOENT", "ENOENT", "EACCES"], "{results:?}");
    assert_eq!(told[5..], ["0", "EACCES"], "{results:?}");
}

/// A25, V41: time, calls, memory and what comes of it are bounded, each by name; the next script runs.
#[test]
fn scripts_are_bounded() {
    if !can_run() {
        return;
    }
    let place = Place::new();
    let many = "let done = 0; try { for (;;) { await tools.list({ path: '.' }); done++; } } catch (error) { console.log(done, error.message); }";
    let scripts = [
        timed("console.log('before'); for (;;);", 2),
        timed("await tools.exec({ command: 'sleep 100' });", 2),
        script("const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));"),
        script("(function again() { again(); })();"),
        script(many),
        script("console.log('x'.repeat(1e6));"),
        script("console.log('half'); throw new TypeError('mine');"),
        script("let x = ;"),
        script("tools.read({ path: 'sum.py' }); process.exit(0);"),
        script("return 6 * 7"),
    ];
    let began = Instant::now();
    let (results, _) = results(&place, &[], &scripts);
    assert!(began.elapsed() < slowly(Duration::from_secs(120)), "{:?}", began.elapsed());
    let says =
        |at: usize, words: &str| assert!(results[at].contains(words), "{at}: {}", results[at]);
    // Whichever comes first: its processor time, or the time of its cage.
    assert!(results[0].contains("max_cpu") || results[0].contains("time of 2 s"), "{}", results[0]);
    says(1, "time of 2 s is over");
    says(2, "its limit `max_memory`");
    says(3, "its limit `max_stack`");
    says(4, "200 200 calls of tools are the most");
    assert!(
        results[5].len() < 40_000 && results[5].contains("more bytes are left out"),
        "{}",
        results[5].len()
    );
    says(6, "error: the script failed\nhalf\n");
    says(6, "TypeError: mine");
    says(7, "SyntaxError");
    says(8, "printed nothing");
    assert_eq!(results[9].trim(), "42");
}

/// V41: without the flag there is no such tool, and without what runs scripts the agent does not begin.
#[test]
fn the_tool_is_asked_for() {
    if !can_run() {
        return;
    }
    let place = Place::new();
    let server = ModelServer::start(&[script("return 1")], "done");
    let ended = place.agent(&server, &["go"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(server.results()[0].contains("there is no tool `code`"), "{:?}", server.results());
    let server = ModelServer::start(&[], "done");
    let mut command = place.command(&server, &["--code", "go"]);
    command.env("STOCKADE_GUEST", place.project.join("missing"));
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("guests are run by") && said.contains("STOCKADE_GUEST"), "{said}");
    assert!(server.requests().is_empty());
}
