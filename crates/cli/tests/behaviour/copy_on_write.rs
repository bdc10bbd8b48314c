//! Views that a program may change while the host's files stay as they are; caches and homes that a project keeps.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ended, Place, has, is_root, skip, slowly, stockade_binary};

/// Everything below a directory: kind and mode, date of change, content.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let status = fs::symlink_metadata(&path).unwrap();
        let content = if status.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if status.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (status.mode(), status.ctime_nsec(), content));
    }
    found
}

fn sessions(place: &Place) -> Vec<String> {
    let Ok(entries) = fs::read_dir(place.state().join("stockade/sessions")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn result(ended: &Ended) -> Value {
    serde_json::from_str(ended.stderr.lines().last().unwrap()).unwrap()
}

fn place() -> Place {
    let place = Place::new();
    for (path, content) in [
        ("src/main", "one\n"),
        ("src/other", "two\n"),
        ("old/deep/file", "three\n"),
        ("script", "#!/bin/sh\n"),
        ("private/key", "secret\n"),
        ("fixed/file", "fixed\n"),
        ("shared/file", "shared\n"),
    ] {
        place.write(path, content);
    }
    place
}

/// Every kind of change is seen by the program and by nobody else, and the next run goes on there.
#[test]
fn a_program_changes_its_view_and_not_the_host() {
    let place = place();
    let before = tree(&place.project);
    let line = "
        set -e
        echo more >> src/main; rm src/other; rm -r old; mkdir old; echo new > old/new
        chmod 755 script; ln -s src link; ln src/main hard; mkfifo pipe; truncate -s 1M large
        mv src moved; test ! -e src; cat moved/main; mkdir src; touch -d 2001-01-01 dated
        test \"$(stat -c %a script)\" = 755; : > a; mv a b; echo x > .envrc; mkdir -p .vscode
        echo y > .vscode/tasks.json";
    let ended = place.shell(&["--cow", ".", "--session", "work", "--json"], line);
    ended.expect_code(0);
    assert_eq!(tree(&place.project), before);
    let told = result(&ended);
    let workspace = &told["workspaces"][0];
    assert_eq!(workspace["path"], place.project.to_str().unwrap());
    assert_eq!(workspace["session"], "work");
    assert_eq!((&workspace["refused"], &workspace["problem"]), (&Value::from(1), &Value::Null));
    assert!(workspace["added"].as_u64().unwrap() > 5, "{workspace}");
    assert_eq!(told["quarantined"], Value::Array(Vec::new()));
    ended.says("`stockade diff work`");
    let line = "cat moved/main old/new .envrc; test ! -e src/other && test -L link && test -p pipe";
    place.shell(&["--cow", ".", "--session", "work"], line).expect_code(0).prints("more");
    // Another session sees the host.
    place.shell(&["--cow", "."], "cat src/main && test ! -e moved").expect_code(0);
    assert_eq!(tree(&place.project), before);
    let changed: Vec<Value> = place
        .records()
        .into_iter()
        .filter(|record| record["event"] == "workspace.changed")
        .collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
}

/// A second copy does not show what was changed in the first, and says so.
#[test]
fn a_second_copy_names_the_first() {
    let place = place();
    place.shell(&["--cow", "."], "echo 1 > first").expect_code(0);
    let kept = sessions(&place).remove(0);
    let second = place.shell(&["--cow", "."], "ls first");
    second.says(&format!("what session `{kept}` changed is not in it")).expect_code(2);
    let on = place.shell(&["--cow", ".", "--session", &kept], "cat first");
    on.expect_code(0).prints("1");
    assert!(!on.stderr.contains("is a new copy"), "{}", on.stderr);
}

/// A run without a session of its own leaves one only where it changed something.
#[test]
fn what_was_not_changed_is_not_kept() {
    let place = place();
    place.shell(&["--cow", "."], "cat src/main").expect_code(0);
    // Written with the same content, it is the same.
    place
        .shell(&["--cow", "."], "cp src/main x && rm x && cat src/main > y && rm y")
        .expect_code(0);
    assert_eq!(sessions(&place), Vec::<String>::new());
    place.shell(&["--cow", "."], "echo > new").expect_code(0).says("1 added");
    let left = sessions(&place);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("project-"), "{left:?}");
    let listed = place.ask(["session", "list"]);
    assert!(listed.stdout.contains("if changed"), "{}", listed.stdout);
    // It is not swept, and can be entered again.
    place.shell(&["--cow", ".", "--session", &left[0]], "rm new").expect_code(0);
    assert_eq!(sessions(&place), Vec::<String>::new());
}

/// Rules inside a view hold as they do elsewhere, also in the next run of the session.
#[test]
fn rules_inside_a_view_hold() {
    let place = place();
    place.default_cage(
        "fs = [{ cow = \".\" }, { hide = \"private\" }, { ro = \"fixed\" }, { rw = \"shared\" }]",
    );
    let line = "
        test -z \"$(ls private)\" && ! echo x > private/y && ! rmdir private && ! mv private z
        ! echo x > fixed/file && ! rm -r fixed && echo changed > shared/file && echo x > src/main
        ! grep -r secret . && echo held";
    for _ in 0..2 {
        place.shell(&["--session", "work"], line).expect_code(0).prints("held");
    }
    assert_eq!(fs::read_to_string(place.project.join("shared/file")).unwrap(), "changed\n");
    assert_eq!(fs::read_to_string(place.project.join("src/main")).unwrap(), "one\n");
    // What is removed in the view first and hidden later is not there to be covered.
    place.shell(&["--session", "work"], "rm -r old").expect_code(0);
    place.write("old/deep/file", "later\n");
    let hidden = ["--session", "work", "--hide", "old/deep/file"];
    place.shell(&hidden, "test ! -e old && echo gone").expect_code(0).prints("gone");
    // What is to be shown there as it is on the host cannot be.
    let shown = place.shell(&["--session", "work", "--ro", "old/deep"], "true");
    shown.expect_code(122).says("removed it in an earlier run");
}

/// T12: notes of overlayfs that a program writes mean nothing, whether it can write them or not.
#[test]
fn notes_of_the_programs_own_lead_nowhere() {
    if !has("python3") {
        return;
    }
    let place = place();
    let secret = place.outside().join("secret");
    fs::write(&secret, "out of reach").unwrap();
    let script = format!(
        "import os
for name in ('user.overlay.redirect', 'user.overlay.metacopy', 'user.overlay.opaque', 'user.overlay.whiteout'):
    for path in ('src', 'src/main'):
        try:
            os.setxattr(path, name, b'{}')
        except OSError:
            pass
try:
    os.mknod('white', 0o020000, 0)
except OSError:
    print('no whiteout')
print(sorted(os.listdir('src')), open('src/main').read())",
        secret.display()
    );
    place.write("attack.py", script);
    let flags = ["--cow", ".", "--session", "work"];
    for _ in 0..2 {
        let ended = place.shell(&flags, "python3 attack.py; cat src/main src/other");
        ended.expect_code(0);
        assert!(!ended.stdout.contains("out of reach"), "{}", ended.stdout);
        assert!(
            ended.stdout.contains("one\n") && ended.stdout.contains("two\n"),
            "{}",
            ended.stdout
        );
    }
}

/// The layers are nowhere inside, and what is seen of them names nothing of the host.
#[test]
fn layers_are_not_visible_inside() {
    let place = place();
    let line = "grep overlay /proc/self/mountinfo; find / -name '*.stockade*' -not -path '/proc/*' 2>/dev/null
        ls -a /; cat /proc/self/mountinfo | grep -c sessions";
    let ended = place.shell(&["--cow", ".", "--session", "work"], line);
    let state = place.state();
    let state = state.to_str().unwrap();
    assert!(!ended.stdout.contains(state), "{}", ended.stdout);
    assert!(ended.stdout.contains("userxattr"), "{}", ended.stdout);
    let names = ["\n.stockade-lower\n", "\n.stockade-area\n"];
    assert!(names.iter().all(|name| !ended.stdout.contains(name)), "{}", ended.stdout);
}

/// Two runs cannot change the same workspace at once, and runs of sessions of their own can.
#[test]
fn a_workspace_is_changed_by_one_run_at_a_time() {
    let place = place();
    let line = "echo one > by; sleep 60";
    let mut first = place.stockade();
    first.args(["run", "--cow", ".", "--session", "work", "--", "sh", "-c", line]);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let areas = place.state().join("stockade/sessions/work/areas");
    let is_written = || {
        let areas = fs::read_dir(&areas).into_iter().flatten();
        areas.into_iter().any(|area| {
            let file = area.unwrap().path().join("upper/by");
            fs::read(file).is_ok_and(|content| content == b"one\n")
        })
    };
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    while !is_written() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = place.shell(&["--cow", ".", "--session", "work", "--json"], "true");
    second.expect_code(125);
    assert_eq!(result(&second)["reason"], "workspace_in_use");
    assert_eq!(result(&second)["error"]["code"], "workspace_in_use");
    place.shell(&["--cow", "."], "test ! -e by").expect_code(0);
    let pid = rustix::process::Pid::from_raw(i32::try_from(first.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    first.wait().unwrap();
    // The kernel has given the lock back, and what was changed is there.
    let deadline = Instant::now() + slowly(Duration::from_secs(20));
    loop {
        let third = place.shell(&["--cow", ".", "--session", "work"], "cat by");
        if third.code == 0 {
            assert_eq!(third.stdout, "one\n");
            break;
        }
        assert!(third.code == 125 && Instant::now() < deadline, "{}", third.stderr);
    }
}

/// A program that writes more than it may is ended with a reason, and what it wrote refuses the next run.
#[test]
fn what_is_written_is_bounded() {
    let place = place();
    let flags = ["--cow", ".", "--session", "work", "--workspace", "4M", "--json"];
    let line =
        "dd if=/dev/urandom of=large bs=1M count=32 2>/dev/null; sync; sleep 60; echo survived";
    let ended = place.shell(&flags, line);
    ended.expect_code(137).says("limits.workspace_mb");
    assert_eq!(result(&ended)["reason"], "workspace_full");
    assert!(!ended.stdout.contains("survived"));
    let refused = place.shell(&flags, "true");
    refused.expect_code(125).says("--workspace 8M");
    assert_eq!(result(&refused)["error"]["code"], "workspace_full");
    place.shell(&["--cow", ".", "--session", "work"], "rm large").expect_code(0);
    place.shell(&flags, "true").expect_code(0);
}

/// What cannot have a layer is said before anything runs.
#[test]
fn what_cannot_be_a_view_is_refused_with_a_reason() {
    let place = place();
    place.shell(&["--cow", "script"], "true").expect_code(123).says("only a directory");
    assert_eq!(sessions(&place), Vec::<String>::new());
}

/// Where the kernel makes no overlay, here because the state lies on one, it is said with what to do instead, nothing
/// runs, and `learn` goes on without a copy.
#[test]
fn without_overlays_there_is_no_view_and_a_way_on() {
    if !is_root() {
        return skip("only root mounts a state directory");
    }
    let place = place();
    let state = place.outside().join("state").display().to_string();
    let layers = place.outside().join("layers").display().to_string();
    let on_an_overlay = |words: &str| {
        let line = format!(
            "mkdir -p {state} {layers}/lower {layers}/upper {layers}/work && mount -t overlay overlay -o \
             lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work {state} && exec '{}' {words}",
            stockade_binary().display()
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &line]).current_dir(&place.project).env_clear();
        command.env("HOME", &place.home).env("XDG_STATE_HOME", &state).env("PATH", "/usr/bin:/bin");
        Ended::of(command.output().unwrap())
    };
    let refused = on_an_overlay("run --cow . -- touch made");
    refused
        .expect_code(122)
        .says("the file system of the state directory")
        .says("set XDG_STATE_HOME to a directory on ext4")
        .says("grant the directory");
    let learned = on_an_overlay("learn -- sh -c 'echo ran; echo x > made'");
    learned.prints("ran").prints("{ rw = \".\" }").says("no copy can be laid over the project");
    assert!(!place.project.join("made").exists());
    on_an_overlay("run -- echo ran").expect_code(0).prints("ran");
}

/// Root in somebody's project: the layer is that user's, as the project is, and so is what is applied.
#[test]
fn root_works_on_a_copy_of_somebodys_project() {
    if !is_root() {
        return skip("only root can work in somebody's project");
    }
    let place = place();
    for (owner, group) in [(40_000, 40_000), (0, 5_000)] {
        let chown =
            |path: &Path| std::os::unix::fs::lchown(path, Some(owner), Some(group)).unwrap();
        chown(&place.project);
        for path in tree(&place.project).keys() {
            chown(&place.project.join(path));
        }
        let ended = place.shell(&["--cow", ".", "--session", "s"], "mkdir d && echo x > d/new");
        ended.expect_code(0);
        place.ask(["apply", "s"]).expect_code(0);
        let made = fs::metadata(place.project.join("d/new")).unwrap();
        assert_eq!((made.uid(), made.gid()), (owner, group));
        fs::remove_dir_all(place.project.join("d")).unwrap();
        place.ask(["session", "end", "s"]);
    }
}

/// A cache shows what the host has, and keeps for the project what is added; nobody else sees it.
#[test]
fn a_cache_is_kept_for_the_project() {
    let place = place();
    let cache = place.home.join("cache");
    fs::create_dir(&cache).unwrap();
    fs::write(cache.join("known"), "host").unwrap();
    let flags = ["--ro", ".", "--cache", cache.to_str().unwrap()];
    let line = format!("cat {0}/known && echo mine > {0}/added", cache.display());
    let ended = place.shell(&[&flags[..], &["--json"]].concat(), &line);
    ended.expect_code(0).prints("host");
    assert_eq!(result(&ended)["workspaces"], Value::Array(Vec::new()));
    let line = format!("cat {}/added", cache.display());
    place.shell(&flags, &line).expect_code(0).prints("mine");
    assert!(!cache.join("added").exists());
    assert_eq!(sessions(&place), Vec::<String>::new());
    let other = place.home.join("other");
    fs::create_dir(&other).unwrap();
    let mut elsewhere = place.stockade();
    elsewhere.current_dir(&other).arg("run").args(flags).args(["--", "sh", "-c", &line]);
    assert_eq!(elsewhere.status().unwrap().code(), Some(1));
}

/// A home that is kept is private, and there in the next run of the same project alone.
#[test]
fn a_home_is_kept_for_the_project() {
    let place = place();
    let line = "cd && echo mine > .settings && stat -c %a .";
    place.shell(&["--ro", ".", "--keep-home"], line).expect_code(0).prints("700");
    place.shell(&["--ro", ".", "--keep-home"], "cat ~/.settings").expect_code(0).prints("mine");
    place.shell(&["--ro", "."], "cat ~/.settings").expect_code(1);
    assert!(!place.home.join(".settings").exists());
    assert_eq!(sessions(&place), Vec::<String>::new());
}

/// Git works in a view as it does anywhere, with hooks that the program wrote itself.
#[test]
fn git_works_in_a_view() {
    if !has("git") {
        return;
    }
    let place = place();
    let git = |line: &str| {
        let mut git = std::process::Command::new("sh");
        git.args(["-c", line]).current_dir(&place.project).env("HOME", &place.home);
        let identity = [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")];
        git.envs(identity)
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.com");
        assert!(git.output().unwrap().status.success(), "{line}");
    };
    fs::remove_dir_all(place.project.join("private")).unwrap();
    place.write("rust-toolchain.toml", "one\n");
    git("git init -q -b main && git add -A && git commit -qm first");
    git(
        "git checkout -qb side && echo two > rust-toolchain.toml && git commit -qam second && git checkout -q main",
    );
    let before = tree(&place.project);
    let line = "
        set -e
        export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b@example.com GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@example.com
        git config --global --add safe.directory '*'
        test -z \"$(git status --porcelain)\"
        git checkout -q side; grep two rust-toolchain.toml; git checkout -q main
        printf '#!/bin/sh\\necho hook-ran\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        echo change >> src/main; git stash -q; git stash pop -q; git commit -qam third
        git worktree add -q ../wt side 2>/dev/null || git worktree add -q wt side
        git merge -q -m merged side; git fsck --strict; git log --oneline | wc -l";
    let ended = place.shell(&["--cow", ".", "--session", "work"], line);
    ended.expect_code(0);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("hook-ran"), "{}", ended.stderr);
    assert_eq!(tree(&place.project), before);
}

/// Thousands of files, changed and renamed and removed.
#[test]
fn many_files_can_be_changed() {
    let place = Place::new();
    for number in 0..2000 {
        place.write(&format!("d{}/f{number}", number % 20), format!("{number}\n"));
    }
    let line = "
        set -e
        for d in d*; do for f in $d/*; do echo more >> $f; done; done
        mv d0 renamed; rm -r d1; cat renamed/* d*/* | grep -c more";
    let ended = place.shell(&["--cow", ".", "--json"], line);
    ended.expect_code(0).prints("1900");
    assert_eq!(result(&ended)["workspaces"][0]["problem"], Value::Null);
    assert_eq!(fs::read_to_string(place.project.join("d0/f0")).unwrap(), "0\n");
    let modes = fs::metadata(place.state().join("stockade/sessions")).unwrap().permissions();
    assert_eq!(modes.mode() & 0o777, 0o700);
}
