//! What a run says about paths that its program did not get, and what the program finds about them itself.

use super::support::{Place, skip};

/// K290: each reason for a write that fails, and the flag that would allow it.
#[test]
fn a_refused_write_names_rule_and_flag() {
    let place = Place::new();
    place.write(".git/config", "");
    place.write("src/a", "");
    place.default_cage("fs = [{ rw = \".\" }, { ro = \"src\" }]");
    let project = place.project.display();
    let line =
        "echo x > src/a; mkdir src/b; echo x > .git/config; touch /usr/x; mkdir /srv/x; true";
    let ended = place.shell(&["--explain=writes"], line);
    ended
        .expect_code(0)
        .says(&format!("`ro` on `{project}/src` (stockade.toml:3); `--rw {project}/src`"))
        .says(&format!(
            "writing `{project}/.git/config` was refused: `.git/config` runs code on the host"
        ))
        .says(&format!("`--rw {project}/.git/config` allows it"))
        .says("writing `/usr/x` was refused: every cage has the system read-only\n");
    // The flag that was named is the one that helps.
    let flag = format!("{project}/src");
    place.shell(&["--explain=writes", "--rw", &flag], "echo x > src/a").expect_code(0);
    // What succeeds is not told, and nothing is where nobody asked.
    let line = "echo x > new; echo x > /tmp/x; echo x > ~/.x; rm new; mkdir -p /tmp; true";
    assert_eq!(place.shell(&["--explain=writes"], line).expect_code(0).stderr, "");
    let quiet = place.shell(&[], "echo x > src/a || true");
    assert!(!quiet.stderr.contains("note"), "{}", quiet.stderr);
}

/// K291: what the host has and the cage does not, with the flag; what is nowhere is not told.
#[test]
fn a_missing_file_names_the_flag() {
    let place = Place::new();
    for (name, text) in [(".ssh/id_rsa", "key"), (".tool/a", "a"), (".tool/b", "b")] {
        let path = place.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    place.write("hidden/x", "x");
    let home = place.home.display();
    let flags = ["--ro", ".", "--hide", "hidden", "--explain"];
    let line = "cat ~/.ssh/id_rsa ~/.tool/a ~/.tool/b ~/.nowhere hidden/x; true";
    let ended = place.shell(&flags, line);
    ended
        .expect_code(0)
        .says(&format!("`{home}/.ssh/id_rsa` is not in the cage"))
        .says(&format!("a secret: SSH keys; `--ro {home}/.ssh/id_rsa` shows it"))
        .says(&format!("`{home}/.tool/a` and 1 more in `{home}/.tool` are not in the cage"))
        .says(&format!("`--ro {home}/.tool` shows them"))
        .says("hidden/x` was hidden");
    let told = |line: &&str| line.starts_with("stockade: note") && line.contains(".nowhere");
    assert_eq!(ended.stderr.lines().find(told), None);
    assert!(!ended.stderr.contains(&format!("`--ro {home}/.ssh`")), "{}", ended.stderr);
    let tool = format!("{home}/.tool");
    place.shell(&["--ro", ".", "--ro", &tool], "cat ~/.tool/a").expect_code(0).prints("a");
}

/// K290, K291: a program that reads the result has the same.
#[test]
fn the_result_has_what_is_told() {
    let place = Place::new();
    let ended = place.shell(&["--ro", ".", "--explain", "--json"], "echo x > new; true");
    let line = ended.expect_code(0).stderr.lines().last().unwrap().to_owned();
    let result: serde_json::Value = serde_json::from_str(&line).unwrap();
    let paths = result["paths"].as_array().unwrap();
    let one = paths.iter().find(|one| one["problem"] == "unwritable").unwrap();
    let project = place.project.display().to_string();
    assert_eq!(one["path"], format!("{project}/new"));
    assert_eq!(one["flag"], format!("--rw {project}"));
    assert_eq!(one["secret"], serde_json::Value::Null);
}

/// K292, T25: a call that is noted is answered as it would be otherwise, refused ones too.
#[test]
fn what_is_noted_changes_no_answer() {
    let place = Place::new();
    place.write("f", "old");
    let line = "chmod u+s f; mount x y; echo new > f; cat f; cat /etc/shadow; ls /proc/1/root; \
                cd /nowhere; test -e ~/.ssh; echo $?; (exit 7)";
    let plain = place.shell(&["--rw", "."], line);
    for explain in ["--explain", "--explain=writes"] {
        let noted = place.shell(&["--rw", ".", explain], line);
        assert_eq!((noted.code, &noted.stdout), (plain.code, &plain.stdout), "{explain}");
        noted.says("refused").says("mount ×1");
    }
    assert_eq!((plain.code, plain.stdout.as_str()), (7, "new\n1\n"));
}

/// K292: a flood is noted within bounds, and the run ends as it would.
#[test]
fn a_flood_of_names_is_bounded() {
    let place = Place::new();
    let line = "i=0; while [ $i -lt 18000 ]; do [ -e ~/.n$i ]; i=$((i+1)); done; echo end";
    let ended = place.shell(&["--explain"], line);
    ended.expect_code(0).prints("end").says("calls about other paths are in no list");
}

/// K296: what is gone with the cage, and memory that was full.
#[test]
fn what_was_left_in_memory_is_told() {
    let place = Place::new();
    let home = place.home.display();
    let ended = place.shell(&["--ro", "."], "echo x > ~/report; echo x > ~/.cache; mkdir ~/empty");
    ended.expect_code(0).says(&format!("`{home}/report` was written to the cage's own memory"));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let full =
        place.shell(&["--memory", "64M", "--degraded-limits"], "head -c 999M /dev/zero > /tmp/x");
    if full.code == 137 {
        return skip("the control group counts the file before the file system is full");
    }
    full.says("`/tmp` was full at the end");
}

/// K293: the program reads what it was refused, and nobody inside writes it. It says nothing about the host.
#[test]
fn the_program_reads_what_it_was_refused() {
    let place = Place::new();
    std::fs::create_dir_all(place.home.join(".ssh")).unwrap();
    std::fs::write(place.home.join(".ssh/id_rsa"), "key").unwrap();
    let list = "/run/stockade/denials.jsonl";
    let line = format!(
        "mount x y; getent hosts registry.example; cat ~/.ssh/id_rsa ~/.ssh/nowhere; \
         echo x >> {list}; rm -f {list}; mv {list} /tmp/; cat {list}; true"
    );
    let ended = place.shell(&["--ro", ".", "--explain"], &line);
    let lines: Vec<serde_json::Value> = ended
        .expect_code(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let about = |subject: &str| lines.iter().find(|line| line["subject"] == subject).cloned();
    assert_eq!(about("mount").unwrap()["kind"], "syscall");
    assert_eq!(about("registry.example").unwrap()["flag"], "--net registry.example");
    // What exists outside reads as what does not.
    let ssh = place.home.join(".ssh").display().to_string();
    let mut there = about(&format!("{ssh}/id_rsa")).unwrap();
    let nowhere = about(&format!("{ssh}/nowhere")).unwrap();
    assert_eq!(there["flag"], format!("--ro {ssh}/id_rsa"));
    there["subject"] = nowhere["subject"].clone();
    there["flag"] = nowhere["flag"].clone();
    assert_eq!(there, nowhere);
    // Without it only what costs nothing is written.
    let plain = place.shell(&["--ro", "."], &format!("cat ~/.ssh/id_rsa; mount x y; cat {list}"));
    assert_eq!(plain.stdout.lines().count(), 1, "{}", plain.stdout);
}

/// K293: `why --self` asks that list, where the program is in the cage.
#[test]
fn why_asks_the_cage_that_it_is_in() {
    let place = Place::new();
    let copy = place.write("stockade", std::fs::read(super::support::stockade_binary()).unwrap());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&copy, mode).unwrap();
    let line = "./stockade why --self && mount x y; ./stockade why --self; \
                ./stockade why --self nothing.example; ./stockade why --self mount --json";
    let ended = place.shell(&["--ro", "."], line);
    ended
        .expect_code(1)
        .prints("nothing was refused so far\n")
        .prints("`mount` was refused: the cage's system call filter refuses it\n")
        .prints("nothing of that was refused so far\n")
        .prints("\"kind\": \"syscall\"");
    place.ask(["why", "--self"]).expect_code(2).says("only a cage has that file");
}

/// K296: an interpreter of the caller's own is not the one that the cage finds.
#[test]
fn another_interpreter_is_told() {
    let place = Place::new();
    let bin = place.outside().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("python3");
    std::fs::write(&program, "#!/bin/sh\necho own\n").unwrap();
    let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = |flags: &[&str]| {
        let mut command = place.stockade();
        let words = [&["run"], flags, &["--", "sh", "-c", "python3 --version; true"]].concat();
        super::support::Ended::of(command.env("PATH", &path).args(words).output().unwrap())
    };
    run(&[]).expect_code(0).says(&format!("and `{}` here", program.display()));
    let flag = bin.display().to_string();
    let shown = run(&["--ro", &flag, "--env", "PATH"]);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("own\n", ""));
}

/// K296: what a rule of the user's own lets a program change, and an agent outside obeys.
#[test]
fn changed_settings_of_an_agent_are_told() {
    let place = Place::new();
    let settings = place.home.join(".claude");
    std::fs::create_dir_all(settings.join("projects")).unwrap();
    std::fs::write(settings.join("settings.json"), "{}").unwrap();
    let flag = settings.display().to_string();
    let line = "echo '{\"a\":1}' > ~/.claude/settings.json; echo x > ~/.claude/projects/x.json";
    let ended = place.shell(&["--rw", &flag], line);
    ended
        .expect_code(0)
        .says("settings.json` changed during the run, as the rule for")
        .says("obeyed outside");
    let line = "echo x > ~/.claude/projects/y.json; cat ~/.claude/settings.json";
    assert_eq!(place.shell(&["--rw", &flag], line).expect_code(0).stderr, "");
}
