//! Directories of packages and builds, and what one look may cost.

use super::*;

/// T68
#[test]
fn directories_of_packages_and_builds_are_searched() {
    let grant = Grant::with(&["node_modules/old/x", "target/debug/x", "src/x"]);
    for file in [
        "node_modules/new/.vscode/tasks.json",
        "node_modules/old/.envrc",
        "target/debug/.claude/settings.json",
        "a/__pycache__/.envrc",
        "node_modules/a/b/c/d/e/f/.git/config",
    ] {
        write(&grant.top.join(file));
    }
    assert_eq!(
        grant.sweep(),
        [
            "moved a/__pycache__/.envrc",
            "moved node_modules/a/b/c/d/e/f/.git/config",
            "moved node_modules/new/.vscode",
            "moved node_modules/old/.envrc",
            "moved target/debug/.claude",
        ]
    );
}

/// T68: nobody reads about each file that a package manager has brought.
#[test]
fn what_packages_bring_is_told_in_short() {
    let grant = Grant::with(&["src/x"]);
    for number in 0..40 {
        write(&grant.top.join(format!("node_modules/{number}/.npmrc")));
    }
    write(&grant.top.join(".envrc"));
    let lines = grant.sweep();
    assert_eq!(lines.len(), 1 + 8 + 1, "{lines:#?}");
    assert!(lines.contains(&"32 more SetAside".to_owned()), "{lines:#?}");
    assert!(!grant.top.join("node_modules/39/.npmrc").exists());
}

/// T68, T76: however many packages there are, what lies elsewhere is looked at first.
#[test]
fn packages_do_not_keep_others_from_being_searched() {
    let grant = Grant::with(&["z/z/z/x"]);
    for number in 0..40 {
        write(&grant.top.join(format!("a/node_modules/{number}/.npmrc")));
    }
    write(&grant.top.join("z/z/z/.envrc"));
    let limits = Limits { names_among_packages: 10, ..Limits::default() };
    let lines = grant.sweep_within(limits);
    assert!(lines.contains(&"moved z/z/z/.envrc".to_owned()), "{lines:#?}");
    let unsearched = lines.iter().filter(|line| line.starts_with("unsearched ")).count();
    assert_eq!(unsearched, 1, "{lines:#?}");
}

/// T76: a look that takes too long is ended, and what it did not see is told in one line.
#[test]
fn time_has_a_bound() {
    let grant = Grant::with(&["a/b/c"]);
    write(&grant.top.join("a/.envrc"));
    write(&grant.top.join("node_modules/x/.envrc"));
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let found = sweep_within(
        limits,
        &[host_path(&grant.top)],
        &grant.at_start,
        grant.began,
        "X",
        &mut Unreviewed::default(),
    );
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert!(finding.to_string().contains("took too long"), "{finding}");
    let limits = Limits { time_among_packages: Duration::ZERO, ..Limits::default() };
    assert_eq!(grant.sweep_within(limits), ["moved a/.envrc", "unsearched node_modules"]);
}

/// T76: thousands of names of one large file cost as much as one, and different ones have a bound.
#[test]
fn bytes_have_a_bound() {
    let grant = Grant::with(&["big"]);
    let text = "[core]\nhooksPath = hooks\n".repeat(4096);
    for number in 0..20 {
        let repository = grant.top.join(format!("{number}/.git"));
        write(&repository.join("HEAD"));
        std::fs::write(repository.join("config"), &text).unwrap();
    }
    std::thread::sleep(Duration::from_millis(40));
    let grant = Grant { began: Began::now(), ..grant };
    let limits = Limits { bytes: 2 * text.len(), ..Limits::default() };
    let lines = grant.sweep_within(limits);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].starts_with("unsearched "), "{lines:#?}");
    for number in 1..20 {
        let config = grant.top.join(format!("{number}/.git/config"));
        std::fs::remove_file(&config).unwrap();
        std::fs::hard_link(grant.top.join("0/.git/config"), config).unwrap();
    }
    std::thread::sleep(Duration::from_millis(40));
    let grant = Grant { began: Began::now(), ..grant };
    write(&grant.top.join("19/hooks/pre-commit"));
    assert_eq!(grant.sweep_within(limits), ["moved 19/hooks"]);
}

/// T76: the same for what a rebase has left, which is read to find out whether it runs something.
#[test]
fn what_a_rebase_leaves_is_read_once() {
    let grant = Grant::with(&["big"]);
    let text = "pick 1\n".repeat(1000);
    std::fs::write(grant.top.join("big"), &text).unwrap();
    for number in 0..20 {
        let state = grant.top.join(format!("{number}/.git/rebase-merge"));
        std::fs::create_dir_all(&state).unwrap();
        std::fs::hard_link(grant.top.join("big"), state.join("git-rebase-todo")).unwrap();
    }
    let limits = Limits { bytes: 2 * text.len(), ..Limits::default() };
    assert!(grant.sweep_within(limits).is_empty());
}
