//! Files that run code on the host: read-only inside writable grants, set aside when they appear.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Stdio};

use super::support::{Ended, Place};

/// K227, T4, T6
#[test]
fn existing_ones_cannot_be_changed_removed_or_replaced() {
    let place = Place::new();
    for file in
        [".git/config", ".git/hooks/pre-commit", ".envrc", ".vscode/tasks.json", ".mcp.json"]
    {
        place.write(file, "original");
    }
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.default_cage("fs = [{ rw = \".\" }]");
    let attempts = [
        "echo x > .git/config",
        "rm .git/config",
        "mv .git/config .git/other",
        "echo x > new && mv new .git/config",
        "echo x >> .git/hooks/pre-commit",
        "mv .git aside",
        "rm -r .git/hooks",
        "echo x > .envrc",
        "rm .mcp.json",
        "echo x > .vscode/tasks.json",
        "mv .vscode aside",
        "echo x > stockade.toml",
        "rm stockade.toml",
    ];
    for attempt in attempts {
        let ended = place.shell(&["--quiet"], attempt);
        assert_ne!(ended.code, 0, "{attempt}");
    }
    for file in
        [".git/config", ".git/hooks/pre-commit", ".envrc", ".vscode/tasks.json", ".mcp.json"]
    {
        assert_eq!(fs::read_to_string(place.project.join(file)).unwrap(), "original", "{file}");
    }
    // The rest of the repository works.
    place.shell(&[], "echo x > file; echo x > .git/index").expect_code(0);
}

/// K227: who names one to be writable has it changed in every way, also by tools that replace files.
#[test]
fn one_that_a_flag_names_can_be_replaced() {
    let place = Place::new();
    for file in [".git/config", ".envrc", ".vscode/settings.json"] {
        place.write(file, "original");
    }
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    let named = [".git/config", ".envrc", ".vscode"];
    let named = named.map(|name| place.project.join(name).display().to_string());
    let [config, envrc, vscode] = &named;
    let flags = ["--rw", ".", "--rw", config, "--rw", envrc, "--rw", vscode];
    let ended = place.shell(
        &flags,
        "for file in .git/config .envrc .vscode/settings.json; do
             echo changed > new && mv new $file || exit 1
         done
         echo x > .vscode/tasks.json && mkdir .idea",
    );
    ended.expect_code(0).says(".git/config` was changed during the run").says(".idea` appeared");
    for file in [".git/config", ".envrc", ".vscode/settings.json"] {
        assert_eq!(fs::read_to_string(place.project.join(file)).unwrap(), "changed\n", "{file}");
    }
    assert!(place.project.join(".vscode/tasks.json").exists());
    assert!(!place.project.join(".idea").exists());
}

/// K227, T5
#[test]
fn new_ones_are_set_aside_and_told() {
    let place = Place::new();
    let ended = place.shell(
        &["--rw", ".", "--json"],
        "echo x > .envrc; mkdir .vscode; echo '{}' > .vscode/tasks.json",
    );
    ended.expect_code(0).says(".envrc` appeared during the run").says(".vscode` appeared");
    assert!(!place.project.join(".envrc").exists());
    assert!(!place.project.join(".vscode").exists());
    let result: serde_json::Value =
        serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap();
    assert!(result["quarantined"].as_array().unwrap().len() >= 2);
    let moved = result["quarantined"][0]["moved_to"].as_str().unwrap();
    assert!(fs::symlink_metadata(moved).is_ok(), "{moved}");
}

/// K227, T5: no file is new, and yet something runs that did not before.
#[test]
fn what_gets_its_name_by_a_directory_or_a_link_is_set_aside() {
    let place = Place::new();
    place.shell(
        &["--rw", "."],
        "mkdir x g v; echo x > x/config.toml; echo x > g/config; echo x > v/jvm.config",
    );
    place.write("w/1/2/3/4/5/.envrc", "from a clone");
    // A tick, for kernels that date files no finer than that.
    std::thread::sleep(std::time::Duration::from_millis(40));
    place
        .shell(&["--rw", "."], "mkdir sub; mv g sub/.git; echo x > sub/.git/HEAD")
        .expect_code(0)
        .says("sub/.git/config` appeared during the run");
    place.shell(&["--rw", "."], "ln -s x .cargo").expect_code(0).says(".cargo` appeared");
    place.shell(&["--rw", "."], "mv v .mvn").expect_code(0).says(".mvn/jvm.config` appeared");
    place.shell(&["--rw", "."], "mv w/1/2/3/4/5 up").expect_code(0).says("up/.envrc` appeared");
    for name in ["sub/.git/config", ".cargo", ".mvn/jvm.config", "up/.envrc"] {
        assert!(fs::symlink_metadata(place.project.join(name)).is_err(), "{name}");
    }
    // Ordinary work next to what was there says nothing.
    place.write("up/.npmrc", "mine");
    let ended = place.shell(&["--rw", "."], "mkdir a; echo x > up/new; mv x y; ln -s y z");
    assert_eq!(ended.expect_code(0).stderr, "");
    assert!(place.project.join("up/.npmrc").exists());
}

/// T5: Git writes through links among its own files, wherever they lead.
#[test]
fn links_inside_a_repository_are_set_aside() {
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/logs/refs/heads/main", "");
    let line =
        "ln -s /root/.bashrc .git/logs/HEAD; ln -s ../../x .git/logs/refs/heads/topic; ln -s a b";
    let ended = place.shell(&["--rw", "."], line);
    ended.expect_code(0).says(".git/logs/HEAD` appeared").says("heads/topic` appeared");
    assert!(fs::symlink_metadata(place.project.join(".git/logs/HEAD")).is_err());
    assert!(fs::symlink_metadata(place.project.join("b")).is_ok());
}

/// K227, T3, T6, T50: what the repository's configuration makes Git run is as good as a hook.
#[test]
fn what_git_is_told_to_run_cannot_be_changed() {
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    let configuration = "[core]\nhooksPath = ci/hooks\nfsmonitor = sh ci/watch.sh\n\
                         [include]\npath = ../team.conf\n";
    place.write(".git/config", configuration);
    let files = ["ci/hooks/pre-commit", "ci/watch.sh", "team.conf"];
    for file in files {
        place.write(file, "original");
    }
    let attempts = [
        "echo x > ci/hooks/pre-commit",
        "echo x > ci/hooks/post-checkout",
        "rm ci/watch.sh",
        "echo x > new && mv new ci/watch.sh",
        "mv ci aside",
        "echo x > team.conf",
    ];
    for attempt in attempts {
        let ended = place.shell(&["--quiet", "--rw", "."], attempt);
        assert_ne!(ended.code, 0, "{attempt}");
    }
    for file in files {
        assert_eq!(fs::read_to_string(place.project.join(file)).unwrap(), "original", "{file}");
    }
    place.shell(&["--rw", "."], "echo x > ci/other.sh").expect_code(0);
    // One that is not there yet is set aside when it appears.
    fs::remove_file(place.project.join("team.conf")).unwrap();
    let ended = place.shell(&["--rw", "."], "echo x > team.conf");
    ended.expect_code(0).says("team.conf` appeared during the run");
    assert!(!place.project.join("team.conf").exists());
}

/// K227, T3, T6, T50: the same by way of the home, whether the files are there or come during the run.
#[test]
fn what_git_is_told_to_run_by_way_of_the_home_cannot_be_changed() {
    let named = ["~/project/ci/team.conf", "~/project/ci/hooks", "$HOME/project/ci/watch.sh"];
    let configuration = format!(
        "[include]\npath = {}\n[core]\nhooksPath = {}\nfsmonitor = \"{}\"\n\
         [diff \"x\"]\ntextconv = \"${{HOME}}/project/ci/convert.sh\"\n",
        named[0], named[1], named[2]
    );
    let files = ["ci/hooks/pre-commit", "ci/team.conf", "ci/watch.sh", "ci/convert.sh"];
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    place.write(".git/config", configuration);
    place.write("ci/readme", "");
    for file in files {
        let line = format!("mkdir -p ci/hooks && echo x > {file}");
        place.shell(&["--rw", "."], &line).expect_code(0).says("appeared during the run");
        assert!(!place.project.join(file).exists(), "{file}");
    }
    for file in files {
        place.write(file, "original");
    }
    for file in files {
        let ended = place.shell(&["--quiet", "--rw", "."], &format!("echo x > {file}"));
        assert_ne!(ended.code, 0, "{file}");
        assert_eq!(fs::read_to_string(place.project.join(file)).unwrap(), "original", "{file}");
    }
}

/// K227: what the host made just before a start is the host's.
#[test]
fn a_link_that_was_there_stays() {
    let place = Place::new();
    for _ in 0..8 {
        place.write("store/HEAD", "ref: refs/heads/main\n");
        let link = place.project.join(".git");
        std::os::unix::fs::symlink("store", &link).unwrap();
        let ended = place.ask(["run", "--rw", ".", "--", "true"]);
        ended.expect_code(0);
        assert!(link.is_symlink(), "{}", ended.stderr);
        fs::remove_file(link).unwrap();
    }
}

/// K227, K237: what one cage sets aside is not told by another as the host's doing.
#[test]
fn what_another_cage_sets_aside_is_told_as_that() {
    let place = Place::new();
    let start = |line: &str| {
        let mut command = place.stockade();
        command.args(["run", "--rw", ".", "--", "sh", "-c", line]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0_u8; 6]).unwrap();
        child
    };
    let end = |mut child: Child| {
        drop(child.stdin.take());
        Ended::of(child.wait_with_output().unwrap())
    };
    let first = start("echo x > .envrc; mkdir d; echo x > d/.envrc; echo ready; cat");
    let second = start("echo ready; cat");
    end(first).says("appeared during the run");
    let told = end(second);
    told.expect_code(0).says("during the run of another cage").says(".envrc.quarantined-");
    assert!(!told.stderr.contains("on the host"), "{}", told.stderr);
}

/// K227, T53: a name with escape sequences is told without them.
#[test]
fn names_are_shown_without_escape_sequences() {
    let place = Place::new();
    let ended = place
        .shell(&["--rw", "."], "mkdir \"$(printf 'a\\033]0;x\\007')\" && cd a* && echo x > .envrc");
    ended.expect_code(0).says("appeared during the run");
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}
