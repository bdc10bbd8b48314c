//! Many cages at once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};

use super::support::Place;

/// K237, V8: sixteen cages at a barrier; each sees exactly its own view.
#[test]
fn each_cage_sees_its_own_view() {
    let place = Place::new();
    let outside = place.outside();
    const CAGES: usize = 16;
    for cage in 0..CAGES {
        let directory = outside.join(format!("part-{cage}"));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("name"), cage.to_string()).unwrap();
    }
    for _ in 0..50 {
        let mut children: Vec<Child> = (0..CAGES)
            .map(|cage| {
                let own = outside.join(format!("part-{cage}"));
                let line = "echo ready; read go; ls \"$0\"; cat \"$0\"/*/name; hostname; ls /proc | \
                            grep -c '^[0-9]'";
                let mut command = place.stockade();
                command.args(["run", "--ro"]).arg(own).args(["--", "sh", "-c", line]);
                command.arg(&outside).stdin(Stdio::piped()).stdout(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        let mut outputs = Vec::new();
        for child in &mut children {
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            outputs.push(output);
        }
        for child in &mut children {
            child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        for (cage, (mut child, mut output)) in children.into_iter().zip(outputs).enumerate() {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            assert!(child.wait().unwrap().success());
            let expected = format!("part-{cage}\n{cage}stockade-");
            assert!(text.starts_with(&expected), "cage {cage}: {text}");
        }
    }
}

/// K8, K10: another cage's memory cannot be read and its processes cannot be signalled, in either
/// profile.
#[test]
fn no_cage_reads_or_signals_another() {
    let place = Place::new();
    let secret = format!("SECRET=canary-{}", std::process::id());
    let mut command = place.stockade();
    command.args(["run", "--env", &secret, "--", "sh", "-c", "echo ready; read go"]);
    let mut other = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    // The kernel reads a process's variables from its memory, for whoever may read that.
    let has_it = |process: &str| {
        let variables = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == secret.as_bytes())
    };
    let names = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
    let mut names = names.filter_map(|name| name.into_string().ok());
    let process = names.find(|name| has_it(name)).expect("it can be read uncaged");
    let line = format!(
        "cat /proc/[0-9]*/environ /proc/{process}/environ /proc/{process}/mem; \
         kill -9 {process} {}; echo looked",
        other.id()
    );
    for profile in ["default", "relaxed"] {
        let ended = place.shell(&["--seccomp", profile], &line);
        ended.expect_code(0).prints("looked");
        assert!(!ended.stdout.contains(&secret), "{profile}: {}", ended.stdout);
    }
    other.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(other.wait().unwrap().success());
}
