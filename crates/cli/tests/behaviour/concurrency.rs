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
    for _ in 0..3 {
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
