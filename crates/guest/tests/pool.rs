//! A pool of guests: `stockade-guest pool`, asked by lines as whoever uses it does.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

struct Pool {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pool {
    fn new(options: &[&str], place: &Path) -> Self {
        let (before, after): (Vec<_>, Vec<_>) =
            options.chunks(2).partition(|pair| pair[0] != "--at-once");
        let own = std::env::current_exe().unwrap();
        // Cargo builds it there. Its variable has a name that shells do not hand on.
        let program = own.ancestors().nth(2).unwrap().join("stockade-guest");
        let mut child = Command::new(program)
            .args(before.concat())
            .arg("pool")
            .args(after.concat())
            .current_dir(place)
            .env("OF", "the pool")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take(), child, output }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ask(&mut self, request: &Value) {
        self.say(&request.to_string());
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// So many answers, by the names of their guests.
    fn answers(&mut self, count: usize) -> BTreeMap<String, Value> {
        let answers = (0..count).map(|_| self.answer());
        answers.map(|answer| (answer["id"].to_string(), answer)).collect()
    }

    fn result(&mut self, request: &Value) -> Value {
        self.ask(request);
        self.answer()
    }

    /// What a script prints.
    fn printed(&mut self, script: &str) -> String {
        let answer = self.result(&json!({ "id": 1, "script": script }));
        assert_eq!(answer["status"], 0, "{answer}");
        answer["output"].as_str().unwrap().to_owned()
    }

    /// It ends when its input has, and has nothing more to say.
    fn ends(mut self) {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        assert_eq!(rest, "");
        assert!(self.child.wait().unwrap().success());
    }
}

fn module(text: &str) -> Vec<u8> {
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write"
                (func $write (param i32 i32 i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "\10\00\00\00\{:02x}\00\00\00")
            (data (i32.const 16) "{text}")
            (func (export "_start")
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#,
        text.len()
    );
    wat::parse_str(module).unwrap()
}

/// A25
#[test]
fn each_guest_has_what_it_was_asked_with() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("below")).unwrap();
    std::fs::write(place.path().join("below/tool.js"), "console.log(__filename)").unwrap();
    std::fs::write(place.path().join("tool.wasm"), module("of a module")).unwrap();
    let mut pool = Pool::new(&[], place.path());
    let script = "let text = ''; process.stdin.on('data', (more) => text += more);
        process.stdin.on('end', () => {
            console.log(process.argv.slice(1).join(), process.env.OF, process.env.OWN, text);
            console.error(require('path').basename(process.cwd()));
            process.exit(3);
        });";
    let answer = pool.result(&json!({ "id": "x", "script": script, "arguments": ["a", "b"],
        "environment": { "OWN": "its own" }, "input": "words", "directory": "below" }));
    let expected = json!({ "id": "x", "status": 3, "output": "a,b the pool its own words\n", "error": "below\n" });
    assert_eq!(answer, expected);
    let answer = pool.result(&json!({ "id": 2, "file": "tool.js", "directory": "below" }));
    assert!(answer["output"].as_str().unwrap().ends_with("/below/tool.js\n"), "{answer}");
    // The second one finds it compiled.
    for id in [3, 4, 5] {
        let answer = pool.result(&json!({ "id": id, "file": "tool.wasm" }));
        assert_eq!(answer, json!({ "id": id, "status": 0, "output": "of a module", "error": "" }));
    }
    pool.ends();
}

/// A25
#[test]
fn nothing_of_a_guest_is_left_for_the_next() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&[], place.path());
    let changes =
        "globalThis.left = 1; Array.prototype.map = () => 'changed'; process.env.OF = 'changed';
        process.chdir('/'); require('fs').readFileSync = null; process.on('exit', () => {});";
    assert_eq!(pool.printed(changes), "");
    let looks =
        "console.log(globalThis.left, [1].map((one) => one), process.env.OF, process.cwd() === '/',
        typeof require('fs').readFileSync);";
    assert_eq!(pool.printed(looks), "undefined [ 1 ] the pool false function\n");
    // What is by chance is not the same in all copies of one engine.
    for chance in ["Math.random()", "require('crypto').randomUUID()", "process.pid"] {
        let script = format!("console.log({chance})");
        let mut seen: Vec<_> = (0..6).map(|_| pool.printed(&script)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 6, "{chance}: {seen:?}");
    }
    pool.ends();
}

/// A25
#[test]
fn a_guest_is_ended_by_its_time_and_by_a_word_with_what_it_started() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&["--at-once", "3"], place.path());
    let waits = "setTimeout(() => {}, 1e6); console.log('begins');";
    pool.ask(&json!({ "id": "late", "script": waits, "seconds": 0.3 }));
    let program = place.path().join("still.txt");
    let starts = format!(
        "require('child_process').exec('echo $$ >{0}.new; mv {0}.new {0}; exec sleep 1000'); {waits}",
        program.display()
    );
    pool.ask(&json!({ "id": "stopped", "script": starts }));
    pool.ask(&json!({ "id": "computes", "script": "for (;;);", "seconds": 0.2 }));
    pool.ask(&json!({ "id": "waits for room", "script": waits }));
    let until = Instant::now() + Duration::from_secs(30);
    while !program.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let answers = pool.answers(2);
    for (id, seconds) in [("\"late\"", "0.3"), ("\"computes\"", "0.2")] {
        assert_eq!(answers[id]["status"], 137, "{answers:?}");
        let why = answers[id]["why"].as_str().unwrap();
        assert_eq!(why, format!("it was ended: it reached its limit `seconds` of {seconds}"));
    }
    assert_eq!(answers["\"late\""]["output"], "begins\n");
    for id in ["stopped", "waits for room", "none of these"] {
        pool.ask(&json!({ "id": id, "stop": true }));
    }
    let answers = pool.answers(2);
    for id in ["\"stopped\"", "\"waits for room\""] {
        assert_eq!(answers[id]["status"], 137, "{answers:?}");
        assert_eq!(answers[id]["why"], "it was stopped");
    }
    let pid = std::fs::read_to_string(&program).unwrap();
    let process = format!("/proc/{}/stat", pid.trim());
    let lives = || std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!lives(), "what a guest had started is still there");
    pool.ends();
}

/// A25, T12
#[test]
fn a_guest_that_fails_is_told_and_its_neighbours_go_on() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&["--max-cpu", "1"], place.path());
    let neighbour = "const timer = setInterval(() => { if (require('fs').existsSync('go')) {
        clearInterval(timer); console.log('undisturbed'); } }, 5);";
    pool.ask(&json!({ "id": "neighbour", "script": neighbour }));
    let grows = "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));";
    let kills = "require('child_process').execSync('kill -9 $PPID')";
    for (id, script, status, part) in [
        ("grows", grows, 137, Some("`max_memory` of 67108864 bytes")),
        (
            "piles up",
            "const all = []; for (;;) all.push({})",
            137,
            Some("`max_memory` of 67108864"),
        ),
        ("says nothing", "throw null", 1, None),
        ("recurs", "(function again() { again(); })()", 137, Some("`max_stack`")),
        ("computes", "for (;;) try { for (;;); } catch {}", 137, Some("`max_cpu` of 1 seconds")),
        ("killed", kills, 137, Some("was killed")),
        ("throws", "throw new Error('why not')", 1, None),
    ] {
        pool.ask(&json!({ "id": id, "script": script, "memory_mb": 64 }));
        let answer = pool.answer();
        assert_eq!((&answer["id"], &answer["status"]), (&json!(id), &json!(status)), "{answer}");
        if let Some(part) = part {
            assert!(answer["why"].as_str().unwrap().contains(part), "{answer}");
        }
        let error = answer["error"].as_str().unwrap();
        let said = match id {
            "grows" => "out of memory",
            "recurs" => "call stack",
            "throws" => "why not",
            "says nothing" => "Uncaught null",
            _ => "",
        };
        assert!(error.contains(said), "{answer}");
    }
    std::fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(pool.answer()["output"], "undisturbed\n");
    pool.ends();
}

/// A25
#[test]
fn lines_that_ask_for_nothing_are_answered() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("program"), b"\x7fELF").unwrap();
    let mut pool = Pool::new(&[], place.path());
    for (line, id, status, part) in [
        ("{", json!(null), 2, "not JSON"),
        (r#"{"id": 1, "colour": "red"}"#, json!(1), 2, "unknown field `colour`"),
        (r#"{"id": 1, "file": "none.js"}"#, json!(1), 127, "`none.js`: No such file"),
        (r#"{"id": 1, "file": "program"}"#, json!(1), 126, "native program"),
        (r#"{"id": 1, "script": "", "directory": "none"}"#, json!(1), 127, "the directory `none`"),
    ] {
        pool.say(line);
        let answer = pool.answer();
        assert_eq!((&answer["id"], &answer["status"]), (&id, &json!(status)), "{answer}");
        assert!(answer["why"].as_str().unwrap().contains(part), "{answer}");
    }
    // A name is given to one guest at a time: the other one is not touched.
    pool.ask(&json!({ "id": 1, "script": "setTimeout(() => console.log('first'), 300)" }));
    pool.ask(&json!({ "id": 1, "script": "console.log('second')" }));
    assert!(pool.answer()["why"].as_str().unwrap().contains("a guest 1 that has not ended"));
    assert_eq!(pool.answer()["output"], "first\n");
    pool.ends();
}

/// A25
#[test]
fn what_a_guest_writes_is_bounded() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&[], place.path());
    let script =
        "const line = 'x'.repeat(1 << 16); for (let at = 0; at < 64; at += 1) console.log(line);";
    let answer = pool.result(&json!({ "id": 1, "script": script }));
    assert_eq!((&answer["cut"], &answer["status"]), (&json!(true), &json!(0)));
    assert_eq!(answer["output"].as_str().unwrap().len(), 1 << 20);
    pool.ends();
}

/// A25
#[test]
fn guests_end_with_their_pool() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&[], place.path());
    let script =
        "require('fs').writeFileSync('pid', String(process.pid)); setTimeout(() => {}, 1e6)";
    pool.ask(&json!({ "id": 1, "script": script }));
    let file = place.path().join("pid");
    let until = Instant::now() + Duration::from_secs(30);
    let pid = || std::fs::read_to_string(&file).unwrap_or_default();
    while pid().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    pool.child.kill().unwrap();
    pool.child.wait().unwrap();
    let process = format!("/proc/{}/stat", pid());
    let lives = || std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!lives());
}

/// A25, T12: what a guest starts may end itself, and neither the pool nor another guest.
#[test]
fn a_guest_signals_nobody_else() {
    if !has_scopes() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&[], place.path());
    let script = "const { execSync } = require('child_process');
        const told = (line) => { try { execSync(line, { stdio: 'pipe' }); return 'done'; } catch (error) { return error.status; } };
        console.log(told(`kill -STOP ${process.argv[1]}`), told(`kill -9 ${process.argv[1]}`), told('sh -c \"kill -9 $$\"') !== 'done');";
    let pid = pool.child.id().to_string();
    let answer = pool.result(&json!({ "id": 1, "script": script, "arguments": [pid] }));
    assert_eq!(answer["output"], "1 1 true\n", "{answer}");
    assert_eq!(pool.printed("console.log('goes on')"), "goes on\n");
    pool.ends();
}

/// A25: a reader that does not read keeps no guest past its time.
#[test]
fn nobody_waits_for_a_reader() {
    let place = tempfile::tempdir().unwrap();
    let mut pool = Pool::new(&[], place.path());
    let writes = "process.stdout.write('x'.repeat(1e6)); require('fs').appendFileSync('done', 'x')";
    for id in 0..3 {
        pool.ask(&json!({ "id": id, "script": writes }));
    }
    let lives = "setInterval(() => require('fs').writeFileSync('alive', String(Date.now())), 10)";
    pool.ask(&json!({ "id": "late", "script": lives, "seconds": 0.5 }));
    let until = Instant::now() + Duration::from_secs(30);
    let read = |name: &str| std::fs::read(place.path().join(name)).unwrap_or_default();
    let has_ended = || {
        let before = read("alive");
        std::thread::sleep(Duration::from_millis(300));
        !before.is_empty() && before == read("alive")
    };
    while (!has_ended() || read("done").len() < 3) && Instant::now() < until {}
    assert!(Instant::now() < until, "it is alive");
    let answers = pool.answers(4);
    assert_eq!(answers["\"late\""]["status"], 137);
    assert_eq!(answers["0"]["output"].as_str().unwrap().len(), 1_000_000);
    pool.ends();
}

/// Whether the kernel can keep signals in a part of the processes: since Linux 6.12.
fn has_scopes() -> bool {
    use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope};
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let has = ruleset.scope(Scope::Signal).is_ok();
    testing::found_or_skip(has, "this kernel keeps no signals in")
}
