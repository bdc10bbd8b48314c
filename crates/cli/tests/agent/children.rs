//! Children of agents: what they have is a part of what their parent has, they spend what it may spend, and they end with it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::model_server::{ModelServer, Step};
use testing::slowly;

use super::place::Place;

fn spawn(arguments: Value) -> Step {
    Step::Call { tool: "spawn".to_owned(), arguments }
}

fn run(command: &str) -> Step {
    Step::Run(command.to_owned())
}

/// V12, V33, V34, V36, V40, T51: two children at one time, each with its paths alone; what is more is refused by name.
#[test]
fn children_have_a_part_of_what_their_parent_has() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    place.write("src/a.txt", "alpha");
    let tries = "cat sum.py; cat src/a.txt; (echo x > sum.py) 2>&1; (echo new > src/b.txt) 2>&1; \
                 cat /proc/1/environ 2>&1; for p in /proc/[0-9]*; do cat $p/environ; done 2>/dev/null | tr '\\0' '\\n'; \
                 env; (echo t > /tmp/elsewhere) 2>&1; ls -d \"$TMPDIR\"; python3 -c 'import socket; socket.socket()' 2>&1; \
                 ls -l /proc/self/fd | wc -l; true";
    let steps = [
        Step::Together(vec![
            spawn(
                json!({ "task": "read", "tools": ["read", "exec"], "paths": ["ro:."], "model": "reader" }),
            ),
            spawn(
                json!({ "task": "write", "tools": ["exec", "write"], "paths": ["src"], "model": "writer" }),
            ),
            spawn(json!({ "task": "x", "tools": ["read", "sudo"] })),
            spawn(json!({ "task": "x", "tools": ["read"], "paths": ["/etc/shadow"] })),
            spawn(json!({ "task": "x", "tools": ["read"], "network": true })),
            spawn(json!({ "task": "x", "tools": ["read", "spawn"] })),
            spawn(json!({ "tools": ["read"] })),
        ]),
        run("cat src/b.txt"),
    ];
    let of_models: &[(&str, &[Step], &str)] = &[
        (
            "reader",
            &[run(tries), Step::Call { tool: "edit".to_owned(), arguments: json!({}) }],
            "read it",
        ),
        ("writer", &[run(tries)], "wrote it"),
    ];
    let server = ModelServer::start_models(&steps, "all done", of_models);
    let ended = place.agent(&server, &["--children", "1", "--session", "family", "go"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let results = server.results_of("m");
    let [read, wrote, sudo, shadow, network, depth, no_task, new] = results.as_slice() else {
        panic!("{results:?}\n{}", ended.stderr)
    };
    assert!(read.contains("read it") && wrote.contains("wrote it"), "{results:?}");
    assert!(sudo.contains("error:") && sudo.contains("`sudo`"), "{sudo}");
    assert!(shadow.contains("error:") && shadow.contains("/etc/shadow"), "{shadow}");
    assert!(network.contains("error:") && network.contains("`network`"), "{network}");
    assert!(depth.contains("error:") && depth.contains("levels"), "{depth}");
    assert!(no_task.contains("error:") && no_task.contains("task"), "{no_task}");
    assert!(new.contains("new"), "{new}");
    let [of_reader, edit] = &*server.results_of("reader") else { panic!("no results") };
    assert!(of_reader.contains("def add") && of_reader.contains("alpha"), "{of_reader}");
    assert!(edit.contains("there is no tool `edit`"), "{edit}");
    let [of_writer] = &*server.results_of("writer") else { panic!("no results") };
    assert!(!of_writer.contains("def add") && of_writer.contains("alpha"), "{of_writer}");
    for seen in [of_reader, of_writer] {
        let denied = seen.matches("ermission denied").count();
        assert!(denied >= 3, "{seen}");
        assert!(!seen.contains("STOCKADE") && !seen.contains("HOSTNAME"), "{seen}");
        assert!(seen.contains("/tmp/child-"), "{seen}");
    }
    let records = place.records();
    let of =
        |name: &str| records.iter().filter(|record| record["event"] == name).collect::<Vec<_>>();
    let (cage, children) = (of("subagent.spawn"), of("agent.spawn"));
    assert_eq!((children.len(), of("agent.exit").len()), (2, 2), "{children:?}");
    for child in &children {
        assert_eq!(child["parent_id"], cage[0]["invocation_id"]);
        let own = |record: &&&Value| record["invocation_id"] == child["invocation_id"];
        assert!(of("tool.call").iter().filter(own).count() >= 1);
        assert!(of("model.call").iter().filter(own).count() >= 2);
    }
    let whole = records.iter().map(Value::to_string).collect::<String>();
    assert!(!whole.contains("wrote it"), "{whole}");
}

/// V35: three levels, each with less than the one above; the network too.
#[test]
fn a_child_of_a_child_has_less_again() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    place.write("a/one.txt", "one\n");
    place.write("a/b/two.txt", "two\n");
    place.write("a/b/c/three.txt", "three\n");
    let look = "cat a/one.txt a/b/two.txt a/b/c/three.txt 2>&1; \
                python3 -c 'import socket; socket.socket(); print(\"socket\")' 2>&1";
    let below = |paths: &str, model: &str| {
        spawn(
            json!({ "task": "look", "tools": ["exec", "spawn"], "paths": [paths], "model": model, "network": model == "first" }),
        )
    };
    let last =
        spawn(json!({ "task": "look", "tools": ["exec"], "paths": ["a/b/c"], "model": "third" }));
    let more =
        spawn(json!({ "task": "look", "tools": ["exec"], "paths": ["a"], "model": "third" }));
    let of_models: &[(&str, &[Step], &str)] = &[
        ("first", &[run(look), below("a/b", "second")], "first"),
        ("second", &[run(look), more, last], "second"),
        ("third", &[run(look)], "third"),
    ];
    let server = ModelServer::start_models(&[run(look), below("a", "first")], "done", of_models);
    let ended = place.agent(&server, &["--children", "3", "--net", "example.com:443", "go"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let seen = |model: &str| server.results_of(model).first().cloned().unwrap_or_default();
    let sees = |model: &str| {
        let text = seen(model);
        ["one", "two", "three", "socket"].map(|word| text.lines().any(|line| line == word))
    };
    assert_eq!(sees("m"), [true; 4], "{}", seen("m"));
    assert_eq!(sees("first"), [true; 4], "{}", seen("first"));
    assert_eq!(sees("second"), [false, true, true, false], "{}", seen("second"));
    assert_eq!(sees("third"), [false, false, true, false], "{}", seen("third"));
    assert!(seen("third").matches("ermission denied").count() >= 2, "{}", seen("third"));
    let refused = &server.results_of("second")[1];
    assert!(refused.contains("error:") && refused.contains("/a`"), "{refused}");
}

/// V35, V37: a child whose time is over ends with all that it started, and what children spend their parent has spent.
#[test]
fn children_end_in_time_and_share_budgets() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let stays = "setsid sleep 4321 & sleep 4321";
    let steps = [
        spawn(json!({ "task": "x", "tools": ["exec"], "model": "slow", "timeout": 2 })),
        run(
            "sleep 1; ps ax 2>/dev/null | grep -c '[s]leep 4321'; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 432[1]'; true",
        ),
    ];
    let of_models: &[(&str, &[Step], &str)] = &[("slow", &[run(stays)], "never")];
    let server = ModelServer::start_models(&steps, "done", of_models);
    let began = Instant::now();
    let ended = place.agent(&server, &["--children", "1", "go"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert!(began.elapsed() < slowly(Duration::from_secs(30)));
    let results = server.results_of("m");
    assert!(results[0].contains("error:") && results[0].contains("2 s"), "{results:?}");
    assert!(results[1].starts_with("0\n0\n"), "{results:?}");
    let forever = [Step::Forever(Box::new(run("date +%N")))];
    let of_models: &[(&str, &[Step], &str)] = &[("endless", &forever, "never")];
    let endless = spawn(json!({ "task": "x", "tools": ["exec"], "model": "endless" }));
    let server = ModelServer::start_models(&[endless.clone(), endless], "done", of_models);
    let ended = place.agent(&server, &["--children", "1", "--steps", "6", "go"]);
    assert_ne!(ended.code, 0, "{}", ended.stdout);
    assert!(ended.stderr.contains("the budget of steps is used up"), "{}", ended.stderr);
    assert!(server.requests().len() <= 8, "{}", server.requests().len());
}

/// V34, V37, T51, T53: a child that floods, one with the name of another place, a name that acts on a terminal, and more children
/// than there may be come to nothing; their parent goes on, and nothing of them is left.
#[test]
fn hostile_children_come_to_nothing() {
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    let flood = "yes flood | head -c 50000000; for n in $(seq 100); do sleep 4343 > /dev/null 2>&1 & done; echo begun";
    let child = |model: &str| json!({ "task": "x", "tools": ["exec"], "model": model });
    let typed = |kind: &str| json!({ "task": "x", "tools": ["exec"], "agenttype": kind });
    let many =
        (0..70).map(|_| spawn(json!({ "task": "x", "tools": ["read"], "paths": ["/root/none"] })));
    let steps = [
        Step::Together(vec![
            spawn(child("flood")),
            spawn(child("spoof")),
            spawn(typed("../../../../etc/passwd")),
            spawn(typed("\u{1b}]0;spoof\u{7}")),
        ]),
        Step::Together(many.collect()),
        run("sleep 1; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 434[3]; cat sum.py"),
    ];
    let named =
        Step::Call { tool: "\u{1b}[2J\u{1b}]0;spoof\u{7}".to_owned(), arguments: json!({}) };
    let of_models: &[(&str, &[Step], &str)] =
        &[("flood", &[run(flood)], "flooded"), ("spoof", &[named], "\u{1b}[2Jdone\u{202e}")];
    let server = ModelServer::start_models(&steps, "done", of_models);
    let ended = place.agent(&server, &["--children", "1", "go"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let results = server.results_of("m");
    let (first, many) = (&results[..4], &results[4..74]);
    assert!(first[0].contains("flooded") && first[1].contains("done"), "{first:?}");
    let [flooded] = &*server.results_of("flood") else { panic!("no results") };
    assert!(flooded.len() < 100_000 && flooded.contains("results/exec-1.txt"), "{}", flooded.len());
    for refused in &first[2..] {
        assert!(refused.starts_with("error:") && !refused.contains("root:"), "{refused}");
    }
    assert!(many.iter().all(|result| result.starts_with("error:")), "{many:?}");
    assert!(many[69].contains("64 children"), "{}", many[69]);
    assert!(results[74].starts_with("0\n") && results[74].contains("def add"), "{}", results[74]);
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!told.contains('\u{1b}') && !told.contains('\u{202e}'), "{told:?}");
}

/// Numbers without a pattern, the same at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// V35: random trees three levels deep, walked in real cages: what a child can read, change and reach, its parent can.
/// `STOCKADE_TREES` is how many.
#[test]
fn what_a_child_can_do_its_parent_can() {
    const PATHS: &[&str] =
        &[".", "a", "a/b", "a/b/c", "d", "ro:a", "ro:a/b", "rw:a/b", "rw:d", "/usr/share"];
    if !testing::has("python3") {
        return;
    }
    let place = Place::new();
    for file in ["a/one", "a/b/two", "a/b/c/three", "d/four"] {
        place.write(file, "text");
    }
    let walk = "for f in sum.py a/one a/b/two a/b/c/three d/four /etc/passwd /tmp/root; do \
                (: < $f) 2>/dev/null && echo \"read $f\"; (: >> $f) 2>/dev/null && echo \"write $f\"; done; \
                for d in . a a/b a/b/c d /tmp; do mkdir $d/made 2>/dev/null && rmdir $d/made && echo \"make $d\"; done; \
                python3 -c 'import socket; socket.socket(); print(\"network\")' 2>/dev/null; true";
    let trees =
        std::env::var("STOCKADE_TREES").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let (mut dice, mut walked) = (Dice(0x2545_F491_4F6C_DD1D), 0);
    for _ in 0..trees {
        let mut child = |model: &str, tools: &[&str]| {
            let paths: Vec<&str> =
                (0..=dice.roll(2)).map(|_| PATHS[dice.roll(PATHS.len())]).collect();
            let mut asked = json!({ "task": "walk", "tools": tools, "model": model, "network": dice.roll(2) == 0 });
            if dice.roll(4) > 0 {
                asked["paths"] = json!(paths);
            }
            spawn(asked)
        };
        let of_models: &[(&str, &[Step], &str)] = &[
            ("1", &[run(walk), child("2", &["exec", "spawn"])], "1"),
            ("2", &[run(walk), child("3", &["exec"])], "2"),
            ("3", &[run(walk)], "3"),
        ];
        let root = [run(&format!("echo > /tmp/root; {walk}")), child("1", &["exec", "spawn"])];
        let server = ModelServer::start_models(&root, "done", of_models);
        let ended = place.agent(&server, &["--children", "3", "--net", "example.com:443", "go"]);
        assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
        let mut above: Option<Vec<String>> = None;
        for model in ["m", "1", "2", "3"] {
            let Some(seen) = server.results_of(model).first().cloned() else { break };
            let own: Vec<String> =
                seen.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect();
            let more = |line: &&String| above.as_ref().is_some_and(|above| !above.contains(*line));
            let more: Vec<&String> = own.iter().filter(more).collect();
            assert!(
                more.is_empty(),
                "{more:?}, and not its parent: {:?}",
                server.requests().first()
            );
            walked += usize::from(above.is_some());
            above = Some(own);
        }
    }
    assert!(walked > 0);
}
