//! How long a record takes, and how many there are in a second when many wait for each other. Holds
//! nothing to a number: it prints what it measured, on the file system of the temporary directory.
#![allow(clippy::print_stdout, reason = "figures are for whoever runs it")]

use std::time::{Duration, Instant};

use stockade_audit::{Event, Log, Name};

#[test]
#[ignore = "measures; run it with --release and nothing else"]
fn one_record_and_many() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("audit");
    Log::open(&directory).unwrap().record(&event()).unwrap();
    let (mut opened, mut appended, mut durable, mut stated) = (vec![], vec![], vec![], vec![]);
    for _ in 0..1000 {
        let begin = Instant::now();
        let log = Log::open(&directory).unwrap();
        opened.push(begin.elapsed());
        let position = log.append(&event()).unwrap();
        appended.push(begin.elapsed());
        log.make_durable(position).unwrap();
        durable.push(begin.elapsed());
        let begin = Instant::now();
        log.checkpoint().unwrap();
        stated.push(begin.elapsed());
    }
    tell("open", opened);
    tell("open, append", appended);
    tell("open, append, make durable", durable);
    tell("checkpoint of what is durable", stated);
    for threads in [1, 8, 64] {
        let log = Log::open(&directory).unwrap();
        let each = 8000 / threads;
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..each).for_each(|_| assert!(log.record(&event()).is_ok())));
            }
        });
        let rate = f64::from(threads * each) / begin.elapsed().as_secs_f64();
        println!("{threads} threads: {rate:.0} durable records in a second");
    }
}

fn tell(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    println!("{what}: median {:?}, 99 of 100 within {:?}", at(50), at(99));
}

fn event() -> Event {
    Event::SubagentIntent {
        invocation_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
        project_id: "/home/user/project".into(),
        session_id: None,
        subagent_name: None,
        cage: Some("default".into()),
        effective_cage_hash: Some(Name::from("0".repeat(64))),
        argv0: "/usr/bin/true".into(),
        caged: true,
    }
}
