//! What `stockade learn` proposes for real programs, and that each runs under it without a refusal.

use super::support::{Ended, Place, has};

/// Learns until nothing more is refused, and runs the program under what was proposed.
fn learn(place: &Place, command: &[&str]) -> Ended {
    for _ in 0..3 {
        place.ask([&["learn", "--write", "--"], command].concat());
    }
    let policy = std::fs::read_to_string(place.project.join("stockade.toml")).unwrap();
    let home = place.home.display().to_string();
    assert!(!policy.contains(&home), "{policy}");
    let learned = place.ask([&["learn", "--"], command].concat());
    let line = learned.stderr.lines().find(|line| line.contains("run it with")).unwrap();
    let flags = line.split("stockade run ").nth(1).unwrap().split("-- ").next().unwrap();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    for grant in [format!("--ro {home} "), format!("--rw {home} ")] {
        assert!(!line.contains(&grant), "{line}");
    }
    let run = [&["run", "--explain"], flags.as_slice(), &["--"], command].concat();
    let ended = place.ask(run);
    ended.expect_code(0);
    let refused: Vec<&str> =
        ended.stderr.lines().filter(|line| line.contains("writing `")).collect();
    assert_eq!(refused, [""; 0], "{policy}");
    ended
}

/// K294: a build, with what it makes.
#[test]
fn a_build_runs_under_what_was_learned() {
    if !has("make") || !has("cc") {
        return;
    }
    let place = Place::new();
    place.write("main.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
    place.write("Makefile", "all: out/x\n\tout/x\nout/x: main.c\n\tcc -o out/x main.c\n");
    std::fs::create_dir(place.project.join("out")).unwrap();
    learn(&place, &["make"]).prints("built");
    let policy = std::fs::read_to_string(place.project.join("stockade.toml")).unwrap();
    assert!(policy.contains("{ ro = \".\" }") && policy.contains("{ rw = \"out\" }"), "{policy}");
}

/// K294: while it is learned from, a program works on a copy: it goes on past its first write, and nothing of it stays.
#[test]
fn a_program_goes_on_past_its_first_write() {
    let place = Place::new();
    std::fs::create_dir(place.project.join("one")).unwrap();
    std::fs::create_dir(place.project.join("two")).unwrap();
    std::fs::create_dir_all(place.project.join(".git/hooks")).unwrap();
    let script =
        "echo x > one/a && echo y > two/b && cat one/a two/b; echo z > .git/hooks/post-commit";
    let learned = place.ask(["learn", "--", "sh", "-c", script]);
    learned.expect_code(0).prints("x\ny\n").prints("{ rw = \"one\" }").prints("{ rw = \"two\" }");
    learned.says("not proposed for writing").says(".git/hooks/post-commit");
    assert!(!place.project.join("one/a").exists() && !place.project.join("two/b").exists());
    assert!(!place.project.join(".git/hooks/post-commit").exists());
    let sessions = place.ask(["session", "list", "--json"]);
    sessions.expect_code(0);
    assert!(!sessions.stdout.contains("workspace"), "{}", sessions.stdout);
}

/// K294: a program of Node's.
#[test]
fn a_program_of_node_runs_under_what_was_learned() {
    if !has("node") {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.project.join("cache")).unwrap();
    std::fs::write(place.home.join(".webrc"), "colour").unwrap();
    place.write(
        "x.js",
        "const fs = require('fs'), path = require('path'), home = require('os').homedir();\n\
         fs.writeFileSync('cache/out', fs.readFileSync(path.join(home, '.webrc')));\n\
         console.log(fs.readFileSync('cache/out', 'utf8'));\n",
    );
    learn(&place, &["node", "x.js"]).prints("colour");
    let policy = std::fs::read_to_string(place.project.join("stockade.toml")).unwrap();
    assert!(policy.contains("{ rw = \"cache\" }"), "{policy}");
}

/// K294: an archive of a directory, unpacked in another.
#[test]
fn tar_runs_under_what_was_learned() {
    let place = Place::new();
    for directory in ["from", "to"] {
        std::fs::create_dir(place.project.join(directory)).unwrap();
    }
    place.write("from/a", "first");
    let line = "tar -cf to/x.tar from && tar -xf to/x.tar -C to && cat to/from/a";
    learn(&place, &["sh", "-c", line]).prints("first");
    let policy = std::fs::read_to_string(place.project.join("stockade.toml")).unwrap();
    assert!(policy.contains("{ rw = \"to\" }") && !policy.contains("rw = \".\""), "{policy}");
}

/// K294: what a program reads in the home is proposed file by file; a secret is named and not proposed.
#[test]
fn a_script_gets_the_files_that_it_reads() {
    if !has("python3") {
        return;
    }
    let place = Place::new();
    std::fs::create_dir_all(place.home.join(".ssh")).unwrap();
    std::fs::write(place.home.join(".ssh/id_rsa"), "key").unwrap();
    std::fs::write(place.home.join(".toolrc"), "setting").unwrap();
    place.write(
        "x.py",
        "import os, pathlib\nhome = pathlib.Path.home()\nprint((home / '.toolrc').read_text())\n\
         os.path.exists(home / '.ssh/id_rsa')\n",
    );
    let first = place.ask(["learn", "--", "python3", "-B", "x.py"]);
    first.expect_code(0).says(&format!("--ro {}/.toolrc", place.home.display()));
    first.says("not proposed, because they are secrets").says("(SSH keys)");
    learn(&place, &["python3", "-B", "x.py"]).prints("setting");
}

/// K294: git reads its configuration and writes its repository.
#[test]
fn git_runs_under_what_was_learned() {
    if !has("git") {
        return;
    }
    let place = Place::new();
    std::fs::write(place.home.join(".gitconfig"), "[user]\nname = u\nemail = u@example.org\n")
        .unwrap();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        let done =
            command.args(words).current_dir(&place.project).env("HOME", &place.home).status();
        assert!(done.unwrap().success());
    };
    git(&["init", "-q"]);
    place.write("a", "a");
    git(&["add", "a"]);
    learn(&place, &["git", "status"]).prints("new file");
}

/// K294: a file of somebody else's stays, and a home is no project.
#[test]
fn nothing_is_written_over() {
    let place = Place::new();
    place.default_cage("fs = [{ ro = \".\" }]");
    let ended = place.ask(["learn", "--write", "--", "true"]);
    ended.expect_code(2).says("was written by somebody else");
    let mut command = place.stockade();
    let output = command.current_dir(&place.home).args(["learn", "--", "true"]).output().unwrap();
    Ended::of(output).expect_code(2).says("here is no project");
    place.ask(["learn"]).expect_code(2).says("there is no program to learn from");
}
