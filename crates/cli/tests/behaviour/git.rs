//! Git inside a writable grant: every operation is whole, files that run code included, and a commit holds what the
//! program did. What is left on the host is what Git says, and what no commit held before is taken back.

use std::fs;
use std::process::{Command, Stdio};

use super::support::{Ended, Place, has};

/// Git as a user would start it in the project.
fn git(place: &Place, words: &[&str]) -> Ended {
    let mut git = Command::new("git");
    git.args(words).current_dir(&place.project).env_clear().env("HOME", &place.home);
    git.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
    Ended::of(git.output().unwrap())
}

/// A project with branches that differ in files that run code: `main`, `other` with one more, one less and others
/// changed, `none` without any.
fn project() -> Option<Place> {
    if !has("git") {
        return None;
    }
    let place = Place::new();
    let user = "[user]\nname = n\nemail = n@example.com\n[init]\ndefaultBranch = main\n";
    fs::write(place.home.join(".gitconfig"), user).unwrap();
    let on_host = |words: &[&str]| {
        git(&place, words).expect_code(0);
    };
    on_host(&["init", "-q"]);
    place.write(".vscode/settings.json", "one");
    place.write(".vscode/kept.json", "one");
    place.write("rust-toolchain.toml", "one");
    place.write("sub/.envrc", "one");
    place.write("file", "one");
    on_host(&["add", "."]);
    on_host(&["commit", "-qm", "one"]);
    on_host(&["checkout", "-qb", "other"]);
    place.write(".vscode/settings.json", "two");
    place.write(".vscode/new.json", "two");
    place.write("rust-toolchain.toml", "two");
    fs::remove_file(place.project.join(".vscode/kept.json")).unwrap();
    on_host(&["add", "-A"]);
    on_host(&["commit", "-qm", "two"]);
    on_host(&["checkout", "-qb", "none", "main"]);
    on_host(&["rm", "-qr", ".vscode", "rust-toolchain.toml", "sub"]);
    on_host(&["commit", "-qm", "none"]);
    on_host(&["checkout", "-q", "main"]);
    Some(place)
}

/// Runs lines of shell in a cage with the project writable, any of which may end it.
fn inside(place: &Place, lines: &str) -> Ended {
    let own = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=n@example.com \
               GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=n@example.com; set -e; ";
    place.shell(&["--rw", "."], &[own, lines].concat())
}

/// What everybody may rely on after an operation that succeeded: nothing differs from what is checked out, the
/// repository is sound, and a commit of all that has changed reverts nothing.
#[track_caller]
fn is_whole(place: &Place, ended: &Ended) {
    ended.expect_code(0);
    let status = git(place, &["status", "--porcelain"]);
    assert_eq!(status.stdout, "", "{}", ended.stderr);
    git(place, &["diff-index", "--quiet", "HEAD"]).expect_code(0);
    git(place, &["fsck", "--strict"]).expect_code(0);
    let before = git(place, &["rev-parse", "HEAD^{tree}"]).stdout;
    let again =
        inside(place, "echo more >> file; git commit -qam more; git rev-parse HEAD~1^{tree}");
    again.expect_code(0).prints(before.trim());
    let changed = git(place, &["diff", "--name-only", "HEAD~1", "HEAD"]);
    assert_eq!(changed.stdout, "file\n", "{}", again.stderr);
}

fn text(place: &Place, path: &str) -> Option<String> {
    fs::read_to_string(place.project.join(path)).ok()
}

/// K227
#[test]
fn operations_across_branches_are_whole() {
    for (lines, toolchain) in [
        ("git checkout -q other", Some("two")),
        ("git switch -q other; git switch -q main; git switch -q other", Some("two")),
        ("git checkout -q none", None),
        ("git checkout -q none; git checkout -q main", Some("one")),
        ("git merge -q --no-edit other", Some("two")),
        (
            "echo x > own; git add own; git commit -qm own; git merge -q --no-edit other",
            Some("two"),
        ),
        ("echo x > own; git add own; git commit -qm own; git rebase -q other", Some("two")),
        ("git cherry-pick other > /dev/null", Some("two")),
        ("git reset -q --hard other", Some("two")),
        ("git reset -q --hard other; git reset -q --hard ORIG_HEAD", Some("one")),
        ("git checkout -q --detach other; git checkout -q HEAD~0", Some("two")),
        ("git checkout -q other; git revert --no-edit HEAD > /dev/null", Some("one")),
        (
            "echo x > file; git stash -q; git checkout -q other; git checkout -q main; git stash drop -q",
            Some("one"),
        ),
        ("git restore --source=other --staged --worktree .; git commit -qm two", Some("two")),
        ("git worktree add -q wt other; git worktree remove wt", Some("one")),
    ] {
        let Some(place) = project() else { return };
        let ended = inside(&place, lines);
        is_whole(&place, &ended);
        assert_eq!(text(&place, "rust-toolchain.toml").as_deref(), toolchain, "{lines}");
        let differs = toolchain != Some("one");
        assert_eq!(ended.stderr.contains("git -C "), differs, "{lines}: {}", ended.stderr);
    }
}

/// K227: the end of the run says what was changed, and its commands show the difference and take it back.
#[test]
fn what_a_checkout_has_changed_is_told_with_the_way_back() {
    let Some(place) = project() else { return };
    let ended = inside(&place, "git checkout -q other");
    ended
        .expect_code(0)
        .says(".vscode/kept.json` and 3 other files, which can run code, were changed");
    let command = ended.stderr.split('`').find(|part| part.contains(" restore --source="));
    let mut shell = Command::new("sh");
    shell.args(["-c", command.unwrap()]).env("HOME", &place.home).current_dir("/");
    assert!(shell.status().unwrap().success());
    for (path, expected) in [
        ("rust-toolchain.toml", Some("one")),
        (".vscode/settings.json", Some("one")),
        (".vscode/kept.json", Some("one")),
        (".vscode/new.json", None),
    ] {
        assert_eq!(text(&place, path).as_deref(), expected, "{path}");
    }
    let findings = place.records();
    assert!(findings.iter().any(|one| one["event"] == "quarantine.finding"));
}

/// K227, T78: what no commit held when the run began does not stay, whether it was committed or not.
#[test]
fn what_the_program_makes_of_tracked_files_is_taken_back() {
    for (lines, path) in [
        ("echo evil > rust-toolchain.toml", "rust-toolchain.toml"),
        ("echo evil > rust-toolchain.toml; git commit -qam evil", "rust-toolchain.toml"),
        ("echo evil > x; mv x sub/.envrc; git add .; git commit -qm evil", "sub/.envrc"),
        ("rm -r sub; mkdir sub; ln -s /etc/passwd sub/.envrc", "sub/.envrc"),
        ("chmod +x sub/.envrc", "sub/.envrc"),
        // Another path's content is not this one's.
        ("git show other:.vscode/new.json > sub/.envrc", "sub/.envrc"),
    ] {
        let Some(place) = project() else { return };
        let ended = inside(&place, lines);
        ended.expect_code(0).says("what no commit of the host held before");
        assert_eq!(text(&place, path).as_deref(), Some("one"), "{lines}: {}", ended.stderr);
        let mode = fs::metadata(place.project.join(path)).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o111, 0, "{lines}");
    }
}

/// K227, T5: a tracked file that is gone is there again, and what has taken its place is set aside.
#[test]
fn tracked_files_that_were_removed_are_there_again() {
    for (lines, path) in [
        ("rm .vscode/kept.json", ".vscode/kept.json"),
        ("git rm -q sub/.envrc", "sub/.envrc"),
        ("rm sub/.envrc; mkdir sub/.envrc; echo evil > sub/.envrc/x", "sub/.envrc"),
        ("mv .vscode v; ln -s v .vscode; echo evil > v/settings.json", ".vscode/settings.json"),
    ] {
        let Some(place) = project() else { return };
        let ended = inside(&place, lines);
        ended.expect_code(0).says(&format!("{path}` was removed during the run"));
        assert_eq!(text(&place, path).as_deref(), Some("one"), "{lines}: {}", ended.stderr);
    }
}

/// T78, T5: nothing that is new is taken for a file of a commit.
#[test]
fn what_no_commit_held_is_set_aside() {
    let Some(place) = project() else { return };
    let ended = inside(
        &place,
        "echo evil > .vscode/tasks.json; git add -f .vscode/tasks.json; mkdir .idea; echo x > .idea/x; \
         echo one > .envrc; mkdir wt2; cp -r .vscode wt2; git checkout -q other",
    );
    ended.expect_code(0);
    for path in [".vscode/tasks.json", ".idea", ".envrc", "wt2/.vscode"] {
        ended.says(&format!("{path}` appeared"));
        assert!(fs::symlink_metadata(place.project.join(path)).is_err(), "{path}");
    }
    assert_eq!(text(&place, ".vscode/settings.json").as_deref(), Some("two"));
    assert_eq!(text(&place, ".vscode/new.json").as_deref(), Some("two"));
}

/// T78: commits, stashes and branches that would bring one back are told.
#[test]
fn commits_that_bring_files_that_run_code_are_told() {
    for lines in [
        "echo evil > .envrc; git add -f .envrc; git commit -qm x; git rm -q .envrc; git commit -qm y",
        "echo evil > sub/.envrc; git stash -q",
        "git checkout -q -b z; echo evil > sub/.envrc; git commit -qam x; git checkout -q main",
        "git worktree add -q --detach wt; cd wt; echo evil > sub/.envrc; git commit -qam x; git branch zz; \
         cd ..; git worktree remove wt",
    ] {
        let Some(place) = project() else { return };
        let ended = inside(&place, lines);
        ended.expect_code(0).says("commits of this run hold `").says("/.envrc`");
        // Ordinary commits are no news.
        let again = inside(&place, "echo x > other; git add other; git commit -qm other");
        assert!(!again.expect_code(0).stderr.contains("commits of this run"), "{}", again.stderr);
    }
}

/// T78: what only a cage has committed is not taken for the host's by a later run, until the user has taken it.
#[test]
fn what_a_cage_has_committed_comes_back_in_no_later_run() {
    let Some(place) = project() else { return };
    let commit = "git checkout -q -b evil; echo evil > sub/.envrc; echo evil > .npmrc; git add -f .; \
                  git commit -qm evil; git checkout -q main";
    inside(&place, commit).expect_code(0).says("commits of this run");
    let check_out = "git checkout -q evil";
    inside(&place, check_out)
        .expect_code(0)
        .says(".npmrc` appeared")
        .says("what no commit of the host");
    assert_eq!(text(&place, "sub/.envrc").as_deref(), Some("one"));
    assert_eq!(text(&place, ".npmrc"), None);
    for path in ["sub/.envrc", ".npmrc"] {
        place.ask(["quarantine", "restore", path]).expect_code(0);
    }
    assert_eq!(git(&place, &["status", "--porcelain", "-uno"]).stdout, "");
    inside(&place, "git checkout -q main; git checkout -q evil").expect_code(0);
    assert_eq!(text(&place, "sub/.envrc").as_deref(), Some("evil\n"));
    inside(&place, "git checkout -q main").expect_code(0);
    inside(&place, check_out).expect_code(0);
    assert_eq!(text(&place, ".npmrc").as_deref(), Some("evil\n"));
}

/// K227: a new repository that starts nothing is left as it was made.
#[test]
fn new_repositories_are_left_alone() {
    let Some(place) = project() else { return };
    let ended = inside(
        &place,
        "git init -q made; git init -q --bare bare.git; git clone -q --no-hardlinks . clone -b none; \
         git worktree add -q tree none; cd clone; echo x > y; git add y; git commit -qm y",
    );
    assert_eq!(ended.expect_code(0).stderr, "");
    for (path, command) in [
        ("made", "symbolic-ref"),
        ("bare.git", "symbolic-ref"),
        ("clone", "symbolic-ref"),
        ("tree", "symbolic-ref"),
    ] {
        let asked = git(&place, &["-C", path, command, "HEAD"]);
        asked.expect_code(0);
    }
    assert_eq!(git(&place, &["-C", "clone", "status", "--porcelain"]).expect_code(0).stdout, "");
    assert_eq!(git(&place, &["-C", "tree", "status", "--porcelain"]).expect_code(0).stdout, "");
    git(&place, &["-C", "clone", "remote", "get-url", "origin"]).expect_code(0);
    git(&place, &["worktree", "remove", "tree"]).expect_code(0);
}

/// K227: so is a package with a repository of its own.
#[test]
fn a_new_package_keeps_its_repository() {
    let Some(place) = project() else { return };
    // The toolchain of a test is not one that a cage shows; what `cargo new` does with Git is this.
    inside(&place, "mkdir -p pack/src; cd pack; git init -q .; echo /target > .gitignore")
        .expect_code(0);
    git(&place, &["-C", "pack", "status"]).expect_code(0);
    assert!(place.project.join("pack/.git/config").exists());
}

/// K227, T67: a submodule that starts nothing is a submodule.
#[test]
fn a_submodule_can_be_added() {
    let Some(place) = project() else { return };
    let ended = inside(
        &place,
        "git init -q lib; git -C lib commit -q --allow-empty -m x; \
         git -c protocol.file.allow=always submodule --quiet add ./lib vendored 2> /dev/null; rm -rf lib; \
         git commit -qam submodule",
    );
    ended.expect_code(0).says("vendored` as a repository of its own");
    assert_eq!(git(&place, &["status", "--porcelain"]).stdout, "", "{}", ended.stderr);
    git(&place, &["-C", "vendored", "log", "-1"]).expect_code(0);
    git(&place, &["fsck"]).expect_code(0);
}

/// T6, T67: a pointer to a repository that starts something, and hooks that are no samples, are set aside.
#[test]
fn new_repositories_that_start_something_are_set_aside() {
    for lines in [
        "git init -q store; mv store/.git gone; rmdir store; mkdir tree; echo 'gitdir: ../gone' > tree/.git; \
         git config -f gone/config core.fsmonitor 'touch MARK #'",
        "git init -q tree; printf '#!/bin/sh\\ntouch MARK\\n' > tree/.git/hooks/post-index-change; \
         chmod +x tree/.git/hooks/post-index-change; echo x > tree/x",
        "git init -q tree; printf '[include]\\npath = ../../more\\n' >> tree/.git/config; \
         printf '[core]\\nfsmonitor = \"touch MARK #\"\\n' > more",
        "git init -q tree; printf '[alias]\\nstatus = !touch MARK\\n[core]\\nfsmonitor = \"touch MARK #\"\\n' \
         > tree/.git/config",
    ] {
        let Some(place) = project() else { return };
        let mark = place.outside().join("ran");
        let lines = lines.replace("MARK", mark.to_str().unwrap());
        let ended = inside(&place, &lines);
        ended.expect_code(0).says("appeared during the run");
        git(&place, &["-C", "tree", "status"]);
        git(&place, &["-C", "tree", "add", "."]);
        assert!(!mark.exists(), "{lines}: {}", ended.stderr);
    }
}

/// K227: the user takes back what was set aside, and is told what will run it.
#[test]
fn what_was_set_aside_can_be_restored_and_dropped() {
    let Some(place) = project() else { return };
    inside(
        &place,
        "echo mine > rust-toolchain.toml; echo x > .envrc; mkdir .idea; echo x > .idea/x",
    )
    .expect_code(0);
    let listed = place.ask(["quarantine", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.expect_code(0).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 3, "{listed}");
    place
        .ask(["quarantine", "list"])
        .expect_code(0)
        .prints("every command of Rust")
        .prints("direnv");
    let restored = place.ask(["quarantine", "restore", "rust-toolchain.toml"]);
    restored.expect_code(0).says("run by every command of Rust").says("what was there is now");
    assert_eq!(text(&place, "rust-toolchain.toml").as_deref(), Some("mine\n"));
    place.ask(["quarantine", "restore", ".envrc"]).expect_code(0).says("run by direnv");
    assert_eq!(text(&place, ".envrc").as_deref(), Some("x\n"));
    place.ask(["quarantine", "drop", ".idea"]).expect_code(0).says("removed");
    place.ask(["quarantine", "drop", ".idea"]).expect_code(1).says("nothing was set aside");
    place.ask(["quarantine", "drop", "--all"]).expect_code(0);
    assert_eq!(place.ask(["quarantine", "list"]).expect_code(0).stdout, "");
    let left = fs::read_dir(&place.project).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.contains("quarantined")));
    let decided = place.records();
    let decided = decided.iter().filter(|one| one["event"] == "quarantine.decided");
    assert_eq!(
        decided.map(|one| one["decision"].as_str().unwrap()).collect::<Vec<_>>(),
        ["restored", "restored", "dropped", "dropped"]
    );
}

/// K227: a name can be allowed before it exists, and nothing else with it.
#[test]
fn a_name_can_be_allowed_before_it_exists() {
    let Some(place) = project() else { return };
    let flags =
        ["--rw", ".", "--rw", ".envrc", "--rw", ".vscode/tasks.json", "--rw", ".idea/a.xml"];
    let ended = place.shell(
        &flags,
        "echo x > .envrc; echo x > .vscode/tasks.json; echo x > .vscode/launch.json; mkdir .idea; \
         echo x > .idea/a.xml; echo x > .idea/b.xml",
    );
    ended.expect_code(0).says(".vscode/launch.json` appeared").says(".idea/b.xml` appeared");
    for (path, is_there) in [
        (".envrc", true),
        (".vscode/tasks.json", true),
        (".idea/a.xml", true),
        (".vscode/launch.json", false),
        (".idea/b.xml", false),
    ] {
        assert_eq!(place.project.join(path).exists(), is_there, "{path}");
    }
    // What is no protected name has to be there, and a project's file allows nothing ahead.
    let ended = place.shell(&["--rw", ".", "--rw", "missing"], "true");
    assert_ne!(ended.code, 0);
    fs::remove_file(place.project.join(".envrc")).unwrap();
    place.default_cage("fs = [{ rw = \".\" }, { rw = \".envrc\" }]");
    assert_ne!(place.shell(&[], "true").code, 0);
}

/// K227: files that a commit does not hold are as they were, beside those that it does.
#[test]
fn what_is_not_tracked_stays_read_only() {
    let Some(place) = project() else { return };
    place.write(".vscode/local.json", "mine");
    place.write(".npmrc", "mine");
    let ended = inside(
        &place,
        "! echo x > .vscode/local.json; ! rm .npmrc; ! mv .vscode v; git checkout -q other; echo done",
    );
    ended.expect_code(0).prints("done");
    assert_eq!(text(&place, ".vscode/local.json").as_deref(), Some("mine"));
    assert_eq!(text(&place, ".npmrc").as_deref(), Some("mine"));
    assert_eq!(text(&place, ".vscode/settings.json").as_deref(), Some("two"));
}

/// K227: what was not committed is not lost when Git puts something else in its place.
#[test]
fn what_was_not_committed_is_kept() {
    let Some(place) = project() else { return };
    place.write("rust-toolchain.toml", "uncommitted");
    let ended = inside(&place, "git checkout -qf other");
    ended.expect_code(0).says("was not committed as it was");
    assert_eq!(text(&place, "rust-toolchain.toml").as_deref(), Some("two"));
    place.ask(["quarantine", "restore", "rust-toolchain.toml"]).expect_code(0);
    assert_eq!(text(&place, "rust-toolchain.toml").as_deref(), Some("uncommitted"));
}

/// K227: where commits cannot be asked, everything stays read-only, and that is said.
#[test]
fn what_commits_cannot_be_asked_for_stays_read_only() {
    if !has("git") {
        return;
    }
    let place = Place::new();
    let user = "[user]\nname = n\nemail = n@example.com\n";
    fs::write(place.home.join(".gitconfig"), user).unwrap();
    git(&place, &["init", "-q", "--object-format=sha256"]).expect_code(0);
    place.write(".envrc", "one");
    git(&place, &["add", "-f", "."]).expect_code(0);
    git(&place, &["commit", "-qm", "one"]).expect_code(0);
    let ended = place.shell(&["--rw", "."], "echo x > .envrc");
    assert_ne!(ended.code, 0);
    ended.says("SHA-256");
    assert_eq!(text(&place, ".envrc").as_deref(), Some("one"));
}
