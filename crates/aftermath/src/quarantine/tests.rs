//! What a sweep renames, reports and leaves alone, on real directories with real times.
//! Never runs a cage.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::report::MOST_LISTED;
use super::*;

mod indexes;
mod links;
mod moved;
mod packages;

struct Grant {
    _directory: tempfile::TempDir,
    top: PathBuf,
    began: Began,
    at_start: AtStart,
}

fn host_path(path: &Path) -> HostPath {
    HostPath::new(path.as_os_str().as_bytes().to_vec()).unwrap()
}

fn write(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "text").unwrap();
}

impl Grant {
    /// A granted directory with files that are older than the cage.
    fn with(files: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap().join("grant");
        std::fs::create_dir(&top).unwrap();
        for file in files {
            write(&top.join(file));
        }
        // Longer than a tick, for kernels that date no finer than that.
        std::thread::sleep(Duration::from_millis(40));
        Self { _directory: directory, top, began: Began::now(), at_start: AtStart::default() }
    }

    fn sweep(&self) -> Vec<String> {
        self.sweep_within(Limits::default())
    }

    fn sweep_within(&self, limits: Limits) -> Vec<String> {
        let watched = [host_path(&self.top)];
        let mut unreviewed = Unreviewed::default();
        let found =
            sweep_within(limits, &watched, &self.at_start, self.began, "01ABC", &mut unreviewed);
        let relative =
            |path: &HostPath| path.as_path().strip_prefix(&self.top).unwrap().display().to_string();
        let mut lines: Vec<_> = found
            .iter()
            .map(|finding| match finding {
                Finding::Quarantined { path, moved_to, .. } => {
                    assert!(moved_to.as_path().symlink_metadata().is_ok());
                    assert!(path.as_path().symlink_metadata().is_err());
                    format!("moved {}", relative(path))
                }
                Finding::Modified { path, .. } => format!("modified {}", relative(path)),
                Finding::PerhapsMoved { path, .. } => format!("perhaps {}", relative(path)),
                Finding::Undated { path, count } => format!("undated {count} {}", relative(path)),
                Finding::Closed { path, .. } => format!("closed {}", relative(path)),
                Finding::NotMoved { path, .. } => format!("kept {}", relative(path)),
                Finding::Gitlinks { path, count, .. } => {
                    format!("gitlinks {count} {}", relative(path))
                }
                Finding::Tracked { path, count, .. } => {
                    format!("tracked {count} {}", relative(path))
                }
                Finding::CheckedOut { path, others, .. } => {
                    format!("checked out {} and {}", relative(path), others.len())
                }
                Finding::Kept { path, .. } => format!("kept aside {}", relative(path)),
                Finding::PutBack { path, .. } => format!("put back {}", relative(path)),
                Finding::Committed { path, count, .. } => {
                    format!("committed {count} {}", relative(path))
                }
                Finding::CommitsUnknown { path } => format!("commits {}", relative(path)),
                Finding::IndexUnknown { path, why } => format!("{why:?} {}", relative(path)),
                Finding::NotSearched { path, .. } => format!("unsearched {}", relative(path)),
                Finding::More { count, fate, .. } => format!("{count} more {fate:?}"),
            })
            .collect();
        lines.sort();
        lines
    }
}

/// K227, T5
#[test]
fn what_appears_is_renamed() {
    let grant = Grant::with(&["src/main.rs", ".git/HEAD"]);
    for file in [
        ".envrc",
        "a/b/c/d/e/.mcp.json",
        ".vscode/tasks.json",
        ".git/hooks/pre-commit",
        ".git/config",
        "Project.code-workspace",
        "src/lib.rs",
    ] {
        write(&grant.top.join(file));
    }
    assert_eq!(
        grant.sweep(),
        [
            "moved .envrc",
            "moved .git/config",
            "moved .git/hooks",
            "moved .vscode",
            "moved Project.code-workspace",
            "moved a/b/c/d/e/.mcp.json"
        ]
    );
    assert!(grant.top.join(".envrc.quarantined-01ABC").exists());
    assert!(grant.top.join(".vscode.quarantined-01ABC/tasks.json").exists());
    assert!(grant.top.join("src/lib.rs").exists());
    assert!(grant.sweep().is_empty());
}

/// K227: a store of a protected name goes with its log, and comes back with it.
#[test]
fn companions_go_where_their_database_goes() {
    let grant = Grant::with(&["src/main.rs"]);
    for file in [".envrc", ".envrc-wal", ".envrc-shm", "data-wal", ".mcp.json", ".mcp.json-wal"] {
        write(&grant.top.join(file));
    }
    assert_eq!(grant.sweep(), ["moved .envrc", "moved .mcp.json"]);
    let there = |name: &str| grant.top.join(name).exists();
    assert!(!there(".envrc-wal") && !there(".envrc-shm") && there("data-wal"));
    assert!(there(".envrc.quarantined-01ABC-wal") && there(".envrc.quarantined-01ABC-shm"));
    let stored = |name: &str| Stored {
        path: host_path(&grant.top.join(name)),
        moved_to: host_path(&grant.top.join(format!("{name}.quarantined-01ABC"))),
        invocation: String::new(),
        time: audit::Timestamp::now(),
        details: String::new(),
    };
    stored(".envrc").restore().unwrap();
    assert!(there(".envrc") && there(".envrc-wal") && there(".envrc-shm"));
    stored(".mcp.json").drop_it().unwrap();
    let left = std::fs::read_dir(&grant.top).unwrap();
    assert!(
        left.into_iter().all(|one| !one.unwrap().path().display().to_string().contains("quaran"))
    );
}

#[test]
fn what_was_there_and_is_unchanged_is_left_alone() {
    let grant = Grant::with(&[".envrc", ".vscode/tasks.json", "a/b/c/d/.npmrc", ".git/hooks/x"]);
    write(&grant.top.join("new.rs"));
    assert!(grant.sweep().is_empty());
}

#[test]
fn what_was_there_and_has_changed_is_told() {
    let grant = Grant::with(&["a/b/c/d/.npmrc", "a/.vscode/tasks.json", "a/.git/config"]);
    for file in ["a/b/c/d/.npmrc", "a/.vscode/tasks.json", "a/.git/config"] {
        std::fs::write(grant.top.join(file), "changed").unwrap();
    }
    assert_eq!(
        grant.sweep(),
        ["modified a/.vscode/tasks.json", "modified a/b/c/d/.npmrc", "moved a/.git/config"]
    );
}

#[test]
fn a_new_file_in_an_old_protected_directory_is_renamed() {
    let grant = Grant::with(&["deep/.vscode/settings.json", "deep/.git/hooks/sample"]);
    write(&grant.top.join("deep/.vscode/tasks.json"));
    write(&grant.top.join("deep/.git/hooks/post-checkout"));
    assert_eq!(
        grant.sweep(),
        ["moved deep/.git/hooks/post-checkout", "moved deep/.vscode/tasks.json"]
    );
}

/// T4: an old file can get a new name.
#[test]
fn an_old_file_that_is_renamed_to_a_protected_name_counts_as_new() {
    let grant = Grant::with(&["innocent", "payload/tasks.json"]);
    std::fs::rename(grant.top.join("innocent"), grant.top.join(".envrc")).unwrap();
    std::fs::rename(grant.top.join("payload"), grant.top.join(".vscode")).unwrap();
    assert_eq!(grant.sweep(), ["moved .envrc", "moved .vscode"]);
}

#[test]
fn what_was_read_only_inside_is_not_looked_at() {
    let mut grant = Grant::with(&[".git/hooks/pre-commit", ".git/config"]);
    grant.at_start.covered =
        [".git/hooks", ".git/config"].map(|path| host_path(&grant.top.join(path))).to_vec();
    // As a person may do meanwhile, outside.
    std::fs::write(grant.top.join(".git/config"), "changed").unwrap();
    write(&grant.top.join(".git/hooks/post-commit"));
    assert!(grant.sweep().is_empty());
}

/// T1: links are renamed and never followed.
#[test]
fn links_are_names_too_and_lead_nowhere() {
    let grant = Grant::with(&["src/main.rs"]);
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join(".envrc"));
    symlink(outside.path(), grant.top.join("out")).unwrap();
    symlink("/tmp/evil", grant.top.join(".git")).unwrap();
    symlink("/tmp/evil", grant.top.join(".bashrc")).unwrap();
    symlink("..", grant.top.join("up")).unwrap();
    assert_eq!(grant.sweep(), ["moved .bashrc", "moved .git"]);
    assert!(outside.path().join(".envrc").exists());
}

/// K227: a link that the host made in the very moment before a start is not the program's.
#[test]
fn a_link_that_is_what_it_was_is_left_alone() {
    for (before, after, expected) in [
        ("store/git", "store/git", ""),
        ("store/git", "/tmp/evil", "moved .git"),
        ("/elsewhere", "/elsewhere", ""),
    ] {
        let mut grant = Grant::with(&["store/git/HEAD"]);
        symlink(after, grant.top.join(".git")).unwrap();
        let target = before.as_bytes().to_vec().into();
        grant.at_start.links = vec![Link { path: host_path(&grant.top.join(".git")), target }];
        assert_eq!(grant.sweep().join(","), expected, "{before} {after}");
    }
}

/// K227, T5: a link that leads nowhere is filled by whoever makes what it leads to.
#[test]
fn what_appears_behind_an_old_link_is_renamed() {
    let grant = Grant::with(&["env/old", "linked/old"]);
    symlink("env/dev", grant.top.join(".envrc")).unwrap();
    symlink("settings", grant.top.join(".vscode")).unwrap();
    symlink("linked/git", grant.top.join(".git")).unwrap();
    std::thread::sleep(Duration::from_millis(40));
    let grant = Grant { began: Began::now(), ..grant };
    for file in ["env/dev", "env/other", "settings/tasks.json", "linked/git/index"] {
        write(&grant.top.join(file));
    }
    assert_eq!(grant.sweep(), ["moved env/dev", "moved settings"]);
}

/// T6
#[test]
fn a_repository_made_inside_loses_its_hooks_and_configuration() {
    let grant = Grant::with(&[]);
    for repository in ["new/.git", "bare", "group/.git/modules/sub"] {
        for file in ["HEAD", "config", "hooks/post-checkout", "objects/ab/cd", "refs/heads/main"] {
            write(&grant.top.join(repository).join(file));
        }
    }
    write(&grant.top.join("tree/.git"));
    assert_eq!(
        grant.sweep(),
        [
            "moved bare/config",
            "moved bare/hooks",
            "moved group/.git/modules/sub/config",
            "moved group/.git/modules/sub/hooks",
            "moved new/.git/config",
            "moved new/.git/hooks",
            "moved tree/.git"
        ]
    );
}

/// K227, T6: a repository under any name, in one piece or in two.
#[test]
fn a_repository_that_is_split_in_two_is_recognised() {
    let grant = Grant::with(&["old/HEAD", "old/commondir", "old/shared/objects/x"]);
    std::fs::write(grant.top.join("old/commondir"), "shared\n").unwrap();
    std::thread::sleep(Duration::from_millis(40));
    let grant = Grant { began: Began::now(), ..grant };
    write(&grant.top.join("new/HEAD"));
    std::fs::write(grant.top.join("new/commondir"), "parts\n").unwrap();
    for file in ["new/parts/config", "new/parts/hooks/x", "old/shared/config", "old/shared/hooks/x"]
    {
        write(&grant.top.join(file));
    }
    assert_eq!(
        grant.sweep(),
        ["moved new/commondir", "moved old/shared/config", "moved old/shared/hooks"]
    );
}

/// K227, T6, T50: what the configuration of a repository names and what is not there when the cage
/// starts. `protected` is what was, and was read-only inside.
#[test]
fn what_configuration_names_is_judged_as_well() {
    let configuration = "[core]\nhooksPath = tools/hooks\nfsmonitor = ./watch\n\
                         [include]\npath = ../more.conf\npath = /etc/passwd\n\
                         [filter \"x\"]\nclean = sh tools/clean.sh word\n\
                         [diff \"x\"]\ntextconv = linked/convert\n";
    let setting = || {
        let mut grant = Grant::with(&["src/main.rs", "tools/clean.sh", "a/b/c/d/e/src/old"]);
        for top in ["", "a/b/c/d/e"] {
            let top = grant.top.join(top);
            std::fs::create_dir(top.join(".git")).unwrap();
            std::fs::write(top.join(".git/config"), configuration).unwrap();
        }
        symlink("elsewhere", grant.top.join("linked")).unwrap();
        std::thread::sleep(Duration::from_millis(40));
        grant.began = Began::now();
        let protected = [".git/config", "tools/clean.sh"];
        grant.at_start.covered = protected.map(|path| host_path(&grant.top.join(path))).to_vec();
        grant
    };
    for (written, expected) in [
        ("src/lib.rs", ""),
        ("tools/hooks/pre-commit", "moved tools/hooks"),
        ("watch", "moved watch"),
        ("more.conf", "moved more.conf"),
        ("word", ""),
        ("tools/clean.sh", ""),
        ("tools/other.sh", ""),
        ("a/b/c/d/e/watch", "moved a/b/c/d/e/watch"),
        ("a/b/c/d/e/tools/hooks/x", "moved a/b/c/d/e/tools/hooks"),
    ] {
        let grant = setting();
        write(&grant.top.join(written));
        assert_eq!(grant.sweep().join(","), expected, "{written}");
    }
    let grant = setting();
    std::fs::remove_file(grant.top.join("linked")).unwrap();
    symlink("src", grant.top.join("linked")).unwrap();
    assert_eq!(grant.sweep(), ["moved linked"]);
}

/// K227, T6: the grant may be a part of the repository only.
#[test]
fn the_repository_around_a_grant_counts() {
    let grant = Grant::with(&["src/x"]);
    let above = grant.top.parent().unwrap();
    std::fs::create_dir(above.join(".git")).unwrap();
    std::fs::write(above.join(".git/config"), "[core]\nfsmonitor = grant/src/watch\n").unwrap();
    write(&grant.top.join("src/watch"));
    assert_eq!(grant.sweep(), ["moved src/watch"]);
}

/// K227, T6: who continues on the host what a run left unfinished runs the commands in it.
#[test]
fn a_rebase_that_runs_commands_is_set_aside() {
    for (file, text, expected) in [
        ("rebase-merge/git-rebase-todo", "pick 1\nexec make\n", true),
        ("rebase-merge/git-rebase-todo", "pick 1\n", false),
        ("rebase-merge/strategy", "ours\n", false),
        ("rebase-merge/strategy", "a/b\n", true),
        ("rebase-merge/done", "exec make\n", false),
        ("sequencer/todo", "x make\n", true),
        ("worktrees/w/rebase-merge/git-rebase-todo", "x make", true),
    ] {
        let grant = Grant::with(&[".git/HEAD"]);
        write(&grant.top.join(".git").join(file));
        std::fs::write(grant.top.join(".git").join(file), text).unwrap();
        let expected = if expected { format!("moved .git/{file}") } else { String::new() };
        assert_eq!(grant.sweep().join(","), expected, "{file} {text:?}");
    }
    let grant = Grant::with(&[".git/HEAD"]);
    write(&grant.top.join(".git/rebase-apply/patch"));
    assert_eq!(grant.sweep(), ["moved .git/rebase-apply"]);
}

/// T7
#[test]
fn odd_names_are_handled_as_bytes() {
    let grant = Grant::with(&[]);
    let odd = std::ffi::OsStr::from_bytes(b"\xff\n[*]");
    write(&grant.top.join(odd).join(".envrc"));
    let long = format!("{}.code-workspace", "x".repeat(240));
    write(&grant.top.join(&long));
    // A name that is taken does not keep another from being moved.
    write(&grant.top.join(".envrc"));
    write(&grant.top.join(".envrc.quarantined-01ABC"));
    let found = grant.sweep();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|line| line.starts_with("moved ")));
    assert!(grant.top.join(".envrc.quarantined-01ABC-1").exists());
    let names: Vec<_> = std::fs::read_dir(&grant.top).unwrap().flatten().collect();
    assert!(names.iter().all(|entry| entry.file_name().len() <= 255));
}

#[test]
fn a_grant_in_a_grant_is_swept_once_and_a_missing_one_not_at_all() {
    let grant = Grant::with(&["inner/x"]);
    write(&grant.top.join("inner/.envrc"));
    let watched = [
        host_path(&grant.top.join("inner")),
        host_path(&grant.top),
        host_path(&grant.top.join("missing")),
        host_path(&grant.top),
    ];
    let found = sweep(&watched, &AtStart::default(), grant.began, "X", &mut Unreviewed::default());
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(text.contains(".envrc") && text.contains("direnv"), "{text}");
}

/// The user who grants a protected directory by name wants it written.
#[test]
fn a_protected_directory_that_is_the_grant_itself_is_no_finding() {
    let grant = Grant::with(&[".vscode/settings.json", ".git/HEAD"]);
    write(&grant.top.join(".vscode/tasks.json"));
    write(&grant.top.join(".git/hooks/pre-commit"));
    let watched = [host_path(&grant.top.join(".vscode"))];
    assert!(
        sweep(&watched, &AtStart::default(), grant.began, "X", &mut Unreviewed::default())
            .is_empty()
    );
    let watched = [host_path(&grant.top.join(".git"))];
    assert_eq!(
        sweep(&watched, &AtStart::default(), grant.began, "X", &mut Unreviewed::default()).len(),
        1
    );
}

/// T7: a chain of directories that is deeper than anybody works is reported and does not exhaust
/// anything.
#[test]
fn a_very_deep_tree_is_told() {
    let grant = Grant::with(&[]);
    let deep: PathBuf = std::iter::repeat_n("d", 200).collect();
    std::fs::create_dir_all(grant.top.join(deep)).unwrap();
    let found = grant.sweep();
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("unsearched "), "{found:?}");
}

/// K227, T5, T6: closing a directory does not keep what is in it from being found and renamed.
/// Root is not kept out by modes; the run without privilege is the one that tells.
#[test]
fn a_directory_that_was_closed_during_the_run_is_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let grant = Grant::with(&["a/file"]);
    let close = |path: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(grant.top.join(path), permissions).unwrap();
    };
    write(&grant.top.join("a/.envrc"));
    write(&grant.top.join("hidden/deep/.envrc"));
    close("a", 0o555);
    close("hidden/deep", 0o311);
    close("hidden", 0o111);
    assert_eq!(grant.sweep(), ["moved a/.envrc", "moved hidden/deep/.envrc"]);
    let mode = std::fs::metadata(grant.top.join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
    close("a", 0o755);
}

/// K227: what the user has named to be changed may be changed in every way, and is told.
#[test]
fn what_the_user_has_named_stays_where_it_is() {
    let mut grant = Grant::with(&[".envrc", ".vscode/settings.json", ".git/config", "sub/text"]);
    let named = [".envrc", ".vscode", ".git/config", "sub"];
    grant.at_start.named = named.map(|name| host_path(&grant.top.join(name))).to_vec();
    for (from, to) in [("new", ".envrc"), (".git/config.lock", ".git/config")] {
        write(&grant.top.join(from));
        std::fs::rename(grant.top.join(from), grant.top.join(to)).unwrap();
    }
    write(&grant.top.join(".vscode/settings.json"));
    write(&grant.top.join(".vscode/below/tasks.json"));
    write(&grant.top.join(".idea/workspace.xml"));
    write(&grant.top.join("sub/.envrc"));
    assert_eq!(
        grant.sweep(),
        [
            "modified .envrc",
            "modified .git/config",
            "modified .vscode/below/tasks.json",
            "modified .vscode/settings.json",
            "moved .idea",
            "moved sub/.envrc",
        ]
    );
}

/// T29: a program can plant as many names as it likes: all are renamed, and what is told has a bound, with
/// room of its own for what could not be.
#[test]
fn what_is_told_has_a_bound() {
    let mut grant = Grant::with(&["old/.bashrc"]);
    for number in 0..MOST_LISTED + 10 {
        write(&grant.top.join(format!("{number}/.envrc")));
    }
    let named = host_path(&grant.top.join("old/.bashrc"));
    grant.at_start.named.push(named);
    write(&grant.top.join("old/.bashrc"));
    let lines = grant.sweep();
    assert_eq!(lines.len(), MOST_LISTED + 2, "{lines:#?}");
    assert!(lines.contains(&"10 more SetAside".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"modified old/.bashrc".to_owned()), "{lines:#?}");
    for number in 0..MOST_LISTED + 10 {
        assert!(!grant.top.join(format!("{number}/.envrc")).exists(), "{number}");
    }
}
