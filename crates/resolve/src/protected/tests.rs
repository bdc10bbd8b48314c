//! Which files of a read-write grant are kept read-only, and which grants are refused.
//! Builds no cage.

use std::os::unix::fs::symlink;

use super::super::fixture::{Host, directory, file, host_path, own_rule};
use super::*;

fn repository(path: &std::path::Path) {
    for directory_name in ["hooks", "objects/00", "refs/heads", "info"] {
        directory(path.join(directory_name));
    }
    file(path.join("HEAD"), "ref: refs/heads/main\n");
    file(path.join("config"), "[core]\n");
}

/// K227, T5, T6
#[test]
fn files_that_run_code_are_found() {
    let host = Host::new();
    repository(&host.project(".git"));
    file(host.project("stockade.toml"), "");
    file(host.project(".envrc"), "");
    file(host.project(".vscode/tasks.json"), "");
    file(host.project("a/b/c/.npmrc"), "");
    file(host.project("a/b/c/d/.npmrc"), "");
    file(host.project("Work.code-workspace"), "");
    file(host.project("src/main.rs"), "");
    file(host.project("node_modules/x/.npmrc"), "");
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let expected = [
        ".envrc",
        ".git/config",
        ".git/hooks",
        ".vscode",
        "Work.code-workspace",
        "a/b/c/.npmrc",
        "stockade.toml",
    ];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
    let between = [".git", "a", "a/b", "a/b/c"];
    assert_eq!(resolved.between_paths(), between.map(|path| host.project(path)));
}

#[test]
fn only_what_can_be_written_needs_protection() {
    let host = Host::new();
    repository(&host.project(".git"));
    file(host.project("sub/.envrc"), "");
    let rules = vec![host.readable(""), host.writable("sub")];
    let resolved = host.resolve(rules).unwrap();
    assert_eq!(resolved.protected_paths(), [host.project("sub/.envrc")]);
    let rules = vec![host.writable(""), host.readable(".git"), host.hidden("sub")];
    let resolved = host.resolve(rules).unwrap();
    assert!(resolved.protected_paths().is_empty());
}

/// T6: submodules, work trees, repositories in other places.
#[test]
fn repositories_of_every_shape_are_found() {
    let host = Host::new();
    repository(&host.project(".git"));
    repository(&host.project(".git/modules/group/library"));
    file(host.project(".git/worktrees/other/gitdir"), "");
    file(host.project(".git/worktrees/other/commondir"), "../..\n");
    repository(&host.project("bare.git"));
    repository(&host.project("separate/store"));
    file(host.project("moved/.git"), "gitdir: ../separate/store\n");
    repository(&host.project("elsewhere/real"));
    directory(host.project("linked"));
    symlink("../elsewhere/real", host.project("linked/.git")).unwrap();
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let found = resolved.protected_paths();
    let expected = [
        ".git/config",
        ".git/hooks",
        ".git/modules/group/library/config",
        ".git/modules/group/library/hooks",
        ".git/worktrees/other/commondir",
        ".git/worktrees/other/gitdir",
        "bare.git/config",
        "bare.git/hooks",
        "elsewhere/real/config",
        "elsewhere/real/hooks",
        "moved/.git",
        "separate/store/config",
        "separate/store/hooks",
    ];
    for path in expected {
        assert!(found.contains(&host.project(path).as_path()), "{path} in {found:?}");
    }
    assert!(!found.iter().any(|path| path.ends_with("objects")));
    let links: Vec<_> = resolved.links.iter().map(|link| link.path.as_path()).collect();
    assert_eq!(links, [host.project("linked/.git")]);
}

/// K227, T6, T50: what the configuration of a repository makes Git run or obey.
#[test]
fn what_configuration_names_is_protected() {
    let host = Host::new();
    repository(&host.project(".git"));
    repository(&host.project(".git/modules/library"));
    let configuration = "[core]\nhooksPath = tools/hooks\nfsmonitor = tools/watch --fast\n\
                         [include]\npath = ../more.conf\npath = ../../outside.conf\n\
                         [filter \"x\"]\nclean = sh clean.sh src missing\n\
                         [gpg]\nprogram = linked/sign\n";
    file(host.project(".git/config"), configuration);
    let library = "[core]\nworktree = ../../../library\nfsmonitor = ./watch\n";
    file(host.project(".git/modules/library/config"), library);
    file(host.project("library/watch"), "");
    file(host.project("library/.git"), "gitdir: ../.git/modules/library\n");
    file(host.project("more.conf"), "[merge \"x\"]\ndriver = \"'a tool/merge' %O\"\n");
    file(host.home("outside.conf"), "[core]\nfsmonitor = src/lib.rs\n");
    for path in ["tools/hooks/pre-commit", "tools/watch", "tools/other", "clean.sh", "sh"] {
        file(host.project(path), "");
    }
    for path in ["a tool/merge", "real/sign", "src/lib.rs"] {
        file(host.project(path), "");
    }
    symlink("real", host.project("linked")).unwrap();
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let expected = [
        ".git/config",
        ".git/hooks",
        ".git/modules/library/config",
        ".git/modules/library/hooks",
        "a tool/merge",
        "clean.sh",
        "library/.git",
        "library/watch",
        "more.conf",
        "real/sign",
        "tools/hooks",
        "tools/watch",
    ];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
    // T3: the way to each of them is pinned.
    assert!(resolved.between_paths().contains(&host.project("tools").as_path()));
}

/// K227, T6: the repository need not lie in the writable grant.
#[test]
fn the_repository_around_a_grant_is_asked() {
    let configuration = "[core]\nhooksPath = src/hooks\n";
    let host = Host::new();
    repository(&host.project(".git"));
    file(host.project(".git/config"), configuration);
    file(host.project("src/hooks/pre-commit"), "");
    let around = Host::new();
    repository(&around.home(".git"));
    file(around.home(".git/config"), "[core]\nhooksPath = project/src/hooks\n");
    file(around.project("src/hooks/pre-commit"), "");
    let pointer = Host::new();
    repository(&pointer.outside("store"));
    file(pointer.outside("store/config"), configuration);
    file(pointer.project(".git"), "gitdir: ../../outside/store\n");
    file(pointer.project("src/hooks/pre-commit"), "");
    for host in [host, around, pointer] {
        let resolved = host.resolve(vec![host.writable("src")]).unwrap();
        assert_eq!(resolved.protected_paths(), [host.project("src/hooks")]);
    }
}

/// K227, T6
#[test]
fn a_repository_that_is_split_in_two_is_protected() {
    let host = Host::new();
    file(host.project("other/HEAD"), "ref: refs/heads/main\n");
    file(host.project("other/commondir"), "../parts\n");
    file(host.project("parts/config"), "");
    directory(host.project("parts/hooks"));
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let expected = ["other/commondir", "parts/config", "parts/hooks"];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
}

/// K227, T6: continued on the host, they run what is in them.
#[test]
fn a_rebase_in_progress_is_protected() {
    let host = Host::new();
    repository(&host.project(".git"));
    for path in ["rebase-merge/git-rebase-todo", "rebase-merge/done", "sequencer/todo"] {
        file(host.project(".git").join(path), "");
    }
    directory(host.project(".git/rebase-apply"));
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let expected = [
        ".git/config",
        ".git/hooks",
        ".git/rebase-apply",
        ".git/rebase-merge/git-rebase-todo",
        ".git/sequencer/todo",
    ];
    assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
}

/// A grant of the repository's own directory still keeps its hooks.
#[test]
fn a_grant_in_the_middle_of_a_protected_path_is_no_way_around() {
    let host = Host::new();
    repository(&host.project(".git"));
    let own = own_rule(FsAccess::ReadWrite, host.project(".git"));
    for rule in [host.writable(".git"), own] {
        let resolved = host.resolve(vec![rule]).unwrap();
        let expected = [".git/config", ".git/hooks"];
        assert_eq!(resolved.protected_paths(), expected.map(|path| host.project(path)));
    }
}

/// T50: a repository must not bring the policy that opens its own hooks; its user may.
#[test]
fn a_projects_file_cannot_name_what_is_protected() {
    let host = Host::new();
    repository(&host.project(".git"));
    file(host.project(".vscode/tasks.json"), "");
    for path in [".git/hooks", ".vscode", ".vscode/tasks.json", ".git/config"] {
        let error = host.resolve(vec![host.writable(path)]).unwrap_err();
        let ResolveError::Rules(problems) = &error else { panic!("{error}") };
        assert!(matches!(problems[0].problem, PathProblem::Protected { .. }), "{path}");
        let own = own_rule(FsAccess::ReadWrite, host.project(path));
        let resolved = host.resolve(vec![host.writable(""), own]).unwrap();
        assert!(!resolved.protected_paths().contains(&host.project(path).as_path()), "{path}");
        assert!(host.resolve(vec![host.readable(path)]).is_ok());
    }
}

/// T1: a link is followed to what it protects, and no further than the grant.
#[test]
fn linked_settings_are_protected_where_they_are() {
    let host = Host::new();
    file(host.home("dotfiles/bashrc"), "");
    symlink("dotfiles/bashrc", host.home(".bashrc")).unwrap();
    symlink(host.outside("zshrc"), host.home(".zshrc")).unwrap();
    file(host.outside("zshrc"), "");
    symlink(".profile", host.home(".profile")).unwrap();
    let home = own_rule(FsAccess::ReadWrite, host.home(""));
    let resolved = host.resolve(vec![home]).unwrap();
    assert_eq!(resolved.protected_paths(), [host.home("dotfiles/bashrc")]);
}

/// K227
#[test]
fn the_policys_own_files_are_protected_wherever_they_are() {
    let mut host = Host::new();
    file(host.home("conf/policy.toml"), "");
    symlink(host.home("conf/policy.toml"), host.outside("policy")).unwrap();
    let missing = host_path(host.home("missing.toml"));
    host.surroundings.policy_files = vec![host_path(host.outside("policy")), missing];
    let home = own_rule(FsAccess::ReadWrite, host.home(""));
    let resolved = host.resolve(vec![home.clone()]).unwrap();
    assert_eq!(resolved.protected_paths(), [host.home("conf/policy.toml")]);
    assert_eq!(resolved.facts.protected[0].table_entry, POLICY_FILE);
    // By a link that the program could take away, the next run would find no policy.
    symlink("conf/policy.toml", host.home("policy")).unwrap();
    host.surroundings.policy_files = vec![host_path(host.home("policy"))];
    let refused = host.resolve(vec![home]).unwrap_err();
    assert!(matches!(refused, ResolveError::Uncoverable(_)), "{refused}");
}

/// T4
#[test]
fn a_protected_file_with_another_name_is_refused() {
    let host = Host::new();
    file(host.project(".envrc"), "");
    std::fs::hard_link(host.project(".envrc"), host.project("other")).unwrap();
    let error = host.resolve(vec![host.writable("")]).unwrap_err();
    assert!(matches!(error, ResolveError::Uncoverable(_)), "{error}");
}

#[test]
fn secrets_are_hidden_and_not_shown_read_only() {
    let host = Host::new();
    file(host.home(".ssh/config"), "");
    file(host.home(".npmrc"), "");
    let home = own_rule(FsAccess::ReadWrite, host.home(""));
    let resolved = host.resolve(vec![home]).unwrap();
    assert_eq!(resolved.secret_paths(), [host.home(".npmrc"), host.home(".ssh")]);
    assert!(resolved.protected_paths().is_empty());
}

/// A directory with more names than are read is asked for the names that count.
#[test]
fn a_crowded_directory_is_asked_by_name() {
    let host = Host::new();
    for number in 0..5000 {
        std::fs::write(host.project(format!("file-{number}")), "").unwrap();
    }
    repository(&host.project(".git"));
    file(host.project(".envrc"), "");
    file(host.project("sub/.envrc"), "");
    let resolved = host.resolve(vec![host.writable("")]).unwrap();
    let found = resolved.protected_paths();
    for path in [".envrc", ".git/config", ".git/hooks"] {
        assert!(found.contains(&host.project(path).as_path()), "{path}");
    }
}
